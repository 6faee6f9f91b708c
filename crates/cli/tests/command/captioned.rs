//! A shard with captions, for tests of fields.

use gpufeed_testing::encoded;
use image::ImageFormat;
use std::fs::File;
use tempfile::TempDir;

/// Makes a shard as img2dataset writes it: an image, a caption and facts in JSON for each sample, and no class. Each image is
/// a column wider than the one before.
pub(crate) fn captioned(samples: u32, (width, height): (u32, u32)) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let mut archive = tar::Builder::new(File::create(folder.path().join("00000.tar")).unwrap());
    for number in 0..samples {
        let jpeg = encoded::encode(encoded::picture(width + number, height), ImageFormat::Jpeg);
        let (caption, facts) = (format!("a picture, {number}"), format!("{{\"width\": {}}}", width + number));
        for (ending, content) in [("jpg", &*jpeg), ("json", facts.as_bytes()), ("txt", caption.as_bytes())] {
            let mut header = tar::Header::new_ustar();
            header.set_size(content.len() as u64);
            header.set_mode(0o644);
            archive.append_data(&mut header, format!("{number:09}.{ending}"), content).unwrap();
        }
    }
    archive.finish().unwrap();
    folder
}
