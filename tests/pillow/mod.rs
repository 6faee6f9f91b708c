//! Where gpufeed's verdict on a JPEG of the corpus differs from Pillow's; why is in `benches/results/doctor-jpeg-corpus.md`.

/// JPEGs of the corpus that are refused here and decoded by Pillow 13 (libjpeg-turbo 3.2), with the verdict here.
pub(crate) const REFUSED_HERE: [(&str, &str); 20] = [
    ("libjpeg-turbo/testimages/testimgari.jpg", "unsupported"),
    ("pillow/Tests/images/hopper_bad_exif.jpg", "corrupt"),
    ("zune-image/fuzz-corpus/jpeg/1abf515d4d6a5ec131d697b40fd8fb001036b7bb", "truncated"),
    ("zune-image/fuzz-corpus/jpeg/2d8a7a3d1d48eb7617048f36493bf591b0631f23", "corrupt"),
    ("zune-image/fuzz-corpus/jpeg/3bb31ce78ff1b36c77ebbb5b8a4fe328017d947e", "truncated"),
    ("zune-image/fuzz-corpus/jpeg/3df75ff87d1a266e86599fbc961313f111f0b3e0", "truncated"),
    ("zune-image/fuzz-corpus/jpeg/46d3f31446f1ff0723ed44183b77c3b38ccafe33", "truncated"),
    ("zune-image/fuzz-corpus/jpeg/530e51478d0f35340136be2fbc5ef2c50b14f35f", "corrupt"),
    ("zune-image/fuzz-corpus/jpeg/60dc56c4c75095d12cccf5207d316a8024878fc1", "truncated"),
    ("zune-image/fuzz-corpus/jpeg/627319506a43da0c583eed4cb7e5ce33a6c1a449", "truncated"),
    ("zune-image/fuzz-corpus/jpeg/80022c9f92fb6fe51f79c8fc800e6e52e3a6982f", "truncated"),
    ("zune-image/fuzz-corpus/jpeg/89187fc10f901c754df8a3c10ab9245e9bc27974", "truncated"),
    ("zune-image/fuzz-corpus/jpeg/9db2e6ac6dcd1014196b5c549c9cd90045967509", "truncated"),
    ("zune-image/fuzz-corpus/jpeg/b18deb614050c14224a9689c9e63b432b79b45c3", "corrupt"),
    ("zune-image/fuzz-corpus/jpeg/b73d93e48ae55ea19ac1b3274f02c0f0d7ded824", "corrupt"),
    ("zune-image/fuzz-corpus/jpeg/b7cba9ad175fed5cf5cabf3b2710a113f0907264", "truncated"),
    ("zune-image/fuzz-corpus/jpeg/c178746cbdda5ca630fade2489b7c79425415979", "truncated"),
    ("zune-image/fuzz-corpus/jpeg/dc0a440b2dd436b1aff68e8040b0f9ebfd5102ac", "corrupt"),
    ("zune-image/fuzz-corpus/jpeg/f583c1b7adfba00d4d089a10474dfbfde4b65979", "truncated"),
    ("zune-image/fuzz-corpus/jpeg/small-img.jpg", "corrupt"),
];
/// Decoded here and refused by Pillow.
pub(crate) const ACCEPTED_HERE: [&str; 1] = ["zune-image/fuzz-corpus/jpeg/fe77c46a990440445e278a005e47959b7d257437"];
