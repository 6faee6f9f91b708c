//! The guide: how to use gpufeed, chapter by chapter. Its programs are tests.
//!
//! The same text is `docs/guide` in the repository, as an mdBook.

/// A chapter. References to other chapters, which the text defines as files at its end, lead to their modules here: the
/// first definition of a reference counts.
macro_rules! chapter {
    ($name:ident, $file:literal) => {
        #[doc = include_str!("guide_links.md")]
        #[doc = include_str!(concat!("../docs/guide/", $file, ".md"))]
        pub mod $name {}
    };
}

chapter!(first_batch, "first-batch");
chapter!(data_sets, "data-sets");
chapter!(augmentation, "augmentation");
chapter!(backends, "backends");
chapter!(caches, "caches");
chapter!(jpeg, "jpeg");
chapter!(bottleneck, "bottleneck");
chapter!(memory, "memory");
chapter!(platforms, "platforms");
chapter!(determinism, "determinism");
chapter!(pytorch, "pytorch");
chapter!(custom_color, "custom-color");
chapter!(coming_from, "coming-from");
chapter!(command, "command");
chapter!(cookbook, "cookbook");
