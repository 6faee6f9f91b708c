//! Data sets in object stores and on web servers.

#[allow(dead_code, reason = "the store that reads through it comes next")]
mod cache;
