//! A sample of an object in Python, in memory of its own.

use gpufeed::dataset::FieldValue;
use gpufeed::targets::Objects;
use gpufeed::{Label, PixelFormat, Pixels, Sample, SampleData};
use std::ops::Range;

/// A sample that was read, in memory that it owns.
pub(super) struct Owned {
    pub(super) bytes: Vec<u8>,
    /// For pixels: the width, the height and the format.
    pub(super) form: Option<(u32, u32, PixelFormat)>,
    pub(super) label: Label,
    pub(super) rest: Option<Vec<u8>>,
    /// The objects that the image shows.
    pub(super) objects: Option<Objects>,
    /// The images of the sample's fields, in the order of the fields.
    pub(super) images: Vec<OwnedImage>,
}

/// An image in memory that it owns: a file, or for pixels the width, the height and the format.
pub(super) type OwnedImage = (Vec<u8>, Option<(u32, u32, PixelFormat)>);

/// The form of an image as `gpufeed/samples.py` says it: `None` for a file.
pub(super) type Form = Option<(u32, u32, String)>;

pub(super) fn form(form: Form) -> Option<(u32, u32, PixelFormat)> {
    form.map(|(width, height, format)| {
        let format = match format.as_str() {
            "R8" => PixelFormat::R8,
            "Rgba8" => PixelFormat::Rgba8,
            "F32x1" => PixelFormat::F32 { channels: 1 },
            "F32x3" => PixelFormat::F32 { channels: 3 },
            _ => PixelFormat::Rgb8,
        };
        (width, height, format)
    })
}

impl Owned {
    /// Puts the bytes of all images into the buffer, and returns the sample that borrows them. `has_objects` is true if the samples
    /// have a field of objects.
    pub(super) fn into_sample<'a>(self, buffer: &'a mut Vec<u8>, has_objects: bool) -> gpufeed::Result<Sample<'a>> {
        *buffer = self.bytes;
        let end = buffer.len();
        // All images lie in one buffer, each at a multiple of 8 bytes. Without fields of images nothing is allocated here.
        let place = |(bytes, of_bytes): OwnedImage| {
            buffer.resize(buffer.len().next_multiple_of(8), 0);
            let begin = buffer.len();
            buffer.extend_from_slice(&bytes);
            (begin..buffer.len(), of_bytes)
        };
        let places: Vec<_> = self.images.into_iter().map(place).collect();
        let buffer: &'a [u8] = buffer;
        let data = |place: Range<usize>, of_bytes| -> gpufeed::Result<SampleData<'a>> {
            let bytes = &buffer[place];
            Ok(match of_bytes {
                None => SampleData::Encoded(bytes),
                Some((width, height, format)) => SampleData::Pixels(Pixels::new(width, height, format, bytes)?),
            })
        };
        let mut fields = Vec::with_capacity(places.len() + 2);
        fields.push(self.rest.map_or(FieldValue::Absent, |rest| FieldValue::Bytes(rest.into())));
        if has_objects {
            fields.push(self.objects.map_or(FieldValue::Absent, FieldValue::from));
        }
        for (place, of_bytes) in places {
            fields.push(FieldValue::Image(data(place, of_bytes)?));
        }
        Ok(Sample::new(data(0..end, self.form)?, self.label).with_fields(fields))
    }
}
