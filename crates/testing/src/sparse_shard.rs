//! A tar shard that takes little space, however many images it has.

use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;

/// Bytes of an image.
const IMAGE: u64 = 110_000;

/// Writes a shard of `samples` samples with all its headers and labels, whose images are holes of the file. A label is the
/// sample's number modulo 1,000.
///
/// # Panics
/// If the file cannot be written.
pub fn sparse_shard(path: &Path, samples: usize) {
    let mut file = File::create(path).unwrap();
    for number in 0..samples {
        for (extension, size) in [("jpg", IMAGE), ("cls", 3)] {
            let mut header = tar::Header::new_ustar();
            header.set_size(size);
            header.set_path(format!("{number:06}.{extension}")).unwrap();
            header.set_cksum();
            file.write_all(header.as_bytes()).unwrap();
            if extension == "cls" {
                write!(file, "{:03}", number % 1000).unwrap();
            }
            let begin = if extension == "cls" { 512 - 3 } else { size.next_multiple_of(512) };
            file.seek(SeekFrom::Current(begin as i64)).unwrap();
        }
    }
    file.write_all(&[0; 1024]).unwrap();
}
