//! Code that the tests of the pipeline share: backends to run on, small data sets, batches as plain values, and a
//! timeout against hangs.

use crate::device::{Device, devices};
use gpufeed::transforms::Params;
use gpufeed::{Backend, Batch, DataLoader, DataLoaderBuilder, Epochs, Execute, InMemory, Label};
use image::{DynamicImage, ImageFormat, Rgb, RgbImage};
use std::io::Cursor;
use std::panic::resume_unwind;
use std::sync::LazyLock;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// A backend with the executor to use there, and its name for messages.
#[derive(Clone)]
pub struct Place {
    pub name: String,
    pub backend: Backend,
    pub execute: Execute,
}

static PLACES: LazyLock<Vec<Place>> = LazyLock::new(|| {
    let mut places = vec![Place { name: "CPU".to_owned(), backend: Backend::Cpu, execute: Execute::Auto }];
    for device in loader_devices() {
        let gpu = device.open(device.features());
        // The CPU executor makes the batches, which are then copied to the GPU; software adapters do so under `Auto`.
        let execute = if gpu.is_software() { Execute::Auto } else { Execute::Cpu };
        let (name, backend) = (device.name.clone(), Backend::Gpu(gpu));
        places.push(Place { name: format!("{name}, copied up"), backend: backend.clone(), execute });
        places.push(Place { name, backend, execute: Execute::Gpu });
    }
    places
});

/// Returns the adapters at which whole loaders are tried: those of hardware, and one in software; with
/// [`is_full`] all of them. Mesa's two (Vulkan and OpenGL) are the same rasterizer, and the tests of
/// single operators run on both.
pub fn loader_devices() -> &'static [Device] {
    static TRIED: LazyLock<Vec<Device>> = LazyLock::new(|| {
        let in_software = |device: &Device| device.adapter.get_info().device_type == gpufeed::wgpu::DeviceType::Cpu;
        let mut found = false;
        let first = |device: &&Device| !in_software(device) || !std::mem::replace(&mut found, true);
        devices().iter().filter(first).cloned().collect()
    });
    if is_full() { devices() } else { &TRIED }
}

/// Returns the CPU backend, and two entries for every [loader device](loader_devices): with the CPU executor, whose batches are copied to the
/// GPU, and with the shaders.
pub fn places() -> &'static [Place] {
    &PLACES
}

impl Place {
    /// Whether shaders augment the images here.
    pub fn is_shaders(&self) -> bool {
        self.execute == Execute::Gpu
    }

    pub fn build(&self, builder: DataLoaderBuilder) -> DataLoader {
        self.try_build(builder).unwrap_or_else(|error| panic!("{}: {error}", self.name))
    }

    pub fn try_build(&self, builder: DataLoaderBuilder) -> gpufeed::Result<DataLoader> {
        builder.execute(self.execute).build(&self.backend)
    }
}

/// Returns true if tests are to try every combination, as `scripts/nightly.sh` asks. Otherwise they leave out some of
/// the combinations that test almost the same.
pub fn is_full() -> bool {
    std::env::var_os("GPUFEED_FULL").is_some()
}

/// A batch as plain values.
#[derive(Clone, PartialEq)]
pub struct Seen {
    pub epoch: u64,
    pub index: u64,
    pub shape: [usize; 4],
    pub valid: usize,
    pub ids: Vec<u64>,
    pub labels: Vec<Label>,
    pub params: Vec<Params>,
    /// Batch index, id, name and reason of each failed sample.
    pub failures: Vec<(usize, u64, String, String)>,
    pub bytes: Vec<u8>,
}

impl From<&Batch> for Seen {
    fn from(batch: &Batch) -> Seen {
        Seen::read(batch).unwrap()
    }
}

impl Seen {
    /// Reads a batch; an error if the device that holds it is lost or has no memory for the copy.
    pub fn read(batch: &Batch) -> gpufeed::Result<Seen> {
        let failure = |f: &gpufeed::Failure| (f.batch_index, f.id, f.name.clone(), f.error.to_string());
        Ok(Seen {
            epoch: batch.epoch(),
            index: batch.index(),
            shape: batch.shape(),
            valid: batch.valid(),
            ids: batch.ids().to_vec(),
            labels: batch.labels().to_vec(),
            params: batch.params().to_vec(),
            failures: batch.failures().iter().map(failure).collect(),
            bytes: batch.to_host()?,
        })
    }

    /// Returns the bytes of the image with the batch index `place`.
    pub fn image(&self, place: usize) -> &[u8] {
        let bytes = self.bytes.len() / self.ids.len();
        &self.bytes[place * bytes..(place + 1) * bytes]
    }

    pub fn floats(&self) -> Vec<f32> {
        self.bytes.as_chunks::<4>().0.iter().map(|b| f32::from_ne_bytes(*b)).collect()
    }
}

/// Reads every batch of a run; each batch's buffer goes back to the loader as soon as it is read.
pub fn seen(epochs: Epochs) -> Vec<Seen> {
    epochs.map(|batch| Seen::from(&batch.unwrap())).collect()
}

/// Panics with the first difference between the batches of two runs, without printing their bytes.
pub fn assert_same(left: &[Seen], right: &[Seen], what: &str) {
    assert_eq!(left.len(), right.len(), "{what}: number of batches");
    for (a, b) in left.iter().zip(right) {
        let at = format!("{what}, epoch {} batch {}", a.epoch, a.index);
        assert_eq!((a.epoch, a.index, a.shape, a.valid), (b.epoch, b.index, b.shape, b.valid), "{at}");
        assert_eq!(a.ids, b.ids, "{at}: ids");
        assert!(a.params == b.params, "{at}: drawn parameters");
        assert_eq!(a.failures, b.failures, "{at}: failures");
        let differing = (0..a.ids.len()).filter(|&place| a.image(place) != b.image(place)).collect::<Vec<_>>();
        assert!(differing.is_empty(), "{at}: images {differing:?} differ");
        assert!(a == b, "{at}: labels");
    }
}

/// Returns the largest difference between the values of two runs of f32 batches.
pub fn farthest(left: &[Seen], right: &[Seen]) -> f32 {
    assert_eq!(left.len(), right.len());
    let pairs = left.iter().zip(right).flat_map(|(a, b)| {
        assert_eq!(a.shape, b.shape);
        assert!(a.floats().iter().chain(&b.floats()).all(|v| v.is_finite()));
        a.floats().into_iter().zip(b.floats())
    });
    pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
}

/// Runs `work` and panics if it takes longer than `seconds`, so that a hang fails the test instead of never ending.
pub fn within<T: Send + 'static>(seconds: u64, what: &str, work: impl FnOnce() -> T + Send + 'static) -> T {
    let (sender, receiver) = channel();
    let thread = std::thread::spawn(move || {
        let result = work();
        // The receiver may have timed out.
        let _ = sender.send(result);
    });
    match receiver.recv_timeout(Duration::from_secs(seconds)) {
        Ok(result) => result,
        Err(RecvTimeoutError::Timeout) => panic!("{what}: no end after {seconds} s"),
        Err(RecvTimeoutError::Disconnected) => resume_unwind(thread.join().expect_err("it sent nothing")),
    }
}

/// Returns an image that differs for each number, with detail along both axes.
pub fn picture(number: u32, width: u32, height: u32) -> RgbImage {
    RgbImage::from_fn(width, height, |x, y| {
        let wave = (x * (3 + number % 5) + y * (2 + number % 7) + 31 * number) % 511;
        let wave = wave.min(510 - wave) as u8;
        Rgb([wave, (x * 255 / width) as u8 ^ (number as u8), (y * 255 / height) as u8])
    })
}

pub fn encoded(picture: impl Into<DynamicImage>, format: ImageFormat) -> Vec<u8> {
    let mut bytes = Cursor::new(Vec::new());
    picture.into().write_to(&mut bytes, format).unwrap();
    bytes.into_inner()
}

/// Returns the file of sample `number`: a PNG for every third number, else a JPEG, each of another size.
pub fn file(number: u32) -> Vec<u8> {
    let picture = picture(number, 30 + number * 7 % 41, 28 + number * 13 % 37);
    encoded(picture, if number.is_multiple_of(3) { ImageFormat::Png } else { ImageFormat::Jpeg })
}

/// Returns a data set of `samples` small files; the class of each is its number.
pub fn small_files(samples: u32) -> InMemory {
    (0..samples).map(|number| (file(number), Label::Class(number))).collect()
}
