//! Names of classes in a file beside the samples, or in an archive with them.

use std::io;
use std::path::Path;

use serde_json::Value;

use crate::error::{Error, Result};
use crate::storage::local::regular_file;

/// The files that have them.
pub(super) const FILES: [&str; 2] = ["classes.txt", "classes.json"];

/// Reads the class names in a folder's `classes.txt` or `classes.json`; returns none if it has neither.
pub(super) fn beside(folder: &Path) -> Result<Vec<String>> {
    for name in FILES {
        let path = folder.join(name);
        match regular_file::read(&path) {
            Ok(bytes) => {
                let invalid = |reason| Error::io(&path, io::Error::new(io::ErrorKind::InvalidData, reason));
                return parsed(name, &bytes).map_err(invalid);
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(Error::io(path, error)),
        }
    }
    Ok(Vec::new())
}

/// Reads the names in a `classes.txt`, one per line (ignoring empty lines at the end), or a `classes.json`: a list of
/// names, or an object with each name's index. `file` is any path that ends in one of these names.
///
/// # Errors
/// The reason if they cannot be parsed.
pub(super) fn parsed(file: &str, bytes: &[u8]) -> Result<Vec<String>, String> {
    let text = std::str::from_utf8(bytes).map_err(|_| "not UTF-8".to_owned())?;
    if !file.ends_with("json") {
        return Ok(text.trim_end().lines().map(|line| line.trim_end().to_owned()).collect());
    }
    match serde_json::from_str(text).map_err(|error| format!("no JSON: {error}"))? {
        Value::Array(names) => {
            let names: Option<_> = names.iter().map(|name| name.as_str().map(str::to_owned)).collect();
            names.ok_or_else(|| "the list has values that are not names".to_owned())
        }
        Value::Object(indices) => {
            let mut names = vec![None; indices.len()];
            for (name, index) in indices {
                let name_at = index.as_u64().and_then(|index| names.get_mut(usize::try_from(index).ok()?));
                match name_at {
                    Some(name_at @ None) => *name_at = Some(name),
                    _ => {
                        return Err(format!(
                            "{name} has the index {index}; use each index from 0 to {} once",
                            names.len() - 1
                        ));
                    }
                }
            }
            Ok(names.into_iter().flatten().collect())
        }
        _ => Err("neither a list of names nor an object of their indices".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn class_names_in_lines_lists_and_objects() {
        let names = |file, text: &str| parsed(file, text.as_bytes());
        assert_eq!(names("classes.txt", "cat\r\nwild dog\n").unwrap(), ["cat", "wild dog"]);
        assert_eq!(names("classes.txt", "cat\n\ndog\r\n\r\n \n").unwrap(), ["cat", "", "dog"], "lines at the end");
        assert_eq!(names("classes.json", "[\"cat\", \"dog\"]").unwrap(), ["cat", "dog"]);
        assert_eq!(names("classes.json", "{\"dog\": 1, \"cat\": 0}").unwrap(), ["cat", "dog"]);
        for text in ["{\"dog\": 1}", "{\"a\": 0, \"b\": 0}", "{\"a\": -1}", "3", "[1]", "["] {
            assert!(names("classes.json", text).is_err(), "{text}");
        }
    }
}
