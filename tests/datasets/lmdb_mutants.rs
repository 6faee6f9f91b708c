//! Tests that no damaged LMDB ends the process: 2,000 files with changed bits, changed numbers, cuts, and pages in the
//! place of others are opened and read.

use std::fs::{self, File};
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;

use gpufeed::dataset::{FieldChoice, Lmdb, LmdbLayout};
use gpufeed::{Dataset, ErrorKind, SampleData};

/// A random number generator that gives the same numbers in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }
}

const PAGE: usize = 4096;

/// Makes one random change to `bytes`; returns a description of the change.
fn mutate(bytes: &mut Vec<u8>, numbers: &mut Numbers) -> String {
    let (length, pages) = (bytes.len(), bytes.len() / PAGE);
    let (a, b) = (numbers.below(pages) * PAGE, numbers.below(pages) * PAGE);
    // Most of a page's bytes are values; damage to its header and its nodes can mislead the reader.
    let at = a + [numbers.below(16), numbers.below(64), numbers.below(PAGE)][numbers.below(3)];
    match numbers.below(6) {
        0 => {
            bytes[at] ^= 1 << numbers.below(8);
            format!("a bit at {at}")
        }
        1 => {
            bytes[at] = numbers.below(256) as u8;
            format!("a byte at {at}")
        }
        2 => {
            let number = [0, 1, u64::MAX, 1 << 62, pages as u64, numbers.below(pages) as u64][numbers.below(6)];
            let (at, size) = (at & !1, [2, 4, 8][numbers.below(3)]);
            let end = (at + size).min(length);
            bytes[at..end].copy_from_slice(&number.to_le_bytes()[..end - at]);
            format!("{number} at {at}")
        }
        3 => {
            bytes.truncate(numbers.below(length));
            format!("cut to {}", bytes.len())
        }
        4 => {
            let page = bytes[a..a + PAGE].to_vec();
            bytes.copy_within(b..b + PAGE, a);
            bytes[b..b + PAGE].copy_from_slice(&page);
            format!("pages at {a} and {b} swapped")
        }
        _ => {
            bytes.copy_within(b..b + PAGE, a);
            format!("the page at {b} again at {a}")
        }
    }
}

/// Opens and reads mutants of the file; returns how many could not be opened, how many had samples that could not be
/// read, and how many had none.
fn read_mutants(path: &Path, whole: &[u8], (layout, fields): (LmdbLayout, FieldChoice), count: u64) -> [u32; 3] {
    let mut seen = [0; 3];
    for turn in 0..count {
        let mut numbers = Numbers(turn.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let mut bytes = whole.to_vec();
        let what = mutate(&mut bytes, &mut numbers);
        let mut file = File::options().write(true).open(path).unwrap();
        file.set_len(bytes.len() as u64).unwrap();
        file.seek(SeekFrom::Start(0)).unwrap();
        file.write_all(&bytes).unwrap();
        drop(file);
        let builder = Lmdb::builder().layout(layout).allow_unlabelled(true).fields(fields.clone());
        let Ok(data) = builder.open(path) else {
            seen[0] += 1;
            continue;
        };
        let mut buffer = Vec::new();
        let mut failed = false;
        for _ in 0..60.min(data.len()) {
            match data.read(numbers.below(data.len()), &mut buffer) {
                Ok(sample) => {
                    let SampleData::Encoded(image) = sample.data else { panic!("{what}: pixels") };
                    assert!(image.len() <= bytes.len(), "{what}: {} bytes", image.len());
                }
                Err(error) => {
                    assert!(matches!(error.kind(), ErrorKind::Io { .. }), "{what}: {error}");
                    failed = true;
                }
            }
        }
        seen[1 + usize::from(!failed)] += 1;
    }
    seen
}

#[test]
fn mutants_of_other_programs_files() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data.mdb");
    for name in ["numbered.mdb", "class_and_image.mdb"] {
        let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/archives").join(name);
        let whole = fs::read(golden).unwrap();
        fs::write(&path, &whole).unwrap();
        for layout in [LmdbLayout::Auto, LmdbLayout::Image] {
            let [refused, partly, read] = read_mutants(&path, &whole, (layout, FieldChoice::None), 350);
            assert!(refused > 50 && partly + read > 50 && read > 20, "{name}: {refused} {partly} {read}");
        }
    }
}

/// A tree with three levels of pages; some values are in the leaf pages, some on pages of their own.
#[cfg(feature = "lmdb")]
#[test]
fn mutants_of_a_deep_tree() {
    use gpufeed::Label;
    use gpufeed::dataset::LmdbWriter;

    let folder = tempfile::tempdir().unwrap();
    let mut writer = LmdbWriter::open(folder.path()).unwrap();
    for number in 0..10_000 {
        let image = vec![number as u8; if number % 500 == 0 { 9000 } else { 6 }];
        writer.put(&image, &Label::Class(number % 10)).unwrap();
    }
    writer.finish(&[]).unwrap();
    let path = folder.path().join("data.mdb");
    let whole = fs::read(&path).unwrap();
    let data = Lmdb::open(&path).unwrap();
    let mut buffer = Vec::new();
    for index in 0..data.len() {
        let sample = data.read(index, &mut buffer).unwrap();
        let SampleData::Encoded(image) = sample.data else { panic!("pixels") };
        assert!(image.iter().all(|&byte| byte == index as u8) && sample.label == Label::Class(index as u32 % 10));
        assert_eq!(image.len(), if index % 500 == 0 { 9000 } else { 6 });
    }
    let listed = Lmdb::builder().layout(LmdbLayout::Image).open(&path).unwrap();
    assert_eq!(listed.len(), 20_000);
    assert!(listed.name(19_999).ends_with("label-000010000"), "{}", listed.name(19_999));
    let [refused, partly, read] = read_mutants(&path, &whole, (LmdbLayout::Auto, FieldChoice::None), 500);
    assert!(refused > 50 && partly + read > 100, "{refused} {partly} {read}");
    let [refused, partly, read] = read_mutants(&path, &whole, (LmdbLayout::Image, FieldChoice::None), 100);
    assert!(refused > 10 && partly + read > 10, "{refused} {partly} {read}");
}

#[cfg(feature = "lmdb")]
#[test]
fn mutants_of_fields() {
    use gpufeed::Label;
    use gpufeed::dataset::LmdbWriter;

    let folder = tempfile::tempdir().unwrap();
    let mut writer = LmdbWriter::open(folder.path()).unwrap();
    for number in 0..1000 {
        let (caption, depth) = (format!("picture {number}"), vec![number as u8; 5000]);
        let values: [(&str, &[u8]); 2] = [("caption", caption.as_bytes()), ("depth.bin", &depth)];
        writer.put_fields(b"\xff\xd8\xff", &Label::Class(number % 10), &values[..1 + number as usize % 2]).unwrap();
    }
    writer.finish(&[]).unwrap();
    let path = folder.path().join("data.mdb");
    let whole = fs::read(&path).unwrap();
    let [refused, partly, read] = read_mutants(&path, &whole, (LmdbLayout::Auto, FieldChoice::All), 400);
    assert!(refused > 20 && partly + read > 50 && read > 20, "{refused} {partly} {read}");
}

/// A branch page whose nodes all lead to one leaf gives no more keys than a file of this length can hold, and a branch
/// page that leads to itself causes no endless loop.
#[test]
fn a_tree_that_is_none_ends() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data.mdb");
    let number = |bytes: &mut [u8], at: usize, value: u64, size: usize| {
        bytes[at..at + size].copy_from_slice(&value.to_le_bytes()[..size]);
    };
    for (depth, child, says) in
        [(2, 3, "more pages are in its tree than in the file"), (32, 2, "a page of another kind than expected")]
    {
        // The file has two meta pages, a branch page of 100 nodes and a leaf page of one node; every key has one byte.
        let mut bytes = vec![0; 4 * PAGE];
        for meta in [0, PAGE] {
            let tree = [(92, 0, 2), (94, depth, 2), (120, 9, 8), (128, 2, 8), (136, 3, 8)];
            for (at, value, size) in
                [(10, 8, 2), (16, 0xBEEF_C0DE, 4), (20, 1, 4), (40, 4096, 4)].into_iter().chain(tree)
            {
                number(&mut bytes, meta + at, value, size);
            }
        }
        for (page, kind, nodes) in [(2, 1, 100), (3, 2, 1)] {
            let page_bytes = &mut bytes[page * PAGE..][..PAGE];
            for (at, value, size) in [(0, page as u64, 8), (10, kind, 2), (12, 16 + 2 * nodes, 2), (14, 300, 2)] {
                number(page_bytes, at, value, size);
            }
            for node in 0..nodes as usize {
                number(page_bytes, 16 + 2 * node, 300 + 10 * node as u64, 2);
                number(page_bytes, 300 + 10 * node, if kind == 1 { child } else { 0 }, 6);
                number(page_bytes, 306 + 10 * node, 1, 2);
            }
        }
        fs::write(&path, bytes).unwrap();
        let error = Lmdb::builder().layout(LmdbLayout::Image).open(&path).unwrap_err();
        assert!(error.to_string().contains(says), "{error}");
    }
}
