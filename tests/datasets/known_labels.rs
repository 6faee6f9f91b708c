//! Labels that data sets know without reading samples are those that samples have.

use crate::notices::{labels, shards};
use crate::shard::archive;
use gpufeed::dataset::TarShards;
use gpufeed::{Arrays, Dataset, ImageFolder, ImageList, InMemory, Label, Result, Sample};
use std::fs;

/// Returns the labels that a data set knows, and checks that it knows no more than it has.
fn known(data: &dyn Dataset) -> Vec<Option<Label>> {
    assert_eq!(data.label(data.len()), None);
    (0..data.len()).map(|index| data.label(index)).collect()
}

/// Checks that a data set knows the labels of all its samples, which are these.
fn knows(data: &dyn Dataset, expected: &[Label]) {
    assert_eq!(known(data), expected.iter().cloned().map(Some).collect::<Vec<_>>());
    assert_eq!(labels(data), expected);
}

#[test]
fn labels_of_files_are_known() {
    let root = tempfile::tempdir().unwrap();
    for file in ["cat/1.jpg", "dog/2.jpg", "dog/3.jpg"] {
        let path = root.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "the file").unwrap();
    }
    let classes = [0, 1, 1].map(Label::Class);
    knows(&ImageFolder::open(root.path()).unwrap(), &classes);
    knows(&ImageFolder::flat(root.path()).unwrap(), &[Label::None, Label::None, Label::None]);
    fs::write(root.path().join("list.csv"), "path,x,y\ndog/2.jpg,0.5,2\ncat/1.jpg,1,3\n").unwrap();
    let list = ImageList::builder().label_columns(["x", "y"]).open(root.path().join("list.csv")).unwrap();
    let vectors = [[0.5, 2.0], [1.0, 3.0]].map(|values| Label::from(values.to_vec()));
    knows(&list, &vectors);
    knows(&list.subset([1, 1]).unwrap(), &[vectors[1].clone(), vectors[1].clone()]);
    // Files that are lost still have their labels.
    fs::remove_file(root.path().join("dog/2.jpg")).unwrap();
    let folder = ImageFolder::open(root.path()).unwrap();
    fs::remove_file(root.path().join("dog/3.jpg")).unwrap();
    assert_eq!(known(&folder)[1], Some(Label::Class(1)));
}

#[test]
fn labels_of_shards_are_known() {
    let members = [("a.png", "1"), ("a.cls", "3"), ("b.png", "2"), ("b.json", "[0.5, 1]")];
    let folder = shards(&[&members]);
    fs::write(folder.path().join("1.tar"), archive(&[("c.png", b"3")])).unwrap();
    let expected = [Label::Class(3), Label::from(vec![0.5, 1.0]), Label::None];
    for _ in 0..2 {
        // The second time by the index.
        let data = TarShards::builder().allow_unlabelled(true).open(folder.path()).unwrap();
        knows(&data, &expected);
    }
}

#[cfg(feature = "parquet")]
#[test]
fn labels_of_parquet_files_are_known() {
    use crate::parquet::{expected, in_memory, rows, stored};
    use gpufeed_testing::parquet_files::{Style, file};
    let rows = rows(20);
    let (_folder, path) = stored(&file(&rows, &Style::default()));
    let labels: Vec<_> = expected(&rows).into_iter().map(|(_, label)| label).collect();
    knows(&in_memory().open(path).unwrap(), &labels);
}

#[cfg(feature = "lmdb")]
#[test]
fn labels_of_an_lmdb_are_known_if_they_have_keys() {
    use gpufeed::dataset::{Lmdb, LmdbWriter};
    let folder = tempfile::tempdir().unwrap();
    let mut writer = LmdbWriter::open(folder.path()).unwrap();
    let expected = [Label::Class(2), Label::Class(0)];
    for label in &expected {
        writer.put(b"\xff\xd8\xff", label).unwrap();
    }
    writer.finish(&[]).unwrap();
    knows(&Lmdb::open(folder.path()).unwrap(), &expected);
}

/// Gives all samples another label, and says nothing about it.
struct Relabelled(InMemory);

impl Dataset for Relabelled {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn read<'a>(&'a self, index: usize, buffer: &'a mut Vec<u8>) -> Result<Sample<'a>> {
        Ok(Sample { label: Label::Class(9), ..self.0.read(index, buffer)? })
    }

    fn name(&self, index: usize) -> String {
        self.0.name(index)
    }

    fn inner(&self) -> Option<&dyn Dataset> {
        Some(&self.0)
    }
}

#[test]
fn a_wrapper_knows_no_labels_that_it_does_not_give() {
    let files: InMemory = (0..3_u32).map(|number| (vec![7], Label::Class(number))).collect();
    let classes = [0, 1, 2].map(Label::Class);
    knows(&files, &classes);
    knows(&files.clone().with_weights([1.0, 2.0, 3.0]).unwrap(), &classes);
    knows(&files.clone().concat(files.clone()).unwrap().subset([5, 0]).unwrap(), &[2, 0].map(Label::Class));
    assert_eq!(known(&Relabelled(files.clone())), [None, None, None]);
    assert_eq!(known(&files.concat(Relabelled(InMemory::new())).unwrap()), classes.map(Some));
    let arrays = Arrays::nhwc([2, 1, 1, 1], vec![1_u8, 2]).unwrap().with_labels([4, 5]).unwrap();
    knows(&arrays, &[4, 5].map(Label::Class));
}
