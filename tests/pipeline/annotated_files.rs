//! Boxes of Pascal VOC's, YOLO's and COCO's files in batches: they lie on what they show, however the image is turned.

use super::source_orientation::oriented;
use gpufeed::dataset::{Coco, Voc, Yolo};
use gpufeed::targets::{BoxFormat, TargetsOrientation, convert_boxes};
use gpufeed::transforms::CenterCrop;
use gpufeed::{Backend, DataLoader, Dataset, OnError};
use image::{DynamicImage, GrayImage};
use std::path::Path;

/// Edges of a box.
type Edges = [f32; 4];

/// Opens a set of one image, whose annotation says these edges in an image of (width, height), which is named where `sized`.
type Open = fn(&Path, Edges, (u32, u32), bool, TargetsOrientation) -> Box<dyn Dataset>;

fn write(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

fn voc(
    root: &Path,
    [x0, y0, x1, y1]: Edges,
    (w, h): (u32, u32),
    sized: bool,
    orientation: TargetsOrientation,
) -> Box<dyn Dataset> {
    let size = if sized { format!("<size><width>{w}</width><height>{h}</height></size>") } else { String::new() };
    let edges = format!("<xmin>{x0}</xmin><ymin>{y0}</ymin><xmax>{x1}</xmax><ymax>{y1}</ymax>");
    let text = format!("<annotation>{size}<object><name>cat</name><bndbox>{edges}</bndbox></object></annotation>");
    write(&root.join("Annotations/a.xml"), &text);
    Box::new(Voc::builder().targets_orientation(orientation).open(root).unwrap())
}

fn coco(
    root: &Path,
    [x0, y0, x1, y1]: Edges,
    (w, h): (u32, u32),
    sized: bool,
    orientation: TargetsOrientation,
) -> Box<dyn Dataset> {
    let size = if sized { format!(r#", "width": {w}, "height": {h}"#) } else { String::new() };
    let image = format!(r#"{{"id": 1, "file_name": "a.png"{size}}}"#);
    let annotation =
        format!(r#"{{"id": 1, "image_id": 1, "category_id": 1, "bbox": [{x0}, {y0}, {}, {}]}}"#, x1 - x0, y1 - y0);
    let path = root.join("instances_a.json");
    write(&path, &format!(r#"{{"images": [{image}], "annotations": [{annotation}]}}"#));
    let builder = Coco::builder().root(root.join("JPEGImages"));
    Box::new(builder.targets_orientation(orientation).open(path).unwrap())
}

fn yolo(
    root: &Path,
    [x0, y0, x1, y1]: Edges,
    (w, h): (u32, u32),
    _: bool,
    orientation: TargetsOrientation,
) -> Box<dyn Dataset> {
    let (w, h) = (w as f32, h as f32);
    let each = [(x0 + x1) / 2.0 / w, (y0 + y1) / 2.0 / h, (x1 - x0) / w, (y1 - y0) / h];
    let [x, y, w, h] = each;
    write(&root.join("JPEGImages/a.txt"), &format!("0 {x} {y} {w} {h}"));
    write(&root.join("data.yaml"), "train: JPEGImages");
    Box::new(Yolo::builder().targets_orientation(orientation).open(root.join("data.yaml")).unwrap())
}

/// The edges of the box in the batch, and those of the white pixel.
fn shown(data: Box<dyn Dataset>, (width, height): (u32, u32)) -> (Edges, Edges) {
    let list = DataLoader::builder(data).transform(CenterCrop::new((height, width)));
    let loader = list.batch_size(1).on_error(OnError::Fail).build(&Backend::Cpu).unwrap();
    let batch = loader.epoch(0).unwrap().next().unwrap().unwrap();
    let width = width as usize;
    let values = batch.to_host_f32().unwrap();
    let at = values.iter().position(|value| *value > 0.5).unwrap();
    let (x, y) = ((at % width) as f32, (at / width) as f32);
    let targets = batch.targets(0).unwrap();
    let mut boxes = targets.boxes().to_vec();
    convert_boxes(&mut boxes, targets.format(), BoxFormat::Xyxy);
    (boxes[0], [x, y, x + 1.0, y + 1.0])
}

#[test]
fn boxes_lie_on_what_they_show_however_the_image_is_turned() {
    // White at the second row's first pixel.
    let stored_edges = [0.0, 1.0, 1.0, 2.0];
    for (name, open) in [("voc", voc as Open), ("coco", coco), ("yolo", yolo)] {
        for (size, orientation) in [(4, 4), (4, 3)].into_iter().flat_map(|size| (1..=8).map(move |turn| (size, turn))) {
            let root = tempfile::tempdir().unwrap();
            let white = |x: u32, y: u32| image::Luma([if (x, y) == (0, 1) { 255 } else { 0 }]);
            let pixels = DynamicImage::ImageLuma8(GrayImage::from_fn(size.0, size.1, white));
            std::fs::create_dir(root.path().join("JPEGImages")).unwrap();
            std::fs::write(root.path().join("JPEGImages/a.png"), oriented(&pixels, orientation)).unwrap();
            let turned = if orientation >= 5 { (size.1, size.0) } else { size };
            for sized in [true, false] {
                let stored = open(root.path(), stored_edges, size, sized, TargetsOrientation::Stored);
                let (found, white) = shown(stored, turned);
                let close = |a: Edges, b: Edges| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-5);
                assert!(close(found, white), "{name}, {size:?} by {orientation}: {found:?}, white is {white:?}");
                let displayed = open(root.path(), white, turned, sized, TargetsOrientation::Displayed);
                let (found, white) = shown(displayed, turned);
                assert!(close(found, white), "{name}, {size:?} by {orientation}: {found:?}, white is {white:?}");
            }
        }
    }
}
