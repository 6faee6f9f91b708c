//! Tests index files: what was saved is loaded, and nothing that is damaged or forged is.

use std::path::Path;

use super::binding::Binding;
use super::entry::{Page, SEGMENT, SampleEntry};
use super::index::{FOREIGN, Index};
use super::index_builder::{IndexBuilder, StoredImage};
use super::label_facts::LabelFacts;
use super::member::FoundMember;
use super::spool::Spool;
use crate::dataset::Label;
use xxhash_rust::xxh3::xxh3_64;

fn binding(length: u64) -> Binding {
    Binding { length, seconds: 1, nanoseconds: 2, ends: 3, settings: 4 }
}

fn at(offset: u64, length: u32, page: Option<Page>) -> StoredImage {
    StoredImage { offset, length, check: 7, page }
}

const PAGE: Page = Page { offset: 9000, hash: 1, compressed: 100, length: 5000, codec: 1, zero: 0 };

fn builder() -> IndexBuilder {
    let mut index = IndexBuilder::default();
    index.classes = vec!["cat".into()];
    index.push("a/1", at(512, 100, None), &Label::Class(3)).unwrap();
    index.push("", at(1536, 0, None), &Label::None).unwrap();
    index.push("é", at(2048, 9, Some(PAGE)), &Label::from(vec![0.5, 1.0])).unwrap();
    index.push("b", at(4096, 9, Some(PAGE)), &Label::from(vec![])).unwrap();
    index
}

/// Checks an entry as a format's reader would.
fn fits(entry: &SampleEntry, page: Option<&Page>) -> bool {
    let within = page.map_or(1 << 20, |page| u64::from(page.length));
    entry.offset.checked_add(entry.length.into()).is_some_and(|end| end <= within)
}

fn load(path: &Path) -> Option<Index> {
    Index::load(path, &binding(1 << 20)).unwrap()
}

#[test]
fn what_was_saved_is_loaded() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index");
    assert!(load(&path).is_none());
    IndexBuilder::default().finish(&binding(1 << 20)).save(&path).unwrap();
    assert_eq!(load(&path).unwrap().samples, 0);
    builder().finish(&binding(1 << 20)).save(&path).unwrap();
    let made = || builder().finish(&binding(1 << 20));
    let spool = std::sync::Arc::new(Spool::new().unwrap());
    spool.append(b"before it").unwrap();
    let spooled = Index::spooled(&made(), &spool).unwrap().unwrap();
    for index in [load(&path).unwrap(), Index::in_memory(made()).unwrap(), spooled] {
        assert_eq!((index.samples, index.length, &*index.classes), (4, 1 << 20, &["cat".to_owned()][..]));
        assert_eq!(index.facts, LabelFacts { unlabelled: 1, first_unlabelled: 1, classes: 4, ..LabelFacts::default() });
        let segment = index.segment(0, fits).unwrap().unwrap();
        assert_eq!(
            (0..5).map(|i| index.key(i)).collect::<Vec<_>>().as_slice(),
            [Some("a/1".to_owned()), Some(String::new()), Some("é".to_owned()), Some("b".to_owned()), None]
        );
        let labels: Vec<_> = segment.entries.iter().map(|entry| segment.label(entry, true)).collect();
        assert_eq!(labels[..2], [Label::Class(3), Label::None]);
        assert_eq!(labels[2..], [Label::from(vec![0.5, 1.0]), Label::from(vec![])]);
        let pages: Vec<_> = segment.entries.iter().map(|entry| segment.page(entry).copied()).collect();
        assert_eq!(pages, [None, None, Some(PAGE), Some(PAGE)]);
        assert_eq!(segment.pages.len(), 1);
        assert!(index.segment(1, fits).unwrap().is_none());
    }
    assert!(Index::load(&path, &Binding { ends: 5, ..binding(1 << 20) }).unwrap().is_none());
}

#[test]
fn samples_are_in_segments_and_the_head_of_a_long_index_is_read_in_two() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index");
    let mut index = IndexBuilder::default();
    index.classes = (0..3000).map(|i| format!("class {i}")).collect();
    let samples = 3 * SEGMENT + 5;
    for sample in 0..samples {
        let label = if sample == 1000 { Label::None } else { Label::Class(sample as u32) };
        index.push(&format!("key {sample}"), at(sample as u64, 1, None), &label).unwrap();
    }
    index.finish(&binding(1 << 20)).save(&path).unwrap();
    let index = load(&path).unwrap();
    assert_eq!((index.samples, index.classes.len()), (samples, 3000));
    let last = samples as u64 - 1;
    assert_eq!(
        index.facts,
        LabelFacts { unlabelled: 1, first_unlabelled: 1000, classes: last + 1, largest: last, ..LabelFacts::default() }
    );
    for sample in [0, SEGMENT - 1, SEGMENT, 2 * SEGMENT + 7, samples - 1] {
        let segment = index.segment(sample / SEGMENT, fits).unwrap().unwrap();
        let entry = &segment.entries[sample % SEGMENT];
        assert_eq!((entry.offset, segment.label(entry, true)), (sample as u64, Label::Class(sample as u32)));
        assert_eq!(index.key(sample), Some(format!("key {sample}")));
    }
    assert_eq!(index.segment(3, fits).unwrap().unwrap().entries.len(), 5);
    assert_eq!((index.key(samples), index.segment(4, fits).unwrap().is_none()), (None, true));
}

#[test]
fn damage_is_noticed_and_other_files_are_not_ours() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index");
    builder().finish(&binding(1 << 20)).save(&path).unwrap();
    let whole = std::fs::read(&path).unwrap();
    for at in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << (at % 8);
        std::fs::write(&path, &bytes).unwrap();
        let loaded = Index::load(&path, &binding(1 << 20));
        assert_eq!(loaded.is_err(), at < 8, "byte {at}");
        let segment = loaded.ok().flatten().and_then(|index| index.segment(0, fits).unwrap());
        assert!(segment.is_none(), "byte {at}");
        std::fs::write(&path, &whole[..at]).unwrap();
        assert!(load(&path).is_none(), "cut at {at}");
    }
    // The file is cut, or has gone, after its head was read.
    std::fs::write(&path, &whole).unwrap();
    let index = load(&path).unwrap();
    std::fs::write(&path, &whole[..whole.len() - 1]).unwrap();
    assert!(index.segment(0, fits).unwrap().is_none() && index.key(0).is_none());
    std::fs::remove_file(&path).unwrap();
    assert!(index.segment(0, fits).is_err() && index.key(0).is_none());
    std::fs::write(&path, "my thesis").unwrap();
    assert_eq!(Index::load(&path, &binding(1 << 20)).unwrap_err().kind(), FOREIGN);
}

/// Offsets in the index that [`builder`] makes: its head, and its one segment.
const HEADER: usize = 176;
const ENTRIES: usize = HEADER + 16 + 7 + 16;

/// Writes the index with some bytes replaced and all checksums right, and reads its segment.
fn forged(path: &Path, changes: &[(usize, &[u8])]) -> bool {
    builder().finish(&binding(1 << 20)).save(path).unwrap();
    let mut bytes = std::fs::read(path).unwrap();
    for (at, change) in changes {
        bytes[*at..at + change.len()].copy_from_slice(change);
    }
    let head = ENTRIES - 16;
    let segment = xxh3_64(&bytes[head..]);
    bytes[HEADER + 8..HEADER + 16].copy_from_slice(&segment.to_ne_bytes());
    let sum = xxh3_64(&bytes[24..head]);
    bytes[16..24].copy_from_slice(&sum.to_ne_bytes());
    std::fs::write(path, &bytes).unwrap();
    load(path).is_none_or(|index| index.segment(0, fits).unwrap().is_none())
}

#[test]
fn entries_that_point_outside_are_refused_even_with_right_checksums() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index");
    assert!(!forged(&path, &[]), "the index itself is loaded");
    let entry = |number: usize, field: usize| ENTRIES + 32 * number + field;
    let (offset, key_end, targets, label, page) = (0, 16, 20, 24, 28);
    for (what, changes) in [
        ("an offset", vec![(entry(0, offset), &(1u64 << 20).to_ne_bytes()[..])]),
        ("a large offset", vec![(entry(0, offset), &u64::MAX.to_ne_bytes())]),
        ("an offset in a page", vec![(entry(2, offset), &5000u64.to_ne_bytes())]),
        ("a key", vec![(entry(1, key_end), &1000u32.to_ne_bytes())]),
        ("a key that ends in a character", vec![(entry(2, key_end), &4u32.to_ne_bytes())]),
        ("a key that is left over", vec![(entry(3, key_end), &5u32.to_ne_bytes())]),
        ("a list", vec![(entry(2, label), &1u32.to_ne_bytes())]),
        (
            "a list of two samples",
            vec![(entry(3, label), &0u32.to_ne_bytes()), (entry(3, targets), &2u32.to_ne_bytes())],
        ),
        ("a list that nobody has", vec![(entry(2, targets), &1u32.to_ne_bytes())]),
        ("a page", vec![(entry(3, page), &2u32.to_ne_bytes())]),
        ("a class above the largest", vec![(entry(0, label), &4u32.to_ne_bytes())]),
        ("no label where all have one", vec![(HEADER - 80, &0u64.to_ne_bytes())]),
        ("more samples without a label than samples", vec![(HEADER - 80, &u64::MAX.to_ne_bytes())]),
        ("more numbers in texts than samples", vec![(HEADER - 32, &u64::MAX.to_ne_bytes())]),
        ("more captions than bytes", vec![(HEADER - 16, &u64::MAX.to_ne_bytes())]),
        ("classes that no label has", vec![(HEADER - 64, &u64::MAX.to_ne_bytes())]),
        ("a segment that ends elsewhere", vec![(HEADER, &0u64.to_ne_bytes())]),
        ("more samples", vec![(64, &5u64.to_ne_bytes())]),
        ("samples of another segment", vec![(64, &600u64.to_ne_bytes())]),
        ("many samples", vec![(64, &u64::MAX.to_ne_bytes())]),
        ("many segments", vec![(72, &u64::MAX.to_ne_bytes())]),
        ("long classes", vec![(80, &u64::MAX.to_ne_bytes())]),
        ("classes that are no list", vec![(HEADER + 16, b"{")]),
        ("many targets", vec![(ENTRIES - 16, &u32::MAX.to_ne_bytes())]),
    ] {
        assert!(forged(&path, &changes), "{what}");
    }
}

/// An index of two samples with three members and one.
fn listing() -> IndexBuilder {
    let found = |ending: &str, offset: u64, label: bool| {
        let unread = (!label).then(|| format!("members in .{ending}"));
        FoundMember { ending: ending.to_owned(), offset, length: 9, check: 5, unread, label }
    };
    let mut index = IndexBuilder::listing_members();
    index.members(vec![found("txt", 3072, false), found("cls", 1536, true), found("left.npy", 2048, false)]);
    index.push("a", at(512, 100, None), &Label::Class(3)).unwrap();
    index.no_label();
    index.members(vec![found("txt", 4096, false)]);
    index.push("b", at(3584, 100, None), &Label::None).unwrap();
    index
}

#[test]
fn members_are_listed_by_sample_and_ending() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index");
    listing().finish(&binding(1 << 20)).save(&path).unwrap();
    let whole = std::fs::read(&path).unwrap();
    let index = load(&path).unwrap();
    let table = index.members.as_ref().unwrap();
    let endings: Vec<_> = table.endings.iter().map(|ending| (&*ending.name, ending.samples, ending.labels)).collect();
    assert_eq!(endings, [("cls", 1, 1), ("left.npy", 1, 0), ("txt", 2, 0)]);
    assert_eq!((table.left_out, table.no_labels), (0, 1));
    let segment = index.segment(0, fits).unwrap().unwrap();
    let members =
        |sample| segment.members(sample).iter().map(|member| (member.offset, member.ending)).collect::<Vec<_>>();
    assert_eq!((members(0), members(1)), (vec![(1536, 0), (2048, 1), (3072, 2)], vec![(4096, 2)]));
    assert_eq!((members(2), index.key(1)), (Vec::new(), Some("b".to_owned())));
    for at in 8..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << (at % 8);
        std::fs::write(&path, &bytes).unwrap();
        let segment = load(&path).and_then(|index| index.segment(0, fits).unwrap());
        assert!(segment.is_none(), "byte {at}");
    }
}
