//! Divides the address of an object into the address of its store and the object's key.

use super::provider::Provider;
use crate::credentials::without_credentials;
use crate::error::{Error, Result};
use crate::storage::Address;
use url::Url;

/// The most bytes of an object's key. Stores take keys of 1 KiB at most. On web servers keys may be longer, but no
/// server takes a request with an address of 64 KiB.
pub(super) const LONGEST_KEY: usize = 8 << 10;

/// An address in two parts: the address of a store, and the key of an object or a folder in that store.
#[derive(Clone)]
pub(super) struct ObjectAddress {
    /// Everything before the key: the address of the store. It may have credentials, so nothing shows it.
    pub(super) base: Url,
    /// The key, without a slash before or after it.
    pub(super) key: String,
}

impl ObjectAddress {
    /// Parses an address.
    ///
    /// # Errors
    /// An argument error without any credentials of the address.
    pub(super) fn parse(text: &str) -> Result<Self> {
        let refused = |reason: String| Error::argument("address", format!("{}: {reason}", without_credentials(text)));
        let mut base = Url::parse(text).map_err(|error| refused(error.to_string()))?;
        Address::new(text).check_scheme()?;
        if base.host_str().is_none_or(str::is_empty) {
            return Err(refused("the bucket or host is missing after ://".to_owned()));
        }
        let provider = Provider::of(&base);
        let web = provider == Provider::Web;
        if base.query().is_some() && !web {
            return Err(refused(
                "credentials in the query are read for https:// alone; set AZURE_STORAGE_SAS_TOKEN or the store's other variables"
                    .to_owned(),
            ));
        }
        // az://container@account.blob.core.windows.net has its container in the place where other addresses have a
        // user.
        let container =
            matches!(base.scheme(), "az" | "abfs" | "abfss") && base.host_str().is_some_and(|host| host.contains('.'));
        let user = !base.username().is_empty() && !container;
        if !web && (user || base.password().is_some()) {
            return Err(refused(format!(
                "only https:// and http:// addresses may have a user or a password; the credentials of this store are set by {}",
                provider.credentials()
            )));
        }
        // A key is UTF-8 text. It is percent-encoded in an address of a web server, and written as it is in an address
        // of a store.
        let key = base.path().trim_matches('/').to_owned();
        let key = if web { percent_decoded(&key) } else { raw_key(text) };
        let key = key.ok_or_else(|| refused("the path is not UTF-8".to_owned()))?;
        if key.len() > LONGEST_KEY {
            let begin: String = without_credentials(text).chars().take(100).collect();
            let reason = format!("{begin}...: the key has {} bytes, of which a request takes {LONGEST_KEY}", key.len());
            return Err(Error::argument("address", reason));
        }
        base.set_path("");
        base.set_fragment(None);
        Ok(ObjectAddress { base, key })
    }

    /// Returns true for an address of a web server, which cannot list its files as a store can.
    pub(super) fn is_web(&self) -> bool {
        Provider::of(&self.base) == Provider::Web
    }

    /// Returns the address of the object `key` in the same store, with the credentials of this address.
    pub(super) fn with_key(&self, key: &str) -> String {
        let mut url = self.base.clone();
        if self.is_web() {
            url.set_path(key);
            return url.to_string();
        }
        format!("{}/{key}", url.as_str().trim_end_matches('/'))
    }

    /// Returns the address of the object `key` in the same store, without credentials. For a store, the key is appended
    /// as it is, because it may have any character.
    pub(super) fn shown_with_key(&self, key: &str) -> String {
        let base = without_credentials(self.base.as_str());
        match self.is_web() {
            true => without_credentials(&self.with_key(key)),
            false => format!("{}/{key}", base.trim_end_matches('/')),
        }
    }

    /// Returns the address of another object in the object's folder, with its credentials; `None` where the address has
    /// a signature, which is valid for one object alone.
    pub(super) fn beside(&self, name: &str) -> Option<String> {
        let key = match self.key.rsplit_once('/') {
            Some((folder, _)) => format!("{folder}/{name}"),
            None => name.to_owned(),
        };
        self.base.query().is_none().then(|| self.with_key(&key))
    }
}

/// Returns the key in an address of a store. The key is not decoded, because such an address has it as it is.
fn raw_key(text: &str) -> Option<String> {
    let rest = text.split_once("://")?.1;
    Some(rest.split_once('/').map_or("", |(_, key)| key).trim_matches('/').to_owned())
}

impl super::Remote {
    /// Returns a text of an address without its escapes; `None` if it is then no UTF-8.
    pub(crate) fn percent_decoded(text: &str) -> Option<String> {
        percent_decoded(text)
    }
}

pub(super) fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let hex = (first == b'%').then(|| after.get(..2)).flatten();
        let byte = hex.and_then(|hex| u8::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok());
        bytes.push(byte.unwrap_or(first));
        rest = if byte.is_some() { &after[2..] } else { after };
    }
    String::from_utf8(bytes).ok()
}

/// Returns the secrets of an address and of a store's settings. No text that is shown may contain them.
pub(super) fn secrets(base: &Url, settings: &[(String, String)]) -> Vec<String> {
    let secret = |name: &str| ["KEY", "SECRET", "TOKEN", "PASSWORD", "SAS"].iter().any(|word| name.contains(word));
    let mut secrets: Vec<String> = [base.query(), base.password()].into_iter().flatten().map(str::to_owned).collect();
    secrets.extend(base.query_pairs().map(|(_, value)| value.into_owned()));
    secrets.extend(settings.iter().filter(|(name, _)| secret(name)).map(|(_, value)| value.clone()));
    secrets.retain(|secret| secret.len() >= 6);
    secrets
}

/// Replaces every secret in a text by `(hidden)`.
pub(super) fn hide(text: String, secrets: &[String]) -> String {
    secrets.iter().fold(text, |text, secret| text.replace(secret.as_str(), "(hidden)"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_address_shows_none_either() {
        for address in [
            "ftp://user:secret@host/a",
            "https://user:secret@",
            "az://container/a?sig=secret",
            "az://user:secret@container/a",
            "az://secret@container/a",
            "adl://secret@container.b/a",
            "abfss://container:secret@account.dfs.core.windows.net/a",
            "s3://user:secret@bucket/a",
            "gs://secret@bucket/a",
            "https://user:secret@ho st/a",
            "https://u:secret@host:99999999/a",
        ] {
            let error = ObjectAddress::parse(address).err().map(|error| error.to_string());
            let error = error.unwrap_or_else(|| panic!("{address}"));
            assert!(!error.contains("secret"), "{error}");
        }
        assert!(ObjectAddress::parse("ftp://host/a").err().unwrap().to_string().contains("s3://"));
    }

    #[test]
    fn secrets_of_settings_are_known() {
        let settings = [("AWS_SECRET_ACCESS_KEY", "hush-hush"), ("AWS_REGION", "eu-north-1"), ("AZURE_SAS", "a")];
        let settings = settings.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let base = Url::parse("https://user:pass%20word@host/?sig=aaaaaa").unwrap();
        assert_eq!(secrets(&base, &settings), ["sig=aaaaaa", "pass%20word", "aaaaaa", "hush-hush"]);
    }

    #[test]
    fn keys_are_as_written_in_stores_and_decoded_on_the_web() {
        let key = |address: &str| ObjectAddress::parse(address).unwrap().key;
        assert_eq!(key("s3://bucket/a%20b/c d.tar"), "a%20b/c d.tar");
        assert_eq!(key("s3://bucket"), "");
        assert_eq!(key("s3://bucket/a@b:c#d"), "a@b:c#d");
        let azure = "abfss://container@account.dfs.core.windows.net/a/b.tar";
        assert_eq!(key(azure), "a/b.tar");
        assert_eq!(ObjectAddress::parse(azure).unwrap().with_key("a/b.tar"), azure);
        assert_eq!(key("s3://bucket/folder/"), "folder");
        assert_eq!(key("https://host/a%20b.tar?x=1"), "a b.tar");
        let web = ObjectAddress::parse("https://host:81/a?x=1").unwrap();
        assert_eq!(web.with_key("b c"), "https://host:81/b%20c?x=1");
        assert_eq!(ObjectAddress::parse("s3://bucket/a").unwrap().with_key("b c%"), "s3://bucket/b c%");
    }
}
