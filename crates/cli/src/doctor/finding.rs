//! The verdicts, findings and notes of `doctor`: their names, and advice for each.

use serde::Serialize;

/// The result of decoding a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Verdict {
    /// Every pixel was decoded.
    #[default]
    Ok,
    /// The file ends before its image does.
    Truncated,
    /// The file is complete, and its content is damaged.
    Corrupt,
    /// The image has more pixels, or decoding takes more bytes, than allowed.
    TooLarge,
    /// An image of a kind that gpufeed does not decode.
    Unsupported,
    /// The system cannot read the file.
    Unreadable,
    /// A list or an annotation names a file that is not there.
    Missing,
    /// The image is whole, and its objects are those of an image of another size, or have numbers that are none.
    WrongObjects,
    /// The file has no bytes.
    Empty,
    /// The file's content is not an image.
    NoImage,
    /// A decoder panicked, which is a bug of the decoder.
    Panicked,
}

impl Verdict {
    /// Returns the verdict as a finding; `None` for `Ok`.
    pub(super) fn finding(self) -> Option<Finding> {
        Some(match self {
            Verdict::Ok => return None,
            Verdict::Truncated => Finding::Truncated,
            Verdict::Corrupt => Finding::Corrupt,
            Verdict::TooLarge => Finding::TooLarge,
            Verdict::Unsupported => Finding::Unsupported,
            Verdict::Unreadable => Finding::Unreadable,
            Verdict::Missing => Finding::Missing,
            Verdict::WrongObjects => Finding::WrongObjects,
            Verdict::Empty => Finding::Empty,
            Verdict::NoImage => Finding::NoImage,
            Verdict::Panicked => Finding::Panicked,
        })
    }
}

/// A finding or, from [`Turned`](Self::Turned) on, a note.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Finding {
    NotAnImageFolder,
    Truncated,
    Corrupt,
    TooLarge,
    Unsupported,
    Unreadable,
    Missing,
    WrongObjects,
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
    BoxOutside,
    BoxBeyond,
    BoxEmpty,
    BoxReversed,
    KeypointOutside,
    LabelUnknown,
    Turned,
    PlacesStored,
    PlacesDisplayed,
    NoObjects,
    OtherSize,
    Cmyk,
    Gray,
    Deep,
    Alpha,
    Animated,
    Progressive,
}

impl Finding {
    /// Returns true for a problem, with which the exit code is 3; false for a note.
    pub(super) fn is_problem(self) -> bool {
        self < Finding::Turned
    }

    /// Returns the name in the text output.
    pub(super) fn name(self) -> &'static str {
        self.words().0
    }

    /// Says what the finding means for a loader, and what to do.
    pub(super) fn advice(self) -> &'static str {
        self.words().1
    }

    /// Its name, and the advice for it.
    fn words(self) -> (&'static str, &'static str) {
        match self {
            Finding::NotAnImageFolder => (
                "no ImageFolder",
                "a folder of classes is refused for the reason above: give each class a folder of its own, or read the files with a data set of yours",
            ),
            Finding::Truncated => (
                "truncated",
                "a loader replaces and counts them by default; one that fills truncated images keeps what there is of those marked so; better fetch them again",
            ),
            Finding::Corrupt => (
                "corrupt",
                "a loader replaces and counts them by default; one that fills truncated images keeps those marked so, with damaged pixels; better fetch them again or delete them",
            ),
            Finding::TooLarge => (
                "too large",
                "raise max_pixels (--max-pixels here) if they are real, and max_decode_bytes to what is said of them: each worker takes 4 bytes a pixel for a PNG, 5 to 8 for a JPEG in one scan, 7 to 17 for a progressive one, 4 more for a turned one, up to 12 for other formats of 8 bits a sample and more for deeper ones; otherwise delete them: a header can declare any size",
            ),
            Finding::Unsupported => (
                "unsupported",
                "a loader replaces and counts them by default; convert them to baseline JPEG, PNG or WebP",
            ),
            Finding::Unreadable => ("unreadable", "mend permissions or links; a loader counts them as failures"),
            Finding::Missing => (
                "missing",
                "the annotations or the list name images that are not there; a loader counts them as failures: fetch them, or take their entries out",
            ),
            Finding::WrongObjects => (
                "objects that do not fit",
                "a loader counts these samples as failures: mend the size that the annotation says of its image, or its numbers",
            ),
            Finding::Empty => ("empty", "delete them or fetch them again; a loader counts them as failures"),
            Finding::NoImage => ("no image", "delete or rename them; a loader counts those in a class as failures"),
            Finding::Panicked => (
                "decoder panicked",
                "gpufeed goes on without them; delete them, and please report them: it is a decoder's bug",
            ),
            Finding::WrongExtension => (
                "wrong extension",
                "gpufeed goes by the bytes, so they work; rename them for programs that go by the name",
            ),
            Finding::PassedOver => (
                "passed over",
                "images that a folder's data set does not take: rename them, move them into a class folder, or name their ending where the folder is opened",
            ),
            Finding::Duplicate => (
                "duplicate",
                "the same bytes several times: these images weigh more in an epoch, and between training and evaluation they leak; keep one of each",
            ),
            Finding::AcrossClasses => {
                ("duplicate across classes", "the same image with two labels: find out which is right")
            }
            Finding::EmptyClass => (
                "empty class",
                "the data set is refused for them unless empty classes are allowed where it is opened; delete the folder if the class does not exist, but its removal renumbers those after it",
            ),
            Finding::UnreadableFolder => {
                ("unreadable folder", "the data set is refused for them: mend their permissions")
            }
            Finding::LinkLoop => (
                "link loop",
                "gpufeed follows none twice, other programs may; delete the link, for what lies behind it counts twice",
            ),
            Finding::BoxOutside => (
                "box outside of its image",
                "nothing of it can be seen, and a crop makes it empty: mend the annotation; ClampBoundingBoxes and then SanitizeBoundingBoxes remove it",
            ),
            Finding::BoxBeyond => (
                "box partly outside of its image",
                "transforms that move boxes cut it to the image, and so does ClampBoundingBoxes; SanitizeBoundingBoxes without a cut before it removes it",
            ),
            Finding::BoxEmpty => (
                "empty box",
                "without a width or a height, which makes the losses of most detectors infinite or an error: SanitizeBoundingBoxes removes it",
            ),
            Finding::BoxReversed => (
                "reversed box",
                "the right edge lies before the left one or the lower before the upper, as where edges are taken for width and height: mend the annotation, or name the format of its boxes",
            ),
            Finding::KeypointOutside => (
                "keypoint outside of its image",
                "labelled, but not in the image: mend the annotation; ClampKeyPoints moves it to the edge, SanitizeKeyPoints removes its object",
            ),
            Finding::LabelUnknown => (
                "unknown label",
                "the label of an object is the number of no class: mend the annotation or the names of the classes",
            ),
            Finding::PlacesStored => (
                "turned by EXIF, with places in the stored image",
                "the boxes and keypoints are taken for those of the image as its file stores it, and are turned with it; the setting targets_orientation says otherwise",
            ),
            Finding::PlacesDisplayed => (
                "turned by EXIF, with places in the displayed image",
                "the boxes and keypoints are taken for those of the image as it is shown, and are not turned; the setting targets_orientation says otherwise",
            ),
            Finding::NoObjects => ("without objects", "images without any object stay in their batches, without boxes"),
            Finding::OtherSize => (
                "with a field of another size",
                "a further image that has not the size of the sample's own: a mask or a depth that follows its crops has to have it, another camera does not",
            ),
            Finding::Turned => (
                "turned by EXIF",
                "gpufeed turns them upright; torchvision's default loader does not, nor does gpufeed where it is told to ignore EXIF",
            ),
            Finding::Cmyk => (
                "CMYK",
                "converted as Pillow converts them, without colour profiles; convert them to RGB if colours matter",
            ),
            Finding::Gray => ("gray", "the channel is repeated for red, green and blue"),
            Finding::Deep => ("more than 8 bits", "samples are reduced to 8 bits"),
            Finding::Alpha => {
                ("alpha", "alpha is dropped, not blended: what is transparent shows the colour that lies under it")
            }
            Finding::Animated => ("animated", "the first frame is taken"),
            Finding::Progressive => (
                "progressive",
                "they have no seek index, and decoding holds all of their coefficients, 7 to 17 bytes a pixel; jpegtran converts them without loss if decoding or memory limits",
            ),
        }
    }
}
