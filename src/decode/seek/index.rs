//! The seek index of one file, for decoding without a loader.

use super::SeekStore;
use crate::decode::{self, DecodeOptions, Probe, Scratch};
use crate::error::{Error, Result};
use xxhash_rust::xxh3::xxh3_64;

/// Positions inside one JPEG from which decoding can start, for [`decode_with`](super::super::decode_with).
///
/// It belongs to the content of the file that it was built of: it is ignored for another file, or after a change. It
/// takes about 2 % of the file's size.
///
/// ```
/// use gpufeed::decode::{self, DecodeOptions, Rect, Scratch, SeekIndex};
///
/// # let picture = image::RgbImage::from_fn(320, 240, |x, y| image::Rgb([x as u8, y as u8, (x * y) as u8]));
/// # let mut file = std::io::Cursor::new(Vec::new());
/// # picture.write_to(&mut file, image::ImageFormat::Jpeg).unwrap();
/// # let jpeg = file.into_inner();
/// let (options, mut scratch) = (DecodeOptions::default(), Scratch::default());
/// let probe = decode::probe(&jpeg, &options)?;
/// let index = SeekIndex::build(&jpeg, &probe, &options, &mut scratch)?.expect("a sequential JPEG");
/// let bytes: Vec<u8> = index.to_bytes(); // to a file, say
/// let index = SeekIndex::from_bytes(&bytes)?;
///
/// let corner = Rect { left: 250, top: 200, width: 70, height: 40 };
/// let pixels = decode::decode_with(&jpeg, &probe, corner, &options, Some(&index), &mut scratch)?.pixels.to_vec();
/// assert_eq!(pixels, decode::decode(&jpeg, &probe, corner, &options, &mut scratch)?.pixels);
/// # Ok::<(), gpufeed::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeekIndex {
    /// Hash of the file's content.
    key: u128,
    index: gpufeed_jpeg::SeekIndex,
}

impl SeekIndex {
    /// Builds the index of a JPEG. It reads the scan to its end, which takes most of the time of decoding. Returns
    /// `None` for files that cannot have an index: other formats, progressive JPEGs, those in several scans, damaged
    /// ones.
    ///
    /// # Errors
    /// The errors of [`decode`](super::super::decode), for a file that cannot be decoded at all.
    pub fn build(
        bytes: &[u8],
        probe: &Probe,
        options: &DecodeOptions,
        scratch: &mut Scratch,
    ) -> Result<Option<SeekIndex>> {
        let built = decode::build_index(bytes, probe, options, scratch)?;
        Ok(built.map(|index| SeekIndex { key: SeekStore::key(bytes), index }))
    }

    /// Converts the index to bytes, for [`from_bytes`](Self::from_bytes) of this version of gpufeed.
    pub fn to_bytes(&self) -> Vec<u8> {
        let content = [&self.key.to_le_bytes()[..], &self.index.to_bytes()].concat();
        [&xxh3_64(&content).to_le_bytes()[..], &content].concat()
    }

    /// Reads the bytes of [`to_bytes`](Self::to_bytes).
    ///
    /// # Errors
    /// [`ErrorKind::Argument`](crate::ErrorKind::Argument) if `bytes` are not an index, or damaged. Forged bytes may
    /// pass and lead to wrong pixels: a checksum is not a signature.
    pub fn from_bytes(bytes: &[u8]) -> Result<SeekIndex> {
        let read = || {
            let (sum, content) = bytes.split_first_chunk()?;
            let (key, record) = content.split_first_chunk()?;
            let index = (u64::from_le_bytes(*sum) == xxh3_64(content))
                .then(|| gpufeed_jpeg::SeekIndex::from_bytes(record))??;
            Some(SeekIndex { key: u128::from_le_bytes(*key), index })
        };
        read().ok_or_else(|| Error::argument("bytes", "not the bytes of a seek index, or damaged"))
    }

    /// Returns the engine's index if it belongs to this file.
    pub(in crate::decode) fn of(&self, bytes: &[u8]) -> Option<&gpufeed_jpeg::SeekIndex> {
        (self.key == SeekStore::key(bytes)).then_some(&self.index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::seek::{self, SeekIndexes};
    use crate::decode::{DecodePath, ScaledRegion};
    use crate::geometry::{Rect, Scale};

    fn jpeg() -> Vec<u8> {
        let noise = |x: u32, y: u32| ((x * 7919 + y * 104_729) >> 3) as u8;
        let picture = image::RgbImage::from_fn(200, 100, |x, y| image::Rgb([noise(x, y), noise(y, x), x as u8]));
        let mut file = std::io::Cursor::new(Vec::new());
        picture.write_to(&mut file, image::ImageFormat::Jpeg).unwrap();
        file.into_inner()
    }

    /// The store does not detect the change: the test writes records with valid checksums.
    #[test]
    fn a_record_that_was_changed_is_not_used_where_a_region_crosses_the_change() {
        let (bytes, options, mut scratch) = (jpeg(), DecodeOptions::default(), Scratch::default());
        let probe = decode::probe(&bytes, &options).unwrap();
        let record = decode::build_index(&bytes, &probe, &options, &mut scratch).unwrap().unwrap().to_bytes();
        let region = Rect { left: 0, top: 0, width: 199, height: 100 };
        let expected = decode::decode(&bytes, &probe, region, &options, &mut scratch).unwrap().pixels.to_vec();
        let mut by_record = |record: Vec<u8>| {
            let store = SeekStore::open(&SeekIndexes::Memory, None, 1 << 20).unwrap();
            store.put(SeekStore::key(&bytes), record);
            let (wanted, mut found) = (ScaledRegion { region, scale: Scale::Full }, seek::SeekScratch::default());
            let decoded =
                decode::decode_indexed(&bytes, &probe, wanted, &options, Some(&store), &mut found, &mut scratch);
            let (decoded, way) = decoded.unwrap();
            assert!(decoded.pixels == expected);
            way
        };
        assert_eq!(by_record(record.clone()), DecodePath::Indexed);
        let (mut changed, mut used) = (0, 0);
        for at in 0..record.len() {
            for value in [1, 2, 0x40] {
                let mut record = record.clone();
                record[at] ^= value;
                if gpufeed_jpeg::SeekIndex::from_bytes(&record).is_some() {
                    changed += 1;
                    used += usize::from(by_record(record) == DecodePath::Indexed);
                }
            }
        }
        // A region that crosses all entries of a row checks the first and the last of them.
        assert!(changed > 200 && used < changed / 10, "{used} of {changed} were used");
    }
}
