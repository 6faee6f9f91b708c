//! Carries the status and body of a request's answer from `service.rs` to the caller, because the stores' library
//! passes on only a text.

use object_store::client::HttpResponse;
use std::cell::RefCell;

/// The most bytes of a server's own words that are shown.
const WORDS: usize = 300;

tokio::task_local! {
    /// The last request of a call into the stores' library, and its answer.
    static SEEN: RefCell<Seen>;
}

/// A request, and its answer if that was a refusal.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// The request is for the credentials that a cloud gives to the programs on its machines.
    pub(super) asks_for_credentials: bool,
    /// The answer, if it has a status other than success.
    pub(super) refusal: Option<Refusal>,
}

/// An answer with a status other than success.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) status: u16,
    /// The answer says where to send the request instead.
    pub(super) has_target: bool,
    /// The beginning of the body.
    pub(super) body: String,
}

impl Refusal {
    /// Returns the server's words: its code, else the beginning of its text, else the meaning of the status.
    pub(super) fn words(&self) -> String {
        let status = reqwest::StatusCode::from_u16(self.status).ok();
        match self.body.trim() {
            "" => status.and_then(|status| status.canonical_reason()).unwrap_or("without words").to_owned(),
            body => code_or_begin(body),
        }
    }
}

/// Makes a call into the stores' library, whose requests are made one after another, and returns what was seen of its last
/// request, too.
pub(super) async fn watched<T>(call: impl Future<Output = T>) -> (T, Seen) {
    SEEN.scope(RefCell::default(), async {
        let result = call.await;
        (result, SEEN.with(RefCell::take))
    })
    .await
}

/// Notes a request that is made now. Does nothing outside of [`watched`].
pub(super) fn request(asks_for_credentials: bool) {
    let seen = Seen { asks_for_credentials, refusal: None };
    let _ = SEEN.try_with(|last| last.replace(seen));
}

/// Notes an answer with a status other than success, with the beginning of its body.
pub(super) fn refused(answer: &HttpResponse, body: &str) {
    let (status, has_target) = (answer.status().as_u16(), answer.headers().contains_key("location"));
    let refusal = Refusal { status, has_target, body: body.to_owned() };
    let _ = SEEN.try_with(|last| last.borrow_mut().refusal = Some(refusal));
}

/// Returns the code in a text, if the text is an XML answer of a store, else the beginning of the text.
pub(super) fn code_or_begin(text: &str) -> String {
    let code = text.split_once("<Code>").and_then(|(_, rest)| rest.split_once("</Code>")).map(|(code, _)| code);
    let text = code.unwrap_or(text);
    match text.char_indices().nth(WORDS) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}
