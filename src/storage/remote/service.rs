//! The HTTP service that makes all requests to stores and web servers for the library `object_store`. It counts each
//! request, adds the credentials of the address, follows redirects as far as `redirect.rs` allows, and limits the
//! memory and the time that an answer may take. It also notes the status and the kind of a failure (`seen.rs`), because
//! `object_store` passes on only a text.
//!
//! `object_store` reads every body except that of an object into memory of the length that the server claims. To avoid
//! this, the service reads these bodies itself as they come, up to a bound, and `object_store` gets bytes of a known
//! length.

use super::client::{Reach, allows_http, client};
use super::counters::{Counters, count};
use super::failure::{RequestFailure, Retry};
use super::pace::Pace;
use super::provider::Provider;
use super::settings::Settings;
use super::{headers, redirect, seen};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use futures_util::StreamExt;
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpResponseBody, HttpService,
};
use reqwest::Certificate;
use std::fmt;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::time::timeout;
use url::Url;

/// The most bytes that are read of the body of an answer that is an error.
const ERROR: usize = 64 << 10;
/// The most bytes of the body of any other answer, except for one with an object's bytes. The longest pages of
/// listings, which are Azure's with 5000 long keys, have half as many bytes.
const PAGE: usize = 64 << 20;

tokio::task_local! {
    /// The length in bytes of the object that the present task asks a store to make of uploaded parts.
    pub(super) static COMPLETED: u64;
}

/// Marks a request whose answer describes an object or has an object's bytes. The service leaves the answer's body
/// unread.
#[derive(Clone, Copy, Debug)]
pub(super) struct OfObject;

/// Makes the HTTP clients of `object_store`, so that their requests pass through this service.
#[derive(Clone)]
pub(super) struct Connector {
    counters: Arc<Counters>,
    settings: Settings,
    certificates: Vec<Certificate>,
    query: Option<String>,
    authorization: Option<String>,
    provider: Provider,
}

impl Connector {
    /// Makes a connector for the store at the address `base`. For a web server, each request gets the user name, the
    /// password and the query that the address has.
    pub(super) fn new(base: &Url, settings: Settings, certificates: Vec<Certificate>, counters: Arc<Counters>) -> Self {
        let provider = Provider::of(base);
        let web = provider == Provider::Web;
        let user = percent_decoded(base.username());
        let password = base.password().map(percent_decoded).unwrap_or_default();
        let authorization = (web && !(user.is_empty() && password.is_empty()))
            .then(|| format!("Basic {}", BASE64_STANDARD.encode(format!("{user}:{password}"))));
        let query = base.query().filter(|_| web).map(str::to_owned);
        Connector { counters, settings, certificates, query, authorization, provider }
    }
}

fn percent_decoded(text: &str) -> String {
    super::address::percent_decoded(text).unwrap_or_else(|| text.to_owned())
}

impl fmt::Debug for Connector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Connector")
    }
}

impl HttpConnector for Connector {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        let first = HttpClient::new(client(options, &self.certificates, Reach::Settings)?);
        let allows_http = allows_http(options)?;
        let (options, connector) = (options.clone(), self.clone());
        Ok(HttpClient::new(Bounded { first, elsewhere: OnceLock::new(), allows_http, options, connector }))
    }
}

#[derive(Debug)]
struct Bounded {
    first: HttpClient,
    /// The client for requests that were redirected to another server. It is made when it is first needed.
    elsewhere: OnceLock<HttpClient>,
    /// True if the settings allow requests without encryption.
    allows_http: bool,
    options: ClientOptions,
    connector: Connector,
}

impl HttpService for Bounded {
    fn call<'life0, 'async_trait>(
        &'life0 self,
        mut request: HttpRequest,
    ) -> Pin<Box<dyn Future<Output = Result<HttpResponse, HttpError>> + Send + 'async_trait>>
    where
        'life0: 'async_trait,
        Self: 'async_trait,
    {
        Box::pin(async move {
            let of_object = request.extensions().get::<OfObject>().is_some();
            seen::request(!of_object && redirect::asks_for_credentials(&request));
            if let Some(query) = &self.connector.query {
                let uri = format!("{}?{query}", request.uri().to_string().trim_end_matches('?'));
                *request.uri_mut() = uri.parse().map_err(|_| unusable("the query of the address is no query"))?;
            }
            if let Some(value) = &self.connector.authorization {
                let value = value.parse().map_err(|_| unusable("user name and password fit no header"))?;
                request.headers_mut().insert("authorization", value);
            }
            let (reads, limit) = (request.method() == "GET", self.limit(&request));
            let range = headers::range_of(&request);
            let mut answer = self.follow(request).await?;
            if !answer.status().is_success() {
                return Ok(self.refused(answer).await);
            }
            if of_object {
                headers::check(&mut answer, range).map_err(failed)?;
                return Ok(answer);
            }
            if reads {
                return self.whole(answer, Pace::new(&self.connector.settings)).await;
            }
            // While a store makes an object of uploaded parts, it sends a space now and then. Therefore the answer to a
            // request that writes has a time limit, but no least rate.
            let late = |_| failed(RequestFailure::timed_out(limit.as_secs_f64(), "no end of the answer came"));
            timeout(limit, self.whole(answer, Pace::of_any_rate(limit))).await.map_err(late)?
        })
    }
}

impl Bounded {
    /// Makes a request, and follows its redirects.
    async fn follow(&self, mut request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let address = |request: &HttpRequest| Url::parse(&request.uri().to_string());
        let first = address(&request).map_err(|_| unusable("the address of a request is none"))?;
        let mut passed = vec![first.clone()];
        let mut elsewhere = false;
        loop {
            let answer = self.answer(request.clone(), elsewhere).await?;
            let Some(location) = answer.headers().get("location") else { return Ok(answer) };
            if !redirect::is_followed(answer.status().as_u16(), request.method().as_str()) {
                return Ok(answer);
            }
            let from = passed.last().unwrap_or(&first);
            // Some servers send characters beyond ASCII in `Location` without encoding them, so this reads UTF-8.
            let location = std::str::from_utf8(location.as_bytes()).ok();
            let target = redirect::target(from, location).map_err(failed)?;
            if passed.contains(&target) {
                return Err(failed(redirect::refused("in a circle")));
            }
            if passed.len() > redirect::MOST {
                return Err(failed(redirect::refused("more than 10 times")));
            }
            elsewhere |= target.origin() != first.origin();
            if elsewhere {
                redirect::strip(&mut request);
            }
            *request.uri_mut() = target.as_str().parse().map_err(|_| unusable("a redirect leads to no address"))?;
            passed.push(target);
        }
    }

    /// Makes one request, and waits for the status and headers of its answer.
    async fn answer(&self, request: HttpRequest, elsewhere: bool) -> Result<HttpResponse, HttpError> {
        if request.uri().scheme_str() == Some("http") && !self.allows_http {
            return Err(failed(RequestFailure::unencrypted(self.connector.provider)));
        }
        count(&self.connector.counters.requests);
        let limit = self.limit(&request);
        let client = if elsewhere { self.elsewhere()? } else { &self.first };
        let late = |_| failed(RequestFailure::timed_out(limit.as_secs_f64(), "no answer came"));
        timeout(limit, client.execute(request)).await.map_err(late)?
    }

    /// Returns the time within which an answer has to begin. The answer to a request that writes has to end within this
    /// time, too. A store sends nothing while it receives data, so a request that writes gets a second more for each
    /// MB.
    fn limit(&self, request: &HttpRequest) -> Duration {
        let completed = COMPLETED.try_with(|bytes| *bytes).unwrap_or(0);
        let written = request.body().content_length() as u64 + completed;
        self.connector.settings.timeout + Duration::from_secs(written / 1_000_000)
    }

    fn elsewhere(&self) -> Result<&HttpClient, HttpError> {
        if let Some(client) = self.elsewhere.get() {
            return Ok(client);
        }
        let made = client(&self.options, &self.connector.certificates, Reach::Redirects);
        let made = made.map_err(|error| HttpError::new(HttpErrorKind::Unknown, error))?;
        Ok(self.elsewhere.get_or_init(|| HttpClient::new(made)))
    }

    /// Notes an answer whose status is not success. Returns the answer with as much of its body as came in time, up to
    /// `ERROR` bytes. The body has the server's words about the error, which are useful but not necessary.
    async fn refused(&self, answer: HttpResponse) -> HttpResponse {
        let (head, body) = answer.into_parts();
        let mut bytes = Vec::new();
        let read = async {
            let mut parts = body.bytes_stream();
            while bytes.len() < ERROR {
                let Some(Ok(part)) = parts.next().await else { return };
                bytes.extend_from_slice(&part[..part.len().min(ERROR - bytes.len())]);
            }
        };
        let _ = timeout(self.connector.settings.timeout, read).await;
        // The library `object_store` accepts only UTF-8.
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let answer = HttpResponse::from_parts(head, HttpResponseBody::from(text.clone()));
        seen::refused(&answer, &text);
        answer
    }

    /// Reads the whole body of an answer, which is a page of a listing, a store's answer to an upload, or credentials.
    async fn whole(&self, answer: HttpResponse, mut pace: Pace) -> Result<HttpResponse, HttpError> {
        let (head, body) = answer.into_parts();
        let mut bytes = Vec::new();
        let mut parts = body.bytes_stream();
        while let Some(part) = pace.next(parts.next()).await.map_err(failed)? {
            let part = part?;
            if bytes.len() + part.len() > PAGE {
                let reason = "the answer is longer than 64 MiB, which no page of a listing is";
                return Err(failed(RequestFailure::new(io::ErrorKind::InvalidData, Retry::Never, reason)));
            }
            bytes.extend_from_slice(&part);
            pace.came(part.len()).map_err(failed)?;
        }
        Ok(HttpResponse::from_parts(head, HttpResponseBody::from(bytes)))
    }
}

/// Wraps a failure, so that the library `object_store` passes it on as the source of an error, where `failure.rs` finds
/// the failure.
fn failed(failure: RequestFailure) -> HttpError {
    HttpError::new(HttpErrorKind::Unknown, failure)
}

fn unusable(what: &'static str) -> HttpError {
    HttpError::new(HttpErrorKind::Decode, io::Error::other(what))
}
