//! The compressions of pages. The crate `parquet` unpacks pages only as it goes through a column from its start.

use std::io::Read;

use parquet::basic::Compression;

/// Largest page that is unpacked: as the largest image, [`MAX_FILE_BYTES`](crate::dataset::MAX_FILE_BYTES).
pub(super) const LARGEST: u32 = 1 << 30;

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

    /// Returns the number that an index has for it.
    pub(super) fn number(self) -> u32 {
        self as u32
    }

    /// Returns the compression with this number.
    pub(super) fn numbered(number: u32) -> Option<Codec> {
        [Codec::None, Codec::Snappy, Codec::Gzip, Codec::Zstd].into_iter().find(|codec| codec.number() == number)
    }

    /// Unpacks a page that has to become `length` bytes. Takes memory in proportion to what really comes.
    ///
    /// # Errors
    /// Returns what is wrong with it.
    pub(super) fn unpack(self, bytes: Vec<u8>, length: u32) -> Result<Vec<u8>, String> {
        let length = length as usize;
        if length > LARGEST as usize {
            return Err(format!("a page of {length} bytes, but at most {LARGEST} are read; write smaller pages"));
        }
        let damaged = |error: &dyn std::fmt::Display| format!("its page is damaged: {error}");
        let unpacked = match self {
            Codec::None => bytes,
            Codec::Snappy => {
                let claimed = snap::raw::decompress_len(&bytes).map_err(|error| damaged(&error))?;
                // Three bytes of Snappy become 64 at most.
                if claimed != length || length / 22 > bytes.len() {
                    return Err(format!("its page has {claimed} bytes, the header says {length}"));
                }
                snap::raw::Decoder::new().decompress_vec(&bytes).map_err(|error| damaged(&error))?
            }
            Codec::Gzip => unpacked(flate2::read::MultiGzDecoder::new(&*bytes), bytes.len(), length)?,
            Codec::Zstd => {
                let decoder = zstd::stream::read::Decoder::with_buffer(&*bytes).map_err(|error| damaged(&error))?;
                unpacked(decoder, bytes.len(), length)?
            }
        };
        match unpacked.len() == length {
            true => Ok(unpacked),
            false => Err(format!("its page has {} bytes, the header says {length}", unpacked.len())),
        }
    }
}

fn unpacked(reader: impl Read, packed: usize, length: usize) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let expected = length.min(8 * packed + 4096);
    bytes.try_reserve_exact(expected).map_err(|error| error.to_string())?;
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
            assert!(codec.unpack(packed.clone(), 100_000).unwrap() == plain, "{codec:?}");
            for length in [0, 99_999, 100_001, LARGEST, LARGEST + 1, u32::MAX] {
                assert!(codec.unpack(packed.clone(), length).is_err(), "{codec:?} {length}");
            }
            assert!(codec.unpack(packed[..packed.len() / 2].to_vec(), 100_000).is_err(), "{codec:?}");
            assert_eq!(Codec::numbered(codec.number()), Some(codec));
        }
        assert!(Codec::Snappy.unpack(vec![0xff, 0xff, 0xff, 0xff, 3, 0], (1 << 30) - 1).is_err());
        assert_eq!(Codec::of(Compression::LZ4_RAW), Err("LZ4_RAW".into()));
        assert_eq!(Codec::numbered(9), None);
    }
}
