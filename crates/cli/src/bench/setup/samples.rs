//! Reads a few hundred samples of the data set. They give the kernels parameters of the recipe, and show how much
//! memory samples take.

use super::hash::hash;
use crate::error_text;
use gpufeed::decode::{self, DecodeOptions};
use gpufeed::transforms::{Key, Params};
use gpufeed::{Dataset, FieldKind, FieldValue, Plan, Sample, SampleData};

/// The most samples that are read.
const SAMPLES: usize = 256;
/// Reading stops after this many bytes of files.
const BYTES: usize = 128 << 20;

/// The facts that the samples show.
#[derive(Default)]
pub(crate) struct Samples {
    /// The parameters of every sample.
    pub(crate) params: Vec<Params>,
    /// The bytes of the largest file or array of pixels, with those of the sample's fields.
    pub(crate) largest: u64,
    /// The most bytes that a sample's fields take in a batch.
    pub(crate) columns: u64,
    /// The bytes of the decoder's scratch memory after all samples.
    pub(crate) scratch: u64,
    /// The mean number of pixels of a sample.
    pub(crate) area: u64,
    /// For each sample the bytes of its file and its decoded region together, sorted.
    pub(crate) sizes: Vec<u64>,
    /// The bytes of a pixel as the CPU executor reads it: RGB8 in place, everything else as RGBA8.
    pub(crate) pixel: usize,
}

impl Samples {
    /// Reads samples in a pseudo-random order. Of remote data it reads the first ones, because each random sample would
    /// cost a block of many samples. Leaves out samples that cannot be read or decoded.
    ///
    /// # Errors
    /// If no sample can be used.
    pub(crate) fn read(dataset: &dyn Dataset, plan: &Plan, options: DecodeOptions) -> Result<Samples, String> {
        let mut samples = Samples { pixel: 4, ..Samples::default() };
        let (mut buffer, mut bytes, mut last) = (Vec::new(), 0, None);
        let mut scratch = decode::Scratch::default();
        for number in 0..SAMPLES.min(dataset.len()) {
            let number = if crate::dataset::is_remote(dataset) { number as u64 } else { hash(number as u64, 1) };
            let index = number as usize % dataset.len();
            match samples.add(dataset, plan, index, &options, &mut buffer, &mut scratch) {
                Ok(more) => bytes += more,
                Err(error) => last = Some(format!("{}: {}", dataset.name(index), error_text::describe(&error))),
            }
            if bytes > BYTES {
                break;
            }
        }
        samples.scratch = scratch.bytes();
        samples.sizes.sort_unstable();
        let area = |params: &Params| u64::from(params.width) * u64::from(params.height);
        samples.area = samples.params.iter().map(area).sum::<u64>() / samples.params.len().max(1) as u64;
        match last {
            Some(error) if samples.params.is_empty() => {
                Err(format!("none of the samples can be used; the last: {error}"))
            }
            _ => Ok(samples),
        }
    }

    /// Returns how large the largest of `met` random samples is expected to be, as a share of the largest of all.
    pub(crate) fn share_of_largest(&self, met: f64) -> f64 {
        let Some(&largest) = self.sizes.last() else { return 1.0 };
        let below = ((1.0 - 1.0 / met.max(1.0)) * self.sizes.len() as f64).ceil() as usize;
        self.sizes[below.min(self.sizes.len() - 1)] as f64 / largest.max(1) as f64
    }

    fn add(
        &mut self,
        dataset: &dyn Dataset,
        plan: &Plan,
        index: usize,
        options: &DecodeOptions,
        buffer: &mut Vec<u8>,
        scratch: &mut decode::Scratch,
    ) -> gpufeed::Result<usize> {
        let key = Key { sample: index as u64, ..Key::default() };
        let sample = dataset.read(index, buffer)?;
        let fields = field_bytes(&sample);
        let columns = sample.fields.iter().filter(|value| value.kind() != Some(FieldKind::Image)).map(value_bytes);
        self.columns = self.columns.max(columns.sum());
        match sample.data {
            SampleData::Pixels(pixels) => {
                self.params.push(plan.make_params(pixels.width(), pixels.height(), &key)?);
                self.largest = self.largest.max(pixels.bytes().len() as u64 + fields);
                self.sizes.push(pixels.bytes().len() as u64 + fields);
                self.pixel = if pixels.format().bytes_per_pixel() == 3 { 3 } else { 4 };
                Ok(0)
            }
            SampleData::Encoded(bytes) => {
                let probe = decode::probe(bytes, options)?;
                let params = plan.make_params(probe.width, probe.height, &key)?;
                let region = plan.source_region(&params)?;
                decode::decode(bytes, &probe, region, options, scratch)?;
                self.params.push(params);
                self.largest = self.largest.max(bytes.len() as u64 + fields);
                let region = 4 * u64::from(region.width) * u64::from(region.height);
                self.sizes.push(bytes.len() as u64 + fields + region);
                Ok(bytes.len())
            }
        }
    }
}

/// Returns the bytes of an image, as a file or as pixels.
pub(super) fn image_bytes(data: &SampleData<'_>) -> u64 {
    let bytes = match data {
        SampleData::Encoded(file) => file.len(),
        SampleData::Pixels(pixels) => pixels.bytes().len(),
    };
    bytes as u64
}

/// Returns the bytes of a sample's fields.
pub(super) fn field_bytes(sample: &Sample<'_>) -> u64 {
    sample.fields.iter().map(value_bytes).sum()
}

fn value_bytes(value: &FieldValue<'_>) -> u64 {
    let bytes = match value {
        FieldValue::Image(data) => return image_bytes(data),
        FieldValue::Text(text) | FieldValue::Json(text) => text.len(),
        FieldValue::Bytes(bytes) => bytes.len(),
        FieldValue::Numbers(numbers) => numbers.bytes().len(),
        // Absent, and kinds of later versions.
        _ => 0,
    };
    bytes as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpufeed::transforms::CenterCrop;
    use gpufeed::{Field, InMemory, Label, Output, PixelFormat};

    #[test]
    fn among_many_samples_is_a_large_one() {
        let samples = Samples { sizes: (1..=100).collect(), ..Samples::default() };
        assert_eq!([0.1, 2.0, 10.0, 1e9].map(|met| samples.share_of_largest(met)), [0.01, 0.51, 0.91, 1.0]);
        assert_eq!(Samples::default().share_of_largest(5.0), 1.0);
    }

    #[test]
    fn fields_take_memory_as_images_do() {
        let mut data = InMemory::new().with_fields([Field::new("caption").kind(FieldKind::Text)]);
        data.push_pixels(4, 4, PixelFormat::Rgb8, vec![0; 48], Label::None).unwrap();
        data.push_fields([FieldValue::from("a cat")]).unwrap();
        let plan = Plan::compile(&[CenterCrop::new(2).into()], &Output::default()).unwrap();
        let samples = Samples::read(&data, &plan, DecodeOptions::default()).unwrap();
        assert_eq!((samples.largest, samples.columns, &samples.sizes[..]), (53, 5, &[53][..]));
    }
}
