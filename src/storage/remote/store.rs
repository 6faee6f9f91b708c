//! Connects to the store that an address names.

use super::address::{ObjectAddress, hide, secrets};
use super::counters::Counters;
use super::failure::{RequestFailure, Retry};
use super::profile;
use super::provider::Provider;
use super::seen::{Seen, watched};
use super::service::Connector;
use super::settings::Settings;
use crate::advice::{self, Reason};
use crate::error::{Error, Result};
use crate::storage::RemoteOptions;
use object_store::aws::AmazonS3Builder;
use object_store::azure::MicrosoftAzureBuilder;
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::http::HttpBuilder;
use object_store::list::PaginatedListStore;
use object_store::multipart::MultipartStore;
use object_store::{ClientOptions, Error as StoreError, ObjectStore, RetryConfig};
use reqwest::Certificate;
use std::ffi::OsString;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use url::Url;

/// The settings of stores whose values are addresses of servers.
const ENDPOINTS: [&str; 6] = [
    "AWS_ENDPOINT_URL",
    "AWS_ENDPOINT",
    "AWS_ENDPOINT_URL_S3",
    "GOOGLE_BASE_URL",
    "AZURE_STORAGE_ENDPOINT",
    "AZURE_ENDPOINT",
];

/// A store: a bucket, a container, or a web server.
pub(super) struct Store {
    pub(super) api: Box<dyn ObjectStore>,
    /// Writes objects in several parts; `None` for a web server, which does not take parts.
    pub(super) parts: Option<Box<dyn MultipartStore>>,
    /// Lists objects page by page; `None` for a web server, which has no listing.
    pub(super) pages: Option<Box<dyn PaginatedListStore>>,
    pub(super) provider: Provider,
    /// Texts that no error or log may show.
    pub(super) secrets: Vec<String>,
}

impl Store {
    /// Makes a request to the store, and returns the answer.
    ///
    /// # Errors
    /// Why the request failed.
    pub(super) async fn ask<T>(
        &self,
        request: impl Future<Output = object_store::Result<T>>,
    ) -> std::result::Result<T, RequestFailure> {
        let (answer, seen) = watched(request).await;
        answer.map_err(|error| RequestFailure::of(&error, seen, self.provider, &self.secrets))
    }

    /// Makes a request to the store that writes or removes, and returns the answer.
    ///
    /// # Errors
    /// Why the request failed, in words for a user who writes.
    pub(super) async fn ask_to_write<T>(
        &self,
        request: impl Future<Output = object_store::Result<T>>,
    ) -> std::result::Result<T, RequestFailure> {
        self.ask(request).await.map_err(|failure| self.of_a_write(failure))
    }

    /// Makes the failure of an answer whose bytes did not all come.
    pub(super) fn failure_in_body(&self, error: &StoreError) -> RequestFailure {
        RequestFailure::of(error, Seen::default(), self.provider, &self.secrets)
    }

    /// Returns the failure of a request that writes or removes, with a reason that fits writing.
    fn of_a_write(&self, failure: RequestFailure) -> RequestFailure {
        let missing = failure.kind == io::ErrorKind::NotFound;
        let refused = matches!(failure.status, Some(401 | 403))
            || (failure.status.is_some() && failure.kind == io::ErrorKind::Other && failure.again == Retry::Never);
        let put = "files are written to a web server by PUT, which few servers allow";
        match self.provider {
            Provider::Web if missing => {
                let reason = format!("the server does not let files be written there (status 404 or 405); {put}");
                RequestFailure::new(io::ErrorKind::NotFound, Retry::Never, reason)
            }
            Provider::Web if refused => {
                let Reason { text, advice } = failure.reason;
                RequestFailure { reason: Reason { text: format!("{text}; {put}"), advice }, ..failure }
            }
            Provider::Amazon | Provider::Google | Provider::Azure if missing => {
                RequestFailure::new(io::ErrorKind::NotFound, Retry::Never, "there is no such bucket or folder")
            }
            _ => failure,
        }
    }
}

/// Makes the [`Store`] for an address. Sends nothing yet. `shown` is the address without credentials, for errors.
///
/// # Errors
/// An argument error if the settings of the store cannot work, or the file of certificates cannot be read.
pub(super) fn connect(
    address: &ObjectAddress,
    shown: &str,
    options: &RemoteOptions,
    settings: &Settings,
    counters: Arc<Counters>,
) -> Result<Store> {
    let mut base = address.base.clone();
    let provider = Provider::of(&base);
    let client = client_options(settings, base.scheme() == "http");
    // The library `object_store` must not repeat requests. `request.rs` repeats them: it counts retries, continues in
    // the middle of a body, and asks for new credentials.
    let retry = RetryConfig { max_retries: 0, retry_timeout: Duration::ZERO, ..RetryConfig::default() };
    let connector = Connector::new(&base, settings.clone(), certificates(settings)?, counters);
    let variables = usable(variables(options, provider), provider)
        .map_err(|reason| Reason::new(format!("{shown}: {reason}")).advise(advice::REMOTE_STORE))
        .map_err(|reason| Error::argument("address", reason))?;
    let secrets = secrets(&base, &variables);
    if provider == Provider::Web {
        let _ = base.set_username("");
        let _ = base.set_password(None);
        base.set_query(None);
    }
    macro_rules! build {
        ($builder:ty) => {{
            let builder =
                <$builder>::new().with_client_options(client).with_retry(retry).with_http_connector(connector);
            let builder = variables.into_iter().fold(builder.with_url(base.to_string()), |builder, (name, value)| {
                match name.to_ascii_lowercase().parse() {
                    Ok(key) => builder.with_config(key, value),
                    Err(_) => builder,
                }
            });
            builder.build().map(|store| {
                let parts = Box::new(store.clone()) as Box<dyn MultipartStore>;
                let pages = Box::new(store.clone()) as Box<dyn PaginatedListStore>;
                (Box::new(store) as Box<dyn ObjectStore>, Some(parts), Some(pages))
            })
        }};
    }
    let built = match provider {
        Provider::Amazon => build!(AmazonS3Builder),
        Provider::Google => build!(GoogleCloudStorageBuilder),
        Provider::Azure => build!(MicrosoftAzureBuilder),
        Provider::Web => HttpBuilder::new()
            .with_url(base.to_string())
            .with_client_options(client)
            .with_retry(retry)
            .with_http_connector(connector)
            .build()
            .map(|store| (Box::new(store) as Box<dyn ObjectStore>, None, None)),
    };
    let (api, parts, pages) = built.map_err(|error| {
        let reason = hide(error.to_string(), &secrets);
        let reason = Reason::new(format!("{shown}: {reason} (variables of the store)"));
        Error::argument("address", reason.advise(advice::REMOTE_STORE))
    })?;
    Ok(Store { api, parts, pages, provider, secrets })
}

/// Returns the settings of a store as pairs of name and value. Each setting comes from the options, else from the
/// environment, else from the files of Amazon's tools. Amazon's keys come from those files only if the options and the
/// environment have none.
fn variables(options: &RemoteOptions, provider: Provider) -> Vec<(String, String)> {
    let ours = |name: &str| ["AWS_", "GOOGLE_", "AZURE_"].iter().any(|prefix| name.starts_with(prefix));
    let texts = |(name, value): (OsString, OsString)| Some((name.into_string().ok()?, value.into_string().ok()?));
    let mut found: Vec<_> = std::env::vars_os().filter_map(texts).filter(|(name, _)| ours(name)).collect();
    // Several environment variables may name the same setting, and the last one of this list counts. Sorting makes the
    // result the same each time.
    found.sort();
    found.retain(|(name, _)| !options.store.contains_key(name));
    if ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"].iter().any(|name| options.store.contains_key(*name)) {
        // Leaves out the environment's session token: it belongs to the environment's key, but the options have another
        // key.
        found.retain(|(name, _)| !["AWS_SESSION_TOKEN", "AWS_TOKEN"].contains(&&**name));
    }
    found.extend(options.store.iter().map(|(name, value)| (name.clone(), value.clone())));
    if provider == Provider::Amazon {
        let known = |name: &str| found.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
        let has = |names: &[&str]| names.iter().any(|name| known(name).is_some());
        let keys =
            has(&["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SKIP_SIGNATURE", "AWS_WEB_IDENTITY_TOKEN_FILE"]);
        let profile = profile::settings(known, dirs::home_dir(), |path| std::fs::read_to_string(path).ok());
        let wanted: Vec<_> = profile
            .into_iter()
            .filter(|(name, _)| match name.as_str() {
                "AWS_REGION" => !has(&["AWS_REGION", "AWS_DEFAULT_REGION"]),
                "AWS_ENDPOINT_URL" => !has(&["AWS_ENDPOINT_URL", "AWS_ENDPOINT", "AWS_ENDPOINT_URL_S3"]),
                _ => !keys,
            })
            .collect();
        found.extend(wanted);
    }
    found
}

/// Trims the values of a store's settings, and leaves out those that are empty. Refuses values on which the library
/// `object_store` panics.
///
/// # Errors
/// An error that names the setting's variable and shows no value, because the value may be a secret.
fn usable(variables: Vec<(String, String)>, provider: Provider) -> std::result::Result<Vec<(String, String)>, String> {
    let Some(ours) = provider.prefix() else { return Ok(variables) };
    let trimmed = variables.into_iter().map(|(name, value)| (name, value.trim().to_owned()));
    let variables: Vec<_> = trimmed.filter(|(_, value)| !value.is_empty()).collect();
    for (name, value) in variables.iter().filter(|(name, _)| name.to_ascii_uppercase().starts_with(ours)) {
        if value.chars().any(char::is_control) {
            return Err(format!("{name} has a line break or another control character"));
        }
        let endpoint = ENDPOINTS.contains(&&*name.to_ascii_uppercase());
        let web =
            |url: &Url| matches!(url.scheme(), "https" | "http") && url.host_str().is_some_and(|host| !host.is_empty());
        if endpoint && !Url::parse(value).is_ok_and(|url| web(&url)) {
            return Err(format!(
                "{name} is no address of a server; it begins with https:// or http://, as in https://s3.example.com"
            ));
        }
    }
    Ok(variables)
}

fn client_options(settings: &Settings, plain: bool) -> ClientOptions {
    // Disables the client's time limit for a whole request, which would cut large bodies. `pace.rs` limits the time of
    // a body.
    ClientOptions::new()
        .with_timeout_disabled()
        .with_connect_timeout(settings.timeout.min(Duration::from_secs(10)))
        .with_allow_http(plain)
}

/// Returns the certificates that are trusted besides the system's.
fn certificates(settings: &Settings) -> Result<Vec<Certificate>> {
    let Some(file) = &settings.certificates else { return Ok(Vec::new()) };
    let refused = |reason: String| {
        let file = file.display();
        Error::argument("RemoteOptions::certificates", format!("{file} (or SSL_CERT_FILE): {reason}"))
    };
    let bytes = std::fs::read(file).map_err(|error| refused(error.to_string()))?;
    Certificate::from_pem_bundle(&bytes).map_err(|error| refused(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_that_cannot_work_are_named_without_their_values() {
        let check = |provider, name: &str, value: &str| usable(vec![(name.to_owned(), value.to_owned())], provider);
        for value in
            ["127.0.0.1:9000", "localhost:9000", "http://", "http://127.0.0.1:9000:99", "http://127.0.0.1 :9000"]
        {
            for name in ["AWS_ENDPOINT_URL", "aws_endpoint"] {
                let error = check(Provider::Amazon, name, value).unwrap_err();
                assert!(error.starts_with(name) && error.contains("https://"), "{value}: {error}");
            }
            assert!(check(Provider::Google, "AWS_ENDPOINT_URL", value).is_ok(), "another store's");
        }
        let error = check(Provider::Amazon, "AWS_SESSION_TOKEN", "hush\nhush").unwrap_err();
        assert!(error.contains("AWS_SESSION_TOKEN") && !error.contains("hush"), "{error}");
        let kept = |value: &str| check(Provider::Azure, "AZURE_STORAGE_ENDPOINT", value).unwrap();
        assert_eq!(kept(" http://[::1]:9000/a\n")[0].1, "http://[::1]:9000/a");
        assert_eq!(kept("\n"), []);
    }
}
