//! The objects of all images, image by image: a column for each value, so that a million objects take 50 MB.

use super::document::{Annotation, Category, Document, Image};
use crate::objects::{BoxFormat, ObjectValues, Objects};
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// A fault in a document: its place, and the reason.
pub(super) type Wrong = (String, String);

/// The largest number of a category whose names are kept: they are a list by these numbers.
const MOST_CLASSES: i64 = 65_535;

#[derive(Clone, Debug, Default)]
pub(super) struct Annotations {
    image_ids: Vec<u64>,
    /// Width and height of each image; 0 where the document does not say it.
    sizes: Vec<(u32, u32)>,
    /// Where the objects of each image begin, and last the number of all.
    offsets: Vec<u32>,
    boxes: Vec<[f32; 4]>,
    categories: Vec<i64>,
    ids: Vec<i64>,
    crowds: Vec<bool>,
    /// Empty unless all annotations have one.
    areas: Vec<f32>,
    /// Keypoints of each object; 0 unless all annotations have as many.
    keypoints_each: usize,
    points: Vec<[f32; 2]>,
    visibility: Vec<u8>,
    /// The names of the categories, by their numbers.
    pub(super) classes: Vec<String>,
    /// Parts of annotations that are not read: the name of the part, the number of annotations, the id of the first one's image.
    pub(super) unread: Vec<(&'static str, u64, u64)>,
}

impl Annotations {
    /// Sorts the annotations of a document by images. Also returns the names of the images' files.
    ///
    /// # Errors
    /// The place in the document, and the reason.
    pub(super) fn of(document: Document) -> Result<(Annotations, Vec<Box<str>>), Wrong> {
        let Document { images, annotations, categories } = document;
        let classes = names(&categories)?;
        let mut by_id = HashMap::with_capacity(images.len());
        let (mut names, mut image_ids, mut sizes) = (Vec::new(), Vec::new(), Vec::new());
        for (number, Image { id, file_name, width, height }) in images.into_iter().enumerate() {
            match by_id.entry(id) {
                Entry::Vacant(free) => free.insert(number as u32),
                Entry::Occupied(_) => return Err((format!("image {id}"), "is in the list twice".to_owned())),
            };
            names.push(file_name);
            image_ids.push(id);
            sizes.push((width, height));
        }
        let mut places = Vec::with_capacity(annotations.len());
        let mut offsets = vec![0u32; image_ids.len() + 1];
        for annotation in &annotations {
            let Some(&image) = by_id.get(&annotation.image_id) else {
                let reason = format!("is of image {}, which is not in the list of images", annotation.image_id);
                return Err((format!("annotation {}", annotation.id), reason));
            };
            places.push(image);
            offsets[image as usize + 1] += 1;
        }
        for image in 1..offsets.len() {
            offsets[image] += offsets[image - 1];
        }
        // In the order of the images, and for each image in that of the document.
        let mut next = offsets.clone();
        let mut order = vec![0u32; annotations.len()];
        for (number, &image) in places.iter().enumerate() {
            order[next[image as usize] as usize] = number as u32;
            next[image as usize] += 1;
        }
        let mut made = Annotations { image_ids, sizes, offsets, classes, ..Annotations::default() };
        made.fill(&annotations, &order)?;
        Ok((made, names))
    }

    fn fill(&mut self, annotations: &[Annotation], order: &[u32]) -> Result<(), Wrong> {
        let with_area = annotations.iter().all(|annotation| annotation.area.is_some());
        let with_points = annotations.iter().all(|annotation| annotation.keypoints.is_some());
        self.note("masks (segmentation)", annotations, |annotation| annotation.segmentation.is_some());
        if !with_points {
            self.note("keypoints, which other annotations lack,", annotations, |annotation| {
                annotation.keypoints.is_some()
            });
        }
        if !with_area {
            self.note("areas, which other annotations lack,", annotations, |annotation| annotation.area.is_some());
        }
        if with_points {
            let first = annotations.first().and_then(|first| first.keypoints.as_ref());
            self.keypoints_each = first.map_or(0, |keypoints| keypoints.len() / 3);
        }
        for &number in order {
            let annotation = &annotations[number as usize];
            let refuse = |reason: String| Err((format!("annotation {}", annotation.id), reason));
            let Some(each) = annotation.bbox else {
                return refuse("has no bbox, as those of captions and panoptic segmentation have none".to_owned());
            };
            let Some(category) = annotation.category_id else {
                return refuse("has no category_id".to_owned());
            };
            self.boxes.push(each);
            self.categories.push(category);
            self.ids.push(annotation.id);
            self.crowds.push(annotation.iscrowd);
            self.areas.extend(annotation.area.filter(|_| with_area));
            let Some(keypoints) = annotation.keypoints.as_ref().filter(|_| with_points) else { continue };
            let (triples, rest) = keypoints.as_chunks::<3>();
            if triples.len() != self.keypoints_each || !rest.is_empty() {
                let (found, expected) = (keypoints.len(), 3 * self.keypoints_each);
                return refuse(format!("has {found} numbers as keypoints, but the first annotation {expected}"));
            }
            for &[x, y, seen] in triples {
                if ![0.0, 1.0, 2.0].contains(&seen) {
                    return refuse(format!("has a keypoint of the visibility {seen}; 0, 1 and 2 work"));
                }
                self.points.push([x, y]);
                self.visibility.push(seen as u8);
            }
        }
        Ok(())
    }

    /// Notes what is not read of the annotations that have it.
    fn note(&mut self, what: &'static str, annotations: &[Annotation], has: impl Fn(&Annotation) -> bool) {
        let mut having = annotations.iter().filter(|annotation| has(annotation));
        if let Some(first) = having.next() {
            self.unread.push((what, 1 + having.count() as u64, first.image_id));
        }
    }

    /// The number of the image with this id.
    pub(super) fn position(&self, id: u64) -> Option<usize> {
        self.image_ids.iter().position(|own| *own == id)
    }

    pub(super) fn image_id(&self, image: usize) -> Option<u64> {
        self.image_ids.get(image).copied()
    }

    /// The objects of an image; none for a number out of range.
    pub(super) fn objects(&self, image: usize) -> Objects {
        let (Some(&begin), Some(&end)) = (self.offsets.get(image), self.offsets.get(image + 1)) else {
            return Objects::default();
        };
        let (begin, end) = (begin as usize, end as usize);
        let mut objects = Objects::of_boxes(BoxFormat::Xywh, self.boxes[begin..end].to_vec());
        if self.sizes[image].0 > 0 && self.sizes[image].1 > 0 {
            objects = objects.with_size(self.sizes[image]);
        }
        let mut values = vec![
            ("labels", ObjectValues::Integers(self.categories[begin..end].to_vec())),
            ("id", ObjectValues::Integers(self.ids[begin..end].to_vec())),
            (
                "iscrowd",
                ObjectValues::Integers(self.crowds[begin..end].iter().map(|crowd| i64::from(*crowd)).collect()),
            ),
        ];
        if self.areas.len() == self.boxes.len() {
            values.push(("area", ObjectValues::Floats(self.areas[begin..end].to_vec())));
        }
        let of_lists =
            values.into_iter().try_fold(objects, |objects, (name, values)| objects.with_values(name, values));
        let each = self.keypoints_each;
        let with_points = of_lists.and_then(|objects| match each {
            0 => Ok(objects),
            _ => {
                let range = begin * each..end * each;
                objects.with_keypoints(each, self.points[range.clone()].to_vec(), self.visibility[range].to_vec())
            }
        });
        // The columns have one entry for each object.
        with_points.unwrap_or_default()
    }
}

/// The names of categories by their numbers; none where a number is large or below 0.
fn names(categories: &[Category]) -> Result<Vec<String>, Wrong> {
    let Some(most) = categories.iter().map(|category| category.id).max() else { return Ok(Vec::new()) };
    if most > MOST_CLASSES || categories.iter().any(|category| category.id < 0) {
        return Ok(Vec::new());
    }
    let mut names = vec![String::new(); most as usize + 1];
    for Category { id, name } in categories {
        let place = &mut names[*id as usize];
        if !place.is_empty() && place != name {
            return Err((format!("category {id}"), format!("has two names, {place:?} and {name:?}")));
        }
        place.clone_from(name);
    }
    Ok(names)
}
