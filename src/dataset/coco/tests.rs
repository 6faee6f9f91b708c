//! Documents of COCO's: what is read of them, where images are looked for, and what is wrong in one.

use super::*;
use crate::dataset::{FieldChoice, Format, OpenOptions, open, open_with};
use crate::error::ErrorKind;
use crate::objects::{ObjectValues, Objects};
use serde_json::json;

/// A folder with a document and one small image, at the paths below it.
fn folder(document: &str, document_path: &str, image_path: &str) -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    for (path, content) in [(document_path, document.as_bytes()), (image_path, b"P5 2 1 255\n..")] {
        let path = root.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }
    root
}

fn document() -> serde_json::Value {
    json!({
        "info": {"year": 2017}, "licenses": [{"id": 1, "url": "x"}],
        "images": [
            {"id": 139, "file_name": "a.pgm", "width": 2, "height": 1, "license": 1, "coco_url": "http://x"},
            {"id": 7, "file_name": "b.pgm", "height": 1, "width": 2},
            {"id": 900, "file_name": "c.pgm"},
        ],
        "annotations": [
            {"segmentation": [[1, 2, 3, 4]], "area": 2.5, "iscrowd": 0, "image_id": 900, "bbox": [0.5, 0, 1, 1], "category_id": 18, "id": 1},
            {"segmentation": {"counts": [1, 2], "size": [1, 2]}, "area": 1, "iscrowd": 1, "image_id": 139, "bbox": [0, 0, 2, 1], "category_id": 1, "id": 2},
            {"area": 3, "iscrowd": false, "image_id": 139, "bbox": [1, 0, 1, 1], "category_id": 18, "id": 3},
        ],
        "categories": [{"id": 18, "name": "dog", "supercategory": "animal"}, {"id": 1, "name": "person"}],
    })
}

fn objects_of(coco: &Coco, index: usize) -> Objects {
    coco.annotations.objects(index).in_stored_image(true)
}

fn refused(document: &serde_json::Value) -> String {
    let root = folder(&document.to_string(), "instances_a.json", "a.pgm");
    Coco::open(root.path().join("instances_a.json")).unwrap_err().to_string()
}

/// The document with another value at a JSON pointer.
fn with(pointer: &str, value: serde_json::Value) -> serde_json::Value {
    let mut document = document();
    *document.pointer_mut(pointer).unwrap_or_else(|| panic!("no {pointer}")) = value;
    document
}

#[test]
fn objects_are_sorted_by_images() {
    let root = folder(&document().to_string(), "instances_a.json", "a.pgm");
    let coco = Coco::open(root.path().join("instances_a.json")).unwrap();
    assert_eq!((coco.len(), coco.id(0), coco.id(2)), (3, 139, 900));
    assert!(coco.notices()[0].to_string().contains("2 masks (segmentation)"), "{}", coco.notices()[0]);
    let first = objects_of(&coco, 0);
    assert_eq!(first.boxes(), [[0.0, 0.0, 2.0, 1.0], [1.0, 0.0, 1.0, 1.0]]);
    assert_eq!((first.labels(), first.size()), (Some(&[1, 18][..]), Some((2, 1))));
    assert_eq!(first.values("iscrowd"), Some(&ObjectValues::Integers(vec![1, 0])));
    assert_eq!(first.values("id"), Some(&ObjectValues::Integers(vec![2, 3])));
    assert_eq!(first.values("area"), Some(&ObjectValues::Floats(vec![1.0, 3.0])));
    assert!(objects_of(&coco, 1).is_empty() && objects_of(&coco, 1).has_boxes() && objects_of(&coco, 3).is_empty());
    assert_eq!((objects_of(&coco, 2).boxes()[0][0], objects_of(&coco, 2).size()), (0.5, None));
    assert_eq!(
        (coco.classes().len(), &*coco.classes()[1], &*coco.classes()[2], &*coco.classes()[18]),
        (19, "person", "", "dog")
    );
    let mut buffer = Vec::new();
    assert_eq!(coco.read(0, &mut buffer).unwrap().fields, [FieldValue::from(first)]);
}

#[test]
fn keypoints_are_read_where_all_annotations_have_them() {
    let mut document = document();
    for (number, points) in
        [json!([1, 2, 2, 0, 0, 0]), json!([3, 4, 1, 5, 6, 2]), json!([7, 8, 2, 9, 9, 2])].iter().enumerate()
    {
        document["annotations"][number]["keypoints"] = points.clone();
    }
    let root = folder(&document.to_string(), "person_keypoints_a.json", "a.pgm");
    let path = root.path().join("person_keypoints_a.json");
    let first = objects_of(&Coco::open(&path).unwrap(), 0);
    assert_eq!((first.keypoints_each(), first.keypoints()), (2, &[[3.0, 4.0], [5.0, 6.0], [7.0, 8.0], [9.0, 9.0]][..]));
    assert_eq!(first.visibility(), [1, 2, 2, 2]);
    document["annotations"][2]["keypoints"] = json!([1, 2, 2]);
    assert!(refused(&document).contains("annotation 3: has 3 numbers as keypoints, but the first annotation 6"));
    document["annotations"][2]["keypoints"] = json!([1, 2, 7, 0, 0, 0]);
    assert!(refused(&document).contains("annotation 3: has a keypoint of the visibility 7; 0, 1 and 2 work"));
}

#[test]
fn images_are_found_where_cocos_archives_have_them() {
    let text = document().to_string();
    for (path, image, found) in [
        ("annotations/instances_val2017.json", "val2017/a.pgm", "val2017"),
        ("annotations/instances_val2017.json", "images/val2017/a.pgm", "images/val2017"),
        ("train/_annotations.coco.json", "train/a.pgm", "train"),
    ] {
        let root = folder(&text, path, image);
        let coco = Coco::open(root.path().join(path)).unwrap();
        assert_eq!(coco.name(0), root.path().join(found).join("a.pgm").display().to_string());
    }
    let root = folder(&text, "annotations/instances_val2017.json", "elsewhere/a.pgm");
    let path = root.path().join("annotations/instances_val2017.json");
    let error = Coco::open(&path).unwrap_err().to_string();
    assert!(
        error.contains("the first image, a.pgm: no folder has it; looked in ") && error.contains("setting `root`"),
        "{error}"
    );
    assert!(Coco::builder().root(root.path().join("elsewhere")).open(&path).is_ok());
}

#[test]
fn the_path_opens_it_and_the_field_has_another_name_where_asked() {
    let root = folder(&document().to_string(), "instances_a.json", "a.pgm");
    let path = root.path().join("instances_a.json");
    assert_eq!(Format::detect(&path), Format::Coco);
    assert_eq!(open(&path).unwrap().train.fields()[0].to_string(), "objects (objects)");
    let named = |fields: FieldChoice| open_with(&path, OpenOptions::new().fields(fields));
    assert_eq!(named([("objects", "targets")].into()).unwrap().train.fields()[0].name(), "targets");
    assert_eq!(named(FieldChoice::All).unwrap().train.fields()[0].name(), "objects");
    let error = named([("masks", "m")].into()).unwrap_err().to_string();
    assert!(error.contains("\"masks\" is not read from COCO's documents; \"objects\" is"), "{error}");
}

#[test]
fn what_is_wrong_is_named_with_its_place() {
    assert!(refused(&with("/images/2/id", json!(7))).contains("image 7: is in the list twice"));
    let error = refused(&with("/annotations/1/image_id", json!(8)));
    assert!(error.contains("annotation 2: is of image 8, which is not in the list of images"), "{error}");
    let mut captions = document();
    for annotation in captions["annotations"].as_array_mut().unwrap() {
        annotation.as_object_mut().unwrap().remove("bbox");
    }
    assert!(refused(&captions).contains("annotation 2: has no bbox, as those of captions"));
    assert!(refused(&with("/annotations/0/bbox", json!([1, 2, 3]))).contains("invalid length 3"));
    assert!(refused(&with("/images/0/id", json!("a"))).contains("line 1, column"));
    assert!(refused(&json!([1])).contains("no document of COCO's"));
    assert!(refused(&json!({"images": []})).contains("missing field `annotations`"));
    assert!(
        refused(&with("/categories/1/id", json!(18))).contains("category 18: has two names, \"dog\" and \"person\"")
    );
    let empty = json!({"images": [], "annotations": []});
    let root = folder(&empty.to_string(), "instances_a.json", "a.pgm");
    let error = Coco::open(root.path().join("instances_a.json")).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::EmptyDataset { .. }), "{error}");
    // Numbers that no list of names can have.
    for id in [json!(-1), json!(i64::MAX)] {
        let root = folder(&with("/categories/0/id", id).to_string(), "instances_a.json", "a.pgm");
        assert!(Coco::open(root.path().join("instances_a.json")).unwrap().classes().is_empty());
    }
}

#[test]
fn a_document_that_ends_early_or_is_hostile_is_an_error() {
    let text = document().to_string();
    let open = |bytes: &[u8]| {
        let root = folder("", "instances_a.json", "a.pgm");
        let path = root.path().join("instances_a.json");
        std::fs::write(&path, bytes).unwrap();
        Coco::open(path).map(|_| ()).map_err(|error| error.to_string())
    };
    for end in (0..text.len()).step_by(7) {
        assert!(open(&text.as_bytes()[..end]).unwrap_err().contains("line 1, column"), "{end}");
    }
    let nested = format!("{{\"info\": {}", "[".repeat(1_000_000));
    assert!(open(nested.as_bytes()).unwrap_err().contains("line 1, column"));
    assert!(open(text.replace("2.5", "NaN").as_bytes()).is_err());
    // An f32 does not hold it.
    assert!(open(text.replace("[0.5,", "[1e308,").as_bytes()).is_err());
    assert!(open(b"\xff\xfe").is_err());
}

#[test]
fn a_document_cut_anywhere_is_an_error_with_its_place() {
    let mut document = document();
    let one = document["annotations"][0].clone();
    let many = (0..1500).map(|id| {
        let mut annotation = one.clone();
        annotation["id"] = json!(id);
        annotation
    });
    document["annotations"] = many.collect();
    let text = document.to_string();
    let root = folder(&text, "instances_a.json", "a.pgm");
    let path = root.path().join("instances_a.json");
    assert_eq!(objects_of(&Coco::open(&path).unwrap(), 2).len(), 1500);
    assert!(text.len() > 40 * 4096, "{}", text.len());
    for end in (0..text.len()).step_by(4096) {
        std::fs::write(&path, &text[..end]).unwrap();
        let error = Coco::open(&path).unwrap_err().to_string();
        assert!(error.contains("line 1, column") && error.contains("EOF"), "{end}: {error}");
    }
}

#[test]
fn brackets_within_what_is_not_read_and_numbers_that_nothing_holds() {
    let with_info = |info: &str| {
        let root = folder(&document().to_string().replace("{\"year\":2017}", info), "instances_a.json", "a.pgm");
        Coco::open(root.path().join("instances_a.json")).map(|coco| coco.len()).map_err(|error| error.to_string())
    };
    let nested = ["[".repeat(1_000_000), "]".repeat(1_000_000)].concat();
    // Values that are not read may be nested as deep as they like.
    assert_eq!(with_info(&nested), Ok(3));
    assert_eq!(with_info("1e308"), Ok(3));
    for (pointer, value) in [
        ("/annotations/0/area", json!(1e308)),
        ("/annotations/0/bbox", json!([0, 0, -1e308, 1])),
        ("/annotations/0/id", json!(1e308)),
        ("/images/0/id", json!(-1)),
        ("/images/0/width", json!(1e308)),
        ("/images/0/width", json!(-2)),
    ] {
        let error = refused(&with(pointer, value));
        assert!(error.contains("line 1, column"), "{pointer}: {error}");
    }
}

#[test]
fn ids_that_are_missing_are_refused_and_double_ones_of_annotations_kept() {
    for (list, missing) in
        [("images", "id"), ("images", "file_name"), ("annotations", "id"), ("annotations", "image_id")]
    {
        let mut document = document();
        document[list][0].as_object_mut().unwrap().remove(missing);
        let error = refused(&document);
        assert!(error.contains(&format!("missing field `{missing}`")), "{error}");
    }
    // Each annotation is of one image, whatever its id.
    let root = folder(&with("/annotations/2/id", json!(2)).to_string(), "instances_a.json", "a.pgm");
    let first = objects_of(&Coco::open(root.path().join("instances_a.json")).unwrap(), 0);
    assert_eq!((first.len(), first.values("id")), (2, Some(&ObjectValues::Integers(vec![2, 2]))));
}
