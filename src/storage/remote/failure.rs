//! Why a request failed: whether another one may succeed, and in which words it is told.

use super::address::hide;
use super::network_error::NetworkError;
use super::provider::Provider;
use crate::quote::Shown;
use object_store::Error as StoreError;
use object_store::client::{HttpError, HttpErrorKind};
use std::fmt;
use std::io;
use std::ops::Range;

/// The longest part of a server's own words that is shown.
const WORDS: usize = 300;
/// Where the number of retries is set.
const RETRIES: &str = "RemoteOptions::retries, GPUFEED_REMOTE_RETRIES";

/// Amazon's codes for a session whose time is over; their status is 400.
const EXPIRED: [&str; 4] = ["ExpiredToken", "InvalidToken", "RequestExpired", "TokenRefreshRequired"];

/// A request that failed. `service.rs` hands it through the stores' library as the source of an error.
#[derive(Clone, Debug)]
pub(super) struct RequestFailure {
    pub(super) kind: io::ErrorKind,
    /// The reason, and the setting to change.
    pub(super) reason: String,
    /// How often it is worth another request.
    pub(super) again: Retry,
    /// There is no such object.
    pub(super) missing: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Retry {
    /// The next one would fail for the same reason.
    Never,
    /// A moment may help, but most often the address or a setting is wrong: a name that does not resolve.
    Few,
    /// As often as the settings allow.
    Yes,
}

impl fmt::Display for RequestFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

impl std::error::Error for RequestFailure {}

impl RequestFailure {
    pub(super) fn new(kind: io::ErrorKind, again: Retry, reason: impl Into<String>) -> Self {
        RequestFailure { kind, reason: reason.into(), again, missing: false }
    }

    /// The object has other content than when it was opened.
    pub(super) fn replaced(what: &str) -> Self {
        let reason = format!("the object was replaced since the data set was opened ({what}); open the data set again");
        RequestFailure::new(io::ErrorKind::InvalidData, Retry::Never, reason)
    }

    /// Nothing came in time.
    pub(super) fn timed_out(seconds: f64, what: &str) -> Self {
        let reason = format!("{what} for {seconds} s (RemoteOptions::timeout, GPUFEED_REMOTE_TIMEOUT)");
        RequestFailure::new(io::ErrorKind::TimedOut, Retry::Yes, reason)
    }

    /// Reads a store's error. Its texts name the address of the request, so only parts of them are shown.
    pub(super) fn of(error: &StoreError, provider: Provider, secrets: &[String]) -> Self {
        if let Some(failure) = RequestFailure::carried(error) {
            if failure.kind == io::ErrorKind::TimedOut && is_about_metadata(&texts(error)) {
                return RequestFailure::without_credentials(provider);
            }
            return RequestFailure { reason: hide(failure.reason.clone(), secrets), ..failure.clone() };
        }
        let words = hide(words(error), secrets);
        match error {
            StoreError::NotFound { .. } if words == "NoSuchBucket" => {
                RequestFailure::new(io::ErrorKind::NotFound, Retry::Never, "there is no such bucket")
            }
            StoreError::NotFound { .. } => RequestFailure::missing(),
            StoreError::Precondition { .. } | StoreError::NotModified { .. } => {
                RequestFailure::replaced("its ETag differs")
            }
            StoreError::PermissionDenied { .. } => RequestFailure::refused(403, &words, provider),
            StoreError::Unauthenticated { .. } => RequestFailure::refused(401, &words, provider),
            StoreError::NotSupported { .. } => RequestFailure::ignores_ranges(),
            _ => RequestFailure::of_text(error, words, provider, secrets),
        }
    }

    /// The failure that this crate's own service met, and the library made a source of its error.
    pub(super) fn carried(error: &StoreError) -> Option<&RequestFailure> {
        sources(error).find_map(|error| error.downcast_ref())
    }

    fn without_credentials(provider: Provider) -> Self {
        let reason = format!("there are no credentials ({})", provider.credentials());
        RequestFailure::new(io::ErrorKind::PermissionDenied, Retry::Few, reason)
    }

    fn missing() -> Self {
        let failure = RequestFailure::new(io::ErrorKind::NotFound, Retry::Never, "there is no such object");
        RequestFailure { missing: true, ..failure }
    }

    fn refused(status: u16, words: &str, provider: Provider) -> Self {
        let reason = format!(
            "the server refuses access (status {status}, {words}); there are no credentials, or they are wrong or have expired ({})",
            provider.credentials()
        );
        RequestFailure::new(io::ErrorKind::PermissionDenied, Retry::Never, reason)
    }

    /// A status that has no case of its own in the library, or none where it lists.
    fn of_status(status: u16, words: &str, provider: Provider) -> Self {
        match status {
            401 | 403 => RequestFailure::refused(status, words, provider),
            400 if EXPIRED.contains(&words) => RequestFailure::refused(status, words, provider),
            // S3 answers so where the bytes that it was sent have stalled.
            400 if words == "RequestTimeout" => RequestFailure::new(
                io::ErrorKind::TimedOut,
                Retry::Yes,
                "the server waited too long for the request, status 400, RequestTimeout",
            ),
            400 => RequestFailure::misdirected(&format!("the server answered with status 400, {words}"), provider),
            404 => RequestFailure::missing(),
            412 => RequestFailure::replaced("its ETag differs"),
            416 => RequestFailure::replaced("it ends before this byte, status 416"),
            _ => {
                let again = if matches!(status, 408 | 429 | 500 | 502..) { Retry::Yes } else { Retry::Never };
                RequestFailure::new(
                    io::ErrorKind::Other,
                    again,
                    format!("the server answered with status {status}, {words}"),
                )
            }
        }
    }

    /// Amazon answers so to requests for a bucket of another region, and, without words to a `HEAD`, to credentials that
    /// have expired.
    fn misdirected(answer: &str, provider: Provider) -> Self {
        let reason = match provider {
            Provider::Web => answer.to_owned(),
            Provider::Amazon => format!(
                "{answer}; the bucket may be in another region (AWS_REGION), or the credentials have expired ({})",
                provider.credentials()
            ),
            Provider::Google | Provider::Azure => {
                format!("{answer}; the credentials may have expired ({})", provider.credentials())
            }
        };
        RequestFailure::new(io::ErrorKind::InvalidInput, Retry::Never, reason)
    }

    fn ignores_ranges() -> Self {
        let reason = "the server or a proxy before it ignores byte ranges and sends whole objects; use the store's own address, name it in NO_PROXY, or use a server that supports Range";
        RequestFailure::new(io::ErrorKind::Unsupported, Retry::Never, reason)
    }

    /// Errors that the library tells apart by their text alone.
    fn of_text(error: &StoreError, words: String, provider: Provider, secrets: &[String]) -> Self {
        use io::ErrorKind as Kind;
        let transport = sources(error).find_map(|error| error.downcast_ref::<HttpError>()).map(HttpError::kind);
        let all = texts(error);
        let has = |text: &str| all.contains(text);
        // The text of a status comes before the server's own words, and an address has no spaces.
        let status = all.split_once("status code: ").and_then(|(_, rest)| rest.get(..3)?.parse().ok());
        if let Some(status) = status {
            return RequestFailure::of_status(status, &words, provider);
        }
        // The innermost error alone: others have the address, in which there may be any word.
        let untrusted = ["certificate", "UnknownIssuer", "CertNotValid"].iter().any(|text| words.contains(text));
        if untrusted && transport.is_some() {
            let reason = format!(
                "the server's certificate is not trusted ({words}); RemoteOptions::certificates or SSL_CERT_FILE names a file of certificates that are"
            );
            return RequestFailure::new(Kind::PermissionDenied, Retry::Never, reason);
        }
        if has("path segment") {
            let reason = format!(
                "a key has a part that is empty, or is . or .., which is not read ({words}); name the files as a brace list, as in part-{{000..041}}.tar"
            );
            return RequestFailure::new(Kind::InvalidInput, Retry::Never, reason);
        }
        if has("Content-Length Header missing") {
            let reason = "the server does not say how many bytes the object has (Content-Length)";
            return RequestFailure::new(Kind::Unsupported, Retry::Never, reason);
        }
        if has("redirect without LOCATION") {
            let answer = "the server sends requests elsewhere, and does not say where";
            if provider == Provider::Amazon {
                return RequestFailure::misdirected(answer, provider);
            }
            let reason = format!("{answer}; correct {}", provider.server());
            return RequestFailure::new(Kind::InvalidInput, Retry::Never, reason);
        }
        if has("non-partial") {
            return RequestFailure::ignores_ranges();
        }
        if has("Requested ") && has(", got ") {
            let reason = format!("other bytes came instead ({words})");
            return RequestFailure::new(Kind::InvalidData, Retry::Yes, reason);
        }
        if has("dns error") || has("failed to lookup address") {
            let reason = format!(
                "the name of the server does not resolve ({words}); check the network, and correct {}",
                provider.server()
            );
            return RequestFailure::new(Kind::HostUnreachable, Retry::Few, reason);
        }
        if is_about_metadata(&all) {
            return RequestFailure::without_credentials(provider);
        }
        if transport.is_some() && words.contains("InvalidContentType") {
            let reason = format!(
                "the server's answer is not encrypted; where it has no TLS, its address begins with http:// (correct {})",
                provider.server()
            );
            return RequestFailure::new(Kind::InvalidInput, Retry::Never, reason);
        }
        if let Some((_, rest)) = all.split_once("Invalid last modified '") {
            let value = Shown(rest.split_once("':").map_or("", |(value, _)| value)).to_string();
            let reason = format!("the server's header Last-Modified is no date ({})", hide(value, secrets));
            return RequestFailure::new(Kind::InvalidData, Retry::Never, reason);
        }
        if has("URL scheme is not allowed") || has("BadScheme") {
            let reason = match provider.prefix() {
                Some(prefix) => {
                    format!("http:// without encryption is not allowed for this store ({prefix}ALLOW_HTTP=true)")
                }
                None => "the server sends requests on to an address without encryption (http://)".to_owned(),
            };
            return RequestFailure::new(Kind::InvalidInput, Retry::Never, reason);
        }
        match transport {
            Some(HttpErrorKind::Timeout) => {
                RequestFailure::new(Kind::TimedOut, Retry::Yes, format!("no connection in time ({words})"))
            }
            Some(HttpErrorKind::Connect) => {
                RequestFailure::new(Kind::ConnectionRefused, Retry::Yes, format!("no connection ({words})"))
            }
            Some(_) => {
                RequestFailure::new(Kind::ConnectionReset, Retry::Yes, format!("the connection ended ({words})"))
            }
            // An answer that makes no sense.
            None => RequestFailure::new(Kind::Other, Retry::Yes, words),
        }
    }

    /// The error of a read of these bytes, after so many requests more than one.
    pub(super) fn into_error(self, range: Option<&Range<u64>>, retries: u32) -> io::Error {
        let bytes = range.map(|range| format!("bytes {}..{}: ", range.start, range.end)).unwrap_or_default();
        let after = match retries {
            0 => String::new(),
            1 => format!(", after 1 retry ({RETRIES})"),
            _ => format!(", after {retries} retries ({RETRIES})"),
        };
        io::Error::new(self.kind, NetworkError(format!("{bytes}{}{after}", self.reason)))
    }
}

/// An error and its sources.
fn sources<'a>(error: &'a StoreError) -> impl Iterator<Item = &'a (dyn std::error::Error + 'static)> {
    std::iter::successors(Some(error as &'a (dyn std::error::Error + 'static)), |&error| error.source())
}

/// The texts of an error and its sources.
fn texts(error: &StoreError) -> String {
    sources(error).map(|error| format!("{error} ")).collect()
}

/// Returns true for errors of the machines that give credentials to programs in a cloud.
fn is_about_metadata(texts: &str) -> bool {
    ["://169.254.169.254", "://169.254.170.2", "://metadata.google.internal"].iter().any(|host| texts.contains(host))
}

/// The innermost reason of an error, without the address of the request.
fn words(error: &StoreError) -> String {
    let mut inner = error as &(dyn std::error::Error + 'static);
    while let Some(source) = inner.source() {
        inner = source;
    }
    let text = inner.to_string();
    // An XML answer of a store: its code says enough.
    let code = text.split_once("<Code>").and_then(|(_, rest)| rest.split_once("</Code>")).map(|(code, _)| code);
    let text = code.map_or(text.clone(), str::to_owned);
    match text.char_indices().nth(WORDS) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_the_bytes_the_reason_and_the_setting() {
        let error = RequestFailure::timed_out(2.0, "no byte came").into_error(Some(&(8..16)), 3);
        assert_eq!(
            error.to_string(),
            "bytes 8..16: no byte came for 2 s (RemoteOptions::timeout, GPUFEED_REMOTE_TIMEOUT), after 3 retries (RemoteOptions::retries, GPUFEED_REMOTE_RETRIES)"
        );
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }

    #[test]
    fn words_of_an_address_are_no_reason() {
        for text in [
            "Error performing GET http://h/certificates/metadata/credential.tar in 1 ms - Server returned non-2xx status code: 503 Service Unavailable: no certificate",
            "Error performing GET http://h/certificates/metadata/credential.tar in 1 ms - connection refused",
        ] {
            let failure =
                RequestFailure::of(&StoreError::Generic { store: "HTTP", source: text.into() }, Provider::Web, &[]);
            assert_eq!(failure.again, Retry::Yes, "{}", failure.reason);
        }
    }

    #[test]
    fn an_error_names_the_setting_of_its_provider_and_whether_another_request_may_help() {
        let timed_out = "status code: 400 Bad Request: <Error><Code>RequestTimeout</Code></Error>";
        let redirect = "Received redirect without LOCATION";
        let segment = "Encountered empty path segment";
        for (text, provider, again, says) in [
            (timed_out, Provider::Amazon, Retry::Yes, "waited too long"),
            (redirect, Provider::Amazon, Retry::Never, "in another region"),
            (redirect, Provider::Google, Retry::Never, "correct GOOGLE_BASE_URL"),
            (redirect, Provider::Azure, Retry::Never, "correct AZURE_STORAGE_ENDPOINT"),
            (redirect, Provider::Web, Retry::Never, "correct the address"),
            (segment, Provider::Amazon, Retry::Never, "brace list"),
        ] {
            let failure = RequestFailure::of(&StoreError::Generic { store: "S3", source: text.into() }, provider, &[]);
            assert!(failure.again == again && failure.reason.contains(says), "{provider:?}: {}", failure.reason);
            assert!(!failure.reason.contains("expired") || provider == Provider::Amazon, "{}", failure.reason);
        }
    }

    #[test]
    fn a_servers_words_are_short_and_without_secrets() {
        let text = format!("<Error><Code>SlowDown</Code><Message>{}</Message></Error>", "x".repeat(1000));
        let error = StoreError::Generic { store: "S3", source: text.into() };
        assert_eq!(RequestFailure::of(&error, Provider::Amazon, &[]).reason, "SlowDown");
        let error = StoreError::Generic { store: "S3", source: format!("sig=hushhush {}", "x".repeat(1000)).into() };
        let reason = RequestFailure::of(&error, Provider::Amazon, &["hushhush".to_owned()]).reason;
        assert!(reason.len() < 320 && !reason.contains("hush"), "{reason}");
    }
}
