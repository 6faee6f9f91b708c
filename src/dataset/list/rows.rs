//! The samples of a list. Each of its lines has a path and a label.

use super::super::label_numbers;
use super::super::labels::Labels;
use super::columns::{LABELS, called, list};
use super::fields::FieldColumns;
use crate::advice::{self, Reason};
use crate::quote::shortened;

/// The number of a line, and the error in it.
pub(super) type Failure = (u64, Reason);

/// A sample, as a line of the list has it.
#[derive(Debug)]
pub(super) struct ListedSample {
    /// The number of the sample's line in the file, from 1.
    pub(super) line: u64,
    pub(super) path: String,
    pub(super) label: Parsed,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Parsed {
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
    pub(super) fn one(text: &str, names: bool) -> Result<Self, Reason> {
        if text.is_empty() {
            return Err("the label is empty".into());
        }
        if names {
            return Ok(Parsed::Text(text.to_owned()));
        }
        if let Ok(class) = text.parse() {
            return Ok(Parsed::Class(class));
        }
        match of_digits(text) {
            Some(Ok(number)) => Ok(Parsed::Numbers(vec![number])),
            Some(Err(reason)) => Err(Reason::new(reason).advise(advice::LIST_NAMES)),
            None if is_list(text) => {
                let reason = format!(
                    "the label {} is a list of numbers in one text: write each number into a column of its own, or a JSON list \
                     into JSON lines",
                    shortened(text)
                );
                Err(Reason::new(reason).advise(advice::LIST_LABEL_COLUMNS).advise(advice::LIST_NAMES))
            }
            None => Ok(Parsed::Text(text.to_owned())),
        }
    }

    pub(super) fn number(text: &str) -> Result<f32, String> {
        of_digits(text).unwrap_or_else(|| {
            Err(format!("{:?} is not a number, and labels of several columns are numbers", shortened(text)))
        })
    }
}

/// Reads a number that is written with digits. `None` for any other text, also for "inf" and "nan".
fn of_digits(text: &str) -> Option<Result<f32, String>> {
    if text.contains(|c: char| c.is_ascii_digit()) { label_numbers::of_text(text) } else { None }
}

/// Returns true for numbers in brackets, and for several numbers with blanks, commas, semicolons or bars between them.
/// Here "inf" and "nan" count as numbers.
fn is_list(text: &str) -> bool {
    let is_bracket = |c: char| "[](){}".contains(c);
    let separates = |c: char| c.is_whitespace() || ",;|".contains(c) || is_bracket(c);
    let words: Vec<_> = text.split(separates).filter(|word| !word.is_empty()).collect();
    let several = words.len() > 1 || text.contains(is_bracket) && words.len() == 1;
    several && words.iter().all(|word| word.parse::<f64>().is_ok())
}

/// The samples of a list, and where they come from.
#[derive(Debug, Default)]
pub(super) struct Rows {
    pub(super) rows: Vec<ListedSample>,
    /// The columns or keys that labels come from, and those that are not read.
    pub(super) labels: Vec<String>,
    pub(super) unread: Vec<String>,
    /// The columns or keys that become fields.
    pub(super) fields: FieldColumns,
    /// True if the label's column has no usual name, but is the only one that may be it.
    pub(super) only_one: bool,
    /// "column" or "key".
    pub(super) what: &'static str,
}

impl Rows {
    /// Returns the names of columns or keys that are not read, for an error.
    pub(super) fn keys(&self) -> String {
        let names: Vec<&str> = self.unread.iter().chain(&self.labels).map(String::as_str).collect();
        list(&names)
    }

    /// Describes the labels in words.
    pub(super) fn describe(&self, labels: &Labels, classes: usize) -> String {
        let only_one = if self.only_one { ", the only one that may be the label" } else { "" };
        let from = format!("{}{only_one}", called(self.what, &self.labels));
        match labels {
            Labels::None if !self.labels.is_empty() => format!("none: no line has a value of {from}"),
            Labels::None => format!("none: no {} is called {}", self.what, LABELS.join(", ")),
            Labels::Classes(_) if classes > 0 => format!("{classes} classes by name from {from}"),
            Labels::Classes(_) => format!("class numbers from {from}"),
            Labels::Multi(values) => {
                format!("vectors of {} from {from}", values.first().map_or(0, |values| values.len()))
            }
        }
    }
}

/// Returns the labels of all rows, which must be of one kind, and the names of the classes.
pub(super) fn labels(rows: &[ListedSample]) -> Result<(Labels, Vec<String>), Failure> {
    let Some(first) = rows.first() else { return Ok((Labels::None, Vec::new())) };
    // A column of 0, 0.5, 1 holds numbers, not classes: whole numbers among others are numbers too.
    let numbers = |row: &ListedSample| match &row.label {
        Parsed::Class(class) => {
            let number = label_numbers::of_whole(i128::from(*class));
            let number = number.map_err(|reason| (row.line, Reason::new(reason).advise(advice::LIST_NAMES)))?;
            Ok(Some(vec![number]))
        }
        Parsed::Numbers(numbers) => Ok(Some(numbers.clone())),
        Parsed::None | Parsed::Text(_) => Ok(None),
    };
    let unlike = |row: &ListedSample| {
        let facts = format!("{}, but line {} has {}", row.label.kind(), first.line, first.label.kind());
        let reason = match [&row.label, &first.label].contains(&&Parsed::None) {
            true => Reason::new(format!("{facts}; give each line a label under one name, or none")),
            false => Reason::new(format!("{facts}; labels are of one kind")).advise(advice::LIST_NAMES),
        };
        (row.line, reason)
    };
    match &first.label {
        Parsed::None => match rows.iter().find(|row| row.label != Parsed::None) {
            None => Ok((Labels::None, Vec::new())),
            Some(row) => Err(unlike(row)),
        },
        Parsed::Text(_) => {
            let name = |row: &'_ ListedSample| match &row.label {
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
            let each = numbers(first)?.map_or(0, |numbers| numbers.len());
            let row = |row: &ListedSample| match numbers(row)? {
                Some(numbers) if numbers.len() == each && each > 0 => Ok(numbers.into()),
                _ => Err(unlike(row)),
            };
            Ok((Labels::Multi(rows.iter().map(row).collect::<Result<_, _>>()?), Vec::new()))
        }
    }
}
