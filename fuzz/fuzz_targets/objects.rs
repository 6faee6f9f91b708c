//! Fuzzes the JSON documents of one image's objects: what is read is written, and read again as the same.

#![no_main]

use gpufeed::internals::object_documents::{read, written};
use gpufeed_fuzz::objects::check;
use gpufeed_fuzz::readers::bounded;
use gpufeed_testing::counting::Counting;
use libfuzzer_sys::{Corpus, fuzz_target};

#[global_allocator]
static COUNTING: Counting<1> = Counting;

fuzz_target!(|input: &[u8]| -> Corpus {
    let Ok(text) = std::str::from_utf8(input) else { return Corpus::Reject };
    match bounded(text.len(), || read(text)) {
        Ok(objects) => {
            check(&objects);
            let document = written(&objects).expect("numbers that were read are finite");
            let again = read(&document).expect("what was written is read");
            check(&again);
            assert_eq!(written(&again).as_deref(), Ok(&*document), "{text}");
        }
        Err(reason) => assert!(!reason.is_empty()),
    }
    Corpus::Keep
});
