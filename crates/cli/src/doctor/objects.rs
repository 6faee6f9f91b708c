//! Checks the objects of a sample.

use gpufeed::internals::object_places::settle;
use gpufeed::targets::{BoxFormat, Objects, TargetsOrientation, convert_boxes, keypoints_inside};
use serde::Serialize;

use super::finding::Finding;

/// The pixels by which edges may differ from the image's: floats of shares of a side are not exact.
const ROUNDING: f32 = 0.05;

/// The fields of a sample that are checked once its image is known.
#[derive(Debug, Default)]
pub(super) struct ReadFields {
    pub(super) objects: Option<Objects>,
    /// The names of the fields of images, with the (width, height) of each.
    pub(super) images: Vec<(String, (u32, u32))>,
}

/// The objects of a sample, in numbers. Each box is counted once.
#[derive(Debug, Default, Serialize)]
pub(super) struct ObjectReport {
    pub(super) count: usize,
    /// Boxes of which nothing lies in the image.
    pub(super) boxes_outside: usize,
    /// Boxes of which a part lies outside of the image.
    pub(super) boxes_beyond: usize,
    /// Boxes without a width or a height.
    pub(super) boxes_empty: usize,
    /// Boxes whose right or lower edge lies before the other one.
    pub(super) boxes_reversed: usize,
    /// Keypoints outside of the image, but those that are not labelled.
    pub(super) keypoints_outside: usize,
    /// Objects whose label is the number of no class.
    pub(super) labels_unknown: usize,
    /// The image in which places are, of one that is turned by its EXIF orientation: `stored` or `displayed`.
    pub(super) places: Option<TargetsOrientation>,
    #[serde(skip)]
    pub(super) labels: Vec<i64>,
}

impl ObjectReport {
    /// The faults of the objects: the finding, how many objects have it, and the words for it.
    pub(super) fn faults(&self) -> [(Finding, usize, &'static str); 6] {
        [
            (Finding::BoxOutside, self.boxes_outside, "outside of the image"),
            (Finding::BoxBeyond, self.boxes_beyond, "partly outside of the image"),
            (Finding::BoxEmpty, self.boxes_empty, "empty"),
            (Finding::BoxReversed, self.boxes_reversed, "reversed"),
            (Finding::KeypointOutside, self.keypoints_outside, "keypoints outside of the image"),
            (Finding::LabelUnknown, self.labels_unknown, "with an unknown label"),
        ]
    }

    /// The faults in words: `5 objects: 1 empty`.
    pub(super) fn words(&self) -> String {
        let faults = self.faults().into_iter().filter(|(_, count, _)| *count > 0);
        let faults: Vec<String> = faults.map(|(_, count, words)| format!("{count} {words}")).collect();
        let colon = if faults.is_empty() { "" } else { ": " };
        format!("{} objects{colon}{}", self.count, faults.join(", "))
    }
}

/// Checks the objects of an image that is shown in this (width, height) and turned by this EXIF orientation.
///
/// # Errors
/// The reason for which a loader leaves out the sample.
pub(super) fn check(
    mut objects: Objects,
    shown: (u32, u32),
    orientation: u8,
    classes: &[String],
) -> Result<ObjectReport, String> {
    let labels = objects.labels().unwrap_or_default().to_vec();
    let is_known = |label: &&i64| {
        let name = usize::try_from(**label).ok().and_then(|label| classes.get(label));
        classes.is_empty() || name.is_some_and(|name| !name.is_empty())
    };
    let labels_unknown = labels.iter().filter(|label| !is_known(label)).count();
    let mut report = ObjectReport { count: objects.len(), labels_unknown, labels, ..ObjectReport::default() };
    // Turning a box puts its edges into order.
    let written = edges(&objects);
    let places = settle(&mut objects, shown, orientation)?;
    report.places = (orientation > 1 && !objects.is_empty()).then_some(places);
    let (width, height) = (shown.0 as f32, shown.1 as f32);
    for ([left, top, right, bottom], turned) in written.into_iter().zip(edges(&objects)) {
        let [own_left, own_top, own_right, own_bottom] = turned;
        let is_outside = own_right <= 0.0 || own_bottom <= 0.0 || own_left >= width || own_top >= height;
        let least = own_left.min(own_top).min(width - own_right).min(height - own_bottom);
        let count = match () {
            () if right < left || bottom < top => &mut report.boxes_reversed,
            () if right == left || bottom == top => &mut report.boxes_empty,
            () if is_outside => &mut report.boxes_outside,
            () if least < -ROUNDING => &mut report.boxes_beyond,
            () => continue,
        };
        *count += 1;
    }
    let inside = keypoints_inside(objects.keypoints(), shown);
    report.keypoints_outside =
        inside.iter().zip(objects.visibility()).filter(|(inside, visibility)| !**inside && **visibility > 0).count();
    Ok(report)
}

fn edges(objects: &Objects) -> Vec<[f32; 4]> {
    let mut boxes = objects.boxes().to_vec();
    convert_boxes(&mut boxes, objects.format(), BoxFormat::Xyxy);
    boxes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(objects: Objects, orientation: u8) -> ObjectReport {
        check(objects, (100, 60), orientation, &[]).unwrap()
    }

    #[test]
    fn each_box_is_counted_once() {
        let boxes = vec![
            [0.0, 0.0, 100.04, 60.0],
            [-0.2, 5.0, 10.0, 10.0],
            [50.0, 30.0, 100.2, 60.0],
            [100.0, 0.0, 110.0, 10.0],
            [-9.0, 5.0, 0.0, 10.0],
            [5.0, 5.0, 5.0, 10.0],
            [-9.0, 8.0, -9.0, 8.0],
            [8.0, 5.0, 5.0, 10.0],
        ];
        let found = checked(Objects::of_boxes(BoxFormat::Xyxy, boxes), 1);
        let counted = [found.boxes_beyond, found.boxes_outside, found.boxes_empty, found.boxes_reversed];
        assert_eq!((found.count, counted), (8, [2, 2, 2, 1]));
        let words = "8 objects: 2 outside of the image, 2 partly outside of the image, 2 empty, 1 reversed";
        assert_eq!(found.words(), words);
        let wide = Objects::of_boxes(BoxFormat::Xywh, vec![[5.0, 5.0, -2.0, 3.0]]);
        assert_eq!(checked(wide, 1).boxes_reversed, 1);
    }

    #[test]
    fn places_are_looked_at_as_the_image_is_shown() {
        // The stored image has 60x100 pixels.
        let stored = |each| Objects::of_boxes(BoxFormat::Xyxy, vec![each]).in_stored_image(true);
        let found = checked(stored([10.0, 70.0, 50.0, 100.0]), 6);
        assert_eq!((found.boxes_beyond, found.places), (0, Some(TargetsOrientation::Stored)));
        assert_eq!(checked(stored([10.0, 70.0, 61.0, 100.0]), 6).boxes_beyond, 1);
        assert_eq!(checked(stored([50.0, 70.0, 10.0, 100.0]), 6).boxes_reversed, 1);
        let shown = Objects::of_boxes(BoxFormat::Xyxy, vec![[70.0, 10.0, 100.0, 50.0]]);
        let found = checked(shown, 6);
        assert_eq!((found.boxes_beyond, found.places), (0, Some(TargetsOrientation::Displayed)));
        assert_eq!(checked(Objects::default(), 6).places, None);
        let other = Objects::default().with_size((7, 7));
        assert!(check(other, (100, 60), 1, &[]).unwrap_err().contains("of 7x7 pixels, but the image has 100x60"));
    }

    #[test]
    fn keypoints_and_labels_are_looked_at() {
        let points = vec![[99.5, 10.0], [100.0, 10.0], [-1.0, -1.0]];
        let objects = Objects::of_keypoints(1, points, vec![2, 1, 0]).unwrap().with_labels(vec![1, 2, -1]).unwrap();
        let classes = ["", "cat"].map(str::to_owned);
        let found = check(objects.clone(), (100, 60), 1, &classes).unwrap();
        assert_eq!((found.keypoints_outside, found.labels_unknown), (1, 2));
        assert_eq!(check(objects, (100, 60), 1, &[]).unwrap().labels_unknown, 0, "no class has a name");
    }
}
