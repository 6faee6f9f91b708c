//! Fuzzes `TarShards` with the index file beside a shard. The index belongs to that shard and has a correct checksum.

#![no_main]

use gpufeed::dataset::TarShards;
use gpufeed_fuzz::readers::{Folder, Read, bounded, refused, samples};
use gpufeed_testing::counting::Counting;
use libfuzzer_sys::{Corpus, fuzz_target};
use std::fs;
use std::path::PathBuf;
use std::sync::LazyLock;
use xxhash_rust::xxh3::xxh3_64;

#[global_allocator]
static COUNTING: Counting<1> = Counting;

const INDEX: &str = ".x.tar.gpufeed-index";
/// The bytes at the start of an index that say which shard it belongs to: magic, version, checksum, facts about the
/// shard. An input is the rest of the index.
const BINDING: usize = 64;
/// The bytes of the checksum, which covers all bytes after them.
const SUM: std::ops::Range<usize> = 16..24;

/// A shard of three samples, and the first `BINDING` bytes of its own index.
struct Shard {
    folder: Folder,
    path: PathBuf,
    length: usize,
    binding: Vec<u8>,
    samples: Vec<(String, Read)>,
}

static SHARD: LazyLock<Shard> = LazyLock::new(|| {
    let folder = Folder::new();
    let members: [(&str, &[u8]); 7] = [
        ("classes.txt", b"cat\ndog\nbird\nfish"),
        ("a/1.jpg", b"first"),
        ("a/1.cls", b"1"),
        ("2.png", b"the second"),
        ("2.json", b"[0.5, 1, 2]"),
        ("3.jpg", b""),
        ("3.cls", b"0"),
    ];
    let mut archive = tar::Builder::new(Vec::new());
    for (name, content) in members {
        let mut header = tar::Header::new_ustar();
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        archive.append_data(&mut header, name, content).expect("a member");
    }
    let archive = archive.into_inner().expect("an archive");
    let path = folder.write("x.tar", &archive);
    let opened = TarShards::builder().allow_unlabelled(true).open(&path).expect("a shard");
    let samples = samples(&opened, archive.len());
    let index = fs::read(folder.path().join(INDEX)).expect("its index");
    Shard { path, length: archive.len(), binding: index[..BINDING].to_vec(), samples, folder }
});

fuzz_target!(|input: &[u8]| -> Corpus {
    let shard = &*SHARD;
    let mut index = [&shard.binding, input].concat();
    let sum = xxh3_64(&index[SUM.end..]);
    index[SUM].copy_from_slice(&sum.to_ne_bytes());
    shard.folder.write(INDEX, &index);
    let open = || TarShards::builder().allow_unlabelled(true).open(&shard.path);
    match bounded(shard.length + index.len(), open) {
        Ok(data) => {
            // If `TarShards` refuses the index, it scans the shard and replaces the index; the samples are then the
            // shard's own.
            let refused = fs::read(shard.folder.path().join(INDEX)).expect("an index") != index;
            let read = samples(&data, shard.length);
            assert!(!refused || read == shard.samples);
        }
        // An error is possible: the index may have labels outside its classes, or no sample at all. The shard is not
        // scanned then.
        Err(error) => drop(refused(&error)),
    }
    Corpus::Keep
});
