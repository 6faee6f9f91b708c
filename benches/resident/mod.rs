//! The data of recipe E, `augment-only`: 64 photographs of 384×384 pixels in memory as `Rgb8`, each 16 times in an
//! epoch.

use gpufeed::transforms::Resize;
use gpufeed::{Backend, Batch, DType, DataLoader, Dataset, Images, Label, Layout, PixelFormat, SampleData};
use gpufeed::{ImageFolder, InMemory};
use gpufeed_testing::reference;
use std::collections::HashSet;
use std::error::Error;

/// The number of photographs, and how often an epoch of 1,024 samples repeats each.
const IMAGES: usize = 64;
const TIMES: usize = 16;
const SIDE: u32 = 384;

/// Returns the first `IMAGES` photographs of `folder`, resized once. Repetitions share the memory of their photograph.
pub(crate) fn open(folder: &str) -> Result<InMemory, Box<dyn Error>> {
    let loader = DataLoader::builder(ImageFolder::open(folder)?)
        .transform(Resize::new((SIDE, SIDE)))
        .output(Layout::Nhwc, DType::U8)
        .batch_size(IMAGES)
        .build(&Backend::Cpu)?;
    let batch = loader.epoch(0)?.next().ok_or("no batch")??;
    if batch.len() < IMAGES {
        return Err(format!("{} photographs in {folder}, recipe E takes {IMAGES}", batch.len()).into());
    }
    let images = batch.to_host()?;
    // `Bytes` is a counted reference, so a repeated image is not copied.
    let images: Vec<bytes::Bytes> = images.chunks_exact(images.len() / IMAGES).map(|i| i.to_vec().into()).collect();
    let mut data = InMemory::new();
    for image in images.iter().cycle().take(IMAGES * TIMES) {
        data.push_pixels(SIDE, SIDE, PixelFormat::Rgb8, image.clone(), Label::None)?;
    }
    Ok(data)
}

/// Compares images of batches with the naive interpreter of the tests, and counts the host buffers that hold the
/// batches.
#[derive(Default)]
pub(crate) struct Check {
    buffers: HashSet<usize>,
    images: usize,
    greatest: f64,
}

/// The largest allowed difference between two floats, for a recipe without a resize.
const TOLERANCE: f64 = 1e-5;

impl Check {
    /// Records the address of a batch in host memory.
    pub(crate) fn buffer(&mut self, batch: &Batch) {
        if let Images::Host(bytes) = batch.images() {
            self.buffers.insert(bytes.as_ptr() as usize);
        }
    }

    /// Compares every 16th image of the batch with its reference. It must also differ from the reference of the image
    /// compared before it, which shows that the comparison can fail.
    pub(crate) fn images(&mut self, data: &dyn Dataset, batch: &Batch) -> Result<(), Box<dyn Error>> {
        let floats = batch.to_host_f32()?;
        let len = floats.len() / batch.len();
        let mut before: Option<Vec<f64>> = None;
        for place in (0..batch.len()).step_by(16) {
            let mut file = Vec::new();
            let SampleData::Pixels(pixels) = data.read(batch.ids()[place] as usize, &mut file)?.data else {
                return Err("the resident images are pixels".into());
            };
            let (width, height) = (pixels.width() as usize, pixels.height() as usize);
            let byte = |c: usize, y: usize, x: usize| f64::from(pixels.bytes()[3 * (y * width + x) + c]) / 255.0;
            let image = reference::Image::build((3, height, width), byte);
            let outcome = reference::run(&image, batch.params()[place].ops.iter().map(|params| &params.op));
            assert!(!outcome.on_a_jump && !outcome.doubtful.contains(&true), "no step in this recipe");
            let found = &floats[place * len..][..len];
            let off =
                |planes: &[f64]| planes.iter().zip(found).map(|(a, b)| (a - f64::from(*b)).abs()).fold(0.0, f64::max);
            assert_eq!(outcome.image.planes.len(), len);
            let difference = off(&outcome.image.planes);
            assert!(difference <= TOLERANCE, "image {place} of batch {} is {difference} off", batch.index());
            if let Some(other) = &before {
                assert!(off(other) > 0.01, "the comparison cannot fail");
            }
            self.greatest = self.greatest.max(difference);
            self.images += 1;
            before = Some(outcome.image.planes);
        }
        Ok(())
    }

    /// Describes the result of all comparisons. Panics if the batches in host memory used fewer than `least` buffers.
    pub(crate) fn finish(&self, loader: &DataLoader, least: usize) -> String {
        let Check { buffers, images, greatest } = self;
        let buffers = buffers.len();
        let host = matches!(loader.backend(), Backend::Cpu);
        assert!(!host || buffers >= least, "{buffers} output buffers, at least {least} expected");
        format!(
            "{images} images compared with the f64 reference, at most {greatest:.1e} off; {buffers} host buffers in turn"
        )
    }
}
