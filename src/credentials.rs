//! Removes the credentials from addresses of stores and web servers, so that nothing shows them.
//!
//! The error type calls these functions, and so does `storage/location.rs`, which also makes errors. To avoid a circle
//! of modules, the functions have this module of their own, which depends on neither.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

/// Returns a path as it may be shown: an address without credentials, and any other path as it is.
pub(crate) fn shown_path(path: &Path) -> Cow<'_, Path> {
    match path.to_str().filter(|text| is_address(text)) {
        Some(address) => PathBuf::from(without_credentials(address)).into(),
        None => path.into(),
    }
}

/// Returns true if a text is an address: a scheme, then `://`.
pub(crate) fn is_address(text: &str) -> bool {
    text.split_once("://").is_some_and(|(scheme, _)| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
    })
}

/// Returns an address as it may be shown: without user name, password, query and, on the web, fragment. Every address
/// that is printed, logged, or stored in an error goes through this function. `text` need not be an address.
pub(crate) fn without_credentials(text: &str) -> String {
    // In a store, a key may contain a `#`. On the web, a `#` begins a fragment, which is not sent to the server.
    let scheme = text.split_once("://").map_or("", |(scheme, _)| scheme).to_ascii_lowercase();
    let store = matches!(&*scheme, "s3" | "s3a" | "gs" | "az" | "abfs" | "abfss" | "adl" | "azure");
    let ends: &[char] = if store { &['?'] } else { &['?', '#'] };
    let text = &text[..text.find(ends).unwrap_or(text.len())];
    let Some((scheme, rest)) = text.split_once("://") else { return text.to_owned() };
    let (authority, key) = rest.find(['/', '\\']).map_or((rest, ""), |at| rest.split_at(at));
    let (user, host) = authority.rsplit_once('@').map_or(("", authority), |(user, host)| (user, host));
    // If the password contains a slash, `host` ends there: what follows its colon is no port number, or `key` has the
    // `@`. Then only the scheme is shown.
    let port = host.rsplit_once(':').filter(|_| !host.ends_with(']'));
    let no_port = port.is_some_and(|(_, port)| port.len() > 5 || !port.bytes().all(|byte| byte.is_ascii_digit()));
    if no_port || (port.is_some() && key.contains('@')) {
        return format!("{scheme}://(hidden)");
    }
    // In an address of Azure, the container is in the place of the user:
    // abfss://container@account.dfs.core.windows.net.
    let container = scheme.starts_with("abfs") && !user.contains(':') && !user.is_empty();
    let user = if container { format!("{user}@") } else { String::new() };
    format!("{scheme}://{user}{host}{key}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_credentials_are_shown() {
        for (address, shown) in [
            ("s3://bucket/a/b.tar", "s3://bucket/a/b.tar"),
            ("https://user:secret@host/a", "https://host/a"),
            ("https://user:se@cret@host:8080/a", "https://host:8080/a"),
            ("https://user:se/cret@host/a", "https://(hidden)"),
            ("https://user:12/secret@host/a", "https://(hidden)"),
            ("https://host/a?X-Amz-Signature=secret#secret", "https://host/a"),
            ("az://container/a?sv=1&sig=secret", "az://container/a"),
            ("abfss://container@account.dfs.core.windows.net/a", "abfss://container@account.dfs.core.windows.net/a"),
            ("abfss://user:secret@account/a", "abfss://account/a"),
            ("https://[::1]:8080/a", "https://[::1]:8080/a"),
            ("s3://key:secret@bucket/a", "s3://bucket/a"),
            ("s3://key:sec#ret@bucket/a#1.tar", "s3://bucket/a#1.tar"),
            ("s3://key:sec#/ret@bucket/a", "s3://(hidden)"),
            ("/a/local@path", "/a/local@path"),
            ("data?secret", "data"),
        ] {
            assert_eq!(without_credentials(address), shown);
        }
    }

    #[test]
    fn paths_are_no_addresses() {
        for path in ["/a/b", "C:\\a", "a:b", "://a", "a b://c", "9p://a"] {
            assert!(!is_address(path), "{path}");
        }
        assert!(is_address("s3://a") && is_address("x-y+z.1://a"));
    }

    #[test]
    fn a_path_is_shown_as_it_is_unless_it_is_an_address() {
        let shown = |path: &str| shown_path(Path::new(path)).to_str().unwrap().to_owned();
        assert_eq!(shown("https://user:secret@host/a?secret"), "https://host/a");
        assert_eq!(shown("/a/b?c#d@e"), "/a/b?c#d@e");
    }
}
