use std::fs;
use std::path::Path;

use super::*;
use crate::ErrorKind;
use crate::dataset::folder::tests::tree;
use crate::dataset::{FieldValue, Format, SampleData};

/// The image and the mask of each sample; each file contains its path.
fn pairs(set: &MaskFolder) -> Vec<(String, String)> {
    let mut buffer = Vec::new();
    let text = |data: &SampleData<'_>| match data {
        SampleData::Encoded(bytes) => String::from_utf8(bytes.to_vec()).unwrap(),
        SampleData::Pixels(_) => panic!("pixels"),
    };
    let mut read = |index| {
        let sample = set.read(index, &mut buffer).unwrap();
        let FieldValue::Image(mask) = &sample.fields[0] else { panic!("{:?}", sample.fields) };
        (text(&sample.data), text(mask))
    };
    (0..set.len()).map(&mut read).collect()
}

fn pair(image: &str, mask: &str) -> (String, String) {
    (image.to_owned(), mask.to_owned())
}

fn refused(path: &Path) -> String {
    MaskFolder::open(path).unwrap_err().to_string()
}

#[test]
fn images_have_the_masks_of_their_paths() {
    let root = tree(&["images/b/1.jpg", "images/a.JPG", "images/c.png", "masks/a.png", "masks/b/1.png", "masks/d.png"]);
    let set = MaskFolder::open(root.path()).unwrap();
    assert_eq!(pairs(&set), [pair("images/a.JPG", "masks/a.png"), pair("images/b/1.jpg", "masks/b/1.png")]);
    assert_eq!((set.label(0), set.fields()[0].name()), (Some(crate::Label::None), "mask"));
    let notices: Vec<String> = set.notices().iter().map(ToString::to_string).collect();
    assert!(
        notices.iter().any(|notice| notice.contains("1 image without a mask") && notice.contains("c.png")),
        "{notices:?}"
    );
    assert!(
        notices.iter().any(|notice| notice.contains("1 mask without an image") && notice.contains("d.png")),
        "{notices:?}"
    );
    assert_eq!(Format::detect(root.path()), Format::Masks);
    let named = MaskFolder::builder().fields([("mask", "target")]).classes(["sky", "road"]).open(root.path()).unwrap();
    assert_eq!((named.fields()[0].name(), named.classes().len()), ("target", 2));
}

#[test]
fn splits_are_folders_of_both() {
    let root = tree(&[
        "images/training/1.jpg",
        "images/validation/2.jpg",
        "annotations/training/1.png",
        "annotations/validation/2.png",
    ]);
    assert_eq!(Format::detect(root.path()), Format::Masks);
    let training = [pair("images/training/1.jpg", "annotations/training/1.png")];
    let validation = [pair("images/validation/2.jpg", "annotations/validation/2.png")];
    assert_eq!(pairs(&MaskFolder::open(root.path()).unwrap()), training);
    assert_eq!(pairs(&MaskFolder::builder().split("validation").open(root.path()).unwrap()), validation);
    let (train, test) = MaskFolder::builder().parts(root.path()).unwrap();
    assert_eq!((pairs(&train), pairs(&test.unwrap())), (training.to_vec(), validation.to_vec()));
    for split in ["test", "../x", ""] {
        let error = MaskFolder::builder().split(split).open(root.path()).unwrap_err().to_string();
        assert!(error.starts_with("split: "), "{error}");
    }
}

#[test]
fn lists_of_voc_name_their_samples_in_order() {
    let files = ["JPEGImages/1.jpg", "JPEGImages/2.jpg", "JPEGImages/3.jpg"];
    let masks = ["SegmentationClass/1.png", "SegmentationClass/2.png"];
    let root = tree(&[&files[..], &masks, &["ImageSets/Segmentation/train.txt"]].concat());
    let list = root.path().join("ImageSets/Segmentation/train.txt");
    fs::write(&list, "2\n\n1\n").unwrap();
    let expected =
        [pair("JPEGImages/2.jpg", "SegmentationClass/2.png"), pair("JPEGImages/1.jpg", "SegmentationClass/1.png")];
    assert_eq!(Format::detect(&list), Format::Masks);
    assert_eq!(pairs(&MaskFolder::open(&list).unwrap()), expected);
    assert_eq!(pairs(&MaskFolder::builder().split("train").open(root.path()).unwrap()), expected);
    assert_eq!(MaskFolder::open(root.path()).unwrap().len(), 2);
    for (lines, place) in
        [("3\n", "line 1: there is no mask called \"3\""), ("1\n9", "line 2: there is no image called \"9\"")]
    {
        fs::write(&list, lines).unwrap();
        assert!(refused(&list).contains(place), "{}", refused(&list));
    }
    fs::write(&list, "1\n1").unwrap();
    assert!(refused(&list).contains("line 2: 1 is in the list twice"), "{}", refused(&list));
    let error = MaskFolder::builder().split("train").open(&list).unwrap_err().to_string();
    assert!(error.contains("leave one of the two out"), "{error}");
}

#[test]
fn folders_and_suffixes_can_be_set() {
    let root = tree(&["left/x/a_left.png", "fine/x/a_ids.png", "fine/x/a_color.png"]);
    let builder = || MaskFolder::builder().folders("left", "fine").suffixes("_left", "_ids");
    let set = builder().open(root.path()).unwrap();
    assert_eq!(pairs(&set), [pair("left/x/a_left.png", "fine/x/a_ids.png")]);
    let notices: Vec<String> = set.notices().iter().map(ToString::to_string).collect();
    assert!(notices.iter().any(|notice| notice.contains("do not end in \"_ids\"")), "{notices:?}");
    let error = MaskFolder::builder().folders("left", "coarse").open(root.path()).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Io { path, .. } if path.ends_with("coarse")));
    let error = MaskFolder::builder().folders("left", "fine").open(root.path()).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::EmptyDataset { .. }), "{error}");
}

#[test]
fn what_is_unclear_is_refused_by_name() {
    let twice = tree(&["images/a.jpg", "images/a.png", "masks/a.png"]);
    assert!(refused(twice.path()).contains("one of the two works"), "{}", refused(twice.path()));
    let none = tree(&["pictures/a.jpg"]);
    assert!(refused(none.path()).contains("folders: "), "{}", refused(none.path()));
    let field = MaskFolder::builder().fields([("png", "mask")]).open(twice.path()).unwrap_err().to_string();
    assert!(field.contains("\"png\" is not read from a folder of masks"), "{field}");
    // COCO's annotations are no masks.
    let coco = tree(&["images/a.jpg", "annotations/instances_val.json"]);
    assert_eq!(Format::detect(coco.path()), Format::Folder);
}
