//! Fuzzes the JPEG decoders: the input is probed, and a region of it is decoded by gpufeed's JPEG engine or by
//! zune-jpeg. `crates/testing/src/jpeg_decode.rs` has the checks.

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

/// Lets panics in zune-jpeg pass, because `decode` turns them into errors. Any other panic ends the process through
/// libFuzzer's hook.
fn let_zune_panic() {
    let abort = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| match info.location() {
        Some(place) if place.file().contains("zune") => eprintln!("zune-jpeg has panicked: {info}"),
        _ => abort(info),
    }));
}
