//! The lines of a list: a path and a label each.

use csv::{ReaderBuilder, StringRecord};
use serde::Deserialize;
use serde_json::Value;

use super::super::labels::Labels;

/// The names that a column or a JSON key of paths can have.
const PATHS: [&str; 5] = ["path", "file", "filename", "file_name", "image"];

/// The number of a line, and the error in it.
pub(super) type Failure = (u64, String);

#[derive(Debug)]
pub(super) struct Row {
    /// The number of the row's line in the file, from 1.
    pub(super) line: u64,
    pub(super) path: String,
    label: Parsed,
}

#[derive(Clone, Debug, PartialEq)]
enum Parsed {
    None,
    Class(u32),
    Numbers(Vec<f32>),
    Text(String),
}

impl Parsed {
    fn kind(&self) -> String {
        match self {
            Parsed::None => "no label".to_owned(),
            Parsed::Class(_) => "a class number".to_owned(),
            Parsed::Numbers(numbers) => format!("{} numbers", numbers.len()),
            Parsed::Text(_) => "a class name".to_owned(),
        }
    }

    /// Parses one number or text.
    fn one(text: &str, names: bool) -> Result<Self, String> {
        if names {
            return Ok(Parsed::Text(text.to_owned()));
        }
        match (text.parse(), text.parse::<f32>()) {
            (Ok(class), _) => Ok(Parsed::Class(class)),
            (_, Ok(number)) if number.is_finite() => Ok(Parsed::Numbers(vec![number])),
            _ if text.is_empty() => Err("the label is empty".to_owned()),
            _ => Ok(Parsed::Text(text.to_owned())),
        }
    }

    fn number(text: &str) -> Result<f32, String> {
        let number = text.parse().ok().filter(|number: &f32| number.is_finite());
        number.ok_or_else(|| format!("{text:?} is not a number, and labels of several columns are numbers"))
    }
}

/// The settings for lists in CSV and in JSON lines.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settings {
    pub(super) header: Option<bool>,
    /// Labels are names, even if they look like numbers.
    pub(super) names: bool,
}

/// Parses rows of CSV.
pub(super) fn csv(bytes: &[u8], delimiter: u8, settings: Settings) -> Result<Vec<Row>, Failure> {
    let mut reader =
        ReaderBuilder::new().delimiter(delimiter).has_headers(false).trim(csv::Trim::All).from_reader(bytes);
    let (mut rows, mut column, mut record, mut first) = (Vec::new(), 0, StringRecord::new(), true);
    loop {
        let before = reader.position().line();
        let more = reader.read_record(&mut record).map_err(|error| {
            let line = error.position().map_or(before, csv::Position::line);
            (line, error.to_string())
        })?;
        if !more {
            return Ok(rows);
        }
        let line = record.position().map_or(before, |position| position.line() + empty_lines(bytes, position.byte()));
        if std::mem::take(&mut first) {
            let named = record.iter().position(|name| PATHS.iter().any(|path| path.eq_ignore_ascii_case(name)));
            if settings.header.unwrap_or(named.is_some()) {
                column = named.unwrap_or(0);
                continue;
            }
        }
        let fail = |reason: String| (line, reason);
        let path = record.get(column).unwrap_or_default();
        if path.is_empty() {
            return Err(fail("no path".to_owned()));
        }
        let fields: Vec<&str> =
            record.iter().enumerate().filter(|(number, _)| *number != column).map(|(_, field)| field).collect();
        let label = match fields[..] {
            [] => Parsed::None,
            [field] => Parsed::one(field, settings.names).map_err(fail)?,
            _ => Parsed::Numbers(
                fields.iter().map(|field| Parsed::number(field)).collect::<Result<_, _>>().map_err(fail)?,
            ),
        };
        rows.push(Row { line, path: path.to_owned(), label });
    }
}

/// Counts the empty lines from `start` on. The reader skips them, but reports a record's position before them.
fn empty_lines(bytes: &[u8], start: u64) -> u64 {
    let rest = usize::try_from(start).ok().and_then(|start| bytes.get(start..)).unwrap_or_default();
    rest.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).filter(|&&byte| byte == b'\n').count() as u64
}

/// A line of JSON.
#[derive(Deserialize)]
struct Object {
    #[serde(alias = "file", alias = "filename", alias = "file_name", alias = "image")]
    path: String,
    #[serde(default)]
    label: Option<Json>,
    /// Other names of the label, for lines without a `label`. In lines with one they may hold anything.
    #[serde(default)]
    class: Option<Value>,
    #[serde(default)]
    cls: Option<Value>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Json {
    Class(u32),
    Number(f64),
    Text(String),
    Numbers(Vec<f32>),
}

/// Parses rows of JSON lines.
pub(super) fn json(text: &str, settings: Settings) -> Result<Vec<Row>, Failure> {
    let lines = text.strip_prefix('\u{FEFF}').unwrap_or(text).lines().zip(1u64..);
    let rows = lines.filter(|(text, _)| !text.trim().is_empty()).map(|(text, line)| {
        let object: Object = serde_json::from_str(text)
            .map_err(|error| (line, format!("{error}; write lines like {{\"path\": \"a.jpg\", \"label\": 3}}")))?;
        if object.path.is_empty() {
            return Err((line, "no path".to_owned()));
        }
        let label = match (object.label, object.class.or(object.cls)) {
            (None, Some(other)) => {
                Option::deserialize(other).map_err(|_| (line, "the class is not a label".to_owned()))?
            }
            (label, _) => label,
        };
        let label = match label {
            None => Parsed::None,
            Some(Json::Class(class)) if settings.names => Parsed::Text(class.to_string()),
            Some(Json::Number(number)) if settings.names => Parsed::Text(number.to_string()),
            Some(Json::Class(class)) => Parsed::Class(class),
            Some(Json::Number(number)) => Parsed::Numbers(vec![number as f32]),
            Some(Json::Text(text)) => Parsed::Text(text),
            Some(Json::Numbers(numbers)) => Parsed::Numbers(numbers),
        };
        if matches!(&label, Parsed::Numbers(numbers) if !numbers.iter().all(|number| number.is_finite())) {
            return Err((line, "a number outside the range of f32".to_owned()));
        }
        Ok(Row { line, path: object.path, label })
    });
    rows.collect()
}

/// Returns the labels of all rows, which must be of one kind, and the names of the classes.
pub(super) fn labels(rows: &[Row]) -> Result<(Labels, Vec<String>), Failure> {
    let Some(first) = rows.first() else { return Ok((Labels::None, Vec::new())) };
    // A column of 0, 0.5, 1 holds numbers, not classes: whole numbers among others are numbers too.
    let numbers = |label: &Parsed| match label {
        Parsed::Class(class) => Some(vec![*class as f32]),
        Parsed::Numbers(numbers) => Some(numbers.clone()),
        Parsed::None | Parsed::Text(_) => None,
    };
    let unlike = |row: &Row| {
        let reason = format!(
            "{}, but line {} has {}; labels are of one kind (ImageList::builder().class_names(true) takes numbers as \
            names)",
            row.label.kind(),
            first.line,
            first.label.kind()
        );
        (row.line, reason)
    };
    match &first.label {
        Parsed::None => match rows.iter().find(|row| row.label != Parsed::None) {
            None => Ok((Labels::None, Vec::new())),
            Some(row) => Err(unlike(row)),
        },
        Parsed::Text(_) => {
            let name = |row: &'_ Row| match &row.label {
                Parsed::Text(name) => Ok(name.clone()),
                _ => Err(unlike(row)),
            };
            let names = rows.iter().map(name).collect::<Result<Vec<String>, _>>()?;
            let mut classes = names.clone();
            classes.sort_unstable();
            classes.dedup();
            let class = |name| classes.binary_search(name).unwrap_or_default() as u32;
            let labels = names.iter().map(class).collect();
            Ok((Labels::Classes(labels), classes))
        }
        Parsed::Class(_) | Parsed::Numbers(_) => {
            let classes: Option<Vec<u32>> = rows
                .iter()
                .map(|row| match row.label {
                    Parsed::Class(class) => Some(class),
                    _ => None,
                })
                .collect();
            if let Some(classes) = classes {
                return Ok((Labels::Classes(classes), Vec::new()));
            }
            let each = numbers(&first.label).map_or(0, |numbers| numbers.len());
            let row = |row: &Row| match numbers(&row.label) {
                Some(numbers) if numbers.len() == each && each > 0 => Ok(numbers.into()),
                _ => Err(unlike(row)),
            };
            Ok((Labels::Multi(rows.iter().map(row).collect::<Result<_, _>>()?), Vec::new()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Settings = Settings { header: None, names: false };

    fn read(text: &str) -> Result<(Vec<String>, Labels, Vec<String>), Failure> {
        let rows = if text.starts_with('{') { json(text, PLAIN) } else { csv(text.as_bytes(), b',', PLAIN) }?;
        let (labels, classes) = labels(&rows)?;
        Ok((rows.into_iter().map(|row| row.path).collect(), labels, classes))
    }

    fn multi(rows: &[&[f32]]) -> Labels {
        Labels::Multi(rows.iter().map(|row| (*row).into()).collect())
    }

    #[test]
    fn labels_of_every_kind() {
        for (text, expected) in [
            ("a,3\nb,0\n", Labels::Classes(vec![3, 0])),
            ("a\nb", Labels::None),
            ("a,1\nb,0.5", multi(&[&[1.0], &[0.5]])),
            ("a,1,-2.5\nb, 3, 4", multi(&[&[1.0, -2.5], &[3.0, 4.0]])),
            ("label,file\n7,a\n8,b", Labels::Classes(vec![7, 8])),
            ("x,PATH,y\n7,a,1\n8,b,2", multi(&[&[7.0, 1.0], &[8.0, 2.0]])),
            (
                "{\"path\": \"a\", \"label\": 3}\n\n{\"label\": 4, \"image\": \"b\", \"more\": []}",
                Labels::Classes(vec![3, 4]),
            ),
            ("{\"path\": \"a\"}\n{\"path\": \"b\", \"label\": null}", Labels::None),
            ("{\"path\": \"a\", \"class\": 3}\n{\"path\": \"b\", \"cls\": 4}", Labels::Classes(vec![3, 4])),
            (
                "{\"path\": \"a\", \"label\": 3, \"class\": {}}\n{\"path\": \"b\", \"label\": 4, \"cls\": \"x\"}",
                Labels::Classes(vec![3, 4]),
            ),
            (
                "{\"path\": \"a\", \"label\": [0, 1]}\n{\"path\": \"b\", \"label\": [1, 0.5]}",
                multi(&[&[0.0, 1.0], &[1.0, 0.5]]),
            ),
            ("{\"path\": \"a\", \"label\": -1}\n{\"path\": \"b\", \"label\": 2}", multi(&[&[-1.0], &[2.0]])),
        ] {
            let (paths, labels, classes) = read(text).unwrap();
            assert_eq!((paths, labels, classes.len()), (vec!["a".into(), "b".into()], expected, 0), "{text}");
        }
    }

    #[test]
    fn names_become_classes_in_order() {
        let expected = (Labels::Classes(vec![1, 0, 1]), vec!["cat".to_owned(), "dog, big".to_owned()]);
        for text in [
            "\u{FEFF}image,class\na,\"dog, big\"\nb,cat\nc,\"dog, big\"\n",
            "{\"path\":\"a\",\"label\":\"dog, big\"}\n{\"path\":\"b\",\"label\":\"cat\"}\n{\"path\":\"c\",\"label\":\"dog, big\"}",
        ] {
            let (_, labels, classes) = read(text).unwrap();
            assert_eq!((labels, classes), expected);
        }
        let rows = csv("a,10\nb,9\n".as_bytes(), b',', Settings { header: None, names: true }).unwrap();
        assert_eq!(labels(&rows).unwrap(), (Labels::Classes(vec![0, 1]), vec!["10".to_owned(), "9".to_owned()]));
        let rows = csv("path\t1\n".as_bytes(), b'\t', Settings { header: Some(false), names: false }).unwrap();
        assert_eq!((rows.len(), rows[0].path.as_str()), (1, "path"));
        assert!(csv("some\t1\n".as_bytes(), b'\t', Settings { header: Some(true), names: false }).unwrap().is_empty());
    }

    #[test]
    fn errors_name_the_line() {
        for (text, line, reason) in [
            ("a,1\nb,cat\n", 2, "a class name, but line 1 has a class number"),
            ("path,label\na,cat\n\nb,7\n", 4, "a class number, but line 2 has a class name"),
            ("a,1\nb,\n", 2, "the label is empty"),
            ("a,1\n,2\n", 2, "no path"),
            ("a,1\nb,2,3\n", 2, "found record with 3 fields"),
            ("a,1,2\nb,2,x\n", 2, "\"x\" is not a number"),
            ("a,1,2\nb,2,inf\n", 2, "\"inf\" is not a number"),
            ("{\"path\": \"a\"}\n{\"path\": \"b\", \"label\": 1}", 2, "a class number, but line 1 has no label"),
            (
                "{\"path\": \"a\", \"label\": [1]}\n{\"path\": \"b\", \"label\": [1, 2]}",
                2,
                "2 numbers, but line 1 has 1 numbers",
            ),
            ("{\"path\": \"a\"}\n{\"label\": 1}", 2, "missing field `path`"),
            ("{\"path\": \"a\"}\n{\"path\": \"\"}", 2, "no path"),
            ("{\"path\": \"a\"}\n\n[1]", 3, "write lines like"),
            ("{\"path\": \"a\", \"label\": 1e300}", 1, "outside the range of f32"),
            ("{\"path\": \"a\", \"class\": {}}", 1, "the class is not a label"),
        ] {
            let (at, message) = read(text).unwrap_err();
            assert!(at == line && message.contains(reason), "{text}: line {at}: {message}");
        }
    }
}
