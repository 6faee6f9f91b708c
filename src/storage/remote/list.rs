//! Lists the objects of a store, page by page and within bounds: a server may send the same page again and again, pages
//! without end, or keys of any length.

use super::address::LONGEST_KEY;
use super::failure::{RequestFailure, Retry};
use super::request::Requests;
use super::store::Store;
use crate::quote::Shown;
use object_store::ObjectMeta as Meta;
use object_store::list::{PaginatedListOptions, PaginatedListResult, PaginatedListStore};
use object_store::path::Path;
use std::collections::HashSet;
use std::io;

/// The most objects that a listing may have. That many `ObjectMeta` take 1 GiB, without their strings, which `TEXTS`
/// limits.
const OBJECTS: usize = 4 << 20;
/// The most bytes of all keys, ETags and tokens of a listing.
const TEXTS: usize = 1 << 30;
/// The most pages in a row that may have no object. A store sends a few such pages where many objects were removed.
const EMPTY: usize = 1000;

fn endless(what: &str) -> io::Error {
    let reason =
        format!("the folder cannot be listed: {what}; write the files as a brace list, as in part-{{000..041}}.tar");
    RequestFailure::new(io::ErrorKind::InvalidData, Retry::Never, reason).into_error(None, 0)
}

/// Counts the bytes of a listing's strings: keys, ETags and tokens.
#[derive(Default)]
struct Texts(usize);

impl Texts {
    /// Counts the bytes of a string, and checks the bounds. Errors call the string `what`.
    fn add(&mut self, what: &str, text: &str) -> io::Result<()> {
        if text.len() > LONGEST_KEY {
            let begin: String = text.chars().take(60).collect();
            let length = text.len();
            return Err(endless(&format!("{what} has {length} bytes, above {LONGEST_KEY} ({}...)", Shown(begin))));
        }
        self.0 += text.len();
        if self.0 > TEXTS {
            return Err(endless("its keys have more than 1 GiB together"));
        }
        Ok(())
    }

    fn add_object(&mut self, object: &Meta) -> io::Result<()> {
        self.add("a key", object.location.as_ref())?;
        let more = [("an ETag", &object.e_tag), ("a version", &object.version)];
        more.into_iter().try_for_each(|(what, text)| self.add(what, text.as_deref().unwrap_or_default()))
    }
}

impl Requests {
    /// Lists all objects below a prefix, in the store's order.
    ///
    /// # Errors
    /// The reason why the listing failed, or the bound that the listing exceeds.
    pub(super) async fn list(&self, store: &Store, prefix: &Path) -> io::Result<Vec<Meta>> {
        let Some(pages) = &store.pages else {
            return Err(io::Error::new(io::ErrorKind::Unsupported, "a web server has no listing"));
        };
        let prefix: &str = prefix.as_ref();
        let prefix = (!prefix.is_empty()).then(|| format!("{prefix}/"));
        let (mut found, mut passed, mut empty, mut token) = (Vec::new(), HashSet::new(), 0, None);
        let mut texts = Texts::default();
        loop {
            let page = self.page(store, &**pages, prefix.as_deref(), token).await?;
            empty = if page.result.objects.is_empty() { empty + 1 } else { 0 };
            page.result.objects.iter().try_for_each(|object| texts.add_object(object))?;
            found.extend(page.result.objects);
            let next = page.page_token.filter(|token| !token.is_empty());
            let Some(next) = next else { return Ok(found) };
            texts.add("the token of the next page", &next)?;
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
        let page = || {
            let options = PaginatedListOptions { page_token: token.clone(), ..PaginatedListOptions::default() };
            store.ask(pages.list_paginated(prefix, options))
        };
        self.until_it_succeeds(page).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_texts_of_a_listing_have_a_bound_together_and_each() {
        let mut texts = Texts::default();
        let error = texts.add("a key", &"k".repeat(LONGEST_KEY + 1)).unwrap_err().to_string();
        assert!(error.contains("a key has 8193 bytes") && error.len() < 300, "{error}");
        let longest = "k".repeat(LONGEST_KEY);
        for _ in 0..TEXTS / LONGEST_KEY {
            texts.add("a key", &longest).unwrap();
        }
        assert!(texts.add("a key", "k").unwrap_err().to_string().contains("1 GiB"));
    }
}
