//! Memory whose size a file, a recipe or a setting gives. The system may have none: that is an error here, and not the
//! end of the process, which the ordinary calls of `Vec` are. A buffer that is large enough costs one comparison.

use crate::advice::Setting;
use crate::error::{ErrorKind, Result};

/// What memory is for, and the settings that need less of it, as errors name them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Use {
    pub(crate) what: &'static str,
    pub(crate) settings: &'static [Setting],
}

/// The pixels of an image that the CPU executor works on.
pub(crate) const AUGMENTING: Use =
    Use { what: "augmenting an image", settings: &[Setting::Workers, Setting::ListSizes] };

/// The pixels of a batch.
pub(crate) const BATCH: Use =
    Use { what: "a batch", settings: &[Setting::BatchSize, Setting::QueueDepth, Setting::Views, Setting::OutputSize] };

/// A batch's copy in host memory.
pub(crate) const COPY: Use =
    Use { what: "a copy of a batch", settings: &[Setting::BatchSize, Setting::Views, Setting::OutputSize] };

/// Bytes of a buffer that may grow by as much as it has.
const SMALL: usize = 1 << 20;

impl Use {
    /// Returns the error of an allocation of `elements` of `bytes` each.
    pub(crate) fn refused(self, elements: usize, bytes: usize) -> crate::Error {
        let bytes = (elements as u64).saturating_mul(bytes as u64);
        ErrorKind::NoHostMemory { what: self.what, bytes, settings: self.settings }.into()
    }

    /// Makes room for `length` elements in all.
    ///
    /// # Errors
    /// [`ErrorKind::NoHostMemory`]; the buffer is then as it was.
    pub(crate) fn reserve<T>(self, buffer: &mut Vec<T>, length: usize) -> Result<()> {
        if length <= buffer.capacity() {
            return Ok(());
        }
        let more = length - buffer.len();
        buffer.try_reserve_exact(more).map_err(|_| self.refused(length, size_of::<T>()))
    }

    /// Makes room for `more` elements after the last one. A buffer that grows little by little grows by half its length
    /// or more.
    ///
    /// # Errors
    /// Those of [`reserve`](Self::reserve).
    pub(crate) fn reserve_more<T>(self, buffer: &mut Vec<T>, more: usize) -> Result<()> {
        let length = buffer.len().saturating_add(more);
        buffer.try_reserve(more).map_err(|_| self.refused(length, size_of::<T>()))
    }

    /// Makes `buffer` `length` elements long; those that are new become `value`. A small buffer grows by as much as it
    /// has, so that sizes that differ a little do not each allocate; a large one has no more than it needs.
    ///
    /// # Errors
    /// Those of [`reserve`](Self::reserve).
    pub(crate) fn resize<T: Clone>(self, buffer: &mut Vec<T>, length: usize, value: T) -> Result<()> {
        if length > buffer.capacity() && length < SMALL / size_of::<T>().max(1) {
            self.reserve_more(buffer, length - buffer.len())?;
        }
        self.reserve(buffer, length)?;
        buffer.resize(length, value);
        Ok(())
    }

    /// Returns `length` zeros, whose pages the system provides when they are first written.
    ///
    /// # Errors
    /// Those of [`reserve`](Self::reserve).
    pub(crate) fn zeroed<T: bytemuck::Zeroable>(self, length: usize) -> Result<Vec<T>> {
        bytemuck::allocation::try_zeroed_vec(length).map_err(|()| self.refused(length, size_of::<T>()))
    }
}

/// Returns `each` times `count`; more than there is memory if the product has no number.
pub(crate) fn product(each: usize, count: usize) -> usize {
    each.saturating_mul(count)
}

/// Makes as much room in `buffer` as in `other`, if there is memory: whoever needs the room asks for it again.
pub(crate) fn reserve_like<T>(buffer: &mut Vec<T>, other: &Vec<T>) {
    // An image that finds no room here fails by itself later, with a reason.
    let _ = buffer.try_reserve_exact(other.capacity().saturating_sub(buffer.len()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_is_not_there_is_an_error_with_its_bytes_and_setting() {
        let mut buffer = vec![7u32; 3];
        // The last three have more bytes than a number, or than an address space.
        for length in [1 << 60, usize::MAX / 4, usize::MAX / 2, usize::MAX] {
            let refused = [
                AUGMENTING.reserve(&mut buffer, length),
                AUGMENTING.reserve_more(&mut buffer, length),
                AUGMENTING.resize(&mut buffer, length, 0),
                AUGMENTING.zeroed::<u32>(length).map(drop),
            ];
            for error in refused.map(Result::unwrap_err) {
                let ErrorKind::NoHostMemory { bytes, .. } = error.kind() else { panic!("{error}") };
                assert!(*bytes >= 1 << 62 && error.to_string().contains("lower workers"), "{error}");
            }
            assert_eq!(buffer, [7; 3]);
        }
        AUGMENTING.resize(&mut buffer, 5, 1).unwrap();
        assert_eq!(buffer, [7, 7, 7, 1, 1]);
        assert_eq!(AUGMENTING.zeroed::<u16>(3).unwrap(), [0; 3]);
        reserve_like(&mut buffer, &Vec::with_capacity(100));
        assert!(buffer.capacity() >= 100);
    }
}
