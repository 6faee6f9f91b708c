//! Which fields a data set reads, as a setting.

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error as _};
use serde::ser::Error as _;
use serde::{Deserialize, Serialize, Serializer};

use super::{Absent, Field, FieldKind, FieldValue};

/// The fields that a data set reads: none, all that it finds, or those that are named.
///
/// A named one is a source with its [`Field`]: the ending of a member (`txt`), a column, a key. The name `image` chooses
/// the sample's own image, and `label` its label.
///
/// ```
/// use gpufeed::dataset::{Field, FieldChoice};
///
/// let captions = FieldChoice::from([("txt", "caption")]);
/// assert_eq!(captions, FieldChoice::Named(vec![("txt".to_owned(), Field::new("caption"))]));
/// // In a file of settings: fields = { txt = "caption", json = { name = "meta", optional = true } }, or "all". Some formats
/// // sort the keys of a map; a list of pairs keeps its order: fields = [["txt", "caption"], ["json", "meta"]].
/// let written: FieldChoice = serde_json::from_str(r#"{"txt": "caption"}"#)?;
/// assert_eq!(written, captions);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum FieldChoice {
    /// None: samples have an image and a label.
    #[default]
    None,
    /// All that the data set has, each with the name of its source.
    All,
    /// These, by their sources.
    Named(Vec<(String, Field)>),
}

impl FieldChoice {
    /// Returns true if the choice asks for nothing: an empty list of names asks for as much as none.
    pub(crate) fn asks_for_nothing(&self) -> bool {
        match self {
            FieldChoice::None => true,
            FieldChoice::All => false,
            FieldChoice::Named(named) => named.is_empty(),
        }
    }
}

impl<S: Into<String>, F: Into<Field>, const COUNT: usize> From<[(S, F); COUNT]> for FieldChoice {
    fn from(named: [(S, F); COUNT]) -> Self {
        FieldChoice::Named(named.into_iter().map(|(source, field)| (source.into(), field.into())).collect())
    }
}

impl<S: Into<String>, F: Into<Field>> From<Vec<(S, F)>> for FieldChoice {
    fn from(named: Vec<(S, F)>) -> Self {
        FieldChoice::Named(named.into_iter().map(|(source, field)| (source.into(), field.into())).collect())
    }
}

/// A field as it is written: its name alone, or with settings.
#[derive(Serialize)]
#[serde(untagged)]
enum WrittenField {
    Name(String),
    Settings(WrittenSettings),
}

/// By hand, as serde's own reader of untagged enums says only that no variant matched, and not which key or word is wrong.
impl<'de> Deserialize<'de> for WrittenField {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;

        impl<'de> serde::de::Visitor<'de> for Visitor {
            type Value = WrittenField;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("the field's name, or a map of name, kind, optional, default")
            }

            fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<WrittenField, E> {
                Ok(WrittenField::Name(name.to_owned()))
            }

            fn visit_map<A: serde::de::MapAccess<'de>>(self, map: A) -> Result<WrittenField, A::Error> {
                WrittenSettings::deserialize(MapAccessDeserializer::new(map)).map(WrittenField::Settings)
            }
        }

        deserializer.deserialize_any(Visitor)
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenSettings {
    name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    kind: Option<FieldKind>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    optional: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    default: Option<WrittenValue>,
}

/// A default value as it is written: a text, a number, true or false. Other values have no written form.
#[derive(Serialize, Deserialize)]
#[serde(untagged, expecting = "a default value is a text, a number, true or false")]
enum WrittenValue {
    Bool(bool),
    Integer(i64),
    Float(f64),
    Text(String),
}

impl From<WrittenField> for Field {
    fn from(written: WrittenField) -> Field {
        let WrittenSettings { name, kind, optional, default } = match written {
            WrittenField::Name(name) => return Field::new(name),
            WrittenField::Settings(settings) => settings,
        };
        let absent = match default {
            Some(WrittenValue::Bool(value)) => Absent::Value(FieldValue::from(value)),
            Some(WrittenValue::Integer(value)) => Absent::Value(FieldValue::from(value)),
            Some(WrittenValue::Float(value)) => Absent::Value(FieldValue::from(value)),
            // The text of a field of JSON is a document.
            Some(WrittenValue::Text(value)) if kind == Some(FieldKind::Json) => {
                Absent::Value(FieldValue::Json(value.into()))
            }
            Some(WrittenValue::Text(value)) => Absent::Value(FieldValue::from(value)),
            None if optional => Absent::None,
            None => Absent::Fail,
        };
        Field { name, kind, absent }
    }
}

impl Serialize for FieldChoice {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            FieldChoice::None => serializer.serialize_none(),
            FieldChoice::All => serializer.serialize_str("all"),
            FieldChoice::Named(named) => {
                let written = named.iter().map(|(source, field)| Some((source, field.written()?)));
                let Some(written) = written.collect::<Option<Vec<_>>>() else {
                    return Err(S::Error::custom("a default value of bytes or of several numbers has no written form"));
                };
                serializer.collect_map(written)
            }
        }
    }
}

impl Field {
    /// The field as it is written; `None` for a default value without a written form.
    fn written(&self) -> Option<WrittenField> {
        let default = match &self.absent {
            Absent::Value(FieldValue::Text(text) | FieldValue::Json(text)) => {
                Some(WrittenValue::Text(text.clone().into_owned()))
            }
            Absent::Value(FieldValue::Numbers(numbers)) => Some(written_number(numbers)?),
            Absent::Value(_) => return None,
            Absent::Fail | Absent::None => None,
        };
        Some(match (&self.kind, &self.absent) {
            (None, Absent::Fail) => WrittenField::Name(self.name.clone()),
            _ => WrittenField::Settings(WrittenSettings {
                name: self.name.clone(),
                kind: self.kind,
                optional: self.absent == Absent::None,
                default,
            }),
        })
    }
}

/// A single number as it is written.
fn written_number(numbers: &super::Numbers<'_>) -> Option<WrittenValue> {
    use super::NumberType;
    if !numbers.shape().is_empty() {
        return None;
    }
    let bytes = numbers.bytes();
    Some(match numbers.number_type() {
        NumberType::Bool => WrittenValue::Bool(bytes != [0]),
        NumberType::I64 => WrittenValue::Integer(i64::from_ne_bytes(bytes.try_into().ok()?)),
        NumberType::F64 => WrittenValue::Float(f64::from_ne_bytes(bytes.try_into().ok()?)),
        _ => return None,
    })
}

impl<'de> Deserialize<'de> for FieldChoice {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        /// A map that keeps its order.
        struct Visitor;

        impl<'de> serde::de::Visitor<'de> for Visitor {
            type Value = FieldChoice;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("\"all\", or a map from what is read (txt, a column) to the name of its field, or a list of such pairs")
            }

            fn visit_none<E>(self) -> Result<FieldChoice, E> {
                Ok(FieldChoice::None)
            }

            fn visit_unit<E>(self) -> Result<FieldChoice, E> {
                Ok(FieldChoice::None)
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<FieldChoice, E> {
                match text {
                    "all" => Ok(FieldChoice::All),
                    "none" => Ok(FieldChoice::None),
                    _ => Err(E::invalid_value(serde::de::Unexpected::Str(text), &self)),
                }
            }

            fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<FieldChoice, A::Error> {
                let mut named = Vec::new();
                while let Some(source) = map.next_key::<String>()? {
                    let written =
                        map.next_value().map_err(|error| A::Error::custom(format_args!("{source}: {error}")))?;
                    add(&mut named, source, written)?;
                }
                Ok(FieldChoice::Named(named))
            }

            fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut pairs: A) -> Result<FieldChoice, A::Error> {
                let mut named = Vec::new();
                while let Some((source, written)) = pairs.next_element()? {
                    add(&mut named, source, written)?;
                }
                Ok(FieldChoice::Named(named))
            }
        }

        deserializer.deserialize_any(Visitor)
    }
}

/// Adds a field that is written to those before it.
fn add<E: serde::de::Error>(named: &mut Vec<(String, Field)>, source: String, written: WrittenField) -> Result<(), E> {
    if named.iter().any(|(other, _)| *other == source) {
        return Err(E::custom(format_args!("{source} is named twice")));
    }
    named.push((source, written.into()));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::{NumberType, Numbers};
    use super::*;

    #[test]
    fn written_and_read_again() {
        for text in [
            r#""all""#,
            "null",
            r#"{"txt":"caption"}"#,
            r#"{"json":{"name":"meta","kind":"json","optional":true},"cls":"id"}"#,
            r#"{"score":{"name":"score","default":-1.0},"title":{"name":"t","kind":"text","default":""}}"#,
            r#"{"n":{"name":"n","kind":"numbers","default":3},"b":{"name":"b","default":true}}"#,
        ] {
            let read: FieldChoice = serde_json::from_str(text).unwrap();
            assert_eq!(serde_json::to_string(&read).unwrap(), text);
        }
        for (text, says) in [
            (r#""some""#, "expected \"all\", or a map"),
            (r#"{"txt":"a","txt":"b"}"#, "txt is named twice"),
            (r#"[["txt","a"],["txt","b"]]"#, "txt is named twice"),
            (r#"[["txt"]]"#, "invalid length 1"),
            (r#"{"txt":{"name":"a","kinds":"text"}}"#, "txt: unknown field `kinds`, expected one of `name`, `kind`"),
            (r#"{"txt":{"name":"a","kind":"float"}}"#, "unknown variant `float`, expected one of `image`, `text`"),
            (r#"{"txt":{"kind":"text"}}"#, "missing field `name`"),
            (r#"{"txt":{"name":"a","default":[1]}}"#, "a default value is a text, a number, true or false"),
            (r#"{"txt":3}"#, "invalid type: integer `3`, expected the field's name, or a map of name, kind"),
            ("3", "expected \"all\", or a map"),
        ] {
            let error = serde_json::from_str::<FieldChoice>(text).unwrap_err().to_string();
            assert!(error.contains(says), "{text}: {error}");
        }
        let bytes = Field::new("b").default_value(FieldValue::from(&b"x"[..]));
        let pair = Numbers::new(NumberType::U8, [2], vec![0; 2]).unwrap();
        for field in [bytes, Field::new("p").default_value(FieldValue::from(pair))] {
            let error = serde_json::to_string(&FieldChoice::from([("x", field)])).unwrap_err().to_string();
            assert!(error.contains("has no written form"), "{error}");
        }
        // A list of pairs keeps its order, also on the way through a format that sorts the keys of a map.
        let pairs: serde_json::Value = serde_json::from_str(r#"[["txt","caption"],["cls",{"name":"id"}]]"#).unwrap();
        let expected = FieldChoice::from([("txt", "caption"), ("cls", "id")]);
        assert_eq!(serde_json::from_value::<FieldChoice>(pairs).unwrap(), expected);
        // TOML sorts the keys of a table.
        let toml: FieldChoice =
            toml::from_str("txt = \"caption\"\njson = { name = \"meta\", optional = true }").unwrap();
        let expected = FieldChoice::from(vec![("json", Field::new("meta").optional()), ("txt", Field::new("caption"))]);
        assert_eq!(toml, expected);
    }
}
