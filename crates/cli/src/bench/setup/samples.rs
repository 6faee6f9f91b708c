//! Reads a few hundred samples of the data set. They give the kernels parameters of the recipe, and show how much
//! memory samples take.

use super::hash::hash;
use crate::error_text;
use gpufeed::decode::{self, DecodeOptions};
use gpufeed::transforms::{Key, Params};
use gpufeed::{Dataset, Plan, SampleData};

/// The most samples that are read.
const SAMPLES: usize = 256;
/// Reading stops after this many bytes of files.
const BYTES: usize = 128 << 20;

/// The facts that the samples show.
#[derive(Default)]
pub(crate) struct Samples {
    /// The parameters of every sample.
    pub(crate) params: Vec<Params>,
    /// The bytes of the largest file or array of pixels.
    pub(crate) largest: u64,
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
        match dataset.read(index, buffer)?.data {
            SampleData::Pixels(pixels) => {
                self.params.push(plan.make_params(pixels.width(), pixels.height(), &key)?);
                self.largest = self.largest.max(pixels.bytes().len() as u64);
                self.sizes.push(pixels.bytes().len() as u64);
                self.pixel = if pixels.format().bytes_per_pixel() == 3 { 3 } else { 4 };
                Ok(0)
            }
            SampleData::Encoded(bytes) => {
                let probe = decode::probe(bytes, options)?;
                let params = plan.make_params(probe.width, probe.height, &key)?;
                let region = plan.source_region(&params)?;
                decode::decode(bytes, &probe, region, options, scratch)?;
                self.params.push(params);
                self.largest = self.largest.max(bytes.len() as u64);
                self.sizes.push(bytes.len() as u64 + 4 * u64::from(region.width) * u64::from(region.height));
                Ok(bytes.len())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Samples;

    #[test]
    fn among_many_samples_is_a_large_one() {
        let samples = Samples { sizes: (1..=100).collect(), ..Samples::default() };
        assert_eq!([0.1, 2.0, 10.0, 1e9].map(|met| samples.share_of_largest(met)), [0.01, 0.51, 0.91, 1.0]);
        assert_eq!(Samples::default().share_of_largest(5.0), 1.0);
    }
}
