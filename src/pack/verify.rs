//! Compares a packed data set with its source.

use crate::advice::FactsAlone;
use crate::dataset::in_order::InOrder;
use crate::dataset::{Dataset, Label, Sample, SampleData, ShardIndexes};
use crate::error::{ErrorKind, Result};
use crate::storage::Folder;
use std::ops::Range;

use super::errors::permitted;
use super::events::{Event, Watch};
use super::journal::{Manifest, Skipped};
use super::packed::{Compared, Unusable};
use super::recode::{Picture, Recoder, Recoding, Treatment};
use super::settings::PackFormat;
use super::source::OpenedSource;
use super::{hashed, workers, write};

/// Pictures whose peak signal-to-noise ratio is below this, in decibels, count as different. Photographs in JPEG of
/// quality 1 have 15 to 20.
const LEAST: f64 = 10.0;

/// Compares each shard with the hash in the manifest, and each packed sample with the result of packing the source's
/// sample again: bytes and label must be equal. `range` has the indices of the source's samples that were to be packed:
/// all of them, or those of a part. If an image was encoded anew, the packed file is also decoded, and its pixels are
/// compared with the pixels before encoding. For other samples, equal bytes are equal pixels.
///
/// Returns what differs, and a list of the samples that were copied although they should have been encoded or are not
/// images: the name and the reason of each.
pub(super) fn verify(
    source: &OpenedSource,
    folder: &Folder,
    (manifest, range): (&Manifest, Range<usize>),
    watch: &Watch,
) -> Result<(Compared, Vec<(String, String)>)> {
    let data = &*source.data;
    let (mut compared, mut undecodable) = (Compared::default(), Vec::new());
    // The shards in a store are not compared with their hashes; their samples are all compared below.
    if !folder.is_in_store() {
        compared.check_shards(folder, manifest, watch)?;
    }
    if manifest.job.to == PackFormat::Tar && range.len() == manifest.job.samples {
        // A reader of the folder would also read tar files that this pack did not write, so such tar files are
        // differences.
        for name in manifest.strangers(folder.names().map_err(permitted)?) {
            compared.differs(folder.path(&name).display(), "it is no shard of this pack".to_owned());
        }
    }
    if manifest.job.to == PackFormat::Tar && manifest.shards.is_empty() {
        // No sample was packed, as in an empty part, so there is nothing to compare.
        return Ok((compared, undecodable));
    }
    let out = folder.path("");
    let packed = match open(folder, manifest) {
        Ok(packed) => packed,
        Err(error) => {
            compared.differs(out.display(), error.in_words_of(&FactsAlone));
            return Ok((compared, undecodable));
        }
    };
    let indexes = manifest.packed(range.clone());
    if packed.len() != indexes.len() {
        let reason = format!("{} samples, but the source has {}", packed.len(), indexes.len());
        compared.differs(out.display(), reason);
    }
    compared.check_skipped(source, &manifest.skipped);
    if source.fields.listed() != manifest.job.fields {
        compared.differs(out.display(), format!("other fields than those of the source: {}", source.fields.names()));
    }
    if packed.classes() != data.classes() {
        compared.differs(out.display(), "the classes have other names".to_owned());
    }
    let recoding = manifest.job.recoding;
    let count = packed.len().min(indexes.len());
    // Announces to the source all samples in `range`. A few were skipped when the pack was made, and are announced
    // although they are not compared.
    let source_in_order = InOrder::new(data, range);
    let packed_in_order = InOrder::new(&*packed, 0..count);
    let say = |done: usize| watch.say(Event::Compared { done, all: count });
    say(0);
    let before = |index: usize| {
        source_in_order.before(indexes[index]);
        packed_in_order.before(index);
    };
    let one =
        |recoder: &mut Recoder, index: usize| compare(recoder, (source, &*packed), (indexes[index], index), recoding);
    workers::in_order(watch.threads, 0..count, watch, before, one, |index, of_sample: OfSample| {
        let OfSample { reasons, undecodable: reason, psnr } = of_sample;
        compared.samples += 1;
        if !reasons.is_empty() {
            compared.differs(packed.name(index), reasons.join(", "));
        }
        undecodable.extend(reason.map(|reason| (data.name(indexes[index]), reason)));
        compared.lowest_psnr = match (compared.lowest_psnr, psnr) {
            (Some(lowest), Some(psnr)) => Some(lowest.min(psnr)),
            (lowest, psnr) => lowest.or(psnr),
        };
        say(index + 1);
        Ok(())
    })?;
    Ok((compared, undecodable))
}

impl Compared {
    fn differs(&mut self, name: impl ToString, reason: String) {
        self.different.push(Unusable { sample: name.to_string(), reason });
    }

    /// Adds to the differences each shard whose content does not have the hash in the manifest.
    fn check_shards(&mut self, folder: &Folder, manifest: &Manifest, watch: &Watch) -> Result<()> {
        for shard in &manifest.shards {
            let path = folder.path(&shard.file);
            match hashed::of(&path, watch) {
                Ok(found) if found == shard.xxh3 => {}
                Ok(found) => {
                    let reason = format!("its content has changed: xxh3 {found}, written as {}", shard.xxh3);
                    self.differs(path.display(), reason);
                }
                Err(stopped) if matches!(stopped.kind(), ErrorKind::Stopped { .. }) => return Err(stopped),
                Err(error) => self.differs(path.display(), error.in_words_of(&FactsAlone)),
            }
        }
        Ok(())
    }

    /// Adds to the differences each sample that was skipped when the pack was made, and can be read now: the image, and
    /// the values of the fields that are packed.
    fn check_skipped(&mut self, source: &OpenedSource, all: &[Skipped]) {
        let mut buffer = Vec::new();
        for skipped in all {
            let read = source.data.read(skipped.skipped, &mut buffer);
            if read.is_ok_and(|sample| source.fields.are_packed(&sample.fields)) {
                let reason = "it could not be read when this was packed, and can be now".to_owned();
                self.differs(&skipped.name, reason);
            }
        }
    }
}

/// The result of comparing one sample.
#[derive(Debug, Default)]
struct OfSample {
    /// The differences; empty if there are none.
    reasons: Vec<String>,
    /// The reason for which the sample was copied although it should have been encoded or is not an image; else `None`.
    undecodable: Option<String>,
    psnr: Option<f64>,
}

fn compare(
    recoder: &mut Recoder,
    (source, packed): (&OpenedSource, &dyn Dataset),
    (source_index, index): (usize, usize),
    recoding: Recoding,
) -> Result<OfSample> {
    let expected = recoder.pack((&*source.data, &source.fields), source_index, recoding)?;
    let mut found = OfSample::default();
    if let Treatment::Unreadable(reason) = expected.treatment {
        found.reasons.push(format!("the source does not give it any more: {reason}"));
        return Ok(found);
    }
    let mut differs = |reason: String| found.reasons.push(reason);
    let mut buffer = Vec::new();
    let bytes = match packed.read(index, &mut buffer) {
        Ok(Sample { data: SampleData::Encoded(bytes), label, fields }) => {
            if bytes != expected.file {
                differs("another file".into());
            }
            if !same(&label, &expected.label) {
                differs(format!("the label {label:?} instead of {:?}", expected.label));
            }
            for field in source.fields.differing(&expected.members, &fields) {
                differs(format!("another {field:?}"));
            }
            Some(bytes)
        }
        Ok(_) => {
            differs("pixels, not a file".into());
            None
        }
        Err(error) => {
            differs(error.in_words_of(&FactsAlone));
            None
        }
    };
    match (expected.treatment, bytes) {
        (Treatment::Undecodable(reason), _) => found.undecodable = Some(reason),
        (Treatment::Encoded, Some(bytes)) if !recoder.picture.rgb.is_empty() => {
            let before = std::mem::take(&mut recoder.picture);
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
                Err(error) => differs(format!("it cannot be decoded: {}", error.in_words_of(&FactsAlone))),
            }
        }
        _ => {}
    }
    Ok(found)
}

fn open(folder: &Folder, manifest: &Manifest) -> Result<Box<dyn Dataset>> {
    match manifest.job.to {
        // Scans the shards. Index files are not read, because they describe the shards as they were when they were
        // written.
        PackFormat::Tar => {
            let shards = manifest.shards.iter().map(|shard| folder.path(&shard.file));
            let builder = write::reader(&manifest.job.fields).indexes(ShardIndexes::Memory);
            Ok(Box::new(builder.open_list(shards)?))
        }
        PackFormat::Lmdb => Ok(Box::new(write::lmdb_reader(&manifest.job.fields).open(folder.local())?)),
    }
}

/// Compares two labels like `==`, but NaNs of equal bits are equal.
fn same(a: &Label, b: &Label) -> bool {
    match (a, b) {
        (Label::Multi(a), Label::Multi(b)) => a.iter().map(|v| v.to_bits()).eq(b.iter().map(|v| v.to_bits())),
        _ => a == b,
    }
}

/// Returns the peak signal-to-noise ratio in dB, 99 for equal pictures; `None` for different sizes.
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
    use crate::dataset::{Field, FieldChoice, FieldKind, InMemory, PixelFormat};
    use crate::pack::members::MemberFields;

    const QUALITY: Recoding = Recoding { max_side: None, quality: Some(90) };

    /// Makes a data set with one picture: a ramp from dark to bright, or its negative.
    fn picture(width: u32, height: u32, negative: bool) -> InMemory {
        let ramp = (0..3 * width * height).map(|i| (i * 255 / (3 * width * height)) as u8);
        let pixels: Vec<u8> = ramp.map(|v| if negative { 255 - v } else { v }).collect();
        let mut data = InMemory::new();
        data.push_pixels(width, height, PixelFormat::Rgb8, pixels, Label::Class(1)).unwrap();
        data
    }

    #[test]
    fn a_sample_that_was_skipped_for_its_fields_is_no_difference_while_they_are_the_same() {
        let skipped = [Skipped { skipped: 0, name: "sample 0".to_owned(), reason: "no value of its field".to_owned() }];
        let mut source = OpenedSource::of(picture(4, 3, false));
        let found = |source: &OpenedSource| {
            let mut compared = Compared::default();
            compared.check_skipped(source, &skipped);
            compared.different.len()
        };
        assert_eq!(found(&source), 1, "without fields it can be read");
        // Its data set says that samples have a text, and this one has none.
        let text = Field::new("text").kind(FieldKind::Text);
        source.fields = MemberFields::of(&[text], &FieldChoice::All).unwrap();
        assert_eq!(found(&source), 0);
    }

    #[test]
    fn another_picture_is_a_difference_whatever_is_wrong_with_it() {
        let source = picture(40, 30, false);
        let none = MemberFields::default();
        let file = |data: &InMemory| Recoder::default().pack((data, &none), 0, QUALITY).unwrap().file;
        let own = file(&source);
        let source = OpenedSource::of(source);
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
