//! Draws the boxes and keypoints of objects on pictures, and says in words how many there are.

use gpufeed::targets::{BoxFormat, Objects, convert_boxes};
use image::{Rgb, RgbImage};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

/// The colours of labels, by their numbers. Those of neighbours differ most.
const COLORS: [Rgb<u8>; 12] = [
    Rgb([230, 25, 75]),
    Rgb([0, 130, 200]),
    Rgb([40, 160, 60]),
    Rgb([245, 130, 48]),
    Rgb([145, 30, 180]),
    Rgb([0, 150, 150]),
    Rgb([215, 40, 200]),
    Rgb([150, 120, 0]),
    Rgb([60, 60, 220]),
    Rgb([170, 90, 40]),
    Rgb([128, 0, 60]),
    Rgb([100, 140, 20]),
];
/// Pictures whose smaller side has as many pixels have outlines of two pixels.
const THICK_FROM: u32 = 120;
/// The pixels of a cross on each side of its middle.
const ARM: i64 = 3;
/// The most classes that stand under an original.
const CLASSES: usize = 6;
/// Parts of a pixel that are errors of rounding.
const ROUNDING: f64 = 1e-3;
/// COCO's number of keypoints that can be seen.
const VISIBLE: u8 = 2;

/// The colour of objects with a label. Objects without labels have one colour.
pub(super) fn color(label: Option<i64>) -> Rgb<u8> {
    COLORS[label.unwrap_or(0).rem_euclid(COLORS.len() as i64) as usize]
}

/// Draws outlines of boxes and crosses of visible keypoints on a picture of an image of (width, height), in which the objects
/// have their places. What lies outside is not drawn.
pub(super) fn draw(picture: &mut RgbImage, objects: &Objects, (width, height): (u32, u32)) {
    let (across, down) = picture.dimensions();
    let [x, y] = [(across, width), (down, height)].map(|(shown, own)| f64::from(shown) / f64::from(own.max(1)));
    let color = |object: usize| color(objects.labels().and_then(|labels| labels.get(object)).copied());
    let thickness = if across.min(down) < THICK_FROM { 1 } else { 2 };
    for (object, [left, top, right, bottom]) in edges(objects).into_iter().enumerate() {
        // An edge that rounding has moved over the border of a pixel is not drawn on the next one.
        let first = |edge: f32, scale: f64| (f64::from(edge) * scale + ROUNDING).floor() as i64;
        // A box without a width is a line.
        let last = |edge: f32, scale: f64, first: i64| {
            ((f64::from(edge) * scale - ROUNDING).ceil() as i64).saturating_sub(1).max(first)
        };
        let (left, top) = (first(left, x), first(top, y));
        let (right, bottom) = (last(right, x, left), last(bottom, y, top));
        for inner in 0..thickness {
            fill(picture, left..=right, top + inner..=top + inner, color(object));
            fill(picture, left..=right, bottom - inner..=bottom - inner, color(object));
            fill(picture, left + inner..=left + inner, top..=bottom, color(object));
            fill(picture, right - inner..=right - inner, top..=bottom, color(object));
        }
    }
    let each = objects.keypoints_each().max(1);
    for (number, (place, visibility)) in objects.keypoints().iter().zip(objects.visibility()).enumerate() {
        // A keypoint is the number of a pixel.
        let middle = |place: f32, scale: f64| ((f64::from(place) + 0.5) * scale).floor() as i64;
        let (column, row) = (middle(place[0], x), middle(place[1], y));
        let is_inside = (0..i64::from(across)).contains(&column) && (0..i64::from(down)).contains(&row);
        if *visibility == VISIBLE && is_inside {
            fill(picture, column - ARM..=column + ARM, row..=row, color(number / each));
            fill(picture, column..=column, row - ARM..=row + ARM, color(number / each));
        }
    }
}

/// Fills the part of a rectangle that lies in the picture.
fn fill(picture: &mut RgbImage, columns: RangeInclusive<i64>, rows: RangeInclusive<i64>, color: Rgb<u8>) {
    let within = |range: RangeInclusive<i64>, side: u32| {
        (*range.start()).max(0)..range.end().saturating_add(1).min(i64::from(side))
    };
    let (width, height) = picture.dimensions();
    for row in within(rows, height) {
        for column in within(columns.clone(), width) {
            picture.put_pixel(column as u32, row as u32, color);
        }
    }
}

fn edges(objects: &Objects) -> Vec<[f32; 4]> {
    let mut boxes = objects.boxes().to_vec();
    convert_boxes(&mut boxes, objects.format(), BoxFormat::Xyxy);
    boxes
}

/// Says how many objects there are, and how many of each class, each with the label whose colour it has.
pub(super) fn words(objects: &Objects, classes: &[String]) -> Vec<(String, Option<i64>)> {
    let keypoints = match objects.keypoints_each() {
        0 => String::new(),
        each => format!(" with {each} {} each", plural(each, "keypoint", "keypoints")),
    };
    let count = objects.len();
    let mut words = vec![(format!("{count} {}{keypoints}", plural(count, "object", "objects")), None)];
    let mut by_label = BTreeMap::<i64, usize>::new();
    objects.labels().into_iter().flatten().for_each(|label| *by_label.entry(*label).or_default() += 1);
    let mut by_label: Vec<_> = by_label.into_iter().collect();
    by_label.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    for (label, count) in by_label.iter().take(CLASSES) {
        let name = usize::try_from(*label).ok().and_then(|label| classes.get(label)).filter(|name| !name.is_empty());
        let name = name.map_or_else(|| format!("label {label}"), String::clone);
        words.push((format!("{name}: {count}"), Some(*label)));
    }
    let others = by_label.len().saturating_sub(CLASSES);
    words.extend((others > 0).then(|| (format!("and {others} more classes"), None)));
    words
}

/// Objects in JSON: the edges of boxes, labels, and keypoints with their visibility.
pub(super) fn json(objects: &Objects) -> Value {
    let points = objects.keypoints().iter().zip(objects.visibility());
    let points: Vec<Value> = points.map(|([x, y], visibility)| json!([x, y, visibility])).collect();
    let keypoints: Vec<_> = points.chunks(objects.keypoints_each().max(1)).collect();
    json!({ "boxes": edges(objects), "labels": objects.labels(), "keypoints": keypoints })
}

fn plural(count: usize, one: &'static str, several: &'static str) -> &'static str {
    if count == 1 { one } else { several }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHITE: Rgb<u8> = Rgb([255; 3]);

    /// The pixels that are drawn.
    fn drawn(objects: &Objects, own: (u32, u32), shown: (u32, u32)) -> Vec<(u32, u32)> {
        let mut picture = RgbImage::from_pixel(shown.0, shown.1, WHITE);
        draw(&mut picture, objects, own);
        picture.enumerate_pixels().filter(|(_, _, pixel)| **pixel != WHITE).map(|(x, y, _)| (x, y)).collect()
    }

    fn of_box(edges: [f32; 4]) -> Objects {
        Objects::of_boxes(BoxFormat::Xyxy, vec![edges])
    }

    #[test]
    fn outlines_lie_on_the_outermost_pixels_of_a_box() {
        let expected: Vec<_> = (2..5)
            .flat_map(|y| (1..5).map(move |x| (x, y)))
            .filter(|place| ![(2, 3), (3, 3)].contains(place))
            .collect();
        assert_eq!(drawn(&of_box([1.0, 2.0, 5.0, 5.0]), (10, 10), (10, 10)), expected);
        // In a picture of half the size.
        assert_eq!(drawn(&of_box([2.0, 4.0, 10.0, 10.0]), (20, 20), (10, 10)), expected);
        let xywh = Objects::of_boxes(BoxFormat::Xywh, vec![[1.0, 2.0, 4.0, 3.0]]);
        assert_eq!(drawn(&xywh, (10, 10), (10, 10)), expected);
        // Two pixels wide in a large picture.
        assert_eq!(drawn(&of_box([10.0, 10.0, 20.0, 20.0]), (200, 200), (200, 200)).len(), 100 - 36);
    }

    #[test]
    fn what_lies_outside_of_the_picture_is_not_drawn() {
        assert_eq!(drawn(&of_box([-5.0, -5.0, 3.0, 20.0]), (10, 10), (10, 10)).len(), 10);
        assert_eq!(drawn(&of_box([-1e30, -1e30, 1e30, 1e30]), (10, 10), (10, 10)), []);
        assert_eq!(drawn(&of_box([4.0, 4.0, 4.0, 4.0]), (10, 10), (10, 10)), [(4, 4)]);
        let points = |points: Vec<[f32; 2]>| {
            let seen = vec![2; points.len()];
            Objects::of_keypoints(1, points, seen).unwrap()
        };
        assert_eq!(drawn(&points(vec![[10.0, 4.0], [-0.6, 4.0]]), (10, 10), (10, 10)), []);
        assert_eq!(drawn(&points(vec![[0.0, 9.0]]), (10, 10), (10, 10)).len(), 7);
    }

    #[test]
    fn keypoints_that_are_visible_are_crosses() {
        let objects = Objects::of_keypoints(3, vec![[10.0, 10.0], [15.0, 5.0], [3.0, 3.0]], vec![2, 1, 0]).unwrap();
        let cross = drawn(&objects, (20, 20), (20, 20));
        assert_eq!(cross.len(), 13);
        assert!(cross.iter().all(|(x, y)| (*x == 10 && (7..14).contains(y)) || (*y == 10 && (7..14).contains(x))));
    }

    #[test]
    fn objects_are_counted_by_class() {
        let objects = Objects::of_boxes(BoxFormat::Xyxy, vec![[0.0; 4]; 4]).with_labels(vec![1, 7, -1, 1]).unwrap();
        let said: Vec<_> = words(&objects, &["cat".to_owned(), "dog".to_owned()]);
        let expected = [("4 objects", None), ("dog: 2", Some(1)), ("label -1: 1", Some(-1)), ("label 7: 1", Some(7))];
        assert_eq!(said, expected.map(|(text, label)| (text.to_owned(), label)));
        assert_ne!(color(Some(1)), color(Some(-1)));
        let many = Objects::of_boxes(BoxFormat::Xyxy, vec![[0.0; 4]; 9]).with_labels((0..9).collect()).unwrap();
        assert_eq!(words(&many, &[]).last().unwrap().0, "and 3 more classes");
        let one = Objects::of_keypoints(2, vec![[0.0; 2]; 2], vec![2; 2]).unwrap();
        assert_eq!(words(&one, &[])[0].0, "1 object with 2 keypoints each");
    }
}
