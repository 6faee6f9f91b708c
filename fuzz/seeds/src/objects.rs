//! Seeds of the targets about objects: JSON documents, and the files of COCO, Pascal VOC and YOLO.

use crate::{Seed, two};

/// Documents of one image's objects.
pub fn documents() -> Vec<Seed> {
    let texts = [
        r#"{"boxes": [[1, 2, 3, 4]], "labels": [7], "area": [1.5], "width": 8, "height": 6, "stored": true}"#,
        r#"{"format": "cxcywh", "boxes": [], "keypoints": [], "clamping_mode": "none", "types": {"rank": "integers"}}"#,
        r#"[{"id": 1, "bbox": [0, 0, 2, 2], "category_id": 3, "iscrowd": false, "keypoints": [1, 2, 1, 0, 0, 0]}]"#,
        r#"{"keypoints": [[[1, 2], [3, 4]], [[5, 6], [7, 8]]], "score": [0.5, 1e-3]}"#,
    ];
    (0..).zip(texts).map(|(number, text)| (number.to_string(), text.as_bytes().to_vec())).collect()
}

/// Documents of COCO's, whose first image is `a`.
pub fn coco() -> Vec<Seed> {
    let image = r#"{"id": 9, "file_name": "a", "width": 2, "height": 1}, {"id": 7, "file_name": "b"}"#;
    let annotation = |rest: &str| {
        format!(r#"{{"id": 1, "image_id": 9, "category_id": 3, "bbox": [0, 0, 1, 1], "iscrowd": 0{rest}}}"#)
    };
    let document = |rest: &str| {
        let (annotation, categories) = (annotation(rest), r#"[{"id": 3, "name": "car"}]"#);
        format!(r#"{{"info": {{}}, "images": [{image}], "annotations": [{annotation}], "categories": {categories}}}"#)
    };
    let rests = ["", r#", "area": 1, "segmentation": [[1, 2, 3, 4, 5, 6]]"#, r#", "keypoints": [1, 2, 2, 0, 0, 0]"#];
    rests.iter().map(|rest| (rest.len().to_string(), document(rest).into_bytes())).collect()
}

/// An annotation of Pascal VOC and a list of a split, after a byte of flags.
pub fn voc() -> Vec<Seed> {
    let object = "<object><name>dog</name><pose>Left</pose><truncated>1</truncated><difficult>0</difficult><bndbox>\
        <xmin>8</xmin><ymin>12.5</ymin><xmax>20</xmax><ymax>30</ymax></bndbox><part><name>head</name></part></object>";
    let annotation = format!(
        "<?xml version=\"1.0\"?>\n<annotation><folder>V&amp;C</folder><size><width>2</width><height>1</height></size>\
         <segmented/>{object}<!-- x --></annotation>"
    );
    let seed = |flags: u8, list: &str| [&[flags][..], &two(annotation.as_bytes(), list.as_bytes())].concat();
    vec![
        ("all".to_owned(), seed(0, "")),
        ("split".to_owned(), seed(3, "a\n")),
        ("named".to_owned(), seed(7, "a\r\n\n")),
    ]
}

/// A document of YOLO's and a file of annotations, after a byte of flags.
pub fn yolo() -> Vec<Seed> {
    let seed =
        |flags: u8, document: &str, lines: &str| [&[flags][..], &two(document.as_bytes(), lines.as_bytes())].concat();
    let document = "# a set\npath: .\ntrain: images\nval: [list.txt]\nnc: 2\nnames:\n  0: cat\n  1: 'dog: x'\n";
    let posed = "train: images\nkpt_shape: [2, 3]\nnames: [\"a\", b]\ndownload: |\n  x\n";
    vec![
        ("boxes".to_owned(), seed(1, document, "0 0.5 0.5 1 1\n1 .25 .25 .5 .5\n")),
        ("polygons".to_owned(), seed(0, "", "3 0 0 1 0 1 1\n")),
        ("posed".to_owned(), seed(1, posed, "0 0.5 0.5 1 1 0.5 0.5 2 0 0 0\n")),
        ("shaped".to_owned(), seed(2, "", "0 0.5 0.5 1 1 0.5 0.5 -1 0\n")),
    ]
}
