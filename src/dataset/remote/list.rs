//! Listings, page by page: a server may send the same page again and again, or pages without an end.

use super::failure::{RequestFailure, Retry};
use super::request::{Requests, Retries};
use super::store::Store;
use object_store::ObjectMeta as Meta;
use object_store::list::{PaginatedListOptions, PaginatedListResult, PaginatedListStore};
use object_store::path::Path;
use std::collections::HashSet;
use std::io;

/// Most objects of a listing: their descriptions take a GiB.
const OBJECTS: usize = 4 << 20;
/// Most pages without an object, one after the other: stores send a few where many objects were removed.
const EMPTY: usize = 1000;

fn endless(what: &str) -> io::Error {
    let reason =
        format!("the folder cannot be listed: {what}; write the files as a brace list, as in part-{{000..041}}.tar");
    RequestFailure::new(io::ErrorKind::InvalidData, Retry::Never, reason).into_error(None, 0)
}

impl Requests {
    /// All objects below a prefix, in the store's order.
    ///
    /// # Errors
    /// One that says why the listing failed, or does not end.
    pub(super) async fn list(&self, store: &Store, prefix: &Path) -> io::Result<Vec<Meta>> {
        let Some(pages) = &store.pages else {
            return Err(io::Error::new(io::ErrorKind::Unsupported, "a web server has no listing"));
        };
        let prefix: &str = prefix.as_ref();
        let prefix = (!prefix.is_empty()).then(|| format!("{prefix}/"));
        let (mut found, mut passed, mut empty, mut token) = (Vec::new(), HashSet::new(), 0, None);
        loop {
            let page = self.page(store, &**pages, prefix.as_deref(), token).await?;
            empty = if page.result.objects.is_empty() { empty + 1 } else { 0 };
            found.extend(page.result.objects);
            let next = page.page_token.filter(|token| !token.is_empty());
            let Some(next) = next else { return Ok(found) };
            if !passed.insert(next.clone()) {
                return Err(endless("the server sends the same page again"));
            }
            if empty > EMPTY {
                return Err(endless(&format!("the server sends more than {EMPTY} pages without an object")));
            }
            if found.len() > OBJECTS {
                return Err(endless(&format!("it has more than {OBJECTS} objects")));
            }
            token = Some(next);
        }
    }

    async fn page(
        &self,
        store: &Store,
        pages: &dyn PaginatedListStore,
        prefix: Option<&str>,
        token: Option<String>,
    ) -> io::Result<PaginatedListResult> {
        let mut retries = Retries::new(self);
        loop {
            let options = PaginatedListOptions { page_token: token.clone(), ..PaginatedListOptions::default() };
            match pages.list_paginated(prefix, options).await {
                Ok(page) => return Ok(page),
                Err(error) => retries.again(store.failure(&error), None).await?,
            }
        }
    }
}
