//! The request of a decode: its region, scale and options.

use crate::index::SeekIndex;
use crate::{Rect, Scale};

/// The region to decode, and the options.
///
/// ```
/// use gpufeed_jpeg::{Decoder, Header, Rect, Request};
///
/// # let picture = image::RgbImage::from_fn(320, 240, |x, y| image::Rgb([x as u8, y as u8, 90]));
/// # let mut jpeg = std::io::Cursor::new(Vec::new());
/// # picture.write_to(&mut jpeg, image::ImageFormat::Jpeg).unwrap();
/// # let jpeg = jpeg.into_inner();
/// let header = Header::read(&jpeg)?;
/// let corner = Rect { left: 250, top: 200, width: 70, height: 40 };
/// let request = Request::new(header.size()).region(corner);
/// assert_eq!(Decoder::default().decode(&jpeg, &request)?.pixels.len(), 4 * 70 * 40);
/// # Ok::<(), gpufeed_jpeg::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    pub(crate) size: (u32, u32),
    pub(crate) region: Rect,
    pub(crate) scale: Scale,
    pub(crate) fill: bool,
    pub(crate) index: Option<&'a SeekIndex>,
    pub(crate) build_index: bool,
}

impl<'a> Request<'a> {
    /// Requests a whole image at full size. `size` = (columns, rows) is [`Header::size`](crate::Header::size). A file
    /// of another size is [`Error::Invalid`](crate::Error::Invalid).
    pub fn new(size: (u32, u32)) -> Self {
        Request { size, region: Rect::whole(size), scale: Scale::Full, fill: false, index: None, build_index: false }
    }

    /// Requests the whole image at a scale, as libjpeg's draft mode. This replaces an earlier region: call
    /// [`region`](Self::region) after it, with pixels of the scaled image.
    pub fn scale(mut self, scale: Scale) -> Self {
        (self.scale, self.region) = (scale, Rect::whole(scale.size(self.size)));
        self
    }

    /// Requests a region. It is in pixels of the scaled image, before any EXIF orientation is applied.
    pub fn region(mut self, region: Rect) -> Self {
        self.region = region;
        self
    }

    /// With true, a damaged or truncated file is decoded to the same pixels as by libjpeg-turbo. Missing parts are gray (128); in a
    /// file of several scans they are as earlier scans left them, and smoothed. By default such a file is [`Error::Damaged`](crate::Error::Damaged).
    ///
    /// By default a file is damaged if its end-of-image marker is missing, or if data that the region needs cannot be
    /// decoded. Damage after the region is not detected, but in files that lack scans, which are read whole.
    pub fn fill(mut self, fill: bool) -> Self {
        self.fill = fill;
        self
    }

    /// Starts decoding inside the file with the help of a seek index. The pixels are the same as without it.
    ///
    /// The index must belong to exactly this file. An index of another file is ignored if the decoder detects the
    /// mismatch, and leads to wrong pixels otherwise. It never causes a panic. Files with
    /// [`Header::several_scans`](crate::Header::several_scans) have no index.
    pub fn index(mut self, index: Option<&'a SeekIndex>) -> Self {
        self.index = index;
        self
    }

    /// With true, the decoder reads the scan to its end and builds the file's seek index, unless it used the index of
    /// the request.
    pub fn build_index(mut self, build_index: bool) -> Self {
        self.build_index = build_index;
        self
    }
}
