//! Unpacks compressed pages. The crate `parquet` would do it only while it goes through a column from its start.

use crate::advice::{self, Reason, Setting};
use std::io::Read;

use parquet::basic::Compression;

use crate::allocate::Use;

/// The memory of a page, for errors.
const PAGE: Use = Use { what: "a page of a Parquet file", settings: &[Setting::Workers, Setting::ParquetMaxPageBytes] };

/// The largest page that is unpacked. It is as large as the largest image,
/// [`MAX_FILE_BYTES`](crate::dataset::MAX_FILE_BYTES).
pub(super) const LARGEST: u32 = 1 << 30;

/// Without a setting, a page may unpack to this many times its bytes, or to the bytes below if it is short. Compressed
/// images unpack to hardly more bytes, while 31 KB of zstd can unpack to a gigabyte in every worker.
const TIMES: u64 = 64;
const SHORT: u64 = 64 << 20;

/// Returns the most bytes to which a page of `packed` bytes may unpack. `setting` is `max_page_bytes`.
pub(super) fn most_unpacked(setting: Option<u64>, packed: usize) -> u64 {
    setting.unwrap_or((TIMES * packed as u64).max(SHORT)).min(LARGEST.into())
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Codec {
    None,
    Snappy,
    Gzip,
    Zstd,
}

impl Codec {
    /// # Errors
    /// Returns the name of a compression that is not read.
    pub(super) fn of(compression: Compression) -> Result<Codec, String> {
        Ok(match compression {
            Compression::UNCOMPRESSED => Codec::None,
            Compression::SNAPPY => Codec::Snappy,
            Compression::GZIP(_) => Codec::Gzip,
            Compression::ZSTD(_) => Codec::Zstd,
            other => return Err(other.to_string()),
        })
    }

    /// Returns the number that indexes have for this compression.
    pub(super) fn number(self) -> u32 {
        self as u32
    }

    /// Returns the compression with this number.
    pub(super) fn numbered(number: u32) -> Option<Codec> {
        [Codec::None, Codec::Snappy, Codec::Gzip, Codec::Zstd].into_iter().find(|codec| codec.number() == number)
    }

    /// Unpacks a page, which has to become `length` bytes, at most [`most_unpacked`] by `setting`. A page that would be
    /// longer is refused before memory is allocated.
    ///
    /// # Errors
    /// What is wrong with the page.
    pub(super) fn unpack(self, bytes: Vec<u8>, length: u32, setting: Option<u64>) -> Result<Vec<u8>, Reason> {
        let most = if self == Codec::None { LARGEST.into() } else { most_unpacked(setting, bytes.len()) };
        if u64::from(length) > most {
            let packed = bytes.len();
            let reason = format!(
                "a page of {packed} bytes becomes {length}, but at most {most} are unpacked; write smaller pages"
            );
            return Err(Reason::new(reason).advise(advice::LARGER_PAGES));
        }
        let length = length as usize;
        let damaged = |error: &dyn std::fmt::Display| format!("its page is damaged: {error}");
        let unpacked = match self {
            Codec::None => bytes,
            Codec::Snappy => {
                let claimed = snap::raw::decompress_len(&bytes).map_err(|error| damaged(&error))?;
                // Three bytes of Snappy unpack to at most 64.
                if claimed != length || length / 22 > bytes.len() {
                    return Err(format!("its page has {claimed} bytes, the header says {length}").into());
                }
                let mut unpacked = PAGE.zeroed(length)?;
                snap::raw::Decoder::new().decompress(&bytes, &mut unpacked).map_err(|error| damaged(&error))?;
                unpacked
            }
            Codec::Gzip => unpacked(flate2::read::MultiGzDecoder::new(&*bytes), length)?,
            Codec::Zstd => {
                let decoder = zstd::stream::read::Decoder::with_buffer(&*bytes).map_err(|error| damaged(&error))?;
                unpacked(decoder, length)?
            }
        };
        match unpacked.len() == length {
            true => Ok(unpacked),
            false => Err(format!("its page has {} bytes, the header says {length}", unpacked.len()).into()),
        }
    }
}

fn unpacked(reader: impl Read, length: usize) -> Result<Vec<u8>, Reason> {
    let mut bytes = Vec::new();
    // If the header names too many bytes, their memory is reserved but never touched.
    PAGE.reserve(&mut bytes, length + 1)?;
    let read = reader.take(length as u64 + 1).read_to_end(&mut bytes);
    read.map_err(|error| format!("its page is damaged: {error}"))?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn pages_that_lie_about_their_length_are_refused() {
        let plain: Vec<u8> = (0..100_000u32).map(|i| (i / 300) as u8).collect();
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(&plain).unwrap();
        let zstd = zstd::encode_all(&*plain, 1).unwrap();
        let snappy = snap::raw::Encoder::new().compress_vec(&plain).unwrap();
        for (codec, packed) in [
            (Codec::None, plain.clone()),
            (Codec::Gzip, gzip.finish().unwrap()),
            (Codec::Zstd, zstd),
            (Codec::Snappy, snappy),
        ] {
            assert!(codec.unpack(packed.clone(), 100_000, None).unwrap() == plain, "{codec:?}");
            assert!(codec.unpack(packed.clone(), 100_000, Some(100_000)).unwrap() == plain, "{codec:?}");
            for length in [0, 99_999, 100_001, LARGEST, LARGEST + 1, u32::MAX] {
                assert!(codec.unpack(packed.clone(), length, Some(u64::MAX)).is_err(), "{codec:?} {length}");
            }
            assert!(codec.unpack(packed[..packed.len() / 2].to_vec(), 100_000, None).is_err(), "{codec:?}");
            if codec != Codec::None {
                let error = codec.unpack(packed.clone(), 100_000, Some(99_999)).unwrap_err();
                assert!(error.text.contains("at most 99999") && error.text.contains("100000"), "{error}");
                assert_eq!(error.advice, [advice::LARGER_PAGES]);
            }
            assert_eq!(Codec::numbered(codec.number()), Some(codec));
        }
        assert!(Codec::Snappy.unpack(vec![0xff, 0xff, 0xff, 0xff, 3, 0], (1 << 30) - 1, Some(1 << 30)).is_err());
        // Images unpack to far less than the limit, and zeros do not.
        assert_eq!(most_unpacked(None, 31_000), 64 << 20);
        assert_eq!(most_unpacked(None, 3 << 20), 192 << 20);
        assert_eq!(most_unpacked(None, 1 << 30), u64::from(LARGEST));
        assert_eq!((most_unpacked(Some(7), 1 << 30), most_unpacked(Some(1 << 40), 9)), (7, u64::from(LARGEST)));
        assert_eq!(Codec::of(Compression::LZ4_RAW), Err("LZ4_RAW".into()));
        assert_eq!(Codec::numbered(9), None);
    }
}
