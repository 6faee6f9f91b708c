//! The failure of a request: its reason, whether another attempt may succeed, and the words of the error.

use super::address::hide;
use super::network_error::{NetworkError, Unresolved};
use super::provider::Provider;
use super::seen::{Refusal, Seen, code_or_begin};
use crate::advice::{self, Reason, Setting};
use object_store::Error as StoreError;
use object_store::client::{HttpError, HttpErrorKind};
use std::fmt;
use std::io;
use std::ops::Range;

/// The error codes in Amazon's answers for an expired session. These answers have the status 400.
const EXPIRED: [&str; 4] = ["ExpiredToken", "InvalidToken", "RequestExpired", "TokenRefreshRequired"];

/// The failure of a request. `service.rs` passes this value through the library `object_store` as the source of an
/// error.
#[derive(Clone, Debug)]
pub(super) struct RequestFailure {
    pub(super) kind: io::ErrorKind,
    /// The reason, which names the environment variables to change, and advice on other settings to change.
    pub(super) reason: Reason,
    /// Whether the request is made again, and how often.
    pub(super) again: Retry,
    /// True if the object of the request does not exist.
    pub(super) missing: bool,
    /// The status of the answer by which a server has refused the request; `None` if no server has refused it.
    pub(super) status: Option<u16>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Retry {
    /// The request is not made again: the next attempt would fail for the same reason.
    Never,
    /// The request is made again at most twice. A little time may help, but most often the address or a setting is
    /// wrong, for example if the name of a server does not resolve.
    Few,
    /// The request is made again, as often as the settings allow.
    Yes,
}

impl fmt::Display for RequestFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.reason.fmt(f)
    }
}

impl std::error::Error for RequestFailure {}

impl RequestFailure {
    pub(super) fn new(kind: io::ErrorKind, again: Retry, reason: impl Into<Reason>) -> Self {
        RequestFailure { kind, reason: reason.into(), again, missing: false, status: None }
    }

    /// Returns the failure for an object whose content has changed since it was opened.
    pub(super) fn replaced(what: &str) -> Self {
        let reason = format!("the object was replaced since the data set was opened ({what}); open the data set again");
        RequestFailure::new(io::ErrorKind::InvalidData, Retry::Never, reason)
    }

    /// Returns the failure of a request for which nothing came in time.
    pub(super) fn timed_out(seconds: f64, what: &str) -> Self {
        let reason = Reason::new(format!("{what} for {seconds} s (GPUFEED_REMOTE_TIMEOUT)"));
        let advice = advice::raise(Setting::RemoteTimeout);
        RequestFailure::new(io::ErrorKind::TimedOut, Retry::Yes, reason.advise(advice))
    }

    /// Finds out why a request failed, from the types of its error and from what `service.rs` has seen of the answer.
    /// The text of an error names the address of the request, so only the text of the innermost source is shown.
    pub(super) fn of(error: &StoreError, seen: Seen, provider: Provider, secrets: &[String]) -> Self {
        if let Some(failure) = sources(error).find_map(|error| error.downcast_ref::<RequestFailure>()) {
            if failure.kind == io::ErrorKind::TimedOut && seen.asks_for_credentials {
                return RequestFailure::without_credentials(provider);
            }
            let Reason { text, advice } = failure.reason.clone();
            return RequestFailure { reason: Reason { text: hide(text, secrets), advice }, ..failure.clone() };
        }
        if seen.asks_for_credentials {
            return RequestFailure::without_credentials(provider);
        }
        if let Some(refusal) = seen.refusal {
            let words = hide(refusal.words(), secrets);
            return RequestFailure {
                status: Some(refusal.status),
                ..RequestFailure::of_refusal(&refusal, &words, provider)
            };
        }
        let words = hide(words(error), secrets);
        match error {
            StoreError::NotFound { .. } => RequestFailure::missing(),
            StoreError::Precondition { .. } | StoreError::NotModified { .. } => {
                RequestFailure::replaced("its ETag differs")
            }
            StoreError::PermissionDenied { .. } => RequestFailure::refused(403, &words, provider),
            StoreError::Unauthenticated { .. } => RequestFailure::refused(401, &words, provider),
            StoreError::NotSupported { .. } => RequestFailure::ignores_ranges(),
            _ => RequestFailure::of_cause(Cause::of(error), words, provider),
        }
    }

    fn without_credentials(provider: Provider) -> Self {
        let reason = Reason::new(format!("there are no credentials ({})", provider.credentials()));
        let reason = reason.advise(advice::REMOTE_STORE);
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
        let reason = Reason::new(reason);
        let reason = if provider == Provider::Web { reason } else { reason.advise(advice::REMOTE_STORE) };
        RequestFailure::new(io::ErrorKind::PermissionDenied, Retry::Never, reason)
    }

    /// Returns the failure of a request that was answered with a status other than success.
    fn of_refusal(refusal: &Refusal, words: &str, provider: Provider) -> Self {
        match refusal.status {
            401 | 403 => RequestFailure::refused(refusal.status, words, provider),
            400 if EXPIRED.contains(&words) => RequestFailure::refused(400, words, provider),
            // S3 sends this answer if the bytes of an upload have stopped coming.
            400 if words == "RequestTimeout" => RequestFailure::new(
                io::ErrorKind::TimedOut,
                Retry::Yes,
                "the server waited too long for the request, status 400, RequestTimeout",
            ),
            400 => RequestFailure::misdirected(&format!("the server answered with status 400, {words}"), provider),
            404 if words == "NoSuchBucket" => {
                RequestFailure::new(io::ErrorKind::NotFound, Retry::Never, "there is no such bucket")
            }
            404 => RequestFailure::missing(),
            // A web server may refuse the request's method with status 405 if the object does not exist.
            405 if provider == Provider::Web => RequestFailure::missing(),
            304 | 412 => RequestFailure::replaced("its ETag differs"),
            416 => RequestFailure::replaced("it ends before this byte, status 416"),
            300..=399 if !refusal.has_target => {
                let answer = "the server sends requests elsewhere, and does not say where";
                if provider == Provider::Amazon {
                    return RequestFailure::misdirected(answer, provider);
                }
                let reason = format!("{answer}; correct {}", provider.server());
                RequestFailure::new(io::ErrorKind::InvalidInput, Retry::Never, reason)
            }
            status => {
                let again = if matches!(status, 408 | 429 | 500 | 502..) { Retry::Yes } else { Retry::Never };
                RequestFailure::new(
                    io::ErrorKind::Other,
                    again,
                    format!("the server answered with status {status}, {words}"),
                )
            }
        }
    }

    /// Returns the failure of an answer that has two meanings at Amazon: the bucket is in another region, or (for
    /// `HEAD`) the credentials have expired.
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

    /// Returns the failure of a request for a range that was answered with the whole object.
    pub(super) fn ignores_ranges() -> Self {
        let reason = "the server or a proxy before it ignores byte ranges and sends whole objects; use the store's own address, name it in NO_PROXY, or use a server that supports Range";
        RequestFailure::new(io::ErrorKind::Unsupported, Retry::Never, reason)
    }

    /// Returns the failure of a request that would go out without encryption, which is not allowed.
    pub(super) fn unencrypted(provider: Provider) -> Self {
        let reason = match provider.prefix() {
            Some(prefix) => {
                format!("http:// without encryption is not allowed for this store ({prefix}ALLOW_HTTP=true)")
            }
            None => "the server sends requests on to an address without encryption (http://)".to_owned(),
        };
        RequestFailure::new(io::ErrorKind::InvalidInput, Retry::Never, reason)
    }

    /// Returns the failure of a request that got no answer, or an answer that the library `object_store` cannot use.
    /// `words` is the text of the innermost error.
    fn of_cause(cause: Cause, words: String, provider: Provider) -> Self {
        use io::ErrorKind as Kind;
        let server = provider.server();
        let (kind, again, reason) = match cause {
            Cause::Untrusted => (
                Kind::PermissionDenied,
                Retry::Never,
                format!(
                    "the server's certificate is not trusted ({words}); SSL_CERT_FILE names a file of certificates that are"
                ),
            ),
            Cause::Key => (
                Kind::InvalidInput,
                Retry::Never,
                format!(
                    "a key has a part that is empty, or is . or .., which is not read ({words}); name the files as a brace list, as in part-{{000..041}}.tar"
                ),
            ),
            Cause::Unresolved => (
                Kind::HostUnreachable,
                Retry::Few,
                format!("the name of the server does not resolve ({words}); check the network, and correct {server}"),
            ),
            Cause::NotEncrypted => (
                Kind::InvalidInput,
                Retry::Never,
                format!(
                    "the server's answer is not encrypted; where it has no TLS, its address begins with http:// (correct {server})"
                ),
            ),
            Cause::Timeout => (Kind::TimedOut, Retry::Yes, format!("no connection in time ({words})")),
            Cause::Connect => (Kind::ConnectionRefused, Retry::Yes, format!("no connection ({words})")),
            Cause::Ended => (Kind::ConnectionReset, Retry::Yes, format!("the connection ended ({words})")),
            // The answer is, for example, XML whose end is missing. The answer to another attempt may be complete.
            Cause::Unusable => (Kind::Other, Retry::Yes, words),
        };
        let reason = Reason::new(reason);
        let reason = if cause == Cause::Untrusted { reason.advise(advice::REMOTE_CERTIFICATES) } else { reason };
        RequestFailure::new(kind, again, reason)
    }

    /// Makes the error for a read of the bytes `range`, whose request was made again `retries` times.
    pub(super) fn into_error(self, range: Option<&Range<u64>>, retries: u32) -> io::Error {
        let bytes = range.map(|range| format!("bytes {}..{}: ", range.start, range.end)).unwrap_or_default();
        let after = match retries {
            0 => String::new(),
            1 => ", after 1 retry (GPUFEED_REMOTE_RETRIES)".to_owned(),
            _ => format!(", after {retries} retries (GPUFEED_REMOTE_RETRIES)"),
        };
        let Reason { text, advice } = self.reason;
        let reason = Reason { text: format!("{bytes}{text}{after}"), advice };
        let reason = if retries > 0 { reason.advise(advice::raise(Setting::RemoteRetries)) } else { reason };
        io::Error::new(self.kind, NetworkError(reason))
    }
}

/// The reason why an answer did not come or cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cause {
    /// The server's certificate is not trusted.
    Untrusted,
    /// The server does not speak TLS.
    NotEncrypted,
    /// The server's name does not resolve.
    Unresolved,
    /// No connection was made in time.
    Timeout,
    /// No connection could be made.
    Connect,
    /// The connection ended in the middle of a request or of its answer.
    Ended,
    /// A listing has an object's key that the library `object_store` does not accept.
    Key,
    /// An answer came, but could not be interpreted.
    Unusable,
}

impl Cause {
    /// Finds the cause by the types of an error and its sources.
    fn of(error: &StoreError) -> Cause {
        let found = sources(error).find_map(|error| {
            if error.is::<Unresolved>() {
                return Some(Cause::Unresolved);
            }
            if error.is::<object_store::path::Error>() {
                return Some(Cause::Key);
            }
            match error.downcast_ref::<rustls::Error>()? {
                rustls::Error::InvalidCertificate(_) | rustls::Error::NoCertificatesPresented => Some(Cause::Untrusted),
                rustls::Error::InvalidMessage(rustls::InvalidMessage::InvalidContentType) => Some(Cause::NotEncrypted),
                _ => None,
            }
        });
        let kind = sources(error).find_map(|error| error.downcast_ref::<HttpError>()).map(HttpError::kind);
        found.unwrap_or(match kind {
            Some(HttpErrorKind::Timeout) => Cause::Timeout,
            Some(HttpErrorKind::Connect) => Cause::Connect,
            Some(_) => Cause::Ended,
            None => Cause::Unusable,
        })
    }
}

/// Returns an error and all its sources, including errors inside of I/O errors, which `Error::source` passes over.
fn sources<'a>(error: &'a StoreError) -> impl Iterator<Item = &'a (dyn std::error::Error + 'static)> {
    std::iter::successors(Some(error as &'a (dyn std::error::Error + 'static)), |&error| {
        let held = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        held.map(|held| held as &(dyn std::error::Error + 'static)).or_else(|| error.source())
    })
}

/// Returns the text of an error's innermost source, which does not have the address of the request.
fn words(error: &StoreError) -> String {
    sources(error).last().map_or(String::new(), |inner| code_or_begin(&inner.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(error: &StoreError, seen: Seen, provider: Provider) -> RequestFailure {
        RequestFailure::of(error, seen, provider, &["hushhush".to_owned()])
    }

    /// Returns what the service has seen of a request whose answer has this status and body.
    fn answered(status: u16, body: &str) -> Seen {
        Seen { refusal: Some(Refusal { status, has_target: false, body: body.to_owned() }), ..Seen::default() }
    }

    fn generic(text: &str) -> StoreError {
        StoreError::Generic { store: "S3", source: text.to_owned().into() }
    }

    #[test]
    fn an_error_names_the_bytes_the_reason_and_the_setting() {
        let error = RequestFailure::timed_out(2.0, "no byte came").into_error(Some(&(8..16)), 3);
        assert_eq!(
            error.to_string(),
            "bytes 8..16: no byte came for 2 s (GPUFEED_REMOTE_TIMEOUT), after 3 retries (GPUFEED_REMOTE_RETRIES)"
        );
        let shown = crate::Error::io("s3://a/b", error).to_string();
        assert!(shown.ends_with("; raise RemoteOptions::timeout; raise RemoteOptions::retries"), "{shown}");
        let error = RequestFailure::timed_out(2.0, "no byte came").into_error(Some(&(8..16)), 3);
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }

    #[test]
    fn words_of_an_address_are_no_reason() {
        for text in [
            "Error performing GET http://h/certificates/metadata/credential.tar in 1 ms - status code: 403: no certificate",
            "dns error, InvalidContentType, Received redirect without LOCATION, non-partial, Requested 1..2, got 2..3",
            "Encountered empty path segment at http://169.254.169.254/, Content-Length Header missing",
        ] {
            let failure = of(&generic(text), Seen::default(), Provider::Web);
            assert_eq!((failure.kind, failure.again), (io::ErrorKind::Other, Retry::Yes), "{}", failure.reason.text);
            let failure = of(&generic(text), answered(503, text), Provider::Web);
            assert_eq!((failure.status, failure.again), (Some(503), Retry::Yes), "{}", failure.reason.text);
        }
    }

    #[test]
    fn an_error_names_the_setting_of_its_provider_and_whether_another_request_may_help() {
        let timed_out = || answered(400, "<Error><Code>RequestTimeout</Code></Error>");
        let redirect = || answered(301, "");
        for (seen, provider, again, says) in [
            (timed_out(), Provider::Amazon, Retry::Yes, "waited too long"),
            (redirect(), Provider::Amazon, Retry::Never, "in another region"),
            (redirect(), Provider::Google, Retry::Never, "correct GOOGLE_BASE_URL"),
            (redirect(), Provider::Azure, Retry::Never, "correct AZURE_STORAGE_ENDPOINT"),
            (redirect(), Provider::Web, Retry::Never, "correct the address"),
            (answered(404, "<Code>NoSuchBucket</Code>"), Provider::Amazon, Retry::Never, "no such bucket"),
            (answered(405, ""), Provider::Web, Retry::Never, "no such object"),
            (answered(405, ""), Provider::Amazon, Retry::Never, "status 405, Method Not Allowed"),
        ] {
            let failure = of(&generic("no words"), seen, provider);
            assert!(
                failure.again == again && failure.reason.text.contains(says),
                "{provider:?}: {}",
                failure.reason.text
            );
            assert!(
                !failure.reason.text.contains("expired") || provider == Provider::Amazon,
                "{}",
                failure.reason.text
            );
        }
        let segment = object_store::path::Error::EmptySegment { path: "a//b".to_owned() };
        let failure = of(&StoreError::InvalidPath { source: segment }, Seen::default(), Provider::Amazon);
        assert!(failure.again == Retry::Never && failure.reason.text.contains("brace list"), "{}", failure.reason.text);
    }

    #[test]
    fn a_machine_that_gives_no_credentials_is_told_whatever_it_answers() {
        for refusal in [answered(404, "").refusal, answered(500, "").refusal, None] {
            let seen = Seen { asks_for_credentials: true, refusal };
            let failure = of(&generic("no"), seen, Provider::Amazon);
            assert_eq!((failure.kind, failure.again), (io::ErrorKind::PermissionDenied, Retry::Few));
            assert!(
                failure.reason.text.contains("there are no credentials (AWS_ACCESS_KEY_ID"),
                "{}",
                failure.reason.text
            );
        }
    }

    #[test]
    fn a_servers_words_are_short_and_without_secrets() {
        let text = format!("<Error><Code>SlowDown</Code><Message>{}</Message></Error>", "x".repeat(1000));
        let reason = of(&generic("no words"), answered(503, &text), Provider::Amazon).reason.text;
        assert_eq!(reason, "the server answered with status 503, SlowDown");
        let long = format!("sig=hushhush {}", "x".repeat(1000));
        for reason in [
            of(&generic(&long), Seen::default(), Provider::Amazon).reason.text,
            of(&generic("no words"), answered(503, &long), Provider::Amazon).reason.text,
        ] {
            assert!(reason.len() < 360 && !reason.contains("hush"), "{reason}");
        }
    }
}
