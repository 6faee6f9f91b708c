//! Finds the files below a folder, in the order of Python's `sorted(os.walk(folder, followlinks=True))`.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::{self, DirEntry};
use std::io;
use std::path::{Path, PathBuf};

use super::beside::BesideSearch;
use super::endings::longest;
use super::noticed::{Noticed, below, count, note_hidden};
use super::order::python_order;
use crate::error::{Error, Result};
use crate::quote::Shown;

/// The most folders that are walked behind links that lead out of the data set's folder. `gpufeed doctor` has the same
/// limit.
pub const BEHIND_LINKS: u64 = 100_000;

/// The most links to one folder that are followed. A data set may link to a folder from many places. Folders that link
/// to each other have too many paths to walk, although each path ends: n folders have more than n! paths.
pub const LINKS_TO_A_FOLDER: u32 = 1_000;

/// A folder of the walk, with the images that lie directly in it.
struct WalkedFolder {
    path: PathBuf,
    /// The path below the start, with a '/' before each part. Python sorts by it, and so does this on every platform.
    key: OsString,
    files: Vec<OsString>,
    /// The other files in it.
    others: Vec<OsString>,
}

/// Appends to `paths` the files at any depth below `start` whose name ends in one of `extensions`. Hidden folders are
/// left out unless `hidden`. `root` is the data set's folder, which has `start` or is it.
///
/// A link to `root`, or to a folder that contains `root`, is not followed. It would give each image twice, and a walk
/// from `/` would take longer than anybody waits.
///
/// `beside` finds files beside the images, by the setting of fields.
///
/// Python sorts the folders by their whole path, in which '/' is a character like others: "a-b" comes between "a" and
/// "a/c". A depth-first walk would not find this order.
pub(super) fn files_below(
    root: &Path,
    start: &Path,
    extensions: &[String],
    hidden: bool,
    paths: &mut Vec<Box<Path>>,
    beside: &mut BesideSearch,
    noticed: &mut Noticed,
) -> Result<()> {
    let real_root = fs::canonicalize(root).map_err(|source| Error::io(root, source))?;
    let real = fs::canonicalize(start).map_err(|source| Error::io(start, source))?;
    if !look_at_link(root, &real_root, start, &real, noticed) {
        return Ok(());
    }
    let outside = !real.starts_with(&real_root);
    let links = HashMap::new();
    let mut walk = Walk {
        root,
        real_root,
        extensions,
        inside: vec![real],
        links,
        found: Vec::new(),
        outside,
        beside: &*beside,
        noticed: &mut *noticed,
    };
    walk.folder(start.to_owned(), OsString::new())?;
    let mut folders = walk.found;
    let in_hidden_class = is_hidden(start);
    let in_hidden = |folder: &WalkedFolder| folder.key.to_string_lossy().contains("/.");
    for folder in folders.iter().filter(|folder| in_hidden(folder)) {
        let name = || below(root, &folder.path);
        if hidden && in_hidden_class {
            // They are counted with their class.
        } else if hidden {
            note_hidden(noticed, name, folder.files.len());
        } else {
            count(&mut noticed.hidden_images, name);
            noticed.hidden_images.0 += folder.files.len() as u64 - 1;
        }
    }
    folders.retain(|folder| hidden || !in_hidden(folder));
    folders.sort_unstable_by(|a, b| python_order(&a.key, &b.key));
    for mut folder in folders {
        folder.files.sort_unstable_by(|a, b| python_order(a, b));
        beside.folder(&folder.path, paths.len(), &mut folder.files, folder.others, extensions, noticed)?;
        paths.extend(folder.files.iter().map(|file| folder.path.join(file).into_boxed_path()));
    }
    Ok(())
}

/// Returns true if the name of a class folder begins with a dot.
pub(super) fn is_hidden(folder: &Path) -> bool {
    folder.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."))
}

/// Notes a folder that lies elsewhere than its path says. Returns false if the folder must not be walked, because it is
/// the data set's folder or contains it.
fn look_at_link(root: &Path, real_root: &Path, path: &Path, real: &Path, noticed: &mut Noticed) -> bool {
    if path != root && real_root.starts_with(real) {
        let link = (below(root, path), real.to_owned());
        if !noticed.not_followed.contains(&link) && noticed.not_followed.len() < 8 {
            noticed.not_followed.push(link);
        }
        return false;
    }
    if !real.starts_with(real_root) {
        noticed.links_out += 1;
        noticed.first_out.get_or_insert_with(|| (below(root, path), real.to_owned()));
    }
    true
}

/// Returns true if `entry` is a folder or a link to one. Like Python, this takes a dangling link for a file, which
/// fails when it is read.
pub(super) fn is_folder(entry: &DirEntry) -> bool {
    match entry.file_type() {
        Ok(kind) if kind.is_symlink() => fs::metadata(entry.path()).is_ok_and(|m| m.is_dir()),
        Ok(kind) => kind.is_dir(),
        Err(_) => false,
    }
}

struct Walk<'a> {
    root: &'a Path,
    real_root: PathBuf,
    extensions: &'a [String],
    /// The real paths of the folders that the walk is in.
    inside: Vec<PathBuf>,
    /// Number of followed links to each folder, by its real path.
    links: HashMap<PathBuf, u32>,
    found: Vec<WalkedFolder>,
    /// True inside a folder to which a link outside of the root leads.
    outside: bool,
    beside: &'a BesideSearch,
    noticed: &'a mut Noticed,
}

impl Walk<'_> {
    /// Walks the folder at `path`, whose real path is the last of `inside`.
    fn folder(&mut self, path: PathBuf, key: OsString) -> Result<()> {
        let (mut files, mut others) = (Vec::new(), Vec::new());
        if self.outside {
            self.noticed.behind += 1;
            if self.noticed.behind > BEHIND_LINKS {
                let text = format!(
                    "more than {BEHIND_LINKS} folders lie behind links that lead out of {}: do they lead to a whole disk? \
                     Remove such links, or name the folder itself",
                    Shown(self.root.display())
                );
                return Err(Error::io(&path, io::Error::other(text)));
            }
        }
        for entry in fs::read_dir(&path).map_err(|source| Error::io(&path, source))? {
            let entry = entry.map_err(|source| Error::io(&path, source))?;
            let name = entry.file_name();
            if !is_folder(&entry) {
                match longest(&name, self.extensions) {
                    Some(ending) if self.beside.choice.leaves(&name, ending) => files.push(name),
                    _ => {
                        if !self.beside.choice.may_take(&name) {
                            self.noticed.other(&name);
                        }
                        others.push(name);
                    }
                }
                continue;
            }
            let below = path.join(&name);
            let link = !entry.file_type().is_ok_and(|kind| !kind.is_symlink());
            let real = if link {
                fs::canonicalize(&below).map_err(|source| Error::io(&below, source))?
            } else {
                self.inside[self.inside.len() - 1].join(&name)
            };
            if self.inside.contains(&real) && !self.real_root.starts_with(&real) {
                tracing::warn!(link = %Shown(below.display()), "link not followed: it leads back to a folder that \
                    contains it");
                continue;
            }
            if link && !look_at_link(self.root, &self.real_root, &below, &real, self.noticed) {
                continue;
            }
            if link {
                self.follow(&below, &real)?;
            }
            let outside = self.outside;
            self.outside = if link { !real.starts_with(&self.real_root) } else { outside };
            let mut below_key = key.clone();
            below_key.push("/");
            below_key.push(&name);
            self.inside.push(real);
            self.folder(below, below_key)?;
            self.inside.pop();
            self.outside = outside;
        }
        if !files.is_empty() {
            self.found.push(WalkedFolder { path, key, files, others });
        } else {
            // They lie beside no image.
            let kept = others.iter().filter(|name| self.beside.choice.may_take(name));
            kept.for_each(|name| self.noticed.other(name));
        }
        Ok(())
    }

    fn follow(&mut self, link: &Path, real: &Path) -> Result<()> {
        let links = self.links.entry(real.to_owned()).or_default();
        *links += 1;
        if *links > LINKS_TO_A_FOLDER {
            let text = format!(
                "more than {LINKS_TO_A_FOLDER} links lead to {}: do folders link to each other? Remove such links",
                Shown(real.display())
            );
            return Err(Error::io(link, io::Error::other(text)));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    mod unix {
        use super::*;
        use crate::dataset::Notice;
        use crate::{Dataset, ImageFolder};
        use std::os::unix::fs::symlink;

        #[test]
        fn links_are_followed_but_not_in_circles() {
            let root = tempfile::tempdir().unwrap();
            let at = |path: &str| root.path().join(path);
            for folder in ["cat/deep", "elsewhere/sub"] {
                fs::create_dir_all(at(folder)).unwrap();
            }
            for file in ["cat/1.jpg", "cat/deep/2.jpg", "elsewhere/sub/3.jpg"] {
                fs::write(at(file), file).unwrap();
            }
            symlink(at("elsewhere"), at("cat/link")).unwrap();
            symlink(at("cat"), at("elsewhere/back")).unwrap();
            symlink(at("cat"), at("cat/deep/up")).unwrap();
            symlink(at("cat/1.jpg"), at("cat/same.jpg")).unwrap();
            symlink(at("nowhere"), at("cat/dangling.jpg")).unwrap();

            let mut paths = Vec::new();
            let mut noticed = Noticed::default();
            let start = at("cat");
            files_below(
                root.path(),
                &start,
                &[".jpg".to_owned()],
                true,
                &mut paths,
                &mut BesideSearch::default(),
                &mut noticed,
            )
            .unwrap();
            let below: Vec<_> = paths.iter().map(|p| p.strip_prefix(at("cat")).unwrap()).collect();
            let expected = ["1.jpg", "dangling.jpg", "same.jpg", "deep/2.jpg", "link/sub/3.jpg"];
            assert_eq!(below, expected.map(Path::new));
        }

        #[test]
        fn a_link_to_a_folder_above_is_not_followed_and_links_that_lead_out_are_counted() {
            let root = tempfile::tempdir().unwrap();
            let at = |path: &str| root.path().join(path);
            for folder in ["data/cat", "elsewhere/deep"] {
                fs::create_dir_all(at(folder)).unwrap();
            }
            fs::write(at("data/cat/1.jpg"), "").unwrap();
            fs::write(at("elsewhere/deep/2.jpg"), "").unwrap();
            symlink("/", at("data/all")).unwrap();
            symlink(root.path(), at("data/cat/above")).unwrap();
            symlink(at("elsewhere"), at("data/dog")).unwrap();
            let data = ImageFolder::builder().allow_empty(true).open(at("data")).unwrap();
            assert_eq!((data.classes(), data.targets()), (&["all", "cat", "dog"].map(String::from)[..], &[1, 2][..]));
            let real = fs::canonicalize(root.path()).unwrap();
            let not_followed =
                |link: &str, target: &Path| Notice::LinkNotFollowed { link: link.into(), target: target.into() };
            let out = Notice::LinksOut { links: 1, first: "dog".into(), target: real.join("elsewhere") };
            assert_eq!(data.notices(), [out, not_followed("all", Path::new("/")), not_followed("cat/above", &real)]);
            let error = ImageFolder::open(at("data")).unwrap_err().to_string();
            assert!(error.contains("class folder all: no samples"), "{error}");
        }

        #[test]
        fn a_link_to_the_root_is_not_followed() {
            let root = tempfile::tempdir().unwrap();
            let at = |path: &str| root.path().join(path);
            for folder in ["cat", "dog"] {
                fs::create_dir(at(folder)).unwrap();
                fs::write(at(folder).join("1.jpg"), "").unwrap();
            }
            symlink("..", at("cat/up")).unwrap();
            let data = ImageFolder::open(root.path()).unwrap();
            assert_eq!(data.targets(), [0, 1]);
            let said: Vec<_> = data.notices().iter().map(ToString::to_string).collect();
            assert!(said.len() == 1 && said[0].starts_with("the link cat/up is not followed: "), "{said:?}");
            symlink(".", at("all")).unwrap();
            let error = ImageFolder::open(root.path()).unwrap_err().to_string();
            assert!(error.contains("class folder all: no samples"), "{error}");
            let flat = ImageFolder::flat(root.path()).unwrap();
            assert_eq!((flat.len(), flat.notices().len()), (2, 2));
        }

        #[test]
        fn folders_that_link_to_each_other_are_an_error() {
            let root = tempfile::tempdir().unwrap();
            let folder = |number: usize| root.path().join(format!("folder{number}"));
            for from in 0..8 {
                fs::create_dir(folder(from)).unwrap();
                fs::write(folder(from).join("image.jpg"), "").unwrap();
            }
            for (from, to) in (0..8).flat_map(|from| (0..8).map(move |to| (from, to))) {
                symlink(folder(to), folder(from).join(format!("link{to}"))).unwrap();
            }
            // These 7 folders have 13,700 paths, 1,957 to each folder; 20 folders would have 3 · 10¹⁷.
            let (start, mut noticed) = (folder(0), Noticed::default());
            let (jpg, mut beside) = ([".jpg".to_owned()], BesideSearch::default());
            let found = files_below(root.path(), &start, &jpg, true, &mut Vec::new(), &mut beside, &mut noticed);
            let error = found.unwrap_err().to_string();
            assert!(error.contains("link") && error.contains("Remove such links"), "{error}");
        }
    }
}
