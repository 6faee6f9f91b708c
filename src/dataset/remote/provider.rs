//! Whose store an address names, and where its credentials are set.

use url::Url;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Provider {
    /// S3 and servers that speak its protocol.
    Amazon,
    Google,
    Azure,
    /// A web server: no listing, no variables.
    Web,
}

impl Provider {
    pub(super) fn of(base: &Url) -> Provider {
        match base.scheme() {
            "s3" | "s3a" => Provider::Amazon,
            "gs" => Provider::Google,
            "https" | "http" => Provider::Web,
            _ => Provider::Azure,
        }
    }

    /// The beginning of the names of this provider's variables; `None` if there are none.
    pub(super) fn prefix(self) -> Option<&'static str> {
        match self {
            Provider::Amazon => Some("AWS_"),
            Provider::Google => Some("GOOGLE_"),
            Provider::Azure => Some("AZURE_"),
            Provider::Web => None,
        }
    }

    /// The variable with the address of another server than the provider's own.
    pub(super) fn endpoint(self) -> Option<&'static str> {
        match self {
            Provider::Amazon => Some("AWS_ENDPOINT_URL"),
            Provider::Google => Some("GOOGLE_BASE_URL"),
            Provider::Azure => Some("AZURE_STORAGE_ENDPOINT"),
            Provider::Web => None,
        }
    }

    /// Where the credentials are set, for error messages.
    pub(super) fn credentials(self) -> &'static str {
        match self {
            Provider::Amazon => {
                "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_SKIP_SIGNATURE=true for a public bucket; RemoteOptions::store"
            }
            Provider::Google => {
                "GOOGLE_APPLICATION_CREDENTIALS, GOOGLE_SKIP_SIGNATURE=true for a public bucket; RemoteOptions::store"
            }
            Provider::Azure => {
                "AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY or AZURE_STORAGE_SAS_TOKEN, AZURE_SKIP_SIGNATURE=true for a public container; RemoteOptions::store"
            }
            Provider::Web => "https://user:password@host/path, or a signed address whose time is not over",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_scheme_has_a_provider_and_its_variables_are_named() {
        for (address, provider) in [
            ("s3://bucket", Provider::Amazon),
            ("s3a://bucket", Provider::Amazon),
            ("gs://bucket", Provider::Google),
            ("az://container", Provider::Azure),
            ("abfss://container@account.dfs.core.windows.net", Provider::Azure),
            ("http://host", Provider::Web),
            ("HTTPS://host", Provider::Web),
        ] {
            assert_eq!(Provider::of(&Url::parse(address).unwrap()), provider, "{address}");
            assert!(provider.credentials().contains(provider.prefix().unwrap_or("https://")), "{address}");
        }
    }
}
