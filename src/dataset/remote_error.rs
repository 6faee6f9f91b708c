//! Errors of reading from afar, told apart from a sample that is bad.

use crate::error::{Error, ErrorKind};
use std::fmt;

/// The inner error of an I/O error of a store or web server.
#[derive(Debug)]
#[cfg_attr(not(feature = "remote"), allow(dead_code, reason = "nothing is read from afar"))]
pub(crate) struct RemoteError(pub(crate) String);

impl fmt::Display for RemoteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for RemoteError {}

/// Returns true if a store or web server, or the way to it, has failed. Then another sample is no replacement: batches
/// would depend on the network.
pub fn is_remote(error: &Error) -> bool {
    match error.kind() {
        ErrorKind::Io { source, .. } => source.get_ref().is_some_and(|inner| inner.is::<RemoteError>()),
        ErrorKind::Sample { source, .. } => is_remote(source),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;

    #[test]
    fn errors_of_the_network_are_told_from_others() {
        let remote = || Error::io("s3://a/b", io::Error::other(RemoteError("gone".to_owned())));
        assert!(is_remote(&remote()));
        assert!(remote().to_string().ends_with("gone"));
        assert!(is_remote(&ErrorKind::Sample { id: 1, name: "a".to_owned(), source: remote() }.into()));
        assert!(!is_remote(&Error::io("a", io::Error::other("gone"))));
        assert!(!is_remote(&Error::io("a", io::ErrorKind::NotFound.into())));
        assert!(!is_remote(&Error::argument("a", "b")));
    }
}
