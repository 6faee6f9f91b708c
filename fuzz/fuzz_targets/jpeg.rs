//! Bytes → probe → the JPEG engine → pixels of a region; what has to hold is in `crates/testing/src/jpeg_engine.rs`.

#![no_main]

#[allow(dead_code)] // a part of it is for other tests
#[path = "../../crates/testing/src/counting.rs"]
mod counting;
#[path = "../../crates/testing/src/jpeg_engine.rs"]
mod jpeg_engine;

use jpeg_engine::{Verdict, check};
use libfuzzer_sys::{Corpus, fuzz_target};

#[global_allocator]
static COUNTING: counting::Counting = counting::Counting;

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
