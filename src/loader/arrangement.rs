//! Images of different sizes in one batch: whether one fits its place, the sizes of a batch, the padding, and copies
//! without what lies between the images.

use super::group::Group;
use crate::allocate::COPY;
use crate::error::{Error, Result};
use crate::plan::{Arrangement, Layout, Output};
use crate::transforms::Params;

/// The layout of a place and of the rows in it, in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    /// Width and height by which rows and planes are spaced.
    spacing: (u32, u32),
    /// Bytes of a pixel in a row: of all channels for [`Layout::Nhwc`], of one else.
    pixel: usize,
    /// Planes: the channels for [`Layout::Nchw`], else one.
    planes: usize,
}

impl Place {
    /// A place whose rows are spaced as those of an image of this size.
    pub(super) fn new(output: Output, channels: u32, spacing: (u32, u32)) -> Place {
        let (bytes, channels) = (output.dtype.bytes(), channels as usize);
        match output.layout {
            Layout::Nchw => Place { spacing, pixel: bytes, planes: channels },
            Layout::Nhwc => Place { spacing, pixel: bytes * channels, planes: 1 },
        }
    }

    /// Bytes of an image of this size without anything between its rows.
    pub(super) fn bytes(self, (width, height): (u32, u32)) -> usize {
        width as usize * height as usize * self.pixel * self.planes
    }

    /// The first byte of each row of an image of this height, plane by plane.
    fn rows(self, height: u32) -> impl Iterator<Item = usize> {
        let (pitch, plane) = (self.spacing.0 as usize * self.pixel, self.spacing.1 as usize);
        (0..self.planes).flat_map(move |channel| (0..height as usize).map(move |y| (channel * plane + y) * pitch))
    }

    /// Adds the rows of an image of this size to `to`, without what lies between them.
    ///
    /// # Errors
    /// [`ErrorKind::NoHostMemory`](crate::ErrorKind::NoHostMemory).
    pub(super) fn copy(self, from: &[u8], (width, height): (u32, u32), to: &mut Vec<u8>) -> Result<()> {
        COPY.reserve(to, self.bytes((width, height)))?;
        if (width, height) == self.spacing {
            to.extend_from_slice(&from[..self.bytes(self.spacing)]);
            return Ok(());
        }
        let row = width as usize * self.pixel;
        self.rows(height).for_each(|begin| to.extend_from_slice(&from[begin..begin + row]));
        Ok(())
    }

    /// Sets what lies around an image of `own` size in a padded one to 0.
    fn clear(self, image: &mut [u8], own: (u32, u32), padded: (u32, u32)) {
        let [end, line] = [own.0, padded.0].map(|width| width as usize * self.pixel);
        for (y, begin) in (0..padded.1).cycle().zip(self.rows(padded.1)) {
            let from = if y < own.1 { end } else { 0 };
            image[begin + from..begin + line].fill(0);
        }
    }
}

impl Group {
    /// An error for an image that is larger than its place: the parameters tell.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`](crate::ErrorKind::Argument) with both sizes.
    pub(super) fn check_size(&self, params: &Params) -> Result<()> {
        let Some(frame) = self.plan().frame() else { return Ok(()) };
        let (width, height) = params.output_size();
        if width <= frame.size.0 && height <= frame.size.1 {
            return Ok(());
        }
        let (name, most) = (&self.name, frame.size);
        let reason = format!(
            "an image of group {name:?} has {width}x{height} pixels after the transforms, but there is room for {}x{}; give the \
             arrangement a larger image, or the transforms a bound",
            most.0, most.1
        );
        Err(Error::argument("arrangement", reason))
    }

    /// The sizes of images with these parameters, and the size that all of them have in the batch: a padded one, or none where
    /// each has its own.
    pub(super) fn sizes<'p>(&self, params: impl Iterator<Item = &'p Params>) -> (Vec<(u32, u32)>, (u32, u32)) {
        if self.plan().frame().is_none() {
            return (Vec::new(), self.size);
        }
        let sizes: Vec<_> = params.map(Params::output_size).collect();
        let most = sizes.iter().fold((0, 0), |most, size| (most.0.max(size.0), most.1.max(size.1)));
        match self.arrangement {
            Arrangement::Listed { .. } => (sizes, (0, 0)),
            padded => (sizes, padded.rounded(most)),
        }
    }

    /// An image with these parameters without what else is in its place.
    ///
    /// # Errors
    /// [`ErrorKind::NoHostMemory`](crate::ErrorKind::NoHostMemory).
    pub(super) fn without_padding(&self, image: Vec<u8>, params: &Params) -> Result<Vec<u8>> {
        if self.plan().frame().is_none() {
            return Ok(image);
        }
        let (size, mut bytes) = (params.output_size(), Vec::new());
        let place = Place::new(self.plan().output(), self.plan().channels(), self.plan().spacing(size));
        place.copy(&image, size, &mut bytes)?;
        Ok(bytes)
    }

    /// Sets the padding of a batch's images of these sizes to 0.
    pub(super) fn clear_padding(&self, images: &mut [u8], sizes: &[(u32, u32)], padded: (u32, u32)) {
        let Some(spacing) = self.plan().padded_to() else { return };
        let place = Place::new(self.plan().output(), self.plan().channels(), spacing);
        for (image, own) in images.chunks_exact_mut(self.image_bytes()).zip(sizes) {
            place.clear(image, *own, padded);
        }
    }
}
