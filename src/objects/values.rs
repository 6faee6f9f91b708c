//! Numbers that objects have beside their boxes: one for each object.

/// Numbers of an image's objects, one for each: labels, ids, areas.
///
/// ```
/// use gpufeed::targets::ObjectValues;
///
/// assert_eq!(ObjectValues::Integers(vec![1, 1, 3]).len(), 3);
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ObjectValues {
    /// Whole numbers: labels, ids, flags.
    Integers(Vec<i64>),
    /// Floats: areas, scores, and the like.
    Floats(Vec<f32>),
}

/// The names whose values are whole numbers in documents. Those of other names are floats: `1` and `0.5` would be of two types,
/// which no batch can hold.
const WHOLE: [&str; 14] = [
    "label",
    "labels",
    "class",
    "classes",
    "category",
    "categories",
    "category_id",
    "class_id",
    "id",
    "ids",
    "image_id",
    "iscrowd",
    "is_crowd",
    "difficult",
];

/// Keys of documents that say something of the whole image, so that no values have these names.
pub(super) const OF_IMAGE: [&str; 7] = ["format", "clamping_mode", "stored", "types", "width", "height", "image_id"];

impl ObjectValues {
    /// The number of values.
    pub fn len(&self) -> usize {
        match self {
            ObjectValues::Integers(values) => values.len(),
            ObjectValues::Floats(values) => values.len(),
        }
    }

    /// Returns true if there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns true if values of this name are whole numbers in documents that do not say it.
    pub(super) fn are_whole(name: &str) -> bool {
        WHOLE.contains(&name)
    }

    /// An empty list of the same type.
    pub(super) fn empty(&self) -> ObjectValues {
        match self {
            ObjectValues::Integers(_) => ObjectValues::Integers(Vec::new()),
            ObjectValues::Floats(_) => ObjectValues::Floats(Vec::new()),
        }
    }

    /// Adds more values; returns false, and adds none, if they are of another type.
    pub(super) fn extend(&mut self, more: &ObjectValues) -> bool {
        match (self, more) {
            (ObjectValues::Integers(values), ObjectValues::Integers(more)) => values.extend(more),
            (ObjectValues::Floats(values), ObjectValues::Floats(more)) => values.extend(more),
            _ => return false,
        }
        true
    }

    /// Leaves the values whose object stays.
    pub(super) fn keep(&mut self, stays: &[bool]) {
        match self {
            ObjectValues::Integers(values) => keep(values, stays),
            ObjectValues::Floats(values) => keep(values, stays),
        }
    }

    pub(super) fn bytes(&self) -> usize {
        match self {
            ObjectValues::Integers(values) => size_of_val(&values[..]),
            ObjectValues::Floats(values) => size_of_val(&values[..]),
        }
    }
}

/// Leaves the elements of a list that stay.
pub(super) fn keep<T>(list: &mut Vec<T>, stays: &[bool]) {
    let mut stays = stays.iter();
    list.retain(|_| stays.next().copied().unwrap_or(true));
}
