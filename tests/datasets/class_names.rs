//! Names of classes in the files of a set: labels that would mean different things are an error, whichever file is opened first.

use std::fs;
use std::path::Path;

use crate::notices::{labels, refused, shards};
use gpufeed::dataset::{ShardIndexes, TarShards, TarShardsBuilder};
use gpufeed::{Dataset, Label};
use tempfile::TempDir;

/// Shards with a sample each, and a `classes.txt` of these names; none for nothing.
fn with_names(names: &[&str]) -> TempDir {
    let keys: Vec<_> = (0..names.len()).map(|shard| [format!("{shard}.jpg"), format!("{shard}.cls")]).collect();
    let members: Vec<Vec<(&str, &str)>> = keys
        .iter()
        .zip(names)
        .map(|([image, class], names)| {
            let named = (!names.is_empty()).then_some(("classes.txt", *names));
            [(&**image, ""), (&**class, "1")].into_iter().chain(named).collect()
        })
        .collect();
    let folder = shards(&members.iter().map(|members| &**members).collect::<Vec<_>>());
    let counts: Vec<_> = (0..names.len()).map(|shard| format!("\"{shard}.tar\": 1")).collect();
    fs::write(folder.path().join("sizes.json"), format!("{{{}}}", counts.join(", "))).unwrap();
    folder
}

fn builder() -> TarShardsBuilder {
    TarShards::builder().indexes(ShardIndexes::Memory)
}

/// Asserts that an error names two shards, and the setting.
fn names_two(error: &str, folder: &Path, [there, here]: [usize; 2]) {
    let at = |shard: usize| folder.join(format!("{shard}.tar")).display().to_string();
    assert!(error.contains(&format!("{}, names of classes: its ", at(here))), "{error}");
    assert!(error.contains(&format!(" of {}: class ", at(there))), "{error}");
    assert!(error.contains("TarShardsBuilder::classes says which names hold"), "{error}");
}

#[test]
fn shards_with_other_names_are_refused() {
    let (a, b, c) = ("cat\ndog\n", "dog\ncat\n", "cat\ndog\nwug\n");
    for (names, two) in [
        (&[a, b][..], [0, 1]),
        (&[a, a, b], [0, 2]),
        (&["", a, a, "", c, b], [1, 4]),
        (&[a, b, a, b], [0, 1]),
        (&["", b, a], [1, 2]),
    ] {
        let folder = with_names(names);
        // Threads open them in any order.
        for _ in 0..20 {
            names_two(&refused(builder().open(folder.path())), folder.path(), two);
        }
        let data = builder().classes(["one", "two"]).open(folder.path()).unwrap();
        assert_eq!(
            (data.classes(), labels(&data)),
            (&["one", "two"].map(String::from)[..], vec![Label::Class(1); names.len()])
        );
    }
    let error = refused(builder().open(with_names(&[a, b]).path()));
    assert!(error.contains("class 0 is called \"dog\" here and called \"cat\" there"), "{error}");
    let error = refused(builder().open(with_names(&[a, c]).path()));
    assert!(error.contains("its 3 names of classes are not the 2 of"), "{error}");
    assert!(error.contains("class 2 is called \"wug\" here and without a name there"), "{error}");
    // The same names, or none, are no other ones; a file beside the shards does not make others the same.
    let folder = with_names(&["", a, a, ""]);
    assert_eq!(builder().open(folder.path()).unwrap().classes(), ["cat", "dog"]);
    let folder = with_names(&[a, b]);
    fs::write(folder.path().join("classes.txt"), "x\ny\n").unwrap();
    names_two(&refused(builder().open(folder.path())), folder.path(), [0, 1]);
}

#[test]
fn shards_that_are_opened_late_are_compared_with_the_first_one() {
    let (a, b) = ("cat\ndog\n", "dog\ncat\n");
    for (names, fine) in [
        (&[a, b, a, b][..], &[0, 2][..]),
        (&[a, "", b, a], &[0, 1, 3]),
        // The first shard has no names, which agrees with any names of the others.
        (&["", b, "", a], &[0, 1, 2, 3]),
        (&[b, b, b, a], &[0, 1, 2]),
    ] {
        let folder = with_names(names);
        for beside in [false, true] {
            if beside {
                // Then no shard is opened before a sample is read.
                fs::write(folder.path().join("classes.txt"), "x\ny\n").unwrap();
            }
            let open = || builder().counts(folder.path().join("sizes.json")).open(folder.path()).unwrap();
            let check = |data: &TarShards, index: usize| match data.read(index, &mut Vec::new()) {
                Ok(sample) => assert!(fine.contains(&index) && sample.label == Label::Class(1), "{names:?}: {index}"),
                Err(error) => {
                    assert!(!fine.contains(&index), "{names:?}: {index}: {error}");
                    names_two(&error.to_string(), folder.path(), [0, index]);
                }
            };
            for order in [[0, 1, 2, 3], [3, 2, 1, 0], [1, 3, 0, 2], [2, 0, 3, 1], [3, 1, 2, 0], [1, 1, 3, 3]] {
                let data = open();
                order.iter().for_each(|index| check(&data, *index));
            }
            let data = open();
            std::thread::scope(|scope| {
                for thread in 0..8 {
                    let (data, check) = (&data, &check);
                    scope.spawn(move || (0..4).for_each(|index| check(data, (index + thread) % 4)));
                }
            });
            let builder = builder().classes(["one", "two"]).counts(folder.path().join("sizes.json"));
            assert_eq!(labels(&builder.open(folder.path()).unwrap()), vec![Label::Class(1); 4]);
        }
    }
}

#[test]
fn shards_are_read_although_the_first_one_is_not() {
    let (a, b) = ("cat\ndog\n", "dog\ncat\n");
    let folder = with_names(&[a, b, a]);
    fs::write(folder.path().join("classes.txt"), "x\ny\n").unwrap();
    let open = || builder().counts(folder.path().join("sizes.json")).open(folder.path()).unwrap();
    let read = |data: &TarShards, index: usize| data.read(index, &mut Vec::new()).map(|sample| sample.label);
    let unlike = |data: &TarShards| names_two(&refused(read(data, 1)), folder.path(), [0, 1]);

    // It cannot be opened: the others are compared once it can.
    let (first, away) = (folder.path().join("0.tar"), folder.path().join("0.away"));
    let data = open();
    fs::rename(&first, &away).unwrap();
    for index in [1, 2, 1, 2] {
        assert_eq!(read(&data, index).unwrap(), Label::Class(1), "{index}");
    }
    assert!(refused(read(&data, 0)).contains("0.tar"));
    fs::rename(&away, &first).unwrap();
    assert_eq!(read(&data, 0).unwrap(), Label::Class(1));
    unlike(&data);
    assert_eq!(read(&data, 2).unwrap(), Label::Class(1));
    unlike(&data);

    // It has fewer samples than was said: its names are known.
    fs::write(folder.path().join("sizes.json"), "{\"0.tar\": 2, \"1.tar\": 1, \"2.tar\": 1}").unwrap();
    let data = open();
    let others = [2, 3].map(|index| read(&data, index).map_err(|error| error.to_string()));
    names_two(others[0].as_ref().unwrap_err(), folder.path(), [0, 1]);
    assert_eq!(others[1], Ok(Label::Class(1)));
    assert!(refused(read(&data, 0)).contains("0.tar"));
}

#[cfg(feature = "parquet")]
#[test]
fn parquet_files_and_splits_with_other_names_are_refused() {
    use gpufeed::dataset::Parquet;
    use gpufeed_testing::parquet_files::{Row, Style, file};

    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, classes: &[&str]| {
        let row = Row { image: Some(vec![7; 9]), path: None, label: Some(1) };
        let classes = classes.iter().map(|name| (*name).to_owned()).collect();
        fs::write(folder.path().join(name), file(&[row], &Style { classes, ..Style::default() })).unwrap();
    };
    write("train-00000-of-00002.parquet", &["cat", "dog"]);
    write("train-00001-of-00002.parquet", &["dog", "cat"]);
    let open = || Parquet::builder().indexes(ShardIndexes::Memory);
    let error = refused(open().open(folder.path()));
    assert!(
        error.contains("train-00001-of-00002.parquet, names of classes: its 2 names of classes are not the 2 of"),
        "{error}"
    );
    assert!(
        error.contains("train-00000-of-00002.parquet: class 0 is") && error.contains("ParquetBuilder::classes"),
        "{error}"
    );
    assert_eq!(open().classes(["a", "b"]).open(folder.path()).unwrap().classes(), ["a", "b"]);

    write("train-00001-of-00002.parquet", &["cat", "dog"]);
    write("test-00000-of-00001.parquet", &["cat", "wug"]);
    assert_eq!(open().split("test").open(folder.path()).unwrap().classes(), ["cat", "wug"]);
    let error = refused(open().parts(folder.path()).map(|_| ()));
    assert!(error.contains("test-00000-of-00001.parquet, names of classes: its 2 names"), "{error}");
    assert!(error.contains("class 1 is called \"wug\" here and called \"dog\" there"), "{error}");
    assert!(error.contains("ParquetBuilder::split opens one split alone"), "{error}");
    assert!(open().classes(["a", "b"]).parts(folder.path()).is_ok());
    write("test-00000-of-00001.parquet", &[]);
    assert!(open().parts(folder.path()).is_ok());
}
