//! Decodes regions of fuzzed bytes and checks the rules of `crates/testing/src/jpeg_engine.rs`.

#![no_main]

use gpufeed_testing::counting::Counting;
use gpufeed_testing::jpeg_engine::{Verdict, check};
use libfuzzer_sys::{Corpus, fuzz_target};

#[global_allocator]
static COUNTING: Counting = Counting;

fuzz_target!(|input: &[u8]| -> Corpus { if check(input) == Verdict::Other { Corpus::Reject } else { Corpus::Keep } });
