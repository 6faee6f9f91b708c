//! Fuzzes `Coco` with documents; the folder has one image, `a`.

#![no_main]

use gpufeed::Dataset;
use gpufeed::dataset::Coco;
use gpufeed_fuzz::objects::check_all;
use gpufeed_fuzz::readers::{Folder, bounded, refused};
use gpufeed_testing::counting::Counting;
use libfuzzer_sys::{Corpus, fuzz_target};
use std::sync::LazyLock;

#[global_allocator]
static COUNTING: Counting<1> = Counting;
static FOLDER: LazyLock<Folder> = LazyLock::new(|| {
    let folder = Folder::new();
    folder.write("a", b"an image");
    folder
});

fuzz_target!(|input: &[u8]| -> Corpus {
    let path = FOLDER.write("instances.json", input);
    // With a folder of its own, so that no name of the document is looked for elsewhere.
    match bounded(input.len(), || Coco::builder().root(FOLDER.path()).open(path)) {
        Ok(data) => {
            assert!(!data.is_empty() && data.len() <= input.len());
            let images = (0..data.len()).map(|index| data.name(index));
            // A document can name any file of the machine.
            if images.into_iter().all(|name| name.ends_with("/a") || name.ends_with("/b")) {
                check_all(&data, None);
            }
        }
        Err(error) => drop(refused(&error)),
    }
    Corpus::Keep
});
