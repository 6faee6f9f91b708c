//! Tells which provider runs the store of an address, and where the store's server and credentials are set.

use url::Url;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Provider {
    /// S3 and servers that speak its protocol.
    Amazon,
    Google,
    Azure,
    /// A web server, which lists no files, and for which no environment variables are read.
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

    /// Returns the prefix of the names of this provider's environment variables; `None` if it has no such variables.
    pub(super) fn prefix(self) -> Option<&'static str> {
        match self {
            Provider::Amazon => Some("AWS_"),
            Provider::Google => Some("GOOGLE_"),
            Provider::Azure => Some("AZURE_"),
            Provider::Web => None,
        }
    }

    /// Returns, for the text of an error, where the name of the store's server is set.
    pub(super) fn server(self) -> &'static str {
        match self {
            Provider::Amazon => "AWS_ENDPOINT_URL, or AWS_REGION where that is not set",
            Provider::Google => "GOOGLE_BASE_URL if that is set",
            Provider::Azure => {
                "AZURE_STORAGE_ENDPOINT, or AZURE_STORAGE_ACCOUNT_NAME or the account in the address where that is not set"
            }
            Provider::Web => "the address",
        }
    }

    /// Returns, for the text of an error, where the store's credentials are set.
    pub(super) fn credentials(self) -> &'static str {
        match self {
            Provider::Amazon => {
                "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, or the profile AWS_PROFILE; AWS_SKIP_SIGNATURE=true for a public bucket"
            }
            Provider::Google => {
                "GOOGLE_APPLICATION_CREDENTIALS or GOOGLE_SERVICE_ACCOUNT; GOOGLE_SKIP_SIGNATURE=true for a public bucket"
            }
            Provider::Azure => {
                "AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY or AZURE_STORAGE_SAS_TOKEN; AZURE_SKIP_SIGNATURE=true for a public container"
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
