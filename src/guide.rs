//! The guide: how to use gpufeed, chapter by chapter. Its programs are tests.
//!
//! The same text is `docs/guide` in the repository, as an mdBook.

/// A chapter. References to other chapters, which the text defines as files at its end, lead to their modules here: the
/// first definition of a reference counts. So do references to pictures, which `scripts/pictures.py` writes to
/// `docs/rustdoc` as data: rustdoc copies no files.
macro_rules! chapter {
    ($name:ident, $file:literal $(, $picture:literal)*) => {
        #[doc = include_str!("../docs/rustdoc/links.md")]
        $(#[doc = include_str!(concat!("../docs/rustdoc/", $picture, ".md"))])*
        #[doc = include_str!(concat!("../docs/guide/", $file, ".md"))]
        pub mod $name {}
    };
}

chapter!(first_batch, "first-batch", "pipeline.svg");
chapter!(settings, "settings");
chapter!(data_sets, "data-sets");
chapter!(stores, "stores");
chapter!(augmentation, "augmentation", "operators-1.jpg", "operators-2.jpg", "operators-3.jpg", "operators-4.jpg");
chapter!(fields, "fields");
chapter!(views, "views");
chapter!(sizes, "sizes");
chapter!(backends, "backends");
chapter!(gpus, "gpus");
chapter!(caches, "caches", "cache.svg");
chapter!(jpeg, "jpeg", "regions.svg");
chapter!(bottleneck, "bottleneck", "stages.svg", "report.png", "workers.svg");
chapter!(roofline, "roofline");
chapter!(memory, "memory");
chapter!(platforms, "platforms");
chapter!(stability, "stability");
chapter!(determinism, "determinism");
chapter!(machines, "machines");
chapter!(order, "order", "order.svg");
chapter!(pytorch, "pytorch");
chapter!(custom_color, "custom-color");
chapter!(coming_from, "coming-from");
chapter!(command, "command");
chapter!(cookbook, "cookbook");
