//! numpy's files: `.npy` and `.npz`.
//!
//! `header.rs` reads an array's type and shape, `labels.rs` its labels, `numbers.rs` an array as the value of a field.

mod header;
mod labels;
mod numbers;

use crate::advice::{self, Reason};
use std::fs::File;
use std::io::{BufReader, Read, Seek};
use std::path::Path;

use zip::ZipArchive;

use self::header::ArrayHeader;
use self::labels::labelled;
pub(super) use self::numbers::{MAGIC, numbers};
use super::arrays::ArrayValues;
use super::unpacked::Unpacked;
use super::{Arrays, Notice};
use crate::error::{Error, Result};
use crate::plan::Layout;
use crate::storage::local::regular_file;

/// Reads numpy's `.npy` and `.npz` as [`Arrays`].
///
/// Images are `uint8`, or `float32` from 0 for black to 1 for white, with 3 dimensions (images, height, width) or 4. Of
/// 4 dimensions, the last is the channels if it is 1, 3 or 4 and the second cannot be the channels, and vice versa; if
/// both can be, set [`layout`](Self::layout). Labels are classes (whole numbers of any type, at least 0, with 1
/// dimension) or floats with 1 or 2 dimensions: a number or a row of numbers for each image.
///
/// ```
/// use gpufeed::{Dataset, Label, Numpy};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("labels.npy");
/// # let images = folder.path().join("images.npy");
/// # let npy = |header: &str, values: &[u8]| {
/// #     [b"\x93NUMPY\x01\x00", &(header.len() as u16).to_le_bytes()[..], header.as_bytes(), values].concat()
/// # };
/// # std::fs::write(&images, npy("{'descr': '|u1', 'fortran_order': False, 'shape': (2, 1, 3)}", &[1, 2, 3, 4, 5, 6]))?;
/// # std::fs::write(&path, npy("{'descr': '<u2', 'fortran_order': False, 'shape': (2,)}", &[7, 0, 8, 0]))?;
/// // Two gray images of 3x1 pixels, and their classes, written by `numpy.save`.
/// let data = Numpy::new().npy(&images, Some(&path))?;
/// assert_eq!((data.len(), data.channels(), data.width()), (2, 1, 3));
/// assert_eq!(data.read(1, &mut Vec::new())?.label, Label::Class(8));
///
/// // Archives: Numpy::open("mnist.npz"), or by the names of the arrays in it.
/// let missing = Numpy::new().npz("mnist.npz", "x_train", Some("y_train"));
/// assert!(missing.is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Numpy {
    layout: Option<Layout>,
}

/// Names of images and labels that `open` looks for in an archive, in this order.
const NAMES: [(&str, &str); 7] = [
    ("x", "y"),
    ("x_train", "y_train"),
    ("X", "y"),
    ("images", "labels"),
    ("train_images", "train_labels"),
    ("data", "labels"),
    ("arr_0", "arr_1"),
];

impl Numpy {
    /// Makes settings with which the shape decides the layout.
    pub fn new() -> Self {
        Self::default()
    }

    /// States that channels come before height and width, or after them, for shapes that allow both, such as (100, 3,
    /// 32, 3).
    #[must_use]
    pub fn layout(self, layout: Layout) -> Self {
        Numpy { layout: Some(layout) }
    }

    /// Reads an archive with images and labels called `x` and `y`, `x_train` and `y_train`, `X` and `y`, `images` and
    /// `labels`, `train_images` and `train_labels`, `data` and `labels`, or `arr_0` and `arr_1`, whichever it has first
    /// in this order; or a `.npy` of images without labels.
    ///
    /// # Errors
    ///
    /// The errors of [`npy`](Self::npy) and [`npz`](Self::npz).
    pub fn open(path: impl AsRef<Path>) -> Result<Arrays> {
        Self::parts(path.as_ref(), false).map(|(data, _)| data)
    }

    /// Reads the arrays that [`open`](Self::open) reads, and, if `test`, the arrays to test with, which have `test`
    /// instead of `train` in their names.
    pub(super) fn parts(path: &Path, test: bool) -> Result<(Arrays, Option<Arrays>)> {
        let io = |source| Error::io(path, source);
        let mut magic = Vec::new();
        regular_file::open(path).map_err(io)?.0.take(4).read_to_end(&mut magic).map_err(io)?;
        if !magic.starts_with(b"PK") {
            return Ok((Self::new().npy(path, None::<&Path>)?, None));
        }
        let archive = archive(path)?;
        let has = |name: &str| archive.index_for_name(&format!("{name}.npy")).is_some();
        let Some((images, labels)) = NAMES.iter().find(|(images, labels)| has(images) && has(labels)) else {
            let reason = format!("no images and labels of a known name; it has {}", listed(&archive));
            return Err(Error::data_file(path, "names", Reason::new(reason).advise(advice::NUMPY_ARRAYS)));
        };
        let others = [images, labels].map(|name| name.replace("train", "test"));
        let read = |images: &str, labels: &str| Self::new().npz(path, images, Some(labels));
        let test = match &others {
            [x, y] if test && x != images && has(x) && has(y) => Some(read(x, y)?),
            _ => None,
        };
        let mut train = read(images, labels)?;
        let is_read = |name: &str| {
            name == *images || name == *labels || (test.is_some() && others.iter().any(|other| other == name))
        };
        let mut unread: Vec<String> = names(&archive).filter(|name| !is_read(name)).collect();
        unread.sort_unstable();
        let first = unread.first().cloned().unwrap_or_default();
        train.add_notices(Notice::not_read("arrays of the file", unread.len() as u64, first));
        Ok((train, test))
    }

    /// Reads images from one file, and labels from another or none.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Io`](crate::ErrorKind::Io) if a file cannot be read;
    /// [`ErrorKind::DataFile`](crate::ErrorKind::DataFile) if a file is not a whole array, has another type or shape,
    /// is in Fortran's order, or if the numbers of labels and images differ.
    pub fn npy(self, images: impl AsRef<Path>, labels: Option<impl AsRef<Path>>) -> Result<Arrays> {
        let path = images.as_ref();
        let data = self.images(&mut Unpacked::open(path)?)?.with_source(path.display().to_string());
        match labels {
            Some(path) => labelled(data, &mut Unpacked::open(path.as_ref())?),
            None => Ok(data),
        }
    }

    /// Reads the arrays called `images` and `labels` in the archive at `path`.
    ///
    /// # Errors
    ///
    /// The errors of [`npy`](Self::npy), and [`ErrorKind::DataFile`](crate::ErrorKind::DataFile) if `path` is not an
    /// archive or has no array of that name.
    pub fn npz(self, path: impl AsRef<Path>, images: &str, labels: Option<&str>) -> Result<Arrays> {
        let path = path.as_ref();
        let mut archive = archive(path)?;
        let source = format!("{}, {images}", path.display());
        let data = self.images(&mut member(path, &mut archive, images)?)?.with_source(source);
        match labels {
            Some(labels) => labelled(data, &mut member(path, &mut archive, labels)?),
            None => Ok(data),
        }
    }

    fn images(self, source: &mut Unpacked<'_>) -> Result<Arrays> {
        let header = ArrayHeader::read(source)?;
        let refuse = |source: &Unpacked<'_>, reason: String| Err(source.error(reason));
        match (header.kind, header.size) {
            ('u', 1) | ('f', 4) => {}
            ('f', _) => {
                let reason = format!("images of {}; save them as images.astype(numpy.float32)", header.type_name());
                return refuse(source, reason);
            }
            _ => {
                let reason = format!(
                    "images of {}; bytes from 0 to 255 are saved as images.astype(numpy.uint8), floats from 0 to 1 as \
                     images.astype(numpy.float32)",
                    header.type_name()
                );
                return refuse(source, reason);
            }
        }
        let float = header.kind == 'f';
        let (shape, layout) = match self.arranged(&header.shape, float) {
            Ok(arranged) => arranged,
            Err(Reason { text, advice }) => {
                let text = format!("images of shape {:?}: {text}", header.shape);
                return Err(source.error(Reason { text, advice }));
            }
        };
        let mut bytes = values(source, &header, "images")?;
        if float && header.big_endian != cfg!(target_endian = "big") {
            bytes.as_chunks_mut::<4>().0.iter_mut().for_each(|float| float.reverse());
        }
        let values = if float { ArrayValues::floats(bytes) } else { ArrayValues::from(bytes) };
        match layout {
            Layout::Nchw => Arrays::nchw(shape, values),
            Layout::Nhwc => Arrays::nhwc(shape, values),
        }
        .map_err(|error| source.error_at(0, error))
    }

    /// Returns the four dimensions, and which one is the channels.
    fn arranged(self, shape: &[usize], float: bool) -> Result<([usize; 4], Layout), Reason> {
        let channels = |count: usize| matches!(count, 1 | 3) || (count == 4 && !float);
        match *shape {
            [count, height, width] => Ok(([count, height, width, 1], Layout::Nhwc)),
            [count, second, third, last] => {
                let layout = match (self.layout, channels(second), channels(last)) {
                    (Some(layout), ..) => layout,
                    (None, false, true) => Layout::Nhwc,
                    (None, true, false) => Layout::Nchw,
                    (None, true, true) => {
                        return Err(Reason::new("channels may be second or last").advise(advice::ARRAYS_LAYOUT));
                    }
                    (None, false, false) => {
                        return Err("neither the second nor the last dimension can be channels, 1 or 3".into());
                    }
                };
                Ok(([count, second, third, last], layout))
            }
            _ => Err("they have 3 dimensions, or 4 with channels".into()),
        }
    }
}

/// Reads the values of the array whose header has been read, up to the end of the file.
fn values(source: &mut Unpacked<'_>, header: &ArrayHeader, what: &str) -> Result<Vec<u8>> {
    if header.fortran && header.shape.len() > 1 {
        let reason = format!("{what} in Fortran's order; save them as numpy.ascontiguousarray({what})");
        return Err(source.error(reason));
    }
    let what = format!("an array of {} {:?}", header.type_name(), header.shape);
    let count = header.bytes().ok_or_else(|| source.error(format!("{what} is larger than any file")))?;
    source.rest(count, &what)
}

type Archive = ZipArchive<BufReader<File>>;

fn archive(path: &Path) -> Result<Archive> {
    let (file, _) = regular_file::open(path).map_err(|source| Error::io(path, source))?;
    ZipArchive::new(BufReader::new(file)).map_err(|error| Error::data_file(path, "archive", error.to_string()))
}

/// Lists the arrays in an archive for an error.
fn listed<R: Read + Seek>(archive: &ZipArchive<R>) -> String {
    let names: Vec<String> = names(archive).take(20).collect();
    if names.is_empty() { "no array".to_owned() } else { names.join(", ") }
}

/// Returns the names of the arrays.
fn names<R: Read + Seek>(archive: &ZipArchive<R>) -> impl Iterator<Item = String> + '_ {
    let names = archive.file_names().filter_map(std::result::Result::ok);
    names.map(|name| name.strip_suffix(".npy").unwrap_or(&name).to_owned())
}

fn member<'a>(path: &Path, archive: &'a mut Archive, name: &str) -> Result<Unpacked<'a>> {
    let file = format!("{name}.npy");
    let Some(index) = archive.index_for_name(&file) else {
        return Err(Error::data_file(path, "names", format!("no array {name}; it has {}", listed(archive))));
    };
    let length = path.metadata().map_err(|source| Error::io(path, source))?.len();
    let member = archive.by_index(index).map_err(|error| Error::data_file(path, &file, error.to_string()))?;
    // The archive states the length of the packed member; the member cannot be longer than the archive.
    let packed = member.compressed_size().min(length);
    Ok(Unpacked::member(path, &file, member, packed))
}

#[cfg(test)]
mod tests;
