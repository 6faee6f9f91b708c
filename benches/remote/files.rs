//! The files that are read: photographs of a folder, in tar shards and Parquet files.

use gpufeed_testing::parquet_files::{Row, Style, file};
use std::fs::{self, File};
use std::io::BufWriter;
use std::ops::Range;
use std::path::{Path, PathBuf};
use tar::{Builder, Header};

const SHARDS: usize = 8;
/// tar's own blocks, in which members begin.
const BLOCK: u64 = 512;

/// The JPEG files below a folder of class folders, with their classes.
pub(crate) fn photographs(folder: &Path) -> Vec<(PathBuf, usize)> {
    let mut classes: Vec<_> = fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path()).collect();
    classes.retain(|path| path.is_dir());
    classes.sort();
    let mut all = Vec::new();
    for (class, folder) in classes.iter().enumerate() {
        let mut files: Vec<_> = fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path()).collect();
        files.sort();
        all.extend(files.into_iter().map(|file| (file, class)));
    }
    assert!(!all.is_empty(), "no class folders with photographs in {}", folder.display());
    all
}

/// The files that the bench reads.
pub(crate) struct Written {
    /// Bytes of all tar shards.
    pub(crate) bytes: u64,
    /// For each sample its tar shard, and the range of its image there.
    pub(crate) ranges: Vec<(String, Range<u64>)>,
}

impl Written {
    /// The files of a format, as a brace list.
    pub(crate) fn list(&self, ending: &str) -> String {
        format!("train-{{0..{}}}.{ending}", SHARDS - 1)
    }
}

/// Writes `samples` of the photographs in turn into tar shards `train-N.tar` and into Parquet files `train-N.parquet`.
pub(crate) fn write(folder: &Path, photographs: &[(PathBuf, usize)], samples: usize) -> Written {
    let each = samples.div_ceil(SHARDS);
    let mut written = Written { bytes: 0, ranges: Vec::new() };
    for shard in 0..SHARDS {
        let name = format!("train-{shard}.tar");
        let mut archive = Builder::new(BufWriter::new(File::create(folder.join(&name)).unwrap()));
        let (mut rows, mut at) = (Vec::new(), 0);
        for number in shard * each..samples.min((shard + 1) * each) {
            let (file, class) = &photographs[number % photographs.len()];
            let image = fs::read(file).unwrap();
            for (extension, content) in [("jpg", &image[..]), ("cls", class.to_string().as_bytes())] {
                let mut header = Header::new_ustar();
                header.set_size(content.len() as u64);
                archive.append_data(&mut header, format!("{number:09}.{extension}"), content).unwrap();
                let begin = at + BLOCK;
                if extension == "jpg" {
                    written.ranges.push((name.clone(), begin..begin + content.len() as u64));
                }
                at = begin + (content.len() as u64).next_multiple_of(BLOCK);
            }
            let path = file.file_name().unwrap().to_string_lossy().into_owned();
            rows.push(Row { image: Some(image), path: Some(path), label: Some(*class as i64) });
        }
        archive.into_inner().unwrap().into_inner().unwrap();
        written.bytes += fs::metadata(folder.join(&name)).unwrap().len();
        fs::write(folder.join(format!("train-{shard}.parquet")), file(&rows, &Style::default())).unwrap();
    }
    written
}
