//! Which mask belongs to which image: the one of the same path below its folder, but for the ending.

use std::collections::HashMap;
use std::path::Path;

use super::layout::Layout;
use crate::dataset::{Dataset, ImageFolder, Notice};
use crate::error::{Error, Result};
use crate::quote::shortened;
use crate::storage::local::regular_file;

/// The ends of the names of images and of masks, after the part that both share and before `.png`: `_leftImg8bit` and
/// `_gtFine_labelIds` in Cityscapes.
#[derive(Clone, Debug, Default)]
pub(super) struct Suffixes {
    pub(super) image: String,
    pub(super) mask: String,
}

/// The images of a part that have masks, their masks, and what is not read.
#[derive(Debug, Default)]
pub(super) struct Pairs {
    pub(super) images: Vec<Box<Path>>,
    pub(super) masks: Vec<Box<Path>>,
    pub(super) notices: Vec<Notice>,
}

/// The files below a folder by the names that images and masks share.
struct Names {
    files: Vec<Box<Path>>,
    /// The number of the file of each name.
    numbers: HashMap<String, usize>,
    notices: Vec<Notice>,
}

impl Pairs {
    /// # Errors
    /// A folder that cannot be listed; two files of one name; lines of a list that name no pair.
    pub(super) fn of(layout: &Layout, suffixes: &Suffixes) -> Result<Pairs> {
        let images = Names::below(&layout.images, &suffixes.image)?;
        let masks = Names::below(&layout.masks, &suffixes.mask)?;
        let mut pairs = Pairs::default();
        let mut push = |image: usize, mask: usize| {
            pairs.images.push(images.files[image].clone());
            pairs.masks.push(masks.files[mask].clone());
        };
        match &layout.list {
            Some(list) => {
                for (image, mask) in listed(list, &images, &masks)? {
                    push(image, mask);
                }
            }
            None => {
                let mut numbers: Vec<_> = images.numbers.iter().collect();
                numbers.sort_unstable_by_key(|(_, number)| **number);
                for (name, image) in numbers {
                    if let Some(mask) = masks.numbers.get(name) {
                        push(*image, *mask);
                    }
                }
                pairs.notices.extend(images.left_over("images without a mask", &masks));
                pairs.notices.extend(masks.left_over("masks without an image", &images));
            }
        }
        pairs.notices.extend(images.notices);
        pairs.notices.extend(masks.notices);
        Ok(pairs)
    }
}

impl Names {
    fn below(folder: &Path, suffix: &str) -> Result<Names> {
        let found = ImageFolder::flat(folder)?;
        let mut names = Names { files: Vec::new(), numbers: HashMap::new(), notices: found.notices() };
        let (mut others, mut first) = (0, String::new());
        for file in (0..found.len()).filter_map(|number| found.path(number)) {
            let below = file.strip_prefix(folder).unwrap_or(file).with_extension("");
            let Some(below) = below.to_str() else {
                return Err(Error::data_file(file, "the name", "is no UTF-8"));
            };
            let Some(name) = below.strip_suffix(suffix) else {
                others += 1;
                if first.is_empty() {
                    below.clone_into(&mut first);
                }
                continue;
            };
            if let Some(other) = names.numbers.insert(name.replace('\\', "/"), names.files.len()) {
                let reason = format!(
                    "{} has the same name but for the ending; one of the two works",
                    names.files[other].display()
                );
                return Err(Error::data_file(file, "the name", reason));
            }
            names.files.push(file.into());
        }
        names.notices.extend(Notice::not_read(format!("images whose names do not end in {suffix:?}"), others, first));
        Ok(names)
    }

    /// A notice of the files that have no partner among `others`.
    fn left_over(&self, what: &str, others: &Names) -> Option<Notice> {
        let alone = self.numbers.iter().filter(|(name, _)| !others.numbers.contains_key(*name));
        let mut numbers: Vec<usize> = alone.map(|(_, number)| *number).collect();
        numbers.sort_unstable();
        let first = numbers.first().map(|number| self.files[*number].display().to_string());
        Notice::not_read(what, numbers.len() as u64, first.unwrap_or_default())
    }
}

/// The pairs that a list names, a line each, in its order.
fn listed(list: &Path, images: &Names, masks: &Names) -> Result<Vec<(usize, usize)>> {
    let text = regular_file::read_to_string(list).map_err(|source| Error::io(list, source))?;
    let mut seen = std::collections::HashSet::new();
    let mut found = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let name = line.trim();
        if name.is_empty() {
            continue;
        }
        let wrong = |reason: String| Err(Error::data_file(list, format!("line {}", number + 1), reason));
        let (Some(image), Some(mask)) = (images.numbers.get(name), masks.numbers.get(name)) else {
            let what = if images.numbers.contains_key(name) { "mask" } else { "image" };
            return wrong(format!("there is no {what} called {:?}", shortened(name)));
        };
        if !seen.insert(name) {
            return wrong(format!("{} is in the list twice", shortened(name)));
        }
        found.push((*image, *mask));
    }
    Ok(found)
}
