//! Which decoded samples stay between epochs: the setters.

use super::DataLoaderBuilder;
use crate::loader::Cache;

setters! {
    /// Stores decoded samples between epochs, in RAM or on the GPU; off by default.
    ///
    /// The cache stores the result of the list's prefix, the transforms before the first random one, which every epoch
    /// computes alike:
    ///
    /// - If the prefix has no [`Resize`](crate::transforms::Resize): the region of the image that the prefix leaves
    ///   visible, in bytes, 3 a pixel in RAM, 4 on the GPU (float pixels stay floats, 16 bytes a pixel).
    /// - If it has one: the result of that `Resize`, or of a `CenterCrop` that follows it. In bytes, as above, if these
    ///   hold it exactly (nearest-neighbour resizes, crops, flips, borders of one of the 256 levels), else in f32, 16
    ///   bytes a pixel.
    /// - If f32 would not give the bits that batches have without a cache: the region of the image in bytes after all.
    ///   This is so in RAM if the GPU augments, after a resize that a `Pad` follows, and on a GPU for outputs of more
    ///   than 4,194,304 pixels.
    ///
    /// [`DataLoader::explain`](crate::DataLoader::explain) shows which form is stored. Batches have the same bits as
    /// without a cache. Some samples are not stored but read in every epoch, into the same batches: those for which
    /// there is no room, those that the CPU executor finishes for the GPU, and on a GPU those whose resized image
    /// exceeds 16 MiB.
    /// [`Stats::cache_hits`](crate::Stats::cache_hits) counts samples that came from the cache,
    /// [`DataLoader::cached`](crate::DataLoader::cached) those that are stored.
    ///
    /// The cache's budget is separate from [`memory_budget`](Self::memory_budget). Pixels that the data set holds in
    /// RAM anyway ([`Dataset::is_in_memory`](crate::Dataset::is_in_memory)) are not stored there a second time.
    ///
    /// ```
    /// use gpufeed::transforms::{RandomCrop, Resize};
    /// use gpufeed::{Backend, Cache, DataLoader, ImageFolder};
    ///
    /// # fn run() -> gpufeed::Result<()> {
    /// let loader = DataLoader::builder(ImageFolder::open("flowers")?)
    ///     .transform(Resize::new(256)) // once
    ///     .transform(RandomCrop::new(224)) // in every epoch
    ///     .cache(Cache::Device(8 << 30))
    ///     .build(&Backend::auto()?)?;
    /// # Ok(()) }
    /// ```
    pub fn cache(cache: Cache) sets settings.cache = cache;

    /// Makes a [`cache`](Self::cache) round the result of a prefix with a [`Resize`](crate::transforms::Resize) to
    /// bytes: 3 instead of 16 bytes a pixel in RAM, 4 on the GPU. Off by default: only results that bytes hold exactly
    /// are stored in bytes.
    ///
    /// The workers then run the prefix of the list, and round its result to the nearest of 256 levels, as torchvision
    /// stores a resized image: a difference of at most half a level before the transforms that follow, none after
    /// nearest-neighbour resizes of bytes. Values below 0 and above 1, which bicubic resizes and float pixels may have,
    /// are clamped, as torchvision does for bytes. All samples are rounded, also those that are not stored, so batches
    /// depend neither on the budget nor on which samples are cached. The prefix ends before a `Normalize`, whose result
    /// bytes cannot hold. Without a cache, or without a `Resize` in the prefix, this changes nothing.
    ///
    /// ```
    /// use gpufeed::transforms::{RandomCrop, Resize};
    /// use gpufeed::{Backend, Cache, DataLoader, InMemory, Label, PixelFormat};
    ///
    /// let mut data = InMemory::new();
    /// data.push_pixels(64, 64, PixelFormat::Rgb8, vec![100; 3 * 64 * 64], Label::Class(0))?;
    /// let loader = DataLoader::builder(data)
    ///     .transform(Resize::new(32))
    ///     .transform(RandomCrop::new(24))
    ///     .batch_size(1)
    ///     .cache(Cache::Host(1 << 20))
    ///     .cache_in_bytes(true)
    ///     .build(&Backend::Cpu)?;
    /// loader.epoch(0)?.try_for_each(|batch| batch.map(drop))?;
    /// assert_eq!(loader.cached(), (1, 3 * 32 * 32));
    /// # Ok::<(), gpufeed::Error>(())
    /// ```
    pub fn cache_in_bytes(cache_in_bytes: bool) sets settings.cache_in_bytes = cache_in_bytes;
}
