//! The XML file of one image, as far as it is read: the image's size, and name, box and flags of each object.

use quick_xml::Reader;
use quick_xml::events::Event;

use crate::quote::shortened;

/// A fault in a file: its place, and the reason.
pub(super) type Wrong = (String, String);

/// The most elements within each other. VOC's own files have five.
const DEPTH: usize = 32;

#[derive(Debug, Default, PartialEq)]
pub(super) struct Annotation {
    /// Width and height of the image; `None` where a side is missing or 0, as some tools write what they do not know.
    pub(super) size: Option<(u32, u32)>,
    pub(super) objects: Vec<VocObject>,
}

#[derive(Debug, PartialEq)]
pub(super) struct VocObject {
    pub(super) name: String,
    /// `xmin`, `ymin`, `xmax`, `ymax`.
    pub(super) edges: [f32; 4],
    pub(super) difficult: bool,
    pub(super) truncated: bool,
}

/// Parses a file.
///
/// # Errors
/// The line, and the reason.
pub(super) fn parse(bytes: &[u8]) -> Result<Annotation, Wrong> {
    let line_at = |offset: usize| {
        let before = bytes.get(..offset).unwrap_or(bytes);
        format!("line {}", 1 + before.iter().filter(|byte| **byte == b'\n').count())
    };
    let text = std::str::from_utf8(bytes)
        .map_err(|error| (line_at(error.valid_up_to()), "is no UTF-8, in which annotations are read".to_owned()))?;
    let mut reader = Reader::from_str(text);
    reader.config_mut().expand_empty_elements = true;
    let mut reading = Reading::default();
    loop {
        let event = reader.read_event().map_err(|error| {
            (line_at(reader.error_position() as usize), format!("is no XML: {}", shortened(&error.to_string())))
        })?;
        let is_last = matches!(event, Event::Eof);
        let taken = reading.take(event);
        taken.map_err(|reason| (line_at(reader.buffer_position() as usize), reason))?;
        if is_last {
            return Ok(reading.found);
        }
    }
}

/// The state of reading a file.
#[derive(Default)]
struct Reading {
    /// The names of the elements around the place that is read.
    path: Vec<String>,
    /// The text of the innermost element.
    text: String,
    has_root: bool,
    width: Option<u32>,
    height: Option<u32>,
    object: Draft,
    found: Annotation,
}

/// An object that has not ended yet.
#[derive(Default)]
struct Draft {
    name: Option<String>,
    edges: [Option<f32>; 4],
    difficult: Option<bool>,
    truncated: Option<bool>,
}

const EDGES: [&str; 4] = ["xmin", "ymin", "xmax", "ymax"];

impl Reading {
    fn take(&mut self, event: Event<'_>) -> Result<(), String> {
        let unread = |error: &dyn std::fmt::Display| format!("is no XML: {}", shortened(&error.to_string()));
        match event {
            Event::Start(start) => self.begin(&String::from_utf8_lossy(start.name().as_ref())),
            Event::End(_) => self.end(),
            Event::Text(text) => {
                self.text += &text.decode().map_err(|error| unread(&error))?;
                Ok(())
            }
            Event::CData(text) => {
                self.text += &text.decode().map_err(|error| unread(&error))?;
                Ok(())
            }
            Event::GeneralRef(reference) => {
                let name = reference.decode().map_err(|error| unread(&error))?;
                let character = reference.resolve_char_ref().map_err(|error| unread(&error))?;
                let of_xml = [("amp", '&'), ("lt", '<'), ("gt", '>'), ("quot", '"'), ("apos", '\'')];
                let known = of_xml.iter().find(|(known, _)| *known == name).map(|(_, character)| *character);
                match character.or(known) {
                    Some(character) => self.text.push(character),
                    // A document may define such a name to stand for a gigabyte.
                    None => {
                        return Err(format!("has the entity {}, which is not read", shortened(&format!("&{name};"))));
                    }
                }
                Ok(())
            }
            Event::Eof => match self.path.last() {
                Some(open) => Err(format!("ends within the element {}", shortened(open))),
                None if !self.has_root => Err("has no element annotation".to_owned()),
                None => Ok(()),
            },
            Event::Empty(_) | Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_) => Ok(()),
        }
    }

    fn begin(&mut self, name: &str) -> Result<(), String> {
        if self.path.len() == DEPTH {
            return Err(format!("has more than {DEPTH} elements within each other"));
        }
        if self.path.is_empty() && (name != "annotation" || self.has_root) {
            let name = shortened(name);
            return Err(format!("has the element {name}, where one annotation is all that works"));
        }
        self.has_root = true;
        self.text.clear();
        self.path.push(name.to_owned());
        if within(&self.path) == ["object"] {
            self.object = Draft::default();
        }
        Ok(())
    }

    fn end(&mut self) -> Result<(), String> {
        let text = self.text.trim();
        match within(&self.path)[..] {
            ["size", "width"] => once(&mut self.width, "width", side("width", text)?)?,
            ["size", "height"] => once(&mut self.height, "height", side("height", text)?)?,
            ["object", "name"] => once(&mut self.object.name, "name", text.to_owned())?,
            ["object", "difficult"] => once(&mut self.object.difficult, "difficult", flag("difficult", text)?)?,
            ["object", "truncated"] => once(&mut self.object.truncated, "truncated", flag("truncated", text)?)?,
            ["object", "bndbox", name] => {
                if let Some(edge) = EDGES.iter().position(|edge| *edge == name) {
                    once(&mut self.object.edges[edge], name, number(name, text)?)?;
                }
            }
            ["object"] => {
                let object = std::mem::take(&mut self.object).finish()?;
                self.found.objects.push(object);
            }
            [] => self.found.size = self.width.zip(self.height).filter(|(width, height)| *width > 0 && *height > 0),
            _ => {}
        }
        self.path.pop();
        self.text.clear();
        Ok(())
    }
}

impl Draft {
    fn finish(self) -> Result<VocObject, String> {
        let name = self.name.filter(|name| !name.is_empty()).ok_or("ends an object without a name")?;
        let mut edges = [0.0; 4];
        for ((edge, found), known) in edges.iter_mut().zip(self.edges).zip(EDGES) {
            *edge =
                found.ok_or_else(|| format!("ends an object ({}) without {known} of a bndbox", shortened(&name)))?;
        }
        // VOC's devkit takes a flag that is not there as 0, too.
        let (difficult, truncated) = (self.difficult.unwrap_or(false), self.truncated.unwrap_or(false));
        Ok(VocObject { name, edges, difficult, truncated })
    }
}

/// The names of elements without the first one, which is the annotation.
fn within(path: &[String]) -> Vec<&str> {
    path.iter().skip(1).map(String::as_str).collect()
}

/// Stores what may come once.
fn once<T>(place: &mut Option<T>, name: &str, value: T) -> Result<(), String> {
    match place.replace(value) {
        None => Ok(()),
        Some(_) => Err(format!("has {name} twice where once works")),
    }
}

fn number(name: &str, text: &str) -> Result<f32, String> {
    let number = text.parse::<f32>().ok().filter(|number| number.is_finite());
    number.ok_or_else(|| format!("has {:?} as {name}; a number of pixels works", shortened(text)))
}

fn side(name: &str, text: &str) -> Result<u32, String> {
    text.parse().map_err(|_| format!("has {:?} as {name}; a number of pixels works", shortened(text)))
}

fn flag(name: &str, text: &str) -> Result<bool, String> {
    match text {
        "0" => Ok(false),
        "1" => Ok(true),
        _ => Err(format!("has {:?} as {name}; 0 and 1 work", shortened(text))),
    }
}
