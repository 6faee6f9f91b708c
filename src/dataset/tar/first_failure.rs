//! Remembers the first read of a scan that failed, as the scan may take it for damage of the archive.

use std::cell::RefCell;
use std::io;

/// The first read of a scan that failed. If there is one, the archive itself is not damaged. A read beyond the file's
/// end does not count.
#[derive(Debug, Default)]
pub(super) struct FirstFailure(RefCell<Option<io::Error>>);

impl FirstFailure {
    /// Notes a failure, and returns an error of the same kind and text.
    pub(super) fn note(&self, error: io::Error) -> io::Error {
        if error.kind() == io::ErrorKind::UnexpectedEof {
            return error;
        }
        let same = io::Error::new(error.kind(), error.to_string());
        self.0.borrow_mut().get_or_insert(error);
        same
    }

    pub(super) fn take(self) -> Option<io::Error> {
        self.0.into_inner()
    }
}
