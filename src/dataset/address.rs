//! Which addresses data sets are read from.

use crate::error::{Error, Result};

pub(crate) use crate::address::{of, without_credentials};

/// The schemes that are read.
const SCHEMES: [&str; 10] = ["s3", "gs", "az", "https", "http", "s3a", "abfs", "abfss", "adl", "azure"];

/// Refuses an address that cannot be read.
///
/// # Errors
/// An argument error for an unknown scheme, and without the feature `remote`.
pub(crate) fn check(address: &str) -> Result<()> {
    let scheme = address.split_once("://").map_or("", |(scheme, _)| scheme).to_ascii_lowercase();
    let refused =
        |reason: String| Err(Error::argument("address", format!("{}: {reason}", without_credentials(address))));
    if scheme == "file" {
        return refused("a file on this machine is opened by its path, without file://".to_owned());
    }
    if !SCHEMES.contains(&scheme.as_str()) {
        let known = SCHEMES[..5].join("://, ");
        return refused(format!("this scheme is not known; data sets are read from {known}:// and paths"));
    }
    if cfg!(not(feature = "remote")) {
        return refused("this build reads from no store; build it with the feature remote".to_owned());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_read_is_refused() {
        let refused = |address| check(address).unwrap_err().to_string();
        assert!(refused("ftp://user:secret@host/a").contains("ftp://host/a: this scheme is not known"));
        assert!(refused("file:///a").contains("without file://"));
        assert!(!refused("hdfs://user:secret@host/a?secret").contains("secret"));
        assert_eq!(check("S3://bucket/a").is_ok(), cfg!(feature = "remote"));
        if cfg!(not(feature = "remote")) {
            assert!(refused("s3://bucket/a").contains("feature remote"));
        }
    }
}
