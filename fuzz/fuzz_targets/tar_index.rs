//! Fuzzes `TarShards` with the index file beside a shard. The index belongs to that shard and has correct checksums.
//!
//! An input is a byte, which says whether the set has fields, so that the index lists members, and the rest of the index.

#![no_main]

use gpufeed::dataset::{FieldChoice, TarShards, TarShardsBuilder};
use gpufeed_fuzz::readers::{Folder, Read, bounded, control, refused, samples};
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
/// shard.
const BINDING: usize = 64;
/// The bytes of the checksum, which covers the rest of the head.
const SUM: std::ops::Range<usize> = 16..24;
/// Where the header has the number of segments, and the bytes of the class names; where it ends.
const SEGMENTS: usize = 72;
const CLASSES: usize = 80;
const HEADER: usize = 176;

/// The bit of an input's first byte that asks for fields.
const FIELDS: u8 = 1;

/// Corrects the checksums of the segments and of the head, as far as the lengths in the head make sense.
fn sum(index: &mut [u8]) {
    let number = |index: &[u8], at: usize| {
        let bytes = index.get(at..at + 8).and_then(|bytes| bytes.try_into().ok());
        bytes.map_or(0, u64::from_ne_bytes) as usize
    };
    let segments = number(index, SEGMENTS).min(index.len() / 16);
    let head = (HEADER + 16 * segments).saturating_add(number(index, CLASSES)).min(index.len());
    let mut begin = head;
    for segment in 0..segments {
        let row = HEADER + 16 * segment;
        let end = head.saturating_add(number(index, row)).min(index.len());
        if begin <= end && row + 16 <= head {
            let sum = xxh3_64(&index[begin..end]);
            index[row + 8..row + 16].copy_from_slice(&sum.to_ne_bytes());
            begin = end;
        }
    }
    let sum = xxh3_64(&index[SUM.end.min(head)..head]);
    index[SUM].copy_from_slice(&sum.to_ne_bytes());
}

/// A shard of three samples, and the first `BINDING` bytes of its own indexes and the samples, without fields and with
/// them.
struct Shard {
    folder: Folder,
    path: PathBuf,
    length: usize,
    bindings: [Vec<u8>; 2],
    samples: [Vec<(String, Read)>; 2],
}

fn builder(fields: bool) -> TarShardsBuilder {
    let builder = TarShards::builder().allow_unlabelled(true);
    if fields { builder.fields(FieldChoice::All) } else { builder }
}

static SHARD: LazyLock<Shard> = LazyLock::new(|| {
    let folder = Folder::new();
    let members: [(&str, &[u8]); 9] = [
        ("classes.txt", b"cat\ndog\nbird\nfish"),
        ("a/1.jpg", b"first"),
        ("a/1.cls", b"1"),
        ("2.png", b"the second"),
        ("2.json", b"[0.5, 1, 2]"),
        ("3.jpg", b""),
        ("3.cls", b"0"),
        ("3.seg.xyz", b"a mask"),
        ("3.txt", b"a cat"),
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
    let made = [false, true].map(|fields| {
        let opened = builder(fields).open(&path).expect("a shard");
        let index = fs::read(folder.path().join(INDEX)).expect("its index");
        (index[..BINDING].to_vec(), samples(&opened, archive.len()))
    });
    let [(plain, of_plain), (listing, of_listing)] = made;
    let (bindings, samples) = ([plain, listing], [of_plain, of_listing]);
    Shard { path, length: archive.len(), bindings, samples, folder }
});

fuzz_target!(|input: &[u8]| -> Corpus {
    let Some((how, input)) = control(input) else { return Corpus::Reject };
    let shard = &*SHARD;
    let fields = how & FIELDS != 0;
    let mut index = [&shard.bindings[usize::from(fields)], input].concat();
    sum(&mut index);
    shard.folder.write(INDEX, &index);
    let open = || builder(fields).open(&shard.path);
    match bounded(shard.length + index.len(), open) {
        Ok(data) => {
            // If `TarShards` refuses the index, when it is opened or when a sample is read, it scans the shard and replaces
            // the index; the samples are then the shard's own.
            let read = samples(&data, shard.length);
            let refused = fs::read(shard.folder.path().join(INDEX)).expect("an index") != index;
            // An index that claims another number of samples is found out when one of them is read: that is an error.
            let failed = read.iter().any(|(_, sample)| sample.is_err());
            assert!(!refused || failed || read == shard.samples[usize::from(fields)]);
        }
        // An error is possible: the index may have labels outside its classes, or no sample at all. The shard is not
        // scanned then.
        Err(error) => drop(refused(&error)),
    }
    Corpus::Keep
});
