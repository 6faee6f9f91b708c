//! Hashes of the batches of every built-in recipe. `tests/frozen/` stores the hashes of the CPU backend;
//! `scripts/same-bits.sh` compares the hashes of two builds on every adapter.

use gpufeed::recipe::ViewGroup;
use gpufeed::{
    Backend, Batch, Cache, DataLoader, Execute, InMemory, Label, OnError, PixelFormat, Result, Semantics, recipe,
};
use image::{ExtendedColorType, ImageEncoder, codecs::png::PngEncoder};
use std::sync::LazyLock;
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

/// Number of samples in an epoch; `BATCH` is the number in a batch, so an epoch has three batches.
const SAMPLES: u32 = 6;
const BATCH: usize = 2;
/// The cache's size limit in bytes, more than all samples take.
const ALL: u64 = 256 << 20;

/// Indices of three JPEGs of `tests/golden`, which are as large as any there: gray, 4:4:4 and 4:2:0; the two in colour
/// have restart markers.
const JPEGS: [usize; 3] = [105, 106, 108];

/// The cache of a loader: where it is, and whether the setting `cache_in_bytes` is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    Nothing,
    Host,
    Device,
    /// A cache in host memory, with `cache_in_bytes`.
    HostBytes,
    /// A cache in GPU memory, with `cache_in_bytes`.
    DeviceBytes,
}

impl Kept {
    fn name(self) -> &'static str {
        match self {
            Kept::Nothing => "cache off",
            Kept::Host => "cache host",
            Kept::Device => "cache device",
            Kept::HostBytes => "cache host in bytes",
            Kept::DeviceBytes => "cache device in bytes",
        }
    }

    fn cache(self) -> Cache {
        match self {
            Kept::Nothing => Cache::Off,
            Kept::Host | Kept::HostBytes => Cache::Host(ALL),
            Kept::Device | Kept::DeviceBytes => Cache::Device(ALL),
        }
    }

    fn in_bytes(self) -> bool {
        matches!(self, Kept::HostBytes | Kept::DeviceBytes)
    }
}

/// A built-in recipe with the settings that may change the bits of its batches.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    pub recipe: &'static str,
    pub kept: Kept,
    pub views: usize,
}

impl std::fmt::Display for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}, {}, views {}", self.recipe, self.kept.name(), self.views)
    }
}

/// The first words of recipes of detection and segmentation, whose samples have boxes or masks.
const OF_TARGETS: [&str; 4] = ["coco-", "maskrcnn-", "segmentation-", "yolo-"];

/// The built-in recipes that take any images, without boxes, masks or sizes that vary.
pub fn plain_recipes() -> impl Iterator<Item = &'static str> {
    recipe::NAMES.into_iter().filter(|name| !OF_TARGETS.iter().any(|first| name.starts_with(first)))
}

/// Returns the lists of the built-in recipes that take any images with their names: a recipe's, or a recipe's and a group's.
pub fn named_lists() -> impl Iterator<Item = (String, ViewGroup)> {
    plain_recipes().flat_map(|name| {
        let recipe = recipe::named(name).expect("its name is in the list");
        let grouped = !recipe.groups.is_empty();
        let named =
            move |list: ViewGroup| (if grouped { format!("{name}, {}", list.name) } else { name.to_owned() }, list);
        recipe.lists().into_iter().map(named)
    })
}

/// Returns every built-in recipe that takes any images with each cache of `kept`, with one view and with two; one with groups as it is.
pub fn cases(kept: &[Kept]) -> Vec<Case> {
    let mut cases = Vec::new();
    for recipe in plain_recipes() {
        for &kept in kept {
            let grouped = recipe::named(recipe).is_ok_and(|recipe| !recipe.groups.is_empty());
            let views = if grouped { &[1][..] } else { &[1, 2] };
            cases.extend(views.iter().map(|&views| Case { recipe, kept, views }));
        }
    }
    cases
}

/// The hashes of a case's batches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bits {
    /// One hash per epoch, of its three batches. The cache is filled in the first epoch and read in the second.
    pub epochs: [u64; 2],
    /// Number of samples that were served from the cache.
    pub hits: u64,
}

impl std::fmt::Display for Bits {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [first, second] = self.epochs;
        write!(f, "{first:016x} {second:016x}")
    }
}

impl Case {
    /// Loads two epochs with `workers` threads and returns the hashes of their batches.
    ///
    /// # Errors
    /// The errors of the loader, for example on an adapter that cannot hold a batch.
    pub fn bits(&self, backend: &Backend, execute: Execute, workers: usize) -> Result<Bits> {
        let loader = DataLoader::builder(samples_for(self.recipe)?)
            .recipe(recipe::named(self.recipe)?)
            .views(self.views)
            .batch_size(BATCH)
            .shuffle(true)
            .seed(2026)
            .workers(workers)
            .on_error(OnError::Fail)
            .cache(self.kept.cache())
            .cache_in_bytes(self.kept.in_bytes())
            .execute(execute)
            .build(backend)?;
        let mut epochs = [0; 2];
        for (epoch, hash) in (0..).zip(&mut epochs) {
            let mut all = Xxh3::new();
            for batch in loader.epoch(epoch)? {
                add(&mut all, &batch?)?;
            }
            *hash = all.digest();
        }
        Ok(Bits { epochs, hits: loader.stats().cache_hits })
    }
}

/// Returns six samples that the built-in recipe `name` takes.
///
/// # Errors
/// An unknown name.
pub fn samples_for(name: &str) -> Result<InMemory> {
    let data = match recipe::named(name)?.semantics {
        // It alone crops without padding and without a resize before it, so it needs larger images.
        _ if name == "augment-only" => &LARGE,
        Some(Semantics::Uint8) => &BYTES,
        _ => &MIXED,
    };
    Ok(InMemory::clone(data))
}

/// Adds a batch's shape, ids, labels and pixels to the hash, then those of the groups after the first one.
fn add(hash: &mut Xxh3, batch: &Batch) -> Result<()> {
    batch.shape().iter().for_each(|&side| hash.update(&(side as u64).to_le_bytes()));
    batch.ids().iter().for_each(|id| hash.update(&id.to_le_bytes()));
    let classes = batch.classes().expect("every sample has a class");
    classes.iter().for_each(|class| hash.update(&class.to_le_bytes()));
    hash.update(&batch.to_host()?);
    for group in batch.groups().skip(1) {
        group.shape().iter().for_each(|&side| hash.update(&(side as u64).to_le_bytes()));
        group.ids().iter().for_each(|id| hash.update(&id.to_le_bytes()));
        hash.update(&group.to_host()?);
    }
    Ok(())
}

/// Returns the XXH3 hash of a text in hexadecimal, as the frozen files store it.
pub fn hash(text: impl AsRef<[u8]>) -> String {
    format!("{:016x}", xxh3_64(text.as_ref()))
}

/// A data set of three small JPEGs and three larger images.
static MIXED: LazyLock<InMemory> = LazyLock::new(|| small_and(3..SAMPLES));

/// The same without images of floats, which `Semantics::Uint8` refuses.
static BYTES: LazyLock<InMemory> = LazyLock::new(|| small_and([3, 4, 6]));

/// The JPEGs and drawn images.
fn small_and(drawn: impl IntoIterator<Item = u32>) -> InMemory {
    let mut data = InMemory::new();
    for (number, jpeg) in (0..).zip(jpegs()) {
        data.push_encoded(jpeg, Label::Class(number)).expect("all have three channels");
    }
    drawn.into_iter().for_each(|number| push_drawn(&mut data, number));
    data
}

/// A data set of images that are larger than 224 pixels on each side.
static LARGE: LazyLock<InMemory> = LazyLock::new(|| {
    let mut data = InMemory::new();
    (0..SAMPLES).for_each(|number| push_drawn(&mut data, number));
    data
});

/// Returns the files that [`JPEGS`] lists. They are committed, because another version of an encoder would write other
/// bytes.
fn jpegs() -> Vec<&'static [u8]> {
    let mut rest: &[u8] = include_bytes!("../../../tests/golden/jpeg_files.bin");
    let files = include_str!("../../../tests/golden/jpeg_files.txt").lines().map(|line| {
        let bytes = line.split(' ').next().and_then(|bytes| bytes.parse().ok()).expect("a line begins with the length");
        let file;
        (file, rest) = rest.split_at(bytes);
        file
    });
    let files: Vec<_> = files.collect();
    JPEGS.map(|number| files[number]).to_vec()
}

/// Adds image `number`, computed in integers, as a PNG, as bytes or as floats in turn. PNG is lossless, so another
/// version of its encoder changes no pixel.
fn push_drawn(data: &mut InMemory, number: u32) {
    let (width, height) = (260 + 31 * number, 310 - 13 * number);
    let mut pixels = Vec::new();
    for y in 0..height {
        for x in 0..width {
            let wave = (x * (3 + number) + y * (2 + number * 5) + x * y / 64) % 511;
            let color = (x * 255 / width) ^ (number * 37);
            pixels.extend([wave.min(510 - wave) as u8, color as u8, (y * 255 / height) as u8]);
        }
    }
    let label = Label::Class(number);
    let added = match number % 3 {
        0 => {
            let mut file = Vec::new();
            let written = PngEncoder::new(&mut file).write_image(&pixels, width, height, ExtendedColorType::Rgb8);
            written.expect("memory takes it");
            data.push_encoded(file, label)
        }
        1 => data.push_pixels(width, height, PixelFormat::Rgb8, pixels, label),
        _ => {
            let floats: Vec<u8> = pixels.iter().flat_map(|&level| (f32::from(level) / 255.0).to_ne_bytes()).collect();
            data.push_pixels(width, height, PixelFormat::F32 { channels: 3 }, floats, label)
        }
    };
    added.expect("all have three channels");
}
