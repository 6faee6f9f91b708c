//! The objects of all images of a set, image by image: a column for each value, so that a million objects take 30 MB.

use crate::objects::{BoxFormat, ObjectValues, Objects};

#[derive(Clone, Debug)]
pub(super) struct ObjectColumns {
    format: BoxFormat,
    /// Where the objects of each image begin, and last the number of all.
    offsets: Vec<usize>,
    boxes: Vec<[f32; 4]>,
    labels: Vec<u32>,
    /// Values of 0 and 1, by their names.
    flags: Vec<(&'static str, Vec<bool>)>,
    keypoints_each: usize,
    points: Vec<[f32; 2]>,
    visibility: Vec<u8>,
}

impl ObjectColumns {
    /// No images yet. Objects have a box in this format, a flag of each name, and so many keypoints.
    pub(super) fn new(format: BoxFormat, flags: &[&'static str], keypoints_each: usize) -> ObjectColumns {
        ObjectColumns {
            format,
            offsets: vec![0],
            boxes: Vec::new(),
            labels: Vec::new(),
            flags: flags.iter().map(|name| (*name, Vec::new())).collect(),
            keypoints_each,
            points: Vec::new(),
            visibility: Vec::new(),
        }
    }

    /// Adds an object to the image that is not ended yet, with its flags in the order of their names.
    pub(super) fn push<const FLAGS: usize>(&mut self, each: [f32; 4], label: u32, flags: [bool; FLAGS]) {
        debug_assert_eq!(FLAGS, self.flags.len());
        self.boxes.push(each);
        self.labels.push(label);
        self.flags.iter_mut().zip(flags).for_each(|((_, column), flag)| column.push(flag));
    }

    /// Adds a keypoint to the last object.
    pub(super) fn push_keypoint(&mut self, point: [f32; 2], visibility: u8) {
        self.points.push(point);
        self.visibility.push(visibility);
    }

    /// Ends an image: objects that are added later are those of the next one.
    pub(super) fn end_image(&mut self) {
        self.offsets.push(self.boxes.len());
    }

    /// Gives all objects other labels.
    pub(super) fn map_labels(&mut self, map: impl Fn(u32) -> u32) {
        self.labels.iter_mut().for_each(|label| *label = map(*label));
    }

    /// Returns true if an image has objects.
    pub(super) fn has_objects(&self, image: usize) -> bool {
        matches!(self.offsets.get(image..).unwrap_or_default(), [begin, end, ..] if begin < end)
    }

    /// The objects of an image, their places multiplied by `scale`, \[across, down\]; none for a number out of range.
    pub(super) fn objects(&self, image: usize, [across, down]: [f64; 2]) -> Objects {
        let range = match self.offsets.get(image..) {
            Some(&[begin, end, ..]) => begin..end,
            _ => 0..0,
        };
        let scaled = |value: f32, scale: f64| (f64::from(value) * scale) as f32;
        let boxes = self.boxes[range.clone()].iter();
        let boxes = boxes.map(|&[a, b, c, d]| [scaled(a, across), scaled(b, down), scaled(c, across), scaled(d, down)]);
        let objects = Objects::of_boxes(self.format, boxes.collect());
        let labels = self.labels[range.clone()].iter().map(|label| i64::from(*label)).collect();
        let flags = self.flags.iter().map(|(name, column)| {
            (*name, ObjectValues::Integers(column[range.clone()].iter().map(|flag| i64::from(*flag)).collect()))
        });
        let mut values = std::iter::once(("labels", ObjectValues::Integers(labels))).chain(flags);
        let with_values = values.try_fold(objects, |objects, (name, values)| objects.with_values(name, values));
        let each = self.keypoints_each;
        let with_points = with_values.and_then(|objects| match each {
            0 => Ok(objects),
            _ => {
                let range = range.start * each..range.end * each;
                let points = self.points[range.clone()].iter().map(|&[x, y]| [scaled(x, across), scaled(y, down)]);
                objects.with_keypoints(each, points.collect(), self.visibility[range].to_vec())
            }
        });
        // The columns have one entry for each object.
        with_points.unwrap_or_default()
    }
}
