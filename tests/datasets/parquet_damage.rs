//! Parquet files with flipped bytes, and with lengths and counts that lie: an error or samples, never a panic, and memory
//! in proportion to the file.

use gpufeed::Dataset;
use gpufeed::dataset::{Field, FieldChoice, FieldKind, Parquet, ShardIndexes};
use gpufeed_testing::parquet_files::{Row, Style, file};
use parquet::basic::Compression;
use std::fs;

fn random(turn: u64, salt: u64) -> usize {
    xxhash_rust::xxh3::xxh3_64(&[turn, salt].map(u64::to_le_bytes).concat()) as usize
}

/// Returns small files of several kinds.
fn files() -> Vec<Vec<u8>> {
    let row =
        |i: usize| Row { image: Some(vec![i as u8; 20 + i]), path: Some(format!("{i}")), label: Some(i as i64 % 3) };
    let rows: Vec<_> = (0..40).map(row).collect();
    let mut files = Vec::new();
    for compression in [Compression::UNCOMPRESSED, Compression::SNAPPY, Compression::ZSTD(Default::default())] {
        for (dictionary, version_2) in [(false, false), (true, false), (false, true)] {
            let classes = vec!["a".into(), "b".into(), "c".into()];
            let style = Style { compression, dictionary, version_2, rows_a_group: 25, classes, ..Style::default() };
            files.push(file(&rows, &style));
        }
    }
    files
}

/// Opens the bytes as a file and reads all samples; returns how many could be read.
fn try_all(bytes: &[u8], path: &std::path::Path) -> Option<usize> {
    try_fields(bytes, path, FieldChoice::None)
}

fn try_fields(bytes: &[u8], path: &std::path::Path, fields: FieldChoice) -> Option<usize> {
    fs::write(path, bytes).unwrap();
    let data = Parquet::builder().indexes(ShardIndexes::Memory).allow_unlabelled(true).fields(fields).open(path);
    let read = data.ok().map(|data| {
        assert!(data.len() <= bytes.len(), "a byte for each row");
        let mut buffer = Vec::new();
        (0..data.len()).filter(|index| data.read(*index, &mut buffer).is_ok()).count()
    });
    fs::remove_file(path).unwrap();
    read
}

#[test]
fn damaged_parquet_files_never_panic() {
    let folder = tempfile::tempdir().unwrap();
    let (mut refused, mut opened) = (0, 0);
    for (number, whole) in files().iter().enumerate() {
        let footer = whole.len() - 8 - u32::from_le_bytes(whole[whole.len() - 8..][..4].try_into().unwrap()) as usize;
        for turn in 0..600 {
            let turn = turn + 10_000 * number as u64;
            let mut bytes = whole.clone();
            let within = |salt| match turn % 3 {
                0 => footer + random(turn, salt) % (whole.len() - footer - 8),
                _ => random(turn, salt) % whole.len(),
            };
            for change in 0..1 + random(turn, 1) % 3 {
                let at = within(10 + change as u64);
                match turn % 4 {
                    0 => bytes[at] ^= 1 << (random(turn, 2) % 8),
                    1 => bytes[at] = [0, 0x7f, 0x80, 0xff][random(turn, 3) % 4],
                    2 => bytes[at] = random(turn, 4) as u8,
                    // A number that grows: the following bytes belong to it.
                    _ => bytes[at] |= 0x80,
                }
            }
            match try_all(&bytes, &folder.path().join(format!("{turn}.parquet"))) {
                Some(_) => opened += 1,
                None => refused += 1,
            }
        }
        for length in (0..whole.len()).step_by(61) {
            assert!(try_all(&whole[..length], &folder.path().join("cut.parquet")).is_none(), "cut at {length}");
        }
    }
    assert!(refused > 1000 && opened > 1000, "{refused} {opened}");
}

#[test]
fn damaged_fields_never_panic() {
    let folder = tempfile::tempdir().unwrap();
    let named = || {
        FieldChoice::from(vec![
            ("image.path", Field::new("path").optional()),
            ("label", Field::new("number").kind(FieldKind::Json)),
            ("image", Field::new("picture")),
        ])
    };
    let lists = crate::parquet_fields::files();
    let (mut refused, mut opened) = (0, 0);
    for (number, whole) in files().into_iter().chain(lists).enumerate() {
        for turn in 0..300 {
            let turn = turn + 10_000 * number as u64;
            let mut bytes = whole.clone();
            for change in 0..1 + random(turn, 1) % 3 {
                let at = random(turn, 10 + change as u64) % whole.len();
                match turn % 3 {
                    0 => bytes[at] ^= 1 << (random(turn, 2) % 8),
                    1 => bytes[at] = [0, 1, 0x7f, 0x80, 0xff][random(turn, 3) % 5],
                    _ => bytes[at] = random(turn, 4) as u8,
                }
            }
            let fields = if number < 9 && turn.is_multiple_of(2) { named() } else { FieldChoice::All };
            match try_fields(&bytes, &folder.path().join(format!("{turn}.parquet")), fields) {
                Some(_) => opened += 1,
                None => refused += 1,
            }
        }
    }
    assert!(refused > 500 && opened > 500, "{refused} {opened}");
}

/// Each value of a dictionary takes memory, and a few bytes of zstd may be a page of millions of empty ones.
#[test]
fn a_dictionary_with_more_values_than_rows_is_refused() {
    let rows = [0, 1, 2].map(|label| Row { image: Some(vec![7]), path: None, label: Some(label) });
    let good = file(&rows, &Style { dictionary: true, ..Style::default() });
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.parquet");
    let open = |bytes: &[u8]| {
        fs::write(&path, bytes).unwrap();
        Parquet::builder().indexes(ShardIndexes::Memory).open(&path).map(|data| data.len())
    };
    assert_eq!(open(&good).unwrap(), 3);
    // In the header of a dictionary's page, its own struct begins with the number of values.
    let pages: Vec<_> = (0..good.len() - 2).filter(|at| good[*at..].starts_with(b"\x4c\x15")).collect();
    let mut refused = 0;
    for at in pages {
        let mut bytes = good.clone();
        bytes[at + 2] = 2 * 4; // four values
        refused += usize::from(open(&bytes).is_err_and(|error| {
            error.to_string().contains("its dictionary has more values than its row group has rows")
        }));
    }
    assert!(refused >= 2, "the dictionaries of images and labels: {refused}");
}

/// Three kilobytes of zstd become 80 MB, which each worker would keep.
#[test]
fn a_page_that_becomes_many_times_as_long_is_refused_by_number_and_setting() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.parquet");
    let image = vec![0; 80 << 20];
    let row = |image: Vec<u8>| Row { image: Some(image), path: None, label: Some(0) };
    for (compression, shrinks) in [(Compression::ZSTD(Default::default()), true), (Compression::SNAPPY, false)] {
        let style = Style { compression, ..Style::default() };
        fs::write(&path, file(&[row(image.clone())], &style)).unwrap();
        let open = |builder: gpufeed::dataset::ParquetBuilder| builder.indexes(ShardIndexes::Memory).open(&path);
        match open(Parquet::builder()) {
            // Twenty times, as Snappy does at the most, is not many.
            Ok(_) => assert!(!shrinks, "{compression}"),
            Err(error) => {
                let text = error.to_string();
                assert!(
                    shrinks
                        && text.contains("becomes 838860")
                        && text.contains("at most 67108864")
                        && text.contains("raise max_page_bytes"),
                    "{text}"
                );
            }
        }
        let data = open(Parquet::builder().max_page_bytes(100 << 20)).unwrap();
        assert!(data.read(0, &mut Vec::new()).is_ok());
        let error = open(Parquet::builder().max_page_bytes(80 << 20)).unwrap_err().to_string();
        assert!(error.contains("at most 83886080") && error.contains("raise max_page_bytes"), "{error}");
    }
}

/// A footer may be anything: nested lists, long lists of nothing, deep schemas.
#[test]
fn hostile_footers_are_refused_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |footer: &[u8]| {
        let path = folder.path().join("x.parquet");
        fs::write(&path, [b"PAR1", footer, &(footer.len() as u32).to_le_bytes(), b"PAR1"].concat()).unwrap();
        let start = std::time::Instant::now();
        let data = Parquet::builder().indexes(ShardIndexes::Memory).open(&path);
        assert!(start.elapsed().as_secs() < 5, "{:?}", start.elapsed());
        data.unwrap_err().to_string()
    };
    // An element of a group with one child: its name, no repetition, one child.
    let group: &[u8] = &[0x48, 1, b'g', 0x15, 2, 0];
    let schema = |count: usize| {
        let mut list = vec![0x15, 2, 0x19, 0xfc];
        let mut left = count;
        while left >= 128 {
            list.push(left as u8 | 128);
            left >>= 7;
        }
        list.push(left as u8);
        (0..count).for_each(|_| list.extend_from_slice(group));
        [&list[..], &[0x16, 0, 0x19, 0x0c, 0]].concat()
    };
    for (footer, says) in [
        (schema(1_000_000), "nested more than 32 deep"),
        (schema(10), "fewer columns than it says"),
        // Two billion truth values in an unknown field, and lists of lists of them.
        (vec![0xf9, 0xf1, 0xff, 0xff, 0xff, 0x7f, 0], "it is cut short"),
        ([&[0xf9, 0xf9, 0xff, 0x07][..], &[0xf1, 0xff, 0xff, 0xff, 0x7f].repeat(200)].concat(), "it is cut short"),
        ([&[0xfc][..], &[0x1c; 100_000]].concat(), "it is nested too deep"),
        // Row groups: more than there are bytes.
        (vec![0x15, 2, 0x39, 0xfc, 0xff, 0xff, 0xff, 0x7f, 0], "it is cut short"),
        (vec![0], "the footer cannot be read"),
        (Vec::new(), "it is cut short"),
    ] {
        let error = refused(&footer);
        assert!(error.contains(says), "{says}: {error}");
        assert!(error.len() < 400, "{error}");
    }
}
