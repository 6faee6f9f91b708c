//! The part of a file between two marker lines.

use crate::output::Output;
use std::{fs, io};

/// A section by the name in its markers: `<!-- gpufeed NAME: begin -->` and `end`, each alone on its line.
#[derive(Clone, Copy)]
pub(crate) struct Section(pub(crate) &'static str);

impl Section {
    fn begin(self) -> String {
        format!("<!-- gpufeed {}: begin -->", self.0)
    }

    fn end(self) -> String {
        format!("<!-- gpufeed {}: end -->", self.0)
    }

    /// Puts `body` between the markers of a file and changes no other byte. A missing file is created with the markers
    /// and the body; an output that is not a file gets the same text. The body takes the file's line ends.
    pub(crate) fn update(self, output: &Output, body: &str) -> Result<(), String> {
        let old = read(output)?;
        let (begin, end) = (self.begin(), self.end());
        if body.lines().any(|line| [begin.as_str(), end.as_str()].contains(&line.trim())) {
            return Err(format!("the text for {} itself contains a line `{begin}` or `{end}`", output.name()));
        }
        let new = match &old {
            None => format!("{begin}\n{body}{end}\n").into_bytes(),
            Some(old) => self.replaced(old, body).map_err(|reason| format!("{}: {reason}", output.name()))?,
        };
        if old.as_ref() == Some(&new) {
            return Ok(());
        }
        output.write_all(new)
    }

    /// Checks that `update` would find its markers in the file, if the file exists.
    pub(crate) fn check(self, output: &Output) -> Result<(), String> {
        let replaced = read(output)?.map(|old| self.replaced(&old, ""));
        replaced.transpose().map(drop).map_err(|reason| format!("{}: {reason}", output.name()))
    }

    fn replaced(self, old: &[u8], body: &str) -> Result<Vec<u8>, String> {
        let (begin, end) = (self.begin(), self.end());
        let mut offset = 0;
        // Offsets of the ends of begin markers' lines, and of the starts of end markers' lines.
        let (mut after, mut before) = (Vec::new(), Vec::new());
        let mut windows = false;
        for line in old.split_inclusive(|&byte| byte == b'\n') {
            let text = line.trim_ascii();
            if text == begin.as_bytes() {
                after.push(offset + line.len());
                windows = line.ends_with(b"\r\n");
            } else if text == end.as_bytes() {
                before.push(offset);
            }
            offset += line.len();
        }
        let (&[after], &[before]) = (after.as_slice(), before.as_slice()) else {
            return Err(format!(
                "needs one line `{begin}` and one line `{end}`, but has {} and {}: put them where the tables belong",
                after.len(),
                before.len()
            ));
        };
        if before < after {
            return Err(format!("`{end}` comes before `{begin}`"));
        }
        let body = if windows { body.replace('\n', "\r\n") } else { body.to_owned() };
        Ok([&old[..after], body.as_bytes(), &old[before..]].concat())
    }
}

/// Reads the output's current content; `None` if the file does not exist yet, or the output is not a file.
fn read(output: &Output) -> Result<Option<Vec<u8>>, String> {
    let Some(path) = output.file() else { return Ok(None) };
    match fs::read(path) {
        Ok(old) => Ok(Some(old)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(format!("{} cannot be read: {error}", output.name())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use std::path::Path;

    const SECTION: Section = Section("bench");
    const BEGIN: &str = "<!-- gpufeed bench: begin -->";
    const END: &str = "<!-- gpufeed bench: end -->";

    fn output(path: &Path) -> Output {
        let [output] = crate::output::open([("--markdown", Some(path))]).unwrap();
        output.unwrap()
    }

    fn updated(old: &[u8], body: &str) -> Result<Vec<u8>, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("page.md");
        fs::write(&path, old).unwrap();
        let result = SECTION.update(&output(&path), body);
        let new = fs::read(&path).unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left beside the file");
        if let Err(reason) = &result {
            assert_eq!(new, old, "an error changes nothing");
            assert!(reason.contains("page.md"), "{reason}");
        }
        result.map(|()| new)
    }

    #[test]
    fn every_byte_outside_stays() {
        let before = b"# Caf\xe9 \xff, not UTF-8\r\n\ttext\n".to_vec();
        let after = b"\nno line end here: <!-- gpufeed bench: end --> in a sentence\n\n  ".to_vec();
        let old = [&before, format!("{BEGIN}\nold\nold\n{END}\n").as_bytes(), &after].concat();
        let new = [&before, format!("{BEGIN}\nnew\n{END}\n").as_bytes(), &after].concat();
        assert_eq!(updated(&old, "new\n").unwrap(), new);
        assert_eq!(updated(&new, "new\n").unwrap(), new, "twice is once");
    }

    #[test]
    fn line_ends_of_windows_stay() {
        let old = format!("a\r\n{BEGIN}\r\n{END}");
        assert_eq!(updated(old.as_bytes(), "b\nc\n").unwrap(), format!("a\r\n{BEGIN}\r\nb\r\nc\r\n{END}").into_bytes());
    }

    #[test]
    fn a_missing_file_is_made() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new.md");
        SECTION.update(&output(&path), "text\n").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), format!("{BEGIN}\ntext\n{END}\n"));
    }

    #[test]
    fn markers_that_are_not_a_pair_are_refused() {
        for old in [
            "nothing".to_owned(),
            format!("{BEGIN}\n"),
            format!("{END}\n"),
            format!("{BEGIN}\n{BEGIN}\n{END}\n"),
            format!("{END}\n{BEGIN}\n"),
        ] {
            assert!(updated(old.as_bytes(), "new\n").unwrap_err().contains(END), "{old}");
        }
        let own = updated(format!("{BEGIN}\n{END}\n").as_bytes(), &format!("x\n {END}\n")).unwrap_err();
        assert!(own.contains("itself contains"), "{own}");
    }
}
