//! Marks errors that come from the network, so that the loader can tell them from errors of damaged samples.

use crate::advice::Reason;
use crate::error::{Error, ErrorKind};
use std::fmt;
use std::io;

/// The inner error of an I/O error that a store or web server has caused.
#[derive(Debug)]
pub(super) struct NetworkError(pub(super) Reason);

impl NetworkError {
    /// Returns the reason of an I/O error: that of its inner [`NetworkError`], or else the error's text.
    pub(super) fn reason_of(error: &io::Error) -> Reason {
        let network = error.get_ref().and_then(|inner| inner.downcast_ref::<NetworkError>());
        network.map_or_else(|| error.to_string().into(), |network| network.0.clone())
    }
}

impl fmt::Display for NetworkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The error's source is its reason, so that an [`ErrorKind::Io`] finds the reason's advice.
impl std::error::Error for NetworkError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.0)
    }
}

/// The error for the name of a server that does not resolve. `failure.rs` recognises it by this type.
#[derive(Debug)]
pub(super) struct Unresolved(pub(super) io::Error);

impl fmt::Display for Unresolved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for Unresolved {}

/// Returns true if an error comes from a store, a web server, or the way to them, and not from a sample's own data. A
/// loader does not replace a sample that fails in this way by another one, because batches would then depend on the
/// network.
///
/// ```
/// use gpufeed::storage::is_network_failure;
///
/// assert!(!is_network_failure(&gpufeed::ImageFolder::open("/no/such/folder").unwrap_err()));
/// ```
pub fn is_network_failure(error: &Error) -> bool {
    match error.kind() {
        ErrorKind::Io { source, .. } => source.get_ref().is_some_and(|inner| inner.is::<NetworkError>()),
        ErrorKind::Sample { source, .. } => is_network_failure(source),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_the_network_are_told_from_others() {
        let remote = || Error::io("s3://a/b", io::Error::other(NetworkError("gone".into())));
        assert!(is_network_failure(&remote()));
        assert!(remote().to_string().ends_with("gone"));
        assert!(is_network_failure(&ErrorKind::Sample { id: 1, name: "a".to_owned(), source: remote() }.into()));
        assert!(!is_network_failure(&Error::io("a", io::Error::other("gone"))));
        assert!(!is_network_failure(&Error::io("a", io::ErrorKind::NotFound.into())));
        assert!(!is_network_failure(&Error::argument("a", "b")));
    }
}
