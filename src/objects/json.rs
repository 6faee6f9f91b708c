//! Objects of a JSON document: a struct of lists, as Hugging Face's `objects`, or a list with a struct for each object, as COCO's
//! `annotations`.

use super::clamp::Clamping;
use super::image_objects::Objects;
use super::names::{BOXES, KEYPOINTS, is_label, is_place, labels_among};
use super::values::{OF_IMAGE, ObjectValues};
use crate::quote::shortened;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

/// The words for the type of values in the map `types`.
const INTEGERS: &str = "integers";
const FLOATS: &str = "floats";

/// Reads the objects of a document.
///
/// # Errors
/// The reason, with the key or the number of the object.
pub(crate) fn from_json(text: &str) -> Result<Objects, String> {
    let document: Value = serde_json::from_str(text).map_err(|error| format!("is no JSON: {error}"))?;
    let columns = match document {
        Value::Object(columns) => columns,
        Value::Array(rows) => columns_of(rows)?,
        other => return Err(format!("holds {}; lists of numbers by name, or a list of objects, work", kind(&other))),
    };
    let objects = of_columns(&columns)?;
    objects.check()?;
    Ok(objects)
}

/// Writes objects as a document that [`from_json`] reads.
///
/// # Errors
/// The name of values with infinity or NaN, which JSON does not hold.
pub(crate) fn to_json(objects: &Objects) -> Result<String, String> {
    let mut columns = Map::new();
    if objects.are_in_stored_image() {
        columns.insert("stored".to_owned(), json!(true));
    }
    if objects.has_boxes() {
        columns.insert("format".to_owned(), json!(objects.format()));
        columns.insert("boxes".to_owned(), json!(objects.boxes()));
    }
    if objects.clamping() != Clamping::default() {
        columns.insert("clamping_mode".to_owned(), json!(objects.clamping()));
    }
    // An image without objects may say of neither boxes nor keypoints that it has them; a document has one of the two.
    if objects.keypoints_each() > 0 || !objects.has_boxes() {
        let point = |(&[x, y], seen): (&[f32; 2], &u8)| json!([x, y, seen]);
        let points: Vec<Value> = objects.keypoints().iter().zip(objects.visibility()).map(point).collect();
        columns.insert(
            KEYPOINTS.to_owned(),
            points.chunks(objects.keypoints_each().max(1)).map(|each| json!(each)).collect(),
        );
    }
    if let Some((width, height)) = objects.size() {
        columns.insert("width".to_owned(), json!(width));
        columns.insert("height".to_owned(), json!(height));
    }
    let mut types = Map::new();
    for (name, values) in objects.named_values() {
        if matches!(values, ObjectValues::Floats(values) if values.iter().any(|value| !value.is_finite())) {
            return Err(format!("a value of {name:?} is no finite number, which JSON does not hold"));
        }
        let (list, are_whole, word) = match values {
            ObjectValues::Integers(values) => (json!(values), true, INTEGERS),
            ObjectValues::Floats(values) => (json!(values), false, FLOATS),
        };
        columns.insert(name.to_owned(), list);
        if are_whole != ObjectValues::are_whole(name) {
            types.insert(name.to_owned(), json!(word));
        }
    }
    // With it values keep their names.
    columns.insert("types".to_owned(), Value::Object(types));
    Ok(Value::Object(columns).to_string())
}

/// Makes lists by name of a list of objects. Keeps boxes, keypoints, numbers and booleans; leaves out other values.
fn columns_of(rows: Vec<Value>) -> Result<Map<String, Value>, String> {
    let mut columns = Map::new();
    let count = rows.len();
    for (number, row) in rows.into_iter().enumerate() {
        let Value::Object(row) = row else { return Err(format!("object {number} is {}", kind(&row))) };
        for (key, value) in row {
            let is_place = is_place(&key);
            if is_label(&key) && !value.is_number() {
                let shown = shortened(&value.to_string());
                return Err(format!("has {shown} as {key:?} of object {number}: a whole number works"));
            }
            if !is_place && !value.is_number() && !value.is_boolean() {
                continue;
            }
            let Value::Array(column) = columns.entry(key.clone()).or_insert_with(|| Value::Array(Vec::new())) else {
                continue;
            };
            if column.len() != number {
                return Err(format!("object {} has no {key:?}, but object {number} has", column.len()));
            }
            column.push(value);
        }
    }
    for (key, column) in &columns {
        if let Some(found) = column.as_array().map(Vec::len).filter(|found| *found < count) {
            return Err(format!("object {found} has no {key:?}, but the objects before have"));
        }
    }
    if count == 0 {
        columns.insert("bbox".to_owned(), Value::Array(Vec::new()));
    }
    Ok(columns)
}

fn of_columns(columns: &Map<String, Value>) -> Result<Objects, String> {
    let mut objects = None;
    for (name, format) in BOXES {
        let Some(value) = columns.get(name) else { continue };
        if objects.is_some() {
            return Err(format!("has boxes twice, one of them as {name:?}"));
        }
        let format = setting(columns, "format", r#""xyxy", "xywh" and "cxcywh" work"#)?.unwrap_or(format);
        objects = Some(Objects::of_boxes(format, boxes(name, value)?));
    }
    if let Some(value) = columns.get(KEYPOINTS) {
        let (count, each, points, visibility) = keypoints(value)?;
        let with = match objects {
            None if count == 0 => Ok(Objects::default()),
            None => Objects::of_keypoints(each, points, visibility),
            Some(objects) => objects.with_keypoints(each, points, visibility),
        };
        objects = Some(with.map_err(|error| error.to_string())?);
    }
    let mut objects = objects.ok_or_else(|| {
        format!(
            "has neither boxes nor keypoints; its keys are {}",
            shortened(&columns.keys().cloned().collect::<Vec<_>>().join(", "))
        )
    })?;
    if let Some(size) = size(columns)? {
        objects = objects.with_size(size);
    }
    if let Some(clamping) = setting(columns, "clamping_mode", r#""soft" and "none" work"#)? {
        objects = objects.with_clamping(clamping);
    }
    if let Some(stored) = setting(columns, "stored", "true and false work")? {
        objects = objects.in_stored_image(stored);
    }
    let types = columns.get("types").and_then(Value::as_object);
    let labels = labels_among(|name| columns.get(name).is_some_and(Value::is_array));
    let nulls = labels_among(|name| columns.get(name).is_some_and(Value::is_null));
    if let (None, Some(name), false) = (labels, nulls, objects.is_empty()) {
        return Err(format!(
            "has null as {name:?} of its {} objects; a list with a number of each works",
            objects.len()
        ));
    }
    let labels = labels.filter(|_| !columns.contains_key("types"));
    for (name, value) in columns {
        // A value of each object is in a list; other values describe the image.
        let of_objects = !is_place(name) && !OF_IMAGE.contains(&&**name);
        let Some(list) = value.as_array().filter(|_| of_objects) else { continue };
        let are_whole = match types.and_then(|types| types.get(name)).and_then(Value::as_str) {
            Some(INTEGERS) => true,
            Some(FLOATS) => false,
            _ => ObjectValues::are_whole(name),
        };
        let values = numbers(name, list, are_whole)?;
        let name = if labels == Some(&**name) { "labels" } else { name };
        objects = objects.with_values(name, values).map_err(|error| error.to_string())?;
    }
    Ok(objects)
}

/// A value that says how all objects are written.
fn setting<T: DeserializeOwned>(columns: &Map<String, Value>, name: &str, works: &str) -> Result<Option<T>, String> {
    let Some(value) = columns.get(name) else { return Ok(None) };
    let read = serde_json::from_value(value.clone());
    read.map(Some).map_err(|_| format!("has {} as {name:?}; {works}", shortened(&value.to_string())))
}

fn size(columns: &Map<String, Value>) -> Result<Option<(u32, u32)>, String> {
    let side = |name: &str| match columns.get(name) {
        None => Ok(None),
        Some(value) => match value.as_u64().and_then(|side| u32::try_from(side).ok()).filter(|side| *side > 0) {
            Some(side) => Ok(Some(side)),
            None => Err(format!("has the {name} {}; a number of pixels works", shortened(&value.to_string()))),
        },
    };
    Ok(side("width")?.zip(side("height")?))
}

fn boxes(name: &str, value: &Value) -> Result<Vec<[f32; 4]>, String> {
    let list = value.as_array().ok_or_else(|| format!("has {} as {name:?}; a list of boxes works", kind(value)))?;
    let read = |(number, each): (usize, &Value)| {
        let numbers =
            each.as_array().filter(|numbers| numbers.len() == 4).map(|numbers| numbers.iter().map(Value::as_f64));
        let numbers: Option<Vec<f64>> = numbers.and_then(Iterator::collect);
        match numbers.as_deref() {
            Some(&[a, b, c, d]) => Ok([a, b, c, d].map(|number| number as f32)),
            _ => Err(format!("has {} as the box of object {number}: four numbers work", shortened(&each.to_string()))),
        }
    };
    list.iter().enumerate().map(read).collect()
}

/// The number of objects, the keypoints of each, the places and the visibilities of all.
type AllKeypoints = (usize, usize, Vec<[f32; 2]>, Vec<u8>);

/// Reads keypoints: for each object a list of \[x, y\] or \[x, y, visibility\], or COCO's one list of x, y, visibility.
fn keypoints(value: &Value) -> Result<AllKeypoints, String> {
    let list = value
        .as_array()
        .ok_or_else(|| format!("has {} as \"keypoints\"; a list for each object works", kind(value)))?;
    let (mut each, mut points, mut visibility) = (None, Vec::new(), Vec::new());
    for (number, object) in list.iter().enumerate() {
        let wrong = || {
            let shown = shortened(&object.to_string());
            format!("has {shown} as the keypoints of object {number}: lists of x, y and visibility (0, 1 or 2) work")
        };
        let object_points = object.as_array().ok_or_else(wrong)?;
        let flat = object_points.iter().all(Value::is_number);
        let triples: Vec<&[Value]> = match flat {
            true if object_points.len() % 3 != 0 => return Err(wrong()),
            true => object_points.chunks_exact(3).collect(),
            false => object_points
                .iter()
                .map(|point| point.as_array().map(Vec::as_slice))
                .collect::<Option<_>>()
                .ok_or_else(wrong)?,
        };
        for triple in &triples {
            let numbers: Vec<f64> = triple.iter().map(Value::as_f64).collect::<Option<_>>().ok_or_else(wrong)?;
            let (x, y, seen) = match numbers[..] {
                [x, y] => (x, y, 2.0),
                [x, y, seen] if [0.0, 1.0, 2.0].contains(&seen) => (x, y, seen),
                _ => return Err(wrong()),
            };
            points.push([x as f32, y as f32]);
            visibility.push(seen as u8);
        }
        match each {
            None => each = Some(triples.len()),
            Some(each) if each == triples.len() => {}
            Some(each) => {
                let found = triples.len();
                return Err(format!("has {found} keypoints of object {number}, but {each} of the objects before"));
            }
        }
    }
    Ok((list.len(), each.unwrap_or(0), points, visibility))
}

/// The numbers of a name, of the type that this name has in all samples.
fn numbers(name: &str, list: &[Value], are_whole: bool) -> Result<ObjectValues, String> {
    let wrong = |number: usize, what: &str| {
        let shown = shortened(&list[number].to_string());
        format!("has {shown} as {name:?} of object {number}: {what}")
    };
    let mut values = if are_whole { ObjectValues::Integers(Vec::new()) } else { ObjectValues::Floats(Vec::new()) };
    for (number, value) in list.iter().enumerate() {
        match &mut values {
            ObjectValues::Integers(values) => {
                // Documents have true and false for flags.
                let whole = value.as_i64().or_else(|| value.as_bool().map(i64::from));
                values.push(whole.ok_or_else(|| wrong(number, "a whole number works"))?);
            }
            ObjectValues::Floats(values) => {
                let float = value.as_f64().map(|value| value as f32).filter(|value| value.is_finite());
                values.push(float.ok_or_else(|| wrong(number, "a number works"))?);
            }
        }
    }
    Ok(values)
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object of JSON",
    }
}

#[cfg(test)]
mod tests {
    use super::super::box_format::BoxFormat;
    use super::super::names::LABELS;
    use super::*;

    fn error(text: &str) -> String {
        from_json(text).unwrap_err()
    }

    #[test]
    fn lists_by_name_are_read() {
        let text = r#"{"bbox": [[1, 2, 3.5, 4]], "category": [7], "area": [14], "iscrowd": [false], "width": 640, "height": 480,
            "caption": "a dog", "keypoints": [[[5, 6, 2], [0, 0, 0]]]}"#;
        let expected = Objects::of_boxes(BoxFormat::Xywh, vec![[1.0, 2.0, 3.5, 4.0]])
            .with_keypoints(2, vec![[5.0, 6.0], [0.0, 0.0]], vec![2, 0])
            .unwrap()
            .with_values("area", ObjectValues::Floats(vec![14.0]))
            .unwrap()
            .with_labels(vec![7])
            .unwrap()
            .with_values("iscrowd", ObjectValues::Integers(vec![0]))
            .unwrap()
            .with_size((640, 480));
        let read = from_json(text).unwrap();
        assert_eq!((read.boxes(), read.format(), read.size()), (expected.boxes(), expected.format(), expected.size()));
        assert_eq!((read.keypoints(), read.visibility()), (expected.keypoints(), expected.visibility()));
        for (name, values) in expected.named_values() {
            assert_eq!(read.values(name), Some(values), "{name}");
        }
        assert_eq!(read.named_values().count(), 3);
    }

    #[test]
    fn what_is_written_is_read_again() {
        let objects = Objects::of_boxes(BoxFormat::Cxcywh, vec![[0.1, 1e-7, 3.25, 1e6], [1.0, 2.0, 3.0, 4.0]])
            .with_keypoints(2, vec![[0.3, 0.7]; 4], vec![0, 1, 2, 2])
            .unwrap()
            .with_labels(vec![-3, i64::MAX])
            .unwrap()
            .with_values("rank", ObjectValues::Integers(vec![1, 2]))
            .unwrap()
            .with_values("score", ObjectValues::Floats(vec![0.1, 2.0]))
            .unwrap()
            .with_values("category", ObjectValues::Floats(vec![0.5, 1.0]))
            .unwrap()
            .with_size((7, 9))
            .in_stored_image(true)
            .with_clamping(Clamping::None);
        let read = from_json(&to_json(&objects).unwrap()).unwrap();
        assert_eq!(to_json(&read), to_json(&objects));
        assert!(read.are_in_stored_image());
        assert_eq!(
            (read.boxes(), read.keypoints(), read.visibility()),
            (objects.boxes(), objects.keypoints(), objects.visibility())
        );
        assert_eq!(
            (read.format(), read.clamping(), read.size()),
            (objects.format(), objects.clamping(), objects.size())
        );
        for name in ["labels", "rank", "score", "category"] {
            assert_eq!(read.values(name), objects.values(name), "{name}");
        }
        let points = Objects::of_keypoints(1, vec![[1.0, 2.0]], vec![2]).unwrap();
        assert_eq!(from_json(&to_json(&points).unwrap()).unwrap(), points);
        let none = Objects::default();
        assert_eq!(from_json(&to_json(&none).unwrap()).unwrap(), none);
        let nan = points.with_values("score", ObjectValues::Floats(vec![f32::NAN])).unwrap();
        assert!(to_json(&nan).unwrap_err().contains("a value of \"score\" is no finite number"));
        assert!(LABELS.iter().all(|name| is_label(name) && ObjectValues::are_whole(name)));
    }

    #[test]
    fn a_list_of_objects_is_read() {
        let text = r#"[{"id": 1, "bbox": [0, 0, 2, 2], "category_id": 3, "segmentation": [[1, 2]], "keypoints": [1, 2, 1]},
            {"id": 2, "bbox": [1, 1, 2, 2], "category_id": 4, "keypoints": [3, 4, 2]}]"#;
        let read = from_json(text).unwrap();
        assert_eq!((read.len(), read.labels(), read.format()), (2, Some(&[3, 4][..]), BoxFormat::Xywh));
        assert_eq!(read.values("id"), Some(&ObjectValues::Integers(vec![1, 2])));
        assert_eq!(
            (read.keypoints_each(), read.keypoints(), read.visibility()),
            (1, &[[1.0, 2.0], [3.0, 4.0]][..], &[1, 2][..])
        );
        assert_eq!((from_json("[]").unwrap().len(), from_json("[]").unwrap().format()), (0, BoxFormat::Xywh));
        let crowd = from_json(r#"[{"bbox": [0, 0, 2, 2], "iscrowd": true}]"#).unwrap();
        assert_eq!(crowd.values("iscrowd"), Some(&ObjectValues::Integers(vec![1])));
        let of_image = from_json(r#"{"bbox": [[1, 2, 3, 4]], "label": 5, "category_id": [3]}"#).unwrap();
        assert_eq!(of_image.labels(), Some(&[3][..]));
        assert!(from_json("[]").unwrap().has_boxes());
    }

    #[test]
    fn boxes_have_the_format_of_their_name_or_the_one_that_is_said() {
        let format = |text: &str| from_json(text).unwrap().format();
        assert_eq!(format(r#"{"boxes": []}"#), BoxFormat::Xyxy);
        assert_eq!(format(r#"{"bbox": []}"#), BoxFormat::Xywh);
        assert_eq!(format(r#"{"format": "cxcywh", "boxes": []}"#), BoxFormat::Cxcywh);
    }

    #[test]
    fn what_is_wrong_is_named() {
        assert!(error("{").starts_with("is no JSON: EOF"));
        assert_eq!(error("3"), "holds a number; lists of numbers by name, or a list of objects, work");
        assert_eq!(error(r#"{"labels": [1]}"#), "has neither boxes nor keypoints; its keys are labels");
        assert!(error(r#"{"boxes": [[1, 2, 3]]}"#).contains("as the box of object 0: four numbers work"));
        assert!(error(r#"{"boxes": [[1, 2, 3, 1e308]]}"#).contains("the box of object 0 is [1.0, 2.0, 3.0, inf]"));
        assert!(error(r#"{"boxes": [], "bbox": []}"#).contains("has boxes twice, one of them as \"bbox\""));
        assert!(error(r#"{"boxes": [], "format": "yxyx"}"#).contains("\"xyxy\", \"xywh\" and \"cxcywh\" work"));
        let labels = error(r#"{"boxes": [[1, 2, 3, 4]], "labels": [1, 2]}"#);
        assert!(labels.contains("\"labels\" has 2 values, but the image has 1 objects"), "{labels}");
        let null = error(r#"{"boxes": [[1, 2, 3, 4]], "category": null}"#);
        assert_eq!(null, "has null as \"category\" of its 1 objects; a list with a number of each works");
        assert!(from_json(r#"{"boxes": [[1, 2, 3, 4]], "label": null, "category": [3]}"#).is_ok());
        assert!(from_json(r#"{"boxes": [], "category": null}"#).is_ok());
        assert!(error(r#"{"boxes": [[1, 2, 3, 4]], "labels": [1.5]}"#).contains("a whole number works"));
        assert!(
            error(r#"{"boxes": [[1, 2, 3, 4]], "names": ["cat"]}"#)
                .contains("as \"names\" of object 0: a number works")
        );
        assert!(error(r#"{"keypoints": [[1, 2, 3]]}"#).contains("visibility (0, 1 or 2) work"));
        assert!(
            error(r#"{"keypoints": [[[1, 2]], [[1, 2], [3, 4]]]}"#)
                .contains("2 keypoints of object 1, but 1 of the objects")
        );
        assert!(
            error(r#"[{"bbox": [1, 2, 3, 4], "id": 1}, {"bbox": [1, 2, 3, 4]}]"#).contains("object 1 has no \"id\"")
        );
        assert!(
            error(r#"[{"bbox": [1, 2, 3, 4]}, {"bbox": [1, 2, 3, 4], "id": 1}]"#).contains("object 0 has no \"id\"")
        );
        assert!(
            error(r#"[{"bbox": [1, 2, 3, 4], "category": "dog"}]"#)
                .contains("as \"category\" of object 0: a whole number")
        );
        assert!(error(&"[".repeat(1_000_000)).starts_with("is no JSON: recursion limit"));
        assert!(
            error(r#"{"boxes": [], "width": 0, "height": 3}"#).contains("has the width 0; a number of pixels works")
        );
    }
}
