//! The driver's compiled pipelines, kept in a file between processes, where the driver has a cache of them (Vulkan).
//!
//! The files lie in the user's folder of caches: `~/.cache/gpufeed/pipelines` on Linux (`XDG_CACHE_HOME` moves it). Each
//! belongs to one adapter and one version of its driver, and begins with a hash of these and of what follows. A file that
//! is damaged, foreign or too large is ignored and replaced; a folder that cannot be written to is left alone.

use super::adapters;
use crate::storage::local::{atomic_file, regular_file};
use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::PoisonError;
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

/// Bytes of the largest file that is read or written. The pipelines of all built-in recipes take less than 2 MiB.
const MAX_BYTES: u64 = 32 << 20;
/// The most files in the folder: one more, and the one that was written first goes.
const MAX_FILES: usize = 16;
/// Bytes of the hash at the beginning of a file.
const HASH_BYTES: usize = 8;

/// A driver's cache, and its file.
#[derive(Debug)]
pub(super) struct PipelineCache {
    cache: wgpu::PipelineCache,
    file: PathBuf,
    driver: String,
    /// The hash of the file's content.
    saved: Mutex<u64>,
}

impl PipelineCache {
    /// Opens the cache of `device`, which has the feature; `None` if the user has no folder for caches.
    pub(super) fn open(device: &wgpu::Device, info: &wgpu::AdapterInfo) -> Option<PipelineCache> {
        PipelineCache::open_in(&dirs::cache_dir()?.join("gpufeed").join("pipelines"), device, info)
    }

    fn open_in(folder: &Path, device: &wgpu::Device, info: &wgpu::AdapterInfo) -> Option<PipelineCache> {
        let driver = format!("{}, {}", adapters::describe(info), wgpu::util::pipeline_cache_key(info)?);
        let file = folder.join(format!("{:016x}.bin", xxh3_64(driver.as_bytes())));
        let kept = read(&file, &driver);
        let saved = Mutex::new(kept.as_deref().map_or(0, |data| hash(&driver, data)));
        let cache = create(device, kept.as_deref());
        Some(PipelineCache { cache, file, driver, saved })
    }

    pub(super) fn raw(&self) -> &wgpu::PipelineCache {
        &self.cache
    }

    /// Writes the file if the cache has changed. Compiling does not depend on it, so a failure is only traced.
    pub(super) fn save(&self) {
        let Some(data) = self.cache.get_data().filter(|data| data.len() as u64 <= MAX_BYTES) else { return };
        let now = hash(&self.driver, &data);
        let mut saved = self.saved.lock().unwrap_or_else(PoisonError::into_inner);
        if *saved == now {
            return;
        }
        if let Err(reason) = write(&self.file, now, &data) {
            tracing::debug!("{}: compiled pipelines are not kept: {reason}", self.file.display());
        }
        *saved = now;
    }
}

#[allow(unsafe_code)]
fn create(device: &wgpu::Device, kept: Option<&[u8]>) -> wgpu::PipelineCache {
    let descriptor = wgpu::PipelineCacheDescriptor { label: Some("gpufeed"), data: kept, fallback: true };
    // SAFETY: the data must come from `PipelineCache::get_data`, because drivers trust it. Its hash says that it is what
    // `save` wrote for this adapter and driver.
    unsafe { device.create_pipeline_cache(&descriptor) }
}

fn hash(driver: &str, data: &[u8]) -> u64 {
    let mut hash = Xxh3::new();
    hash.update(driver.as_bytes());
    hash.update(data);
    hash.digest()
}

/// The data of a file, if it is whole and belongs to this driver.
fn read(file: &Path, driver: &str) -> Option<Vec<u8>> {
    let (opened, metadata) = regular_file::open(file).ok()?;
    if metadata.len() > MAX_BYTES + HASH_BYTES as u64 {
        return None;
    }
    let mut content = Vec::new();
    opened.take(MAX_BYTES + HASH_BYTES as u64).read_to_end(&mut content).ok()?;
    let stored = u64::from_le_bytes(content.get(..HASH_BYTES)?.try_into().ok()?);
    let data = content.split_off(HASH_BYTES);
    (stored == hash(driver, &data)).then_some(data)
}

fn write(file: &Path, hash: u64, data: &[u8]) -> std::io::Result<()> {
    let folder = atomic_file::folder_of(file);
    fs::create_dir_all(folder)?;
    atomic_file::replace(file, |out| {
        out.write_all(&hash.to_le_bytes())?;
        out.write_all(data)
    })?;
    remove_oldest(folder)
}

/// Removes the files that were written first, until [`MAX_FILES`] are left.
fn remove_oldest(folder: &Path) -> std::io::Result<()> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.path().extension().is_some_and(|extension| extension == "bin") {
            files.push((entry.metadata()?.modified()?, entry.path()));
        }
    }
    files.sort_unstable();
    for (_, file) in &files[..files.len().saturating_sub(MAX_FILES)] {
        fs::remove_file(file)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::Gpu;

    #[test]
    fn a_file_is_read_only_whole_and_by_the_driver_that_wrote_it() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("deep/er/a.bin");
        assert_eq!(read(&file, "a"), None);
        let data = vec![7; 100];
        write(&file, hash("a", &data), &data).unwrap();
        assert_eq!(read(&file, "a").as_ref(), Some(&data));
        assert_eq!(read(&file, "b"), None);
        let whole = fs::read(&file).unwrap();
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 1;
            fs::write(&file, &damaged).unwrap();
            assert_eq!(read(&file, "a"), None, "byte {at}");
            fs::write(&file, &whole[..at]).unwrap();
            assert_eq!(read(&file, "a"), None, "{at} bytes");
        }
        fs::File::create(&file).unwrap().set_len(1 << 40).unwrap();
        assert_eq!(read(&file, "a"), None);
        assert_eq!(read(folder.path(), "a"), None);
    }

    #[test]
    fn the_folder_is_bounded() {
        let folder = tempfile::tempdir().unwrap();
        for number in 0..MAX_FILES + 3 {
            let file = folder.path().join(format!("{number}.bin"));
            write(&file, 0, &[]).unwrap();
            let age = std::time::Duration::from_secs(1000 - number as u64);
            fs::File::options()
                .write(true)
                .open(&file)
                .unwrap()
                .set_modified(std::time::SystemTime::now() - age)
                .unwrap();
        }
        remove_oldest(folder.path()).unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), MAX_FILES);
        assert!(!folder.path().join("0.bin").exists() && folder.path().join("18.bin").exists());
    }

    /// Where the driver has a cache: the data returns, and neither a damaged file nor a folder that is a file matters.
    #[test]
    fn a_cache_returns_and_damage_is_harmless() {
        for adapter in Gpu::enumerate() {
            let gpu = Gpu::open(&adapter).unwrap();
            let folder = tempfile::tempdir().unwrap();
            let open = |folder: &Path| PipelineCache::open_in(folder, gpu.device(), gpu.info());
            if !gpu.caps().pipeline_cache {
                assert!(!adapter.features().contains(wgpu::Features::PIPELINE_CACHE), "{gpu}");
                continue;
            }
            let first = open(folder.path()).expect("the driver has a cache");
            first.save();
            let kept = read(&first.file, &first.driver).expect("the file was written");
            assert_eq!(*open(folder.path()).unwrap().saved.lock().unwrap(), hash(&first.driver, &kept), "{gpu}");
            fs::write(&first.file, b"damaged").unwrap();
            let other = open(folder.path()).unwrap();
            assert_eq!(*other.saved.lock().unwrap(), 0, "{gpu}");
            other.save();
            assert!(read(&first.file, &first.driver).is_some(), "{gpu}");
            open(&first.file).unwrap().save();
        }
    }
}
