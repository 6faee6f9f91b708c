//! The names of all that `doctor` finds, and what to do about each.

use serde::Serialize;

/// What became of decoding a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Verdict {
    /// Every pixel was decoded.
    Ok,
    /// Its bytes end before the image does.
    Truncated,
    /// Its bytes are there and wrong.
    Corrupt,
    /// More pixels or bytes than allowed.
    TooLarge,
    /// An image, of a kind that is not decoded here.
    Unsupported,
    /// The system does not give its bytes.
    Unreadable,
    /// No bytes.
    Empty,
    /// No image by its bytes.
    NoImage,
    /// A decoder broke off: a bug of the decoder's.
    Panicked,
}

impl Verdict {
    /// The finding that it is; `None` for `Ok`.
    pub(super) fn kind(self) -> Option<Kind> {
        Some(match self {
            Verdict::Ok => return None,
            Verdict::Truncated => Kind::Truncated,
            Verdict::Corrupt => Kind::Corrupt,
            Verdict::TooLarge => Kind::TooLarge,
            Verdict::Unsupported => Kind::Unsupported,
            Verdict::Unreadable => Kind::Unreadable,
            Verdict::Empty => Kind::Empty,
            Verdict::NoImage => Kind::NoImage,
            Verdict::Panicked => Kind::Panicked,
        })
    }
}

/// A finding or, from [`Turned`](Self::Turned) on, a note.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Kind {
    NotAnImageFolder,
    Truncated,
    Corrupt,
    GrayRest,
    TooLarge,
    Unsupported,
    Unreadable,
    Empty,
    NoImage,
    Panicked,
    WrongExtension,
    PassedOver,
    Duplicate,
    AcrossClasses,
    EmptyClass,
    UnreadableFolder,
    LinkLoop,
    Turned,
    Cmyk,
    Gray,
    Deep,
    Alpha,
    Animated,
    Progressive,
}

impl Kind {
    /// Whether the folder has a problem, and the command ends with 3.
    pub(super) fn is_problem(self) -> bool {
        self < Kind::Turned
    }

    /// In the text output.
    pub(super) fn name(self) -> &'static str {
        match self {
            Kind::NotAnImageFolder => "no ImageFolder",
            Kind::Truncated => "truncated",
            Kind::Corrupt => "corrupt",
            Kind::GrayRest => "data missing",
            Kind::TooLarge => "too large",
            Kind::Unsupported => "unsupported",
            Kind::Unreadable => "unreadable",
            Kind::Empty => "empty",
            Kind::NoImage => "no image",
            Kind::Panicked => "decoder panicked",
            Kind::WrongExtension => "wrong extension",
            Kind::PassedOver => "passed over",
            Kind::Duplicate => "duplicate",
            Kind::AcrossClasses => "duplicate across classes",
            Kind::EmptyClass => "empty class",
            Kind::UnreadableFolder => "unreadable folder",
            Kind::LinkLoop => "link loop",
            Kind::Turned => "turned by EXIF",
            Kind::Cmyk => "CMYK",
            Kind::Gray => "gray",
            Kind::Deep => "more than 8 bits",
            Kind::Alpha => "alpha",
            Kind::Animated => "animated",
            Kind::Progressive => "progressive",
        }
    }

    /// What it means for a loader, and what to do.
    pub(super) fn advice(self) -> &'static str {
        match self {
            Kind::NotAnImageFolder => {
                "ImageFolder::open refuses the folder for the reason above: give each class a folder of its own, or read the files with a Dataset of yours"
            }
            Kind::Truncated => {
                "OnError::Skip, the default, replaces and counts them; Truncated::Fill keeps what there is of those marked so; better fetch them again"
            }
            Kind::Corrupt => {
                "OnError::Skip, the default, replaces and counts them; Truncated::Fill keeps those marked so, with damaged pixels; better fetch them again or delete them"
            }
            Kind::GrayRest => {
                "their data end before the image does, and an end marker hides it: the rest is gray. Neither gpufeed nor Pillow refuses them, so delete them or fetch them again"
            }
            Kind::TooLarge => {
                "raise max_pixels (DecodeOptions, --max-pixels here) if they are real, and max_decode_bytes to what is said of them: each worker takes 4 bytes a pixel for a PNG, 5.5 to 11 for a JPEG, up to 12 for other formats of 8 bits a sample and more for deeper ones; otherwise delete them: a header can declare any size"
            }
            Kind::Unsupported => "OnError::Skip passes them over; convert them to baseline JPEG, PNG or WebP",
            Kind::Unreadable => "mend permissions or links; a loader counts them as failures",
            Kind::Empty => "delete them or fetch them again; a loader counts them as failures",
            Kind::NoImage => "delete or rename them; a loader counts those in a class as failures",
            Kind::Panicked => {
                "gpufeed goes on (OnError::Skip); delete them, and please report them: it is a decoder's bug"
            }
            Kind::WrongExtension => {
                "gpufeed goes by the bytes, so they work; rename them for programs that go by the name"
            }
            Kind::PassedOver => {
                "images that ImageFolder does not take: rename them, move them into a class folder, or name their extension with ImageFolder::builder().extensions([...])"
            }
            Kind::Duplicate => {
                "the same bytes several times: these images weigh more in an epoch, and between training and evaluation they leak; keep one of each"
            }
            Kind::AcrossClasses => "the same image with two labels: find out which is right",
            Kind::EmptyClass => {
                "ImageFolder::open refuses them unless ImageFolder::builder().allow_empty(true); delete the folder if the class does not exist, but its removal renumbers those after it"
            }
            Kind::UnreadableFolder => "ImageFolder::open fails on them: mend their permissions",
            Kind::LinkLoop => {
                "ImageFolder follows none twice, other programs may; delete the link, for what lies behind it counts twice"
            }
            Kind::Turned => {
                "gpufeed turns them upright; torchvision's default loader does not: .exif(Orientation::Ignore) gives its pixels"
            }
            Kind::Cmyk => {
                "converted as Pillow converts them, without colour profiles; convert them to RGB if colours matter"
            }
            Kind::Gray => "the channel is repeated for red, green and blue",
            Kind::Deep => "samples are reduced to 8 bits",
            Kind::Alpha => "alpha is dropped, not blended: what is transparent shows the colour that lies under it",
            Kind::Animated => "the first frame is taken",
            Kind::Progressive => {
                "all of their coefficients are held before the first pixel, so they take more time and memory than baseline ones; jpegtran converts them without loss if decoding limits"
            }
        }
    }
}
