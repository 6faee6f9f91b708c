//! Fuzzes `decode` with JPEGs: the input is probed, and a region of it is decoded. `crates/testing/src/jpeg_decode.rs` has the
//! checks.

#![no_main]

use gpufeed_testing::counting::Counting;
use gpufeed_testing::jpeg_decode::check;
use gpufeed_testing::jpeg_engine::Verdict;
use libfuzzer_sys::{Corpus, fuzz_target};

#[global_allocator]
static COUNTING: Counting = Counting;

fuzz_target!(|input: &[u8]| -> Corpus { if check(input) == Verdict::Other { Corpus::Reject } else { Corpus::Keep } });
