//! The values of an array: bytes or floats, in pixel order.

use bytes::Bytes;

/// Bytes or floats for [`Arrays`](super::Arrays). Made of a `Vec<u8>`, [`Bytes`] or a `Vec<f32>` without a copy.
///
/// ```
/// use gpufeed::dataset::ArrayValues;
///
/// let floats = ArrayValues::from(vec![0.5f32, 1.0]);
/// assert_eq!(floats.len(), 2);
/// ```
#[derive(Clone, Debug)]
pub struct ArrayValues {
    pub(super) bytes: Bytes,
    pub(super) float: bool,
}

impl ArrayValues {
    /// Returns the number of values.
    pub fn len(&self) -> usize {
        self.bytes.len() / self.size()
    }

    /// Returns true if there are no values.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Makes values of floats in the machine's byte order; the caller must check that `bytes` holds whole floats.
    pub(in crate::dataset) fn floats(bytes: impl Into<Bytes>) -> Self {
        ArrayValues { bytes: bytes.into(), float: true }
    }

    /// Returns the size of a value in bytes.
    pub(super) fn size(&self) -> usize {
        if self.float { 4 } else { 1 }
    }
}

impl From<Bytes> for ArrayValues {
    fn from(bytes: Bytes) -> Self {
        ArrayValues { bytes, float: false }
    }
}

impl From<Vec<u8>> for ArrayValues {
    fn from(bytes: Vec<u8>) -> Self {
        Bytes::from(bytes).into()
    }
}

impl From<Vec<f32>> for ArrayValues {
    fn from(values: Vec<f32>) -> Self {
        struct Floats(Vec<f32>);
        impl AsRef<[u8]> for Floats {
            fn as_ref(&self) -> &[u8] {
                bytemuck::cast_slice(&self.0)
            }
        }
        ArrayValues::floats(Bytes::from_owner(Floats(values)))
    }
}

/// Interleaves images stored channel after channel, pixel by pixel; `N` bytes a value.
pub(super) fn interleaved<const N: usize>(bytes: &[u8], channels: usize, plane: usize) -> Vec<u8> {
    let values = bytes.as_chunks::<N>().0;
    let mut pixels = vec![[0; N]; values.len()];
    let whole = channels * plane;
    for (image, pixels) in values.chunks_exact(whole).zip(pixels.chunks_exact_mut(whole)) {
        for (channel, plane) in image.chunks_exact(plane).enumerate() {
            for (value, pixel) in plane.iter().zip(pixels.chunks_exact_mut(channels)) {
                pixel[channel] = *value;
            }
        }
    }
    pixels.into_flattened()
}
