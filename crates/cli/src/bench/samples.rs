//! Some of the data set's samples in memory, with what the recipe draws for them: what stages are given when they are
//! measured alone.

use super::photographs::hash;
use crate::error_text;
use gpufeed::decode::{self, DecodeOptions, Orientation, Probe, Rect};
use gpufeed::transforms::{Key, Params};
use gpufeed::{Dataset, Plan, SampleData};

/// As many, unless they have more bytes than the limit: enough for caches not to hold them all.
const SAMPLES: usize = 256;
const BYTES: usize = 128 << 20;

/// A file in memory, and the region that the recipe reads of it.
pub(super) struct File {
    pub(super) bytes: Vec<u8>,
    pub(super) probe: Probe,
    pub(super) region: Rect,
}

/// See the module.
#[derive(Default)]
pub(super) struct Samples {
    /// None where the data set holds pixels.
    pub(super) files: Vec<File>,
    /// The parameters of every sample.
    pub(super) params: Vec<Params>,
    /// Bytes of the largest file or array among them, and of what its decoding has grown to.
    pub(super) largest: u64,
    pub(super) scratch: u64,
    /// Their pixels on average.
    pub(super) area: u64,
    /// The bytes that each sample takes by itself: its file, and the region that is decoded.
    pub(super) sizes: Vec<u64>,
    /// Bytes of a pixel as the CPU executor reads it: RGB8 where it lies, everything else as RGBA8.
    pub(super) pixel: usize,
}

/// As the line decodes: orientation ignored.
pub(super) fn options() -> DecodeOptions {
    let mut options = DecodeOptions::default();
    options.exif = Orientation::Ignore;
    options
}

impl Samples {
    /// Reads samples in an order without pattern; those that cannot be read or decoded are left out.
    ///
    /// # Errors
    /// If none can be used.
    pub(super) fn of(dataset: &dyn Dataset, plan: &Plan) -> Result<Samples, String> {
        let mut samples = Samples { pixel: 4, ..Samples::default() };
        let (mut buffer, mut bytes, mut last) = (Vec::new(), 0, None);
        let mut scratch = decode::Scratch::default();
        for number in 0..SAMPLES.min(dataset.len()) {
            let index = hash(number as u64, 1) as usize % dataset.len();
            match samples.add(dataset, plan, (index, &mut buffer), &mut scratch) {
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

    /// The expected size of the largest of `met` samples, as a share of the size of the largest of all.
    pub(super) fn share_of_largest(&self, met: f64) -> f64 {
        let Some(&largest) = self.sizes.last() else { return 1.0 };
        let below = ((1.0 - 1.0 / met.max(1.0)) * self.sizes.len() as f64).ceil() as usize;
        self.sizes[below.min(self.sizes.len() - 1)] as f64 / largest.max(1) as f64
    }

    fn add(
        &mut self,
        dataset: &dyn Dataset,
        plan: &Plan,
        (index, buffer): (usize, &mut Vec<u8>),
        scratch: &mut decode::Scratch,
    ) -> gpufeed::Result<usize> {
        let key = Key { sample: index as u64, ..Key::default() };
        match dataset.read(index, buffer)?.data {
            SampleData::Pixels(pixels) => {
                self.params.push(plan.make_params(pixels.width(), pixels.height(), &key)?);
                self.largest = self.largest.max(pixels.bytes().len() as u64);
                self.sizes.push(pixels.bytes().len() as u64);
                self.pixel = if pixels.format().bytes_per_pixel() == 3 { 3 } else { 4 };
                Ok(0)
            }
            SampleData::Encoded(bytes) => {
                let probe = decode::probe(bytes, &options())?;
                let params = plan.make_params(probe.width, probe.height, &key)?;
                let region = plan.source_region(&params)?;
                decode::decode(bytes, &probe, region, &options(), scratch)?;
                self.params.push(params);
                self.largest = self.largest.max(bytes.len() as u64);
                self.sizes.push(bytes.len() as u64 + 4 * u64::from(region.width) * u64::from(region.height));
                self.files.push(File { bytes: bytes.to_vec(), probe, region });
                Ok(bytes.len())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Samples;

    #[test]
    fn who_meets_many_samples_meets_a_large_one() {
        let samples = Samples { sizes: (1..=100).collect(), ..Samples::default() };
        assert_eq!([0.1, 2.0, 10.0, 1e9].map(|met| samples.share_of_largest(met)), [0.01, 0.51, 0.91, 1.0]);
        assert_eq!(Samples::default().share_of_largest(5.0), 1.0);
    }
}
