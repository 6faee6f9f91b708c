//! What is noticed while a folder is walked: files that are not taken, hidden folders, links that lead out.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::endings::of_other_image;
use crate::dataset::Notice;

/// What a walk noticed.
#[derive(Debug, Default)]
pub(super) struct Noticed {
    /// Files in endings of images that are not asked for: how many, and the first.
    unread: BTreeMap<String, (u64, String)>,
    /// Images outside of the class folders.
    pub(super) outside: (u64, String),
    /// Images in hidden folders that are not walked.
    pub(super) hidden_images: (u64, String),
    /// Hidden folders with images that belong to the set: how many, the first, and how many images.
    pub(super) hidden: (u64, String, u64),
    pub(super) links_out: u64,
    pub(super) first_out: Option<(String, PathBuf)>,
    pub(super) not_followed: Vec<(String, PathBuf)>,
    /// Folders behind links that lead out.
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

    /// What an error says of files in endings that are not asked for; nothing if there are none.
    pub(super) fn unread_too(&self) -> String {
        self.notices()
            .iter()
            .filter(|notice| matches!(notice, Notice::NotRead { .. }))
            .map(|n| format!("; {n}"))
            .collect()
    }

    /// Counts a file whose name does not end in one of the endings that are asked for.
    pub(super) fn other(&mut self, name: &OsStr) {
        if let Some(ending) = of_other_image(name) {
            let found = self.unread.entry(ending.to_owned()).or_default();
            count(found, || name.to_string_lossy().into_owned());
        }
    }
}

/// Counts one more; the first has this name.
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

/// Returns a path below the root, for people.
pub(super) fn below(root: &Path, path: &Path) -> String {
    path.strip_prefix(root).unwrap_or(path).display().to_string()
}
