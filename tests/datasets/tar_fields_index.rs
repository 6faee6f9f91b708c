//! Indexes of tar shards that list members: made anew where they are missing, read by sets without fields, damaged; and
//! shards that are opened late.

use crate::notices::{refused, said, shards};
use crate::tar_fields::{LAION, in_memory, names, read, values};
use gpufeed::dataset::{FieldChoice, TarShards};
use gpufeed::{Field, FieldKind, Label};
use std::fs;
use std::path::Path;

fn index(folder: &Path) -> Vec<u8> {
    fs::read(folder.join(".0.tar.gpufeed-index")).unwrap()
}

/// The version of an index file.
fn version(index: &[u8]) -> u64 {
    u64::from_ne_bytes(index[8..16].try_into().unwrap())
}

#[test]
fn an_index_without_members_is_made_anew_and_one_with_members_serves_all() {
    let folder = shards(&[&LAION]);
    let plain = || TarShards::builder().allow_unlabelled(true).open(folder.path()).unwrap();
    let fields = || TarShards::builder().fields([("txt", "caption")]).open(folder.path()).unwrap();
    let before = plain();
    let first = index(folder.path());
    assert_eq!((version(&first), said(&before).len()), (5, 4));
    assert_eq!(values(&fields(), 1), ["text 1984"]);
    let second = index(folder.path());
    assert_eq!(version(&second), 6);
    // A set without fields reads the new index, also one that was opened before.
    for data in [before, plain()] {
        assert_eq!(read(&data, 1).unwrap(), ("second".to_owned(), Label::None, Vec::new()));
        assert_eq!(said(&data).len(), 4);
    }
    assert!(index(folder.path()) == second, "the index is left as it is");
    // Another choice of fields uses it as well.
    let data = TarShards::builder().fields([("json", "meta")]).open(folder.path()).unwrap();
    assert_eq!(values(&data, 0), ["json {\"url\": 1}"]);
    assert!(index(folder.path()) == second);
    // Labels that a set without fields refuses are refused with the index of a set with fields, too.
    let words = shards(&[&[("a.jpg", "1"), ("a.json", "{\"label\": \"cat\"}")]]);
    drop(TarShards::builder().fields([("json", "meta")]).open(words.path()).unwrap());
    assert_eq!(version(&index(words.path())), 6);
    assert!(refused(TarShards::open(words.path())).contains("\"cat\" is not a label"));
}

#[test]
fn a_damaged_index_with_members_is_made_anew() {
    let folder = shards(&[&LAION]);
    let open = || TarShards::builder().fields([("txt", "caption")]).open(folder.path()).unwrap();
    drop(open());
    let whole = index(folder.path());
    for at in (8..whole.len()).step_by(7) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x11;
        fs::write(folder.path().join(".0.tar.gpufeed-index"), bytes).unwrap();
        let data = open();
        assert_eq!([values(&data, 0), values(&data, 1)], [["text a cat"], ["text 1984"]], "byte {at}");
        assert!(index(folder.path()) == whole, "byte {at}");
    }
    // The shard has changed since the set was opened.
    let data = open();
    let mut shard = fs::read(folder.path().join("0.tar")).unwrap();
    let name = shard.windows(7).position(|name| name == b"001.txt").unwrap();
    shard[name] = b'9';
    fs::write(folder.path().join("0.tar"), shard).unwrap();
    assert!(read(&data, 0).is_ok());
    let error = read(&data, 1).unwrap_err().to_string();
    assert!(error.contains("sample 001 has gone: the shard was changed"), "{error}");
}

#[test]
fn shards_that_are_opened_late_have_the_fields_of_the_set() {
    let folder =
        shards(&[&LAION, &[("x.jpg", "x"), ("x.txt", "late")], &[("y.jpg", "y"), ("y.npz", "n"), ("y.txt", "")]]);
    let counts = folder.path().join("sizes.json");
    fs::write(&counts, "{\"0.tar\": 2, \"1.tar\": 1, \"2.tar\": 1}").unwrap();
    let open = |choice: FieldChoice| in_memory(choice).counts(&counts).open(folder.path());
    let npz = Field::new("npz").kind(FieldKind::Bytes).optional();
    let data = open(FieldChoice::from([("txt", "caption".into()), ("npz", npz)])).unwrap();
    assert_eq!(values(&data, 3), ["text ".to_owned(), format!("bytes {:?}", b"n")]);
    assert_eq!(values(&data, 2), ["text late", "absent"]);
    let error = refused(open(FieldChoice::from([("npz", "npz")])));
    assert!(error.contains("no sample of the first shard has a member .npz"), "{error}");
    assert_eq!(names(&open(FieldChoice::All).unwrap()), ["json (JSON, may be absent)", "txt (text, may be absent)"]);
}
