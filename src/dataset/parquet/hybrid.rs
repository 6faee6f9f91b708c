//! Reads Parquet's mixture of run lengths and packed bits, in which definition levels and indices of a dictionary are
//! written.

/// The values of a stream. Each has at most 32 bits.
pub(super) struct Hybrid<'a> {
    bytes: &'a [u8],
    width: u32,
    run: ValueRun<'a>,
}

/// Values that are written together.
enum ValueRun<'a> {
    /// One value, which comes this many times more.
    Same(u64, u32),
    /// Packed values: the bytes, the next bit in them, and the number of values that are left.
    Packed(&'a [u8], u64, u64),
}

impl<'a> Hybrid<'a> {
    /// Reads values of `width` bits; `None` above 32.
    pub(super) fn new(bytes: &'a [u8], width: u32) -> Option<Hybrid<'a>> {
        (width <= 32).then_some(Hybrid { bytes, width, run: ValueRun::Same(0, 0) })
    }

    /// Returns the next value; `None` at the end of the bytes.
    pub(super) fn next(&mut self) -> Option<u32> {
        loop {
            match &mut self.run {
                ValueRun::Same(left @ 1.., value) => {
                    *left -= 1;
                    return Some(*value);
                }
                ValueRun::Packed(bytes, bit, left @ 1..) => {
                    let (first, shift) = ((*bit / 8) as usize, *bit % 8);
                    let mut word = 0;
                    for (at, byte) in bytes.get(first..)?.iter().take(5).enumerate() {
                        word |= u64::from(*byte) << (8 * at);
                    }
                    *left -= 1;
                    *bit += u64::from(self.width);
                    if *bit > 8 * bytes.len() as u64 {
                        return None;
                    }
                    return Some((word >> shift & ((1 << self.width) - 1)) as u32);
                }
                _ => self.next_run()?,
            }
        }
    }

    fn next_run(&mut self) -> Option<()> {
        let mut header = 0;
        for shift in (0..63).step_by(7) {
            let byte = *self.bytes.split_off_first()?;
            header |= u64::from(byte & 127) << shift;
            if byte < 128 {
                let count = header >> 1;
                self.run = match header & 1 {
                    0 => ValueRun::Same(count, self.same()?),
                    // The last group may be cut where the values end.
                    _ => {
                        let length = count.checked_mul(self.width.into())?.min(self.bytes.len() as u64) as usize;
                        ValueRun::Packed(self.bytes.split_off(..length)?, 0, count.checked_mul(8)?)
                    }
                };
                // Runs of nothing would be read for ever, so they end the values.
                return (count > 0).then_some(());
            }
        }
        None
    }

    fn same(&mut self) -> Option<u32> {
        let bytes = self.bytes.split_off(..self.width.div_ceil(8) as usize)?;
        Some(bytes.iter().rev().fold(0, |value, byte| value << 8 | u32::from(*byte)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(bytes: &[u8], width: u32, most: usize) -> Vec<u32> {
        let mut hybrid = Hybrid::new(bytes, width).unwrap();
        std::iter::from_fn(|| hybrid.next()).take(most).collect()
    }

    #[test]
    fn runs_and_packed_groups() {
        // The examples of the format's description: 0 to 7 in three bits.
        assert_eq!(values(&[0x03, 0x88, 0xc6, 0xfa], 3, 99), [0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(values(&[0x08, 5, 0x06, 6], 3, 99), [5, 5, 5, 5, 6, 6, 6]);
        assert_eq!(values(&[0x04, 0x34, 0x12], 13, 99), [0x1234, 0x1234]);
        assert_eq!(values(&[0x02, 0xff, 0xff, 0xff, 0xff], 32, 99), [u32::MAX]);
        assert_eq!(values(&[0x03, 1, 0, 0, 0, 2, 0, 0, 0], 32, 99), [1, 2]);
        // Width 0 needs no bytes: all values are 0.
        assert_eq!(values(&[0x0a], 0, 99), [0; 5]);
        assert_eq!(values(&[0x03], 0, 99), [0; 8]);
    }

    #[test]
    fn streams_that_lie_end() {
        assert!(Hybrid::new(&[], 33).is_none());
        for bytes in [&[][..], &[0x00], &[0x01], &[0x08], &[0x80; 12], &[0x00, 0x00, 0x08, 5]] {
            assert_eq!(values(bytes, 8, 9), [0; 0], "{bytes:?}");
        }
        assert_eq!(values(&[0xff, 0xff, 0xff, 0xff, 0x7f, 1, 2], 8, 9), [1, 2]);
        assert_eq!(values(&[0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 1], 8, 9), [1; 9]);
    }
}
