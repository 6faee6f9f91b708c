//! torchvision's names of classes.

use std::path::Path;

/// The parts of EMNIST. Each is a data set with its own classes.
///
/// ```
/// use gpufeed::dataset::Emnist;
///
/// assert_eq!(Emnist::Letters.name(), "letters");
/// assert_eq!(Emnist::Balanced.classes().len(), 47);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Emnist {
    /// Digits, upper and lower case: 62 classes of different sizes.
    ByClass,
    /// Digits and letters, 15 letters in one class for both cases: 47 classes.
    ByMerge,
    /// The classes of `ByMerge`, with the same number of images in each.
    Balanced,
    /// Letters, both cases in one class: classes 1 to 26. There is no class 0; it is called "N/A".
    Letters,
    /// Digits, the same number of images in each class.
    Digits,
    /// Digits, as many images as MNIST has.
    Mnist,
}

const DIGITS: &str = "0123456789";
const UPPER: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
const LOWER: &str = "abcdefghijklmnopqrstuvwxyz";
/// Lower-case letters that differ in shape from upper-case ones.
const UNMERGED: &str = "abdefghnqrt";

impl Emnist {
    pub(super) const ALL: [Emnist; 6] =
        [Emnist::ByClass, Emnist::ByMerge, Emnist::Balanced, Emnist::Letters, Emnist::Digits, Emnist::Mnist];

    /// Returns the part's name in the names of the files.
    pub fn name(self) -> &'static str {
        match self {
            Emnist::ByClass => "byclass",
            Emnist::ByMerge => "bymerge",
            Emnist::Balanced => "balanced",
            Emnist::Letters => "letters",
            Emnist::Digits => "digits",
            Emnist::Mnist => "mnist",
        }
    }

    /// Returns torchvision's names of its classes.
    pub fn classes(self) -> Vec<String> {
        let each = |characters: &[&str]| characters.concat().chars().map(String::from).collect::<Vec<_>>();
        match self {
            Emnist::ByClass => each(&[DIGITS, UPPER, LOWER]),
            Emnist::ByMerge | Emnist::Balanced => each(&[DIGITS, UPPER, UNMERGED]),
            Emnist::Letters => [vec!["N/A".to_owned()], each(&[LOWER])].concat(),
            Emnist::Digits | Emnist::Mnist => each(&[DIGITS]),
        }
    }
}

pub(super) const MNIST: [&str; 10] = [
    "0 - zero",
    "1 - one",
    "2 - two",
    "3 - three",
    "4 - four",
    "5 - five",
    "6 - six",
    "7 - seven",
    "8 - eight",
    "9 - nine",
];
pub(super) const FASHION: [&str; 10] =
    ["T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot"];
pub(super) const KMNIST: [&str; 10] = ["o", "ki", "su", "tsu", "na", "ha", "ma", "ya", "re", "wo"];

/// Returns the class names for a folder of files with MNIST's names, which several data sets share. torchvision's name
/// of the folder tells the data set: `FashionMNIST` or `FashionMNIST/raw`, in any case, with or without `-` and `_`.
/// Other folders have no class names.
pub(super) fn of_folder(folder: &Path) -> &'static [&'static str] {
    let whole = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    let own = if whole.ends_with("raw") { whole.parent() } else { Some(&*whole) };
    let name = own.and_then(Path::file_name).unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    match &*name.replace(['-', '_'], "") {
        "mnist" => &MNIST,
        "fashionmnist" => &FASHION,
        "kmnist" => &KMNIST,
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_says_whose_names_they_are() {
        for (folder, first) in [
            ("MNIST", Some("0 - zero")),
            ("data/mnist/raw", Some("0 - zero")),
            ("data/FashionMNIST/raw/", Some("T-shirt/top")),
            ("fashion-mnist", Some("T-shirt/top")),
            ("/KMNIST", Some("o")),
            ("MNIST/other", None),
            ("raw", None),
            ("/", None),
        ] {
            assert_eq!(of_folder(Path::new(folder)).first().copied(), first, "{folder}");
        }
    }

    #[test]
    fn emnist_has_torchvisions_classes() {
        let count = |part: Emnist| (part.name(), part.classes().len());
        assert_eq!([Emnist::ByClass, Emnist::ByMerge].map(count), [("byclass", 62), ("bymerge", 47)]);
        assert_eq!([Emnist::Digits, Emnist::Mnist].map(count), [("digits", 10), ("mnist", 10)]);
        assert!(Emnist::ByClass.classes().is_sorted() && Emnist::Balanced.classes().is_sorted());
    }
}
