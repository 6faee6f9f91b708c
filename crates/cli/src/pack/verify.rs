//! Whether a pack holds what its source does.

use gpufeed::dataset::{ShardIndexes, TarShards};
use gpufeed::{Dataset, Label, Sample, SampleData};
use indicatif::ProgressBar;
use std::error::Error;
use std::fs;
use std::io::Read;
use std::path::Path;
use xxhash_rust::xxh3::Xxh3;

use super::To;
use super::journal::{Manifest, failed};
use super::recode::{How, Picture, Recoder, Recoding};
use super::workers::Workers;

/// Decibels below which a picture is another one; JPEG of quality 1 makes photographs of 15 to 20.
const LEAST: f64 = 10.0;

/// What was found.
#[derive(Debug, Default)]
pub(super) struct Verified {
    /// Samples that were compared.
    pub(super) samples: usize,
    /// Shards and samples that are not as they should be: their names, and why.
    pub(super) different: Vec<(String, String)>,
    /// Samples that are packed as they were, although they should have been decoded, or are no images: their names, and why.
    pub(super) undecodable: Vec<(String, String)>,
    /// Of the samples that were encoded anew, the lowest peak signal-to-noise ratio to the source's pixels, in dB.
    pub(super) lowest_psnr: Option<f64>,
}

/// Compares the shards with their hashes, and each sample with what its source would be packed as now: the same bytes
/// and the same label, or it is different. Those that were encoded anew are decoded on both sides; of the others the
/// same bytes are the same pixels.
pub(super) fn verify(
    data: &dyn Dataset,
    folder: &Path,
    manifest: &Manifest,
    workers: &Workers,
    bar: &ProgressBar,
) -> Result<Verified, Box<dyn Error>> {
    let mut verified = Verified::default();
    for shard in &manifest.shards {
        let path = folder.join(&shard.file);
        match hash(&path) {
            Ok(found) if found == shard.xxh3 => {}
            Ok(found) => {
                let reason = format!("its content has changed: xxh3 {found}, written as {}", shard.xxh3);
                verified.different.push((path.display().to_string(), reason));
            }
            Err(reason) => verified.different.push((path.display().to_string(), reason)),
        }
    }
    if manifest.job.to == To::Tar {
        verified.different.extend(strangers(folder, manifest));
    }
    let packed = match open(folder, manifest) {
        Ok(packed) => packed,
        Err(error) => {
            verified.different.push((folder.display().to_string(), error.to_string()));
            return Ok(verified);
        }
    };
    let places = manifest.packed();
    if packed.len() != places.len() {
        let reason = format!("{} samples, but the source has {}", packed.len(), places.len());
        verified.different.push((folder.display().to_string(), reason));
    }
    let mut buffer = Vec::new();
    for left in &manifest.skipped {
        if data.read(left.skipped, &mut buffer).is_ok() {
            let reason = "it could not be read when this was packed, and can be now".to_owned();
            verified.different.push((left.name.clone(), reason));
        }
    }
    if packed.classes() != data.classes() {
        verified.different.push((folder.display().to_string(), "the classes have other names".into()));
    }
    let recoding = manifest.job.recoding;
    let count = packed.len().min(places.len());
    let step = workers.at_once();
    for first in (0..count).step_by(step) {
        let compared = workers.map(first..count.min(first + step), |recoder, index| {
            compare(recoder, (data, &*packed), (places[index], index), recoding)
        });
        for (index, compared) in (first..).zip(compared) {
            let Compared { reasons, undecodable, psnr } = compared.map_err(|error| -> Box<dyn Error> { error })?;
            verified.samples += 1;
            if !reasons.is_empty() {
                verified.different.push((packed.name(index), reasons.join(", ")));
            }
            verified.undecodable.extend(undecodable.map(|reason| (data.name(places[index]), reason)));
            verified.lowest_psnr = match (verified.lowest_psnr, psnr) {
                (Some(lowest), Some(psnr)) => Some(lowest.min(psnr)),
                (lowest, psnr) => lowest.or(psnr),
            };
            bar.inc(1);
        }
    }
    Ok(verified)
}

/// What of a sample was found.
#[derive(Debug, Default)]
struct Compared {
    /// Why it is different.
    reasons: Vec<String>,
    /// Why it is packed as it was, although it should have been decoded, or is no image.
    undecodable: Option<String>,
    psnr: Option<f64>,
}

fn compare(
    recoder: &mut Recoder,
    (data, packed): (&dyn Dataset, &dyn Dataset),
    (place, index): (usize, usize),
    recoding: Recoding,
) -> Result<Compared, Box<dyn Error + Send + Sync>> {
    let expected = recoder.pack(data, place, recoding)?;
    let mut found = Compared::default();
    if let How::Unreadable(reason) = expected.how {
        found.reasons.push(format!("the source does not give it any more: {reason}"));
        return Ok(found);
    }
    let mut differs = |reason: String| found.reasons.push(reason);
    let mut buffer = Vec::new();
    let bytes = match packed.read(index, &mut buffer) {
        Ok(Sample { data: SampleData::Encoded(bytes), label }) => {
            if bytes != expected.file {
                differs("another file".into());
            }
            if !same(&label, &expected.label) {
                differs(format!("the label {label:?} instead of {:?}", expected.label));
            }
            Some(bytes)
        }
        Ok(_) => {
            differs("pixels, not a file".into());
            None
        }
        Err(error) => {
            differs(error.to_string());
            None
        }
    };
    match (expected.how, bytes) {
        (How::Undecodable(reason), _) => found.undecodable = Some(reason),
        (How::Encoded, Some(bytes)) if !recoder.picture().rgb.is_empty() => {
            let before = std::mem::take(recoder.picture_mut());
            match recoder.decode(bytes).map(|after| (ratio(&before, after), after)) {
                Ok((Some(psnr), _)) => {
                    found.psnr = Some(psnr);
                    if psnr < LEAST {
                        differs(format!("another picture: the peak signal-to-noise ratio is {psnr:.1} dB"));
                    }
                }
                Ok((None, after)) => differs(format!(
                    "{}x{} pixels instead of {}x{}",
                    after.width, after.height, before.width, before.height
                )),
                Err(error) => differs(format!("it cannot be decoded: {error}")),
            }
        }
        _ => {}
    }
    Ok(found)
}

/// Tar files in the folder that are not the manifest's: who opens the folder reads them, too.
fn strangers(folder: &Path, manifest: &Manifest) -> Vec<(String, String)> {
    let names = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.file_name());
    let mut strange: Vec<_> = names
        .map(|name| name.to_string_lossy().into_owned())
        .filter(|name| name.ends_with(".tar") && !name.starts_with('.'))
        .filter(|name| !manifest.shards.iter().any(|shard| shard.file == *name))
        .collect();
    strange.sort_unstable();
    let named = |name: String| (folder.join(name).display().to_string(), "it is no shard of this pack".to_owned());
    strange.into_iter().map(named).collect()
}

fn open(folder: &Path, manifest: &Manifest) -> gpufeed::Result<Box<dyn Dataset>> {
    match manifest.job.to {
        // Not by the indexes, which are of what the shards were.
        To::Tar => {
            let shards = manifest.shards.iter().map(|shard| folder.join(&shard.file));
            let builder = TarShards::builder().allow_unlabelled(true).indexes(ShardIndexes::Memory);
            Ok(Box::new(builder.open_list(shards)?))
        }
        #[cfg(feature = "lmdb")]
        To::Lmdb => Ok(Box::new(gpufeed::dataset::Lmdb::builder().allow_unlabelled(true).open(folder)?)),
    }
}

/// As `==`, but a label of NaNs is itself.
fn same(a: &Label, b: &Label) -> bool {
    match (a, b) {
        (Label::Multi(a), Label::Multi(b)) => a.iter().map(|v| v.to_bits()).eq(b.iter().map(|v| v.to_bits())),
        _ => a == b,
    }
}

fn hash(path: &Path) -> Result<String, String> {
    let (mut file, _) = gpufeed::internals::regular_file::open(path).map_err(failed(path))?;
    let (mut hash, mut buffer) = (Xxh3::new(), vec![0; 1 << 20]);
    loop {
        match file.read(&mut buffer).map_err(failed(path))? {
            0 => return Ok(format!("{:016x}", hash.digest())),
            read => hash.update(&buffer[..read]),
        }
    }
}

/// The peak signal-to-noise ratio in dB, 99 for equal pictures; `None` for those of different sizes.
fn ratio(a: &Picture, b: &Picture) -> Option<f64> {
    if (a.width, a.height) != (b.width, b.height) {
        return None;
    }
    let squares: u64 = a.rgb.iter().zip(&b.rgb).map(|(a, b)| u64::from(a.abs_diff(*b)).pow(2)).sum();
    Some(match squares {
        0 => 99.0,
        squares => 10.0 * (255.0 * 255.0 * a.rgb.len() as f64 / squares as f64).log10(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpufeed::{InMemory, PixelFormat};

    const QUALITY: Recoding = Recoding { max_side: None, quality: Some(90) };

    /// A ramp of so many pixels, or its negative.
    fn picture(width: u32, height: u32, negative: bool) -> InMemory {
        let ramp = (0..3 * width * height).map(|i| (i * 255 / (3 * width * height)) as u8);
        let pixels: Vec<u8> = ramp.map(|v| if negative { 255 - v } else { v }).collect();
        let mut data = InMemory::new();
        data.push_pixels(width, height, PixelFormat::Rgb8, pixels, Label::Class(1)).unwrap();
        data
    }

    #[test]
    fn another_picture_is_a_difference_whatever_is_wrong_with_it() {
        let source = picture(40, 30, false);
        let file = |data: &InMemory| Recoder::default().pack(data, 0, QUALITY).unwrap().file;
        let own = file(&source);
        for (packed, reason) in [
            (own.clone(), None),
            (own[..own.len() / 2].to_vec(), Some("it cannot be decoded: ")),
            (file(&picture(30, 40, false)), Some("30x40 pixels instead of 40x30")),
            (file(&picture(40, 30, true)), Some("another picture: ")),
        ] {
            let packed: InMemory = [(packed, Label::Class(1))].into_iter().collect();
            let found = compare(&mut Recoder::default(), (&source, &packed), (0, 0), QUALITY).unwrap();
            match reason {
                None => assert!(found.reasons.is_empty() && found.psnr.unwrap() > 30.0, "{found:?}"),
                Some(reason) => assert!(found.reasons.iter().any(|found| found.starts_with(reason)), "{found:?}"),
            }
        }
    }
}
