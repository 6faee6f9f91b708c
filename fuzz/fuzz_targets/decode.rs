//! Bytes → probe → the JPEG engine or zune-jpeg → pixels of a region; the rules are in `crates/testing/src/jpeg_decode.rs`.

#![no_main]

use gpufeed_testing::counting::Counting;
use gpufeed_testing::jpeg_decode::check;
use gpufeed_testing::jpeg_engine::Verdict;
use libfuzzer_sys::{Corpus, fuzz_target};

#[global_allocator]
static COUNTING: Counting = Counting;

fuzz_target!(init: let_zune_panic(), |input: &[u8]| -> Corpus {
    if check(input) == Verdict::Other { Corpus::Reject } else { Corpus::Keep }
});

/// A panic ends the process, by libFuzzer's own hook. Not one of zune-jpeg: `decode` makes it an error.
fn let_zune_panic() {
    let abort = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| match info.location() {
        Some(place) if place.file().contains("zune") => eprintln!("zune-jpeg has panicked: {info}"),
        _ => abort(info),
    }));
}
