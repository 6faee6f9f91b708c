//! Where the images of a set are, and where each one's annotations are.

use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

use super::{IMAGES, LABELS};
use crate::dataset::folder::endings::has_extension;
use crate::dataset::{ImageFolder, Notice};
use crate::error::{Error, Result};
use crate::storage::local::regular_file;

/// The names of a set's document.
const DOCUMENTS: [&str; 4] = ["data.yaml", "dataset.yaml", "data.yml", "dataset.yml"];

/// Returns the document in a folder, if it has one.
pub(super) fn document_in(folder: &Path) -> Option<PathBuf> {
    DOCUMENTS.iter().map(|name| folder.join(name)).find(|document| document.is_file())
}

/// The file of an image's annotations: the last folder `images` of the image's path is `labels`, and the ending `.txt`. Without
/// such a folder it lies beside the image.
pub(super) fn label_file(image: &Path) -> PathBuf {
    let parts: Vec<Component<'_>> = image.components().collect();
    let folders = parts.len().saturating_sub(1);
    let last = parts[..folders].iter().rposition(|part| part.as_os_str() == IMAGES);
    let renamed = parts.iter().enumerate().map(|(number, part)| match Some(number) == last {
        true => OsStr::new(LABELS),
        false => part.as_os_str(),
    });
    renamed.collect::<PathBuf>().with_extension("txt")
}

/// The place of a split that a document names. Ultralytics looks for `../train/images` in `train/images`, too, as Roboflow's
/// documents mean it.
pub(super) fn place_of(root: &Path, named: &str) -> Option<PathBuf> {
    let within = named.strip_prefix("../").map(|within| root.join(within));
    std::iter::once(root.join(named)).chain(within).find(|place| place.exists())
}

/// Images that have been found.
#[derive(Default)]
pub(super) struct Found {
    pub(super) images: Vec<Box<Path>>,
    pub(super) notices: Vec<Notice>,
    /// The files that list images.
    pub(super) lists: Vec<Box<Path>>,
}

impl Found {
    /// Adds the images at a place: all in a folder, or those that a list names.
    ///
    /// # Errors
    /// A folder or list that cannot be read, or without images; a line that names no image.
    pub(super) fn add(&mut self, place: &Path) -> Result<()> {
        if !place.is_dir() {
            return self.add_list(place);
        }
        let folder = ImageFolder::flat(place)?;
        let images = (0..).map_while(|index| folder.path(index));
        self.images.extend(images.map(Box::from));
        // Beside images the files of annotations are read.
        let are_apart = self.images.first().is_some_and(|first| label_file(first).parent() != first.parent());
        let notices = crate::Dataset::notices(&folder);
        self.notices
            .extend(notices.into_iter().filter(|notice| are_apart || !matches!(notice, Notice::NotRead { .. })));
        Ok(())
    }

    fn add_list(&mut self, list: &Path) -> Result<()> {
        let wrong = |place: String, reason: &str| Error::data_file(list, place, reason);
        let text = regular_file::read_to_string(list).map_err(|source| Error::io(list, source))?;
        let folder = list.parent().unwrap_or(Path::new(""));
        let extensions = ImageFolder::EXTENSIONS.map(str::to_owned);
        for (number, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() {
                continue;
            }
            if !has_extension(OsStr::new(line), &extensions) {
                let reason = format!("names no image; lists of paths work, which end in {}", extensions.join(" "));
                return Err(wrong(format!("line {}", number + 1), &reason));
            }
            let image = folder.join(line.strip_prefix("./").unwrap_or(line));
            self.images.push(image.into_boxed_path());
        }
        if self.images.is_empty() {
            return Err(wrong("the whole file".to_owned(), "names no image"));
        }
        self.lists.push(list.into());
        Ok(())
    }
}
