//! What a data set noticed while it was opened: what its labels are, and what it does not read.

use std::fmt;
use std::path::PathBuf;

use crate::quote::Shown;

/// The names of columns and keys that hold captions, in upper or lower case.
pub(super) const CAPTIONS: [&str; 4] = ["text", "caption", "captions", "prompt"];
/// Names that a notice lists; it counts the rest.
const NAMED: usize = 8;

/// What a data set noticed while it was opened ([`Dataset::notices`](super::Dataset::notices)): what its labels are, what
/// it does not read, what it had to decide.
///
/// [`explain`](crate::DataLoader::explain) and `gpufeed doctor` show all of them. A loader logs those that are
/// [warnings](Self::is_warning) when it is built.
///
/// ```
/// use gpufeed::{Dataset, ImageList};
///
/// let folder = tempfile::tempdir()?;
/// let list = folder.path().join("list.csv");
/// std::fs::write(&list, "path,label,width\n1.jpg,dog,640\n2.jpg,cat,480\n")?;
/// let notices: Vec<_> = ImageList::open(&list)?.notices().iter().map(|notice| notice.to_string()).collect();
/// assert_eq!(notices, ["labels are 2 classes by name from the column label", "not read: the column width"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Notice {
    /// What the labels are, and where they come from: "vectors of 2 from the columns x, y".
    Labels {
        /// The description.
        what: String,
    },
    /// Columns beside those of paths and labels.
    ColumnsNotRead {
        /// Their names.
        columns: Vec<String>,
    },
    /// Keys of JSON lines beside those of paths and labels, of the `.json` members of tar shards that have labels, and the
    /// names of numbered keys of an LMDB beside those of images and labels.
    KeysNotRead {
        /// Their names.
        keys: Vec<String>,
    },
    /// A column, a key of JSON lines, or numbered keys of an LMDB, whose name says that they are captions, and that no field
    /// reads.
    CaptionSourceNotRead {
        /// The name.
        source: String,
    },
    /// A column of a CSV file that a field takes as texts, because its field has no kind, although every text is a number.
    NumbersAsTexts {
        /// The name.
        column: String,
    },
    /// Members of an archive, files, keys, arrays or images that are in the data and not in the set.
    NotRead {
        /// What they are, in the plural: "members in .txt".
        what: String,
        /// How many there are.
        count: u64,
        /// The first one's name.
        first: String,
    },
    /// Texts beside the images of tar shards that are captions, and that no field reads.
    CaptionsNotRead {
        /// How many there are.
        count: u64,
        /// The first one's name.
        first: String,
    },
    /// Samples of tar shards whose names have dots, which WebDataset's rule would cut off.
    DottedNames {
        /// How many there are.
        samples: u64,
        /// The first one's key.
        first: String,
    },
    /// Texts beside images of which only some are numbers, so that none is a label.
    TextsAreCaptions {
        /// How many are numbers.
        numbers: u64,
        /// How many there are.
        texts: u64,
    },
    /// Samples without a label, in a set in which others have one.
    Unlabelled {
        /// How many have none.
        samples: u64,
        /// The number of samples.
        of: u64,
    },
    /// Folders whose names begin with a dot, and which are classes or have images of classes, as in torchvision.
    HiddenFolders {
        /// How many there are.
        folders: u64,
        /// The first one's path below the root.
        first: String,
        /// How many images are in them.
        images: u64,
    },
    /// Links that lead out of the folder; what lies behind them belongs to the set.
    LinksOut {
        /// How many there are.
        links: u64,
        /// The first one's path below the root.
        first: String,
        /// Where it leads.
        target: PathBuf,
    },
    /// A link that is not followed, because the folder to which it leads is the root of the set or contains it.
    LinkNotFollowed {
        /// Its path below the root.
        link: String,
        /// Where it leads.
        target: PathBuf,
    },
    /// The key `huggingface` of a Parquet file, which says the columns' kinds and the names of the classes, cannot be read.
    BrokenKey {
        /// The file.
        file: PathBuf,
        /// Why not.
        reason: String,
    },
}

impl Notice {
    /// Returns true if a loader warns of it; false for what is only good to know.
    ///
    /// ```
    /// use gpufeed::dataset::Notice;
    ///
    /// let labels = Notice::Labels { what: "none".to_owned() };
    /// assert!(!labels.is_warning());
    /// ```
    pub fn is_warning(&self) -> bool {
        !matches!(
            self,
            Notice::Labels { .. }
                | Notice::ColumnsNotRead { .. }
                | Notice::KeysNotRead { .. }
                | Notice::DottedNames { .. }
        )
    }

    /// Makes the notices of columns that no field reads. If no fields are read at all, one that is called as captions are
    /// has a notice of its own.
    pub(super) fn columns_not_read(columns: Vec<String>, reads_fields: bool) -> Vec<Notice> {
        Self::sources_not_read(columns, reads_fields, |columns| Notice::ColumnsNotRead { columns })
    }

    /// Makes the notices of keys that no field reads, as [`columns_not_read`](Self::columns_not_read) does.
    pub(super) fn keys_not_read(keys: Vec<String>, reads_fields: bool) -> Vec<Notice> {
        Self::sources_not_read(keys, reads_fields, |keys| Notice::KeysNotRead { keys })
    }

    fn sources_not_read(names: Vec<String>, reads_fields: bool, others: fn(Vec<String>) -> Notice) -> Vec<Notice> {
        let is_caption =
            |name: &String| !reads_fields && CAPTIONS.iter().any(|caption| name.eq_ignore_ascii_case(caption));
        let (captions, rest): (Vec<_>, Vec<_>) = names.into_iter().partition(is_caption);
        let captions = captions.into_iter().map(|source| Notice::CaptionSourceNotRead { source });
        captions.chain((!rest.is_empty()).then(|| others(rest))).collect()
    }

    /// Makes the notice of things that are not read; none if there are none.
    pub(super) fn not_read(what: impl Into<String>, count: u64, first: impl Into<String>) -> Option<Notice> {
        (count > 0).then(|| Notice::NotRead { what: what.into(), count, first: first.into() })
    }
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Notice::Labels { what } => write!(f, "labels are {}", Shown(what)),
            Notice::ColumnsNotRead { columns } => {
                let noun = if columns.len() == 1 { "the column" } else { "the columns" };
                write!(f, "not read: {noun} {}", listed(columns))
            }
            Notice::KeysNotRead { keys } => {
                let noun = if keys.len() == 1 { "the key" } else { "the keys" };
                write!(f, "not read: {noun} {}", listed(keys))
            }
            Notice::NotRead { what, count: 1, first } => {
                write!(f, "1 {} is not read: {}", Shown(short(&singular(what))), Shown(short(first)))
            }
            Notice::NotRead { what, count, first } => {
                let count = grouped(*count);
                write!(f, "{count} {} are not read; the first is {}", Shown(short(what)), Shown(short(first)))
            }
            Notice::CaptionsNotRead { count, first } => {
                let (count, first) = (grouped(*count), Shown(short(first)));
                write!(
                    f,
                    "captions (.txt) of samples are not read ({count}, the first {first}): fields = {{\"txt\": \"caption\"}} \
                     reads them"
                )
            }
            Notice::CaptionSourceNotRead { source } => {
                let source = Shown(short(source));
                write!(f, "the captions in {source} are not read: fields = {{\"{source}\": \"caption\"}} reads them")
            }
            Notice::NumbersAsTexts { column } => {
                let column = Shown(short(column));
                write!(
                    f,
                    "the column {column} has only numbers and is read as text: the kind of its field, \"numbers\" or \
                     \"text\", says what it is"
                )
            }
            Notice::DottedNames { samples, first } => {
                let (count, first) = (grouped(*samples), Shown(short(first)));
                write!(
                    f,
                    "samples with dots in their names: {count}, the first {first}; a name ends where a known ending begins"
                )
            }
            Notice::TextsAreCaptions { numbers, texts } => {
                let (numbers, texts) = (grouped(*numbers), grouped(*texts));
                write!(
                    f,
                    "{numbers} of {texts} members in .txt are numbers and the others are not, so all are taken as captions \
                     and none is a label"
                )
            }
            Notice::Unlabelled { samples, of } => {
                write!(f, "{} of {} samples have no label", grouped(*samples), grouped(*of))
            }
            Notice::HiddenFolders { folders, first, images } => {
                let (folders, images, first) = (grouped(*folders), grouped(*images), Shown(short(first)));
                write!(
                    f,
                    "hidden folders that are classes or parts of classes, as in torchvision: {folders}, the first {first}, \
                     with {images} images; delete what tools have left there"
                )
            }
            Notice::LinksOut { links, first, target } => {
                let (links, first) = (grouped(*links), Shown(short(first)));
                let target = Shown(target.display());
                write!(
                    f,
                    "links that lead out of the folder: {links}, the first, {first}, to {target}; the images there belong to \
                     the set"
                )
            }
            Notice::LinkNotFollowed { link, target } => {
                let (link, target) = (Shown(short(link)), Shown(target.display()));
                write!(
                    f,
                    "the link {link} is not followed: it leads to {target}, which is the data set's folder or contains it"
                )
            }
            Notice::BrokenKey { file, reason } => write!(
                f,
                "{}: the key huggingface, which says which columns are images and labels and how classes are called, cannot be \
                 read ({}); columns are chosen by their names and types",
                Shown(file.display()),
                Shown(reason)
            ),
        }
    }
}

/// Returns names one after the other; of many, the first ones and the number of the others.
fn listed(names: &[String]) -> String {
    let mut text = names.iter().take(NAMED).map(|name| Shown(short(name)).to_string()).collect::<Vec<_>>().join(", ");
    if names.len() > NAMED {
        text += &format!(" and {} more", names.len() - NAMED);
    }
    text
}

/// Returns the singular of a text whose noun is the first word, or the last, that ends in s.
fn singular(what: &str) -> String {
    match what.split_once("s ") {
        Some((noun, rest)) => format!("{noun} {rest}"),
        None => what.trim_end_matches('s').to_owned(),
    }
}

/// Returns a name, the end of a long one left out: archives can have names of megabytes.
fn short(name: &str) -> String {
    match name.char_indices().nth(120) {
        Some((end, _)) => format!("{}...", &name[..end]),
        None => name.to_owned(),
    }
}

/// Returns a number with a comma between thousands.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Logs the warnings among a data set's notices.
pub(crate) fn log(data: &dyn super::Dataset) {
    for notice in data.notices().iter().filter(|notice| notice.is_warning()) {
        tracing::warn!("{notice}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_notice_says_how_many_and_names_the_first() {
        let of = |count| Notice::not_read("members in .txt", count, "000.txt").map(|notice| notice.to_string());
        assert_eq!(of(0), None);
        assert_eq!(of(1).unwrap(), "1 member in .txt is not read: 000.txt");
        assert_eq!(of(1000).unwrap(), "1,000 members in .txt are not read; the first is 000.txt");
        let long = Notice::not_read("x".repeat(100_000), 2, "x".repeat(100_000)).unwrap().to_string();
        assert!(long.len() < 300, "{} bytes", long.len());
        let columns = (0..10).map(|i| format!("c{i}")).collect();
        let keys = vec!["x".to_owned()];
        assert_eq!(Notice::KeysNotRead { keys }.to_string(), "not read: the key x");
        let text = Notice::ColumnsNotRead { columns }.to_string();
        assert_eq!(text, "not read: the columns c0, c1, c2, c3, c4, c5, c6, c7 and 2 more");
        let names = ["width", "Caption"].map(str::to_owned);
        let said = |reads_fields| {
            let notices = Notice::columns_not_read(names.to_vec(), reads_fields);
            notices.iter().map(|notice| (notice.to_string(), notice.is_warning())).collect::<Vec<_>>()
        };
        assert_eq!(said(true), [("not read: the columns width, Caption".to_owned(), false)]);
        let captions = "the captions in Caption are not read: fields = {\"Caption\": \"caption\"} reads them";
        assert_eq!(said(false), [(captions.to_owned(), true), ("not read: the column width".to_owned(), false)]);
        assert_eq!([7, 999, 12_345_678].map(grouped), ["7", "999", "12,345,678"]);
    }
}
