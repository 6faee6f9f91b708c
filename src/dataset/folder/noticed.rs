//! Counts what a walk through a folder notices: files that are not taken, hidden folders, links that lead out of it.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::endings::of_other_image;
use crate::dataset::Notice;

/// The facts that a walk noticed. A pair is a number, and the name of the first.
#[derive(Debug, Default)]
pub(super) struct Noticed {
    /// Files that are not taken, by their endings, which are those of images.
    unread: BTreeMap<String, (u64, String)>,
    /// Images that lie outside of the class folders.
    pub(super) outside: (u64, String),
    /// Images in hidden folders, which are not walked.
    pub(super) hidden_images: (u64, String),
    /// Hidden folders with images that belong to the set: the number of folders, the name of the first, and the number
    /// of images.
    pub(super) hidden: (u64, String, u64),
    pub(super) links_out: u64,
    pub(super) first_out: Option<(String, PathBuf)>,
    pub(super) not_followed: Vec<(String, PathBuf)>,
    /// The number of folders behind links that lead out of the data set's folder.
    pub(super) behind: u64,
}

impl Noticed {
    pub(super) fn notices(&self) -> Vec<Notice> {
        let of = |what: String, (count, first): &(u64, String)| Notice::not_read(what, *count, first.as_str());
        let mut all: Vec<_> =
            self.unread.iter().filter_map(|(ending, found)| of(format!("files in {ending}"), found)).collect();
        all.extend(of("images outside of the class folders".into(), &self.outside));
        all.extend(of("images in hidden folders".into(), &self.hidden_images));
        let (folders, first, images) = self.hidden.clone();
        all.extend((folders > 0).then_some(Notice::HiddenFolders { folders, first, images }));
        let links = self.links_out;
        all.extend(self.first_out.clone().map(|(first, target)| Notice::LinksOut { links, first, target }));
        let refused = self.not_followed.iter().cloned();
        all.extend(refused.map(|(link, target)| Notice::LinkNotFollowed { link, target }));
        all
    }

    /// Returns what an error says of images that are not taken; an empty text if there are none.
    pub(super) fn unread_too(&self) -> String {
        self.notices()
            .iter()
            .filter(|notice| matches!(notice, Notice::NotRead { .. }))
            .map(|n| format!("; {n}"))
            .collect()
    }

    /// Counts a file that is not taken because of its ending, if the ending is that of an image.
    pub(super) fn other(&mut self, name: &OsStr) {
        if let Some(ending) = of_other_image(name) {
            let found = self.unread.entry(ending.to_owned()).or_default();
            count(found, || name.to_string_lossy().into_owned());
        }
    }
}

/// Adds one to a count. `name` makes the name of the first.
pub(super) fn count(found: &mut (u64, String), name: impl FnOnce() -> String) {
    if found.0 == 0 {
        found.1 = name();
    }
    found.0 += 1;
}

/// Counts a hidden folder whose images belong to the set.
pub(super) fn note_hidden(noticed: &mut Noticed, name: impl FnOnce() -> String, images: usize) {
    let (folders, first, all) = &mut noticed.hidden;
    if *folders == 0 {
        *first = name();
    }
    *folders += 1;
    *all += images as u64;
}

/// Returns a path relative to the root, as text for messages.
pub(super) fn below(root: &Path, path: &Path) -> String {
    path.strip_prefix(root).unwrap_or(path).display().to_string()
}
