//! Checks of the objects that readers of annotations make.

use gpufeed::targets::{ObjectValues, Objects};
use gpufeed::{Dataset, FieldValue};

/// Checks that all lists of an image's objects are as long as there are objects.
pub fn check(objects: &Objects) {
    let count = objects.len();
    assert!(!objects.has_boxes() || objects.boxes().len() == count);
    assert_eq!(objects.keypoints().len(), count * objects.keypoints_each());
    assert_eq!(objects.visibility().len(), objects.keypoints().len());
    assert!(objects.visibility().iter().all(|seen| *seen <= 2));
    for (name, values) in objects.named_values() {
        assert_eq!(values.len(), count, "{name}");
        if let ObjectValues::Floats(values) = values {
            assert!(values.iter().all(|value| value.is_finite()), "{name}");
        }
    }
}

/// Checks the objects of an opened set, whose numbers are finite and whose labels are below `labels`. Returns their number.
pub fn check_all(data: &dyn Dataset, labels: Option<usize>) -> usize {
    let mut count = 0;
    for index in 0..data.len() {
        let mut buffer = Vec::new();
        let Ok(sample) = data.read(index, &mut buffer) else { continue };
        let [FieldValue::Objects(objects)] = &sample.fields[..] else { panic!("{:?}", sample.fields) };
        check(objects);
        assert!(objects.boxes().iter().flatten().all(|number| number.is_finite()));
        assert!(objects.keypoints().iter().flatten().all(|number| number.is_finite()));
        if let (Some(most), Some(found)) = (labels, objects.labels()) {
            assert!(found.iter().all(|label| (0..most as i64).contains(label)), "{found:?} of {most}");
        }
        count += objects.len();
    }
    count
}
