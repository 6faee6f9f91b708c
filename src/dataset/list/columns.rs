//! Chooses the columns of a CSV file, or the keys of JSON lines, that are the path and the label. Both follow one rule.

use super::asked::AskedColumns;
use crate::advice::{self, Reason};
use crate::dataset::notice::CAPTIONS;
use crate::quote::shortened;

/// The usual names of a column of paths, or of labels, in upper or lower case. The first of these names that a file has
/// counts.
pub(super) const PATHS: [&str; 9] =
    ["path", "file_path", "filepath", "image_path", "file_name", "filename", "file", "image", "img"];
pub(super) const LABELS: [&str; 5] = ["label", "labels", "class", "cls", "target"];
/// Columns of these names, and those of [captions](CAPTIONS), are labels only if a setting says so. They number the samples,
/// or divide them into sets.
const NO_LABELS: [&str; 6] = ["index", "idx", "id", "split", "subset", "fold"];

/// The settings of lists, in CSV and in JSON lines.
#[derive(Clone, Debug, Default)]
pub(super) struct Settings {
    pub(super) header: Option<bool>,
    /// True if labels are names, even where they look like numbers.
    pub(super) names: bool,
    pub(super) delimiter: Option<u8>,
    pub(super) path_column: Option<String>,
    pub(super) label_columns: Vec<String>,
    /// The columns that become fields. They are the path or the label only if a setting says so, or if no other column
    /// can be the path.
    pub(super) asked: AskedColumns,
}

/// The columns of a CSV file, by their numbers.
#[derive(Debug, Default, PartialEq)]
pub(super) struct CsvColumns {
    pub(super) path: usize,
    pub(super) labels: Vec<usize>,
    /// True if the label's column has no usual name, but is the only one that may be it.
    pub(super) only_one: bool,
    /// The columns that become fields.
    pub(super) fields: Vec<usize>,
    /// The names of the columns that are not read.
    pub(super) unread: Vec<String>,
}

impl CsvColumns {
    /// Returns true if a first line names the columns: one of its fields is a usual name, or a name that the settings ask
    /// for, and none names an image.
    pub(super) fn are_named(fields: &[&str], settings: &Settings) -> bool {
        let set = |field: &str| settings.path_column.iter().chain(&settings.label_columns).any(|name| name == field);
        // Columns without names are called by their numbers.
        let asked = |field: &str| field.parse::<usize>().is_err() && (set(field) || settings.asked.name(field));
        let named = |field: &&str| is_usual(field, &PATHS) || is_usual(field, &LABELS) || asked(field);
        fields.iter().any(named) && !fields.iter().any(|field| is_image(field))
    }

    /// Chooses columns by the names in the first line.
    ///
    /// # Errors
    /// The reason if a column that the settings name is not there, if two have one name, or if several could be the label.
    pub(super) fn named(names: &[&str], settings: &Settings) -> Result<CsvColumns, Reason> {
        // pandas writes its index as a first column without a name, and reads and writes it again as "Unnamed: 0".
        let nameless = |at: usize| names[at].is_empty() || names[at].starts_with("Unnamed: ");
        let asked = &settings.asked;
        let usual = |of: &[&str], may_be: &dyn Fn(usize) -> bool| {
            of.iter().find_map(|name| (0..names.len()).find(|at| names[*at].eq_ignore_ascii_case(name) && may_be(*at)))
        };
        let is_free = |at: usize| !asked.name(names[at]);
        let called = |name: &String| -> Result<usize, String> {
            let found = names.iter().position(|own| own == name);
            found.ok_or_else(|| format!("there is no column {}; there are {}", shortened(name), list(names)))
        };
        let named = settings.label_columns.iter().map(called).collect::<Result<Vec<_>, _>>()?;
        if let AskedColumns::Named(fields) = asked {
            fields.iter().try_for_each(|(source, _)| called(source).map(|_| ()))?;
        }
        let path = match &settings.path_column {
            Some(name) => called(name)?,
            None => {
                let first = |may_be: &dyn Fn(usize) -> bool| {
                    (0..names.len()).find(|at| {
                        !nameless(*at) && !named.contains(at) && !is_usual(names[*at], &LABELS) && may_be(*at)
                    })
                };
                let found = usual(&PATHS, &is_free).or_else(|| usual(&PATHS, &|_| true));
                found.or_else(|| first(&is_free)).or_else(|| first(&|_| true)).unwrap_or(0)
            }
        };
        let may_be_label = |name: &str| !is_usual(name, &NO_LABELS) && !is_usual(name, &CAPTIONS);
        let others =
            || (0..names.len()).filter(|at| *at != path && !nameless(*at) && may_be_label(names[*at]) && is_free(*at));
        let usual_label = usual(&LABELS, &|at| at != path && is_free(at));
        let (labels, only_one) = match (named.is_empty(), usual_label, others().count()) {
            (false, ..) => (named, false),
            (true, Some(label), _) => (vec![label], false),
            // All other columns are fields.
            (true, None, _) if asked.is_all() => (Vec::new(), false),
            (true, None, 0 | 1) => (others().collect(), true),
            (true, None, _) if !asked.is_none() => (Vec::new(), false),
            (true, None, _) => {
                let all: Vec<&str> = others().map(|at| names[at]).collect();
                let reason = format!("several columns could be the label: {}; call one of them label", list(&all));
                return Err(Reason::new(reason).advise(advice::LIST_LABEL_COLUMNS));
            }
        };
        for at in [path].iter().chain(&labels) {
            // A setting says how the name is written.
            let set = settings.path_column.iter().chain(&settings.label_columns).any(|name| name == names[*at]);
            let same = |name: &&&str| **name == names[*at] || !set && name.eq_ignore_ascii_case(names[*at]);
            let same: Vec<&str> = names.iter().filter(same).copied().collect();
            if same.len() > 1 {
                return Err(format!("two columns are called {}; which is meant is not known", list(&same)).into());
            }
        }
        let is_other = |at: &usize| *at != path && !labels.contains(at);
        let is_field = |at: usize| asked.name(names[at]) || asked.is_all() && is_other(&at) && !nameless(at);
        let fields: Vec<usize> = (0..names.len()).filter(|at| is_field(*at)).collect();
        if let Some(twice) =
            fields.iter().find(|at| fields.iter().any(|other| other > *at && names[*other] == names[**at]))
        {
            let name = names[*twice];
            return Err(format!("two columns are called {}; which is meant is not known", list(&[name, name])).into());
        }
        let rest = (0..names.len()).filter(|at| is_other(at) && !is_field(*at));
        let unread =
            rest.map(|at| if names[at].is_empty() { "(without a name)" } else { names[at] }.to_owned()).collect();
        Ok(CsvColumns { path, labels, only_one, fields, unread })
    }

    /// Chooses columns of a file whose first line is a sample. Its columns have numbers, from 0 on.
    ///
    /// # Errors
    /// The reason if a number that the settings name is not there, or if several columns could be the label.
    pub(super) fn numbered(count: usize, settings: &Settings) -> Result<CsvColumns, Reason> {
        let called = |name: &String| -> Result<usize, Reason> {
            name.parse().ok().filter(|at| *at < count).ok_or_else(|| {
                let reason = format!(
                    "there is no column {}: the first line names no column, so they are the numbers 0 to {}",
                    shortened(name),
                    count.saturating_sub(1)
                );
                Reason::new(reason).advise(advice::LIST_HEADER)
            })
        };
        let path = settings.path_column.as_ref().map_or(Ok(0), called)?;
        let named = settings.label_columns.iter().map(called).collect::<Result<Vec<_>, _>>()?;
        let asked = &settings.asked;
        if let AskedColumns::Named(fields) = asked {
            fields.iter().try_for_each(|(source, _)| called(source).map(|_| ()))?;
        }
        let others = || (0..count).filter(|at| *at != path && !asked.name(&at.to_string()));
        let labels = match (named.is_empty(), others().count()) {
            (false, _) => named,
            (true, _) if asked.is_all() => Vec::new(),
            (true, 0 | 1) => others().collect(),
            (true, _) if !asked.is_none() => Vec::new(),
            (true, more) => {
                let reason = format!(
                    "{more} columns could be the label, and the first line names none of them; write names there, one of \
                     them label"
                );
                return Err(Reason::new(reason).advise(advice::LIST_LABEL_COLUMNS));
            }
        };
        let is_other = |at: &usize| *at != path && !labels.contains(at);
        let is_field = |at: usize| asked.name(&at.to_string()) || asked.is_all() && is_other(&at);
        let fields = (0..count).filter(|at| is_field(*at)).collect();
        let unread = (0..count).filter(|at| is_other(at) && !is_field(*at)).map(|at| at.to_string()).collect();
        Ok(CsvColumns { path, labels, only_one: false, fields, unread })
    }
}

/// Returns the error for a first line that has one field because another character separates its columns. That
/// character stands between usual names, after the name of an image, or between the words of a line that names no
/// image. `is_sample` is true if a setting says that the line is a sample.
pub(super) fn other_delimiter(fields: &[&str], delimiter: u8, is_sample: bool) -> Option<Reason> {
    let [line] = fields else { return None };
    const DELIMITERS: [(u8, &str); 4] =
        [(b',', "commas"), (b';', "semicolons"), (b'\t', "tabs"), (b'|', "vertical bars")];
    let (found, name) = DELIMITERS.into_iter().find(|(other, _)| {
        let parts: Vec<&str> = line.split(char::from(*other)).map(|part| part.trim().trim_matches('"')).collect();
        let named = CsvColumns::are_named(&parts, &Settings::default());
        let words = !is_sample && !parts.iter().any(|part| part.is_empty() || is_image(part));
        *other != delimiter && parts.len() > 1 && (named || is_image(parts[0]) || words)
    })?;
    let tsv = if found == b'\t' { ", or let the file's name end in .tsv" } else { "" };
    let expected = match DELIMITERS.iter().find(|(known, _)| *known == delimiter) {
        Some((_, name)) => (*name).to_owned(),
        None => format!("characters {:?}", char::from(delimiter)),
    };
    let reason = format!("the columns are separated by {name}, but {expected} are expected: write these{tsv}");
    Some(Reason::new(reason).advise(advice::LIST_DELIMITER))
}

/// Returns true if a field ends as the names of images do.
pub(super) fn is_image(field: &str) -> bool {
    let field = field.to_ascii_lowercase();
    crate::dataset::TarShards::EXTENSIONS.iter().any(|ending| field.ends_with(ending))
}

pub(super) fn is_usual(name: &str, usual: &[&str]) -> bool {
    usual.iter().any(|usual| usual.eq_ignore_ascii_case(name))
}

/// Writes columns or keys for a sentence: `the columns a, b`. `what` is the singular.
pub(super) fn called(what: &str, names: &[String]) -> String {
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    format!("the {what}{} {}", if names.len() == 1 { "" } else { "s" }, list(&names))
}

pub(super) fn list(names: &[&str]) -> String {
    let mut text = names.iter().take(20).map(|name| shortened(name)).collect::<Vec<_>>().join(", ");
    if names.len() > 20 {
        text.push_str(", ...");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(labels: &[&str]) -> Settings {
        Settings { label_columns: labels.iter().map(|name| (*name).to_owned()).collect(), ..Settings::default() }
    }

    #[test]
    fn the_label_is_called_so_or_the_only_other_column() {
        for (header, path, labels, unread) in [
            ("path,label", 0, &[1][..], &[][..]),
            ("path,label,width,height", 0, &[1], &["width", "height"]),
            ("width,Class,File_Name", 2, &[1], &["width"]),
            (",path,label", 1, &[2], &["(without a name)"]),
            ("Unnamed: 0,filename,breed", 1, &[2], &["Unnamed: 0"]),
            (",name,target", 1, &[2], &["(without a name)"]),
            ("label,name", 1, &[0], &[]),
            ("image,level", 0, &[1], &[]),
            (",path", 1, &[], &["(without a name)"]),
            ("path,class,label", 0, &[2], &["class"]),
            ("index,path", 1, &[], &["index"]),
            ("path,Split", 0, &[], &["Split"]),
            ("id,path,breed", 1, &[2], &["id"]),
            ("file_name,text", 0, &[], &["text"]),
        ] {
            let names: Vec<&str> = header.split(',').collect();
            let found = CsvColumns::named(&names, &settings(&[])).unwrap();
            assert_eq!(
                (found.path, &*found.labels, &*found.unread.join(",")),
                (path, labels, &*unread.join(",")),
                "{header}"
            );
        }
    }

    #[test]
    fn columns_of_fields_are_neither_path_nor_label_unless_a_setting_says_so() {
        let named = |fields: &[&str]| {
            let fields = fields.iter().map(|name| ((*name).to_owned(), (*name).into())).collect();
            Settings { asked: AskedColumns::Named(fields), ..Settings::default() }
        };
        let all = Settings { asked: AskedColumns::All, ..Settings::default() };
        for (header, settings, path, labels, fields, unread) in [
            ("path,label,caption", named(&["caption"]), 0, &[1][..], &[2][..], ""),
            ("path,breed,caption,title", named(&["title", "caption"]), 0, &[1], &[2, 3], ""),
            ("path,label,caption", named(&["label"]), 0, &[], &[1], "caption"),
            ("path,caption,width,height", named(&["caption"]), 0, &[], &[1], "width,height"),
            ("file_name,title", named(&["file_name"]), 0, &[1], &[0], ""),
            ("file_name,image,label", named(&["file_name"]), 1, &[2], &[0], ""),
            (",path,x,y", all.clone(), 1, &[], &[2, 3], "(without a name)"),
            ("path,class,x", all.clone(), 0, &[1], &[2], ""),
            ("image,title", all, 0, &[], &[1], ""),
        ] {
            let names: Vec<&str> = header.split(',').collect();
            let found = CsvColumns::named(&names, &settings).unwrap();
            let expected = (path, labels.to_vec(), fields.to_vec(), unread.to_owned());
            assert_eq!((found.path, found.labels, found.fields, found.unread.join(",")), expected, "{header}");
        }
        let error = CsvColumns::named(&["path", "title"], &named(&["caption"])).unwrap_err().text;
        assert_eq!(error, "there is no column caption; there are path, title");
        let found = CsvColumns::numbered(4, &named(&["3"])).unwrap();
        assert_eq!(
            (found.path, found.labels, found.fields, found.unread.join(",")),
            (0, vec![], vec![3], "1,2".into())
        );
        assert!(CsvColumns::numbered(2, &named(&["caption"])).unwrap_err().text.contains("the numbers 0 to 1"));
    }

    #[test]
    fn several_columns_are_a_label_only_by_name() {
        let names = ["path", "x", "y", "label"];
        let found = CsvColumns::named(&names, &settings(&["y", "x"])).unwrap();
        assert_eq!((found.labels, found.unread), (vec![2, 1], vec!["label".to_owned()]));
        let refused = |names: &[&str], labels: &[&str]| CsvColumns::named(names, &settings(labels)).unwrap_err().text;
        assert!(refused(&names[..3], &[]).contains("several columns could be the label: x, y; call one"));
        assert_eq!(refused(&names, &["z"]), "there is no column z; there are path, x, y, label");
        assert!(refused(&["path", "label", "label"], &[]).contains("two columns are called label"));
        assert!(refused(&["path", "Label", "label"], &[]).contains("two columns are called Label, label; which"));
        assert_eq!(CsvColumns::named(&["path", "Label", "label"], &settings(&["label"])).unwrap().labels, [2]);
        let found = CsvColumns::numbered(3, &settings(&["2"])).unwrap();
        assert_eq!((found.path, found.labels, found.unread), (0, vec![2], vec!["1".to_owned()]));
        assert!(CsvColumns::numbered(3, &settings(&[])).unwrap_err().text.contains("2 columns could be the label"));
        assert!(CsvColumns::numbered(2, &settings(&["x"])).unwrap_err().text.contains("the numbers 0 to 1"));
    }

    #[test]
    fn another_delimiter_is_named() {
        for (line, delimiter, says) in [
            ("path;label", b',', Some("semicolons, but commas are expected: write these")),
            (
                "path\tlabel",
                b',',
                Some("tabs, but commas are expected: write these, or let the file's name end in .tsv"),
            ),
            ("path,label", b'\t', Some("commas, but tabs are expected")),
            ("path,label", b';', Some("commas, but semicolons are expected")),
            ("path,label", b'|', Some("commas, but vertical bars are expected")),
            ("path,label", b':', Some("commas, but characters ':' are expected")),
            ("name;breed", b',', Some("semicolons, but commas are expected")),
            ("a|b", b',', Some("vertical bars, but commas are expected: write these")),
            ("photo\tbreed", b',', Some("tabs, but commas")),
            ("name;breed;path,x", b'|', Some("commas")),
            ("who;photo", b'|', Some("semicolons")),
            (";b", b',', None),
            ("\"a.jpg\";3", b',', Some("semicolons")),
            ("a;b.jpg", b',', None),
            ("a.jpg", b',', None),
            ("a b,c", b',', None),
        ] {
            let said = other_delimiter(&[line], delimiter, false);
            assert_eq!(said.is_some(), says.is_some(), "{line}: {said:?}");
            if let (Some(said), Some(says)) = (said, says) {
                assert!(said.text.contains(says), "{line}");
                assert_eq!(said.advice, [advice::LIST_DELIMITER], "{line}");
            }
        }
        assert!(other_delimiter(&["a|b"], b',', true).is_none(), "a path may have such characters");
    }
}
