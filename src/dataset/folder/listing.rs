//! Lists the images of a folder, and refuses folders without any.

use std::collections::HashSet;
use std::fs::{self, DirEntry};
use std::path::{Path, PathBuf};

use super::super::file_fields::{FieldLimits, FileFields, passed_over, typed_by_files};
use super::super::image_files::ImageFiles;
use super::super::labels::Labels;
use super::super::{ImageList, Notice};
use super::beside::BesideSearch;
use super::builder::ImageFolderBuilder;
use super::choice::BesideChoice;
use super::endings::has_extension;
use super::noticed::{Noticed, below, count, note_hidden};
use super::order::python_order;
use super::walk::{files_below, is_folder, is_hidden};
use crate::advice;
use crate::error::{Error, ErrorKind, Result};

/// Class names that an error lists; it counts the rest.
const NAMED: usize = 8;

impl ImageFolderBuilder {
    /// Lists the images below `root`.
    pub(super) fn listed(mut self, root: PathBuf) -> Result<ImageFiles> {
        if !self.fields.asks_for_nothing()
            && let Some(list) = listed_in(&root)
        {
            return self.by_list(&root, &list);
        }
        let (choice, images) = BesideChoice::of(&self.fields)?;
        if let Some(images) = images {
            self = self.extensions(images);
        }
        if self.extensions.is_empty() || self.extensions.iter().any(|extension| extension == ".") {
            let reason = format!("{:?}, but each must name a format, like .jpg", self.extensions);
            return Err(Error::argument("extensions", reason));
        }

        let mut found = ImageFiles {
            root,
            classes: Vec::new(),
            paths: Vec::new(),
            labels: Labels::None,
            notices: Vec::new(),
            max_file_bytes: self.max_file_bytes,
            fields: None,
            whole_folder: true,
        };
        let (root, mut noticed) = (found.root.clone(), Noticed::default());
        let mut beside = BesideSearch::new(choice);
        if self.unlabelled {
            files_below(&root, &root, &self.extensions, false, &mut found.paths, &mut beside, &mut noticed)?;
            if found.paths.is_empty() {
                let hint = format!("looked for {} at any depth{}", self.extensions.join(" "), noticed.unread_too());
                return Err(ErrorKind::EmptyDataset { what: root.display().to_string(), hint }.into());
            }
            return self.finish(found, beside, &noticed);
        }

        let entries = fs::read_dir(&root)
            .and_then(Iterator::collect::<std::io::Result<Vec<DirEntry>>>)
            .map_err(|source| Error::io(&root, source))?;
        let (mut folders, mut files): (Vec<_>, Vec<_>) = entries.into_iter().partition(is_folder);
        if folders.is_empty() {
            return Err(self.no_class_folder(&root, files.len()));
        }
        files.sort_unstable_by_key(DirEntry::file_name);
        for file in &files {
            let name = file.file_name();
            match has_extension(&name, &self.extensions) {
                true => count(&mut noticed.outside, || name.to_string_lossy().into_owned()),
                false => noticed.other(&name),
            }
        }
        folders.sort_unstable_by(|a, b| python_order(&a.file_name(), &b.file_name()));

        let (mut empty, mut targets) = (Vec::new(), Vec::new());
        for (folder, class) in folders.iter().zip(0u32..) {
            let name = folder.file_name().to_string_lossy().into_owned();
            let before = found.paths.len();
            files_below(&root, &folder.path(), &self.extensions, true, &mut found.paths, &mut beside, &mut noticed)?;
            if is_hidden(&folder.path()) {
                note_hidden(&mut noticed, || below(&root, &folder.path()), found.paths.len() - before);
            }
            if found.paths.len() == before {
                empty.push(name.clone());
            }
            targets.resize(found.paths.len(), class);
            found.classes.push(name);
        }
        if found.paths.is_empty() || !(empty.is_empty() || self.allow_empty) {
            return Err(self.no_images(&found, &empty, &noticed));
        }
        targets.shrink_to_fit();
        found.labels = Labels::Classes(targets);
        self.finish(found, beside, &noticed)
    }

    /// Adds the fields and the notices to the images that were found.
    fn finish(&self, mut found: ImageFiles, mut beside: BesideSearch, noticed: &Noticed) -> Result<ImageFiles> {
        found.paths.shrink_to_fit();
        let limits = FieldLimits { max_field_bytes: self.max_field_bytes, max_file_bytes: self.max_file_bytes };
        let fields = typed_by_files(beside.fields(found.paths.len())?, &found.paths, self.max_field_bytes)?;
        found.notices = noticed.notices();
        found.notices.extend(passed_over(&fields, &found.paths));
        found.fields = FileFields::of(fields, &found.root, None, limits)?;
        found.notices.extend(beside.notices());
        let list = listed_in(&found.root).and_then(|list| list.file_name()?.to_str().map(str::to_owned));
        found.notices.extend(list.and_then(|list| Notice::not_read("lists of the images", 1, list)));
        Ok(found)
    }

    /// Opens the images that a list in the folder has, and notes those that it lacks.
    fn by_list(self, root: &Path, list: &Path) -> Result<ImageFiles> {
        let builder = ImageList::builder().fields(self.fields).max_field_bytes(self.max_field_bytes);
        let mut found = builder.max_file_bytes(self.max_file_bytes).open(list).map(ImageFiles::from)?;
        let (mut images, mut noticed) = (Vec::new(), Noticed::default());
        files_below(root, root, &self.extensions, false, &mut images, &mut BesideSearch::default(), &mut noticed)?;
        let mut unlisted: HashSet<&Path> = images.iter().map(|image| &**image).collect();
        for image in &found.paths {
            unlisted.remove(&**image);
        }
        if let Some(fields) = &found.fields {
            fields.each_file(found.paths.len(), |sample| &found.paths[sample], &mut |file| {
                unlisted.remove(file);
            });
        }
        if let Some(first) = images.iter().find(|image| unlisted.contains(&***image)) {
            let list = list.file_name().unwrap_or_default().to_string_lossy();
            let (what, count) = (format!("images that {list} does not list"), unlisted.len() as u64);
            found.notices.extend(Notice::not_read(what, count, below(root, first)));
        }
        Ok(found)
    }

    fn no_class_folder(&self, root: &Path, files: usize) -> Error {
        let what = root.display().to_string();
        if files == 0 {
            let hint = "the folder is empty; each class is a folder in it".to_owned();
            return ErrorKind::EmptyDataset { what, hint }.into();
        }
        let hint = format!(
            "there are {files} files directly in it, but no folder; each class is a folder in it, even if there is only one"
        );
        Error::from(ErrorKind::EmptyDataset { what, hint }).advise(advice::FOLDER_UNLABELLED)
    }

    fn no_images(&self, found: &ImageFiles, empty: &[String], noticed: &Noticed) -> Error {
        let mut names = empty[..empty.len().min(NAMED)].join(", ");
        if empty.len() > NAMED {
            names += &format!(" and {} more", empty.len() - NAMED);
        }
        let what = match empty.len() {
            1 => format!("{}, class folder {names}", found.root.display()),
            _ => format!("{}, class folders {names}", found.root.display()),
        };
        let mut hint = format!("looked for {} at any depth{}", self.extensions.join(" "), noticed.unread_too());
        if found.paths.is_empty() {
            return ErrorKind::EmptyDataset { what, hint }.into();
        }
        hint += &format!("; the other classes have {}", found.paths.len());
        Error::from(ErrorKind::EmptyDataset { what, hint }).advise(advice::FOLDER_ALLOW_EMPTY)
    }
}

/// Returns Hugging Face's list of the images in a folder, if it has one.
fn listed_in(root: &Path) -> Option<PathBuf> {
    ["metadata.csv", "metadata.jsonl"].map(|name| root.join(name)).into_iter().find(|list| list.is_file())
}
