//! Every request passes through here: it is counted, and gets the credentials that its address had.

use super::counters::{Counters, count};
use super::provider::Provider;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpService, ReqwestConnector,
};
use std::fmt;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use url::Url;

/// Makes clients whose requests are counted.
#[derive(Clone)]
pub(super) struct Connector {
    counters: Arc<Counters>,
    query: Option<String>,
    authorization: Option<String>,
}

impl Connector {
    /// `base` is an address on the web, whose credentials go into each request, or any other address.
    pub(super) fn new(base: &Url, counters: Arc<Counters>) -> Self {
        let web = Provider::of(base) == Provider::Web;
        let user = percent_decoded(base.username());
        let password = base.password().map(percent_decoded).unwrap_or_default();
        let authorization = (web && !(user.is_empty() && password.is_empty()))
            .then(|| format!("Basic {}", BASE64_STANDARD.encode(format!("{user}:{password}"))));
        Connector { counters, query: base.query().filter(|_| web).map(str::to_owned), authorization }
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
        let client = ReqwestConnector::default().connect(options)?;
        Ok(HttpClient::new(Counted { client, connector: self.clone() }))
    }
}

#[derive(Debug)]
struct Counted {
    client: HttpClient,
    connector: Connector,
}

impl HttpService for Counted {
    fn call<'life0, 'async_trait>(
        &'life0 self,
        mut request: HttpRequest,
    ) -> Pin<Box<dyn Future<Output = Result<HttpResponse, HttpError>> + Send + 'async_trait>>
    where
        'life0: 'async_trait,
        Self: 'async_trait,
    {
        Box::pin(async move {
            count(&self.connector.counters.requests);
            let unusable = |what| HttpError::new(HttpErrorKind::Decode, io::Error::other(what));
            if let Some(query) = &self.connector.query {
                let uri = format!("{}?{query}", request.uri().to_string().trim_end_matches('?'));
                *request.uri_mut() = uri.parse().map_err(|_| unusable("the query of the address is no query"))?;
            }
            if let Some(value) = &self.connector.authorization {
                let value = value.parse().map_err(|_| unusable("user name and password fit no header"))?;
                request.headers_mut().insert("authorization", value);
            }
            self.client.execute(request).await
        })
    }
}
