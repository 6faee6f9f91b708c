//! Carries the status and the body of an answer from `service.rs` to the caller that made the request, because the
//! library `object_store` between them passes on only a text.

use object_store::client::HttpResponse;
use std::cell::RefCell;

/// The most characters of a server's own words that are shown.
const WORDS: usize = 300;

tokio::task_local! {
    /// The last request that a call into the library `object_store` has made, and its answer.
    static SEEN: RefCell<Seen>;
}

/// What was seen of a request: whom it asks, and its answer if the answer was a refusal.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// True if the request is for the credentials that a cloud gives to the programs on its machines.
    pub(super) asks_for_credentials: bool,
    /// The answer; `None` if there is none yet, or if its status is success.
    pub(super) refusal: Option<Refusal>,
}

/// An answer with a status other than success.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) status: u16,
    /// True if the answer says where to send the request instead (`Location`).
    pub(super) has_target: bool,
    /// The beginning of the answer's body.
    pub(super) body: String,
}

impl Refusal {
    /// Returns the server's words: the error code in the body, else the beginning of the body, else the standard phrase
    /// for the status.
    pub(super) fn words(&self) -> String {
        let status = reqwest::StatusCode::from_u16(self.status).ok();
        match self.body.trim() {
            "" => status.and_then(|status| status.canonical_reason()).unwrap_or("without words").to_owned(),
            body => code_or_begin(body),
        }
    }
}

/// Makes a call into the library `object_store`, which makes its requests one after another. Returns the call's result,
/// and what was seen of its last request.
pub(super) async fn watched<T>(call: impl Future<Output = T>) -> (T, Seen) {
    SEEN.scope(RefCell::default(), async {
        let result = call.await;
        (result, SEEN.with(RefCell::take))
    })
    .await
}

/// Notes that a request is made now. Does nothing if no call of [`watched`] is under way in this task.
pub(super) fn request(asks_for_credentials: bool) {
    let seen = Seen { asks_for_credentials, refusal: None };
    let _ = SEEN.try_with(|last| last.replace(seen));
}

/// Notes an answer to the last request that has a status other than success, with the beginning of its body.
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
