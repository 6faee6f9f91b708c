//! The part of a file between two marker lines, and files that are replaced whole or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// What the markers of a section name: `<!-- gpufeed NAME: begin -->` and `end`, each alone on its line.
#[derive(Clone, Copy)]
pub(crate) struct Section(pub(crate) &'static str);

impl Section {
    fn begin(self) -> String {
        format!("<!-- gpufeed {}: begin -->", self.0)
    }

    fn end(self) -> String {
        format!("<!-- gpufeed {}: end -->", self.0)
    }

    /// Puts `body` between the markers of a file and leaves every other byte as it is. A missing file is made, of the
    /// markers and the body. The file's line ends are kept.
    pub(crate) fn update(self, path: &Path, body: &str) -> Result<(), String> {
        let old = match fs::read(path) {
            Ok(old) => Some(old),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(format!("{} cannot be read: {error}", path.display())),
        };
        let (begin, end) = (self.begin(), self.end());
        if body.lines().any(|line| [begin.as_str(), end.as_str()].contains(&line.trim())) {
            return Err(format!("the text for {} holds a line `{begin}` or `{end}` of its own", path.display()));
        }
        let new = match &old {
            None => format!("{begin}\n{body}{end}\n").into_bytes(),
            Some(old) => self.replaced(old, body).map_err(|reason| format!("{}: {reason}", path.display()))?,
        };
        if old.as_ref() == Some(&new) {
            return Ok(());
        }
        replace(path, &new).map_err(|error| format!("{} cannot be written: {error}", path.display()))
    }

    /// Whether `update` would find its markers in the file, if there is one.
    pub(crate) fn check(self, path: &Path) -> Result<(), String> {
        match fs::read(path) {
            Ok(old) => self.replaced(&old, "").map(drop).map_err(|reason| format!("{}: {reason}", path.display())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(format!("{} cannot be read: {error}", path.display())),
        }
    }

    fn replaced(self, old: &[u8], body: &str) -> Result<Vec<u8>, String> {
        let (begin, end) = (self.begin(), self.end());
        let mut offset = 0;
        // Where the begin marker's line ends, and where the end marker's starts.
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
                "needs one line `{begin}` and one line `{end}`, and has {} and {}: put them where the tables shall stand",
                after.len(),
                before.len()
            ));
        };
        if before < after {
            return Err(format!("`{end}` stands before `{begin}`"));
        }
        let body = if windows { body.replace('\n', "\r\n") } else { body.to_owned() };
        Ok([&old[..after], body.as_bytes(), &old[before..]].concat())
    }
}

/// Writes a file beside `path` and renames it: whoever reads `path` finds all of the old content or all of the new. A link
/// stays one: what it points to is replaced. Permissions are kept.
pub(crate) fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let (beside, mut file) = create_beside(&target)?;
    let written = (|| {
        if let Ok(metadata) = fs::metadata(&target) {
            file.set_permissions(metadata.permissions())?;
        }
        file.write_all(content)?;
        file.sync_all()?;
        drop(file);
        fs::rename(&beside, &target)
    })();
    if written.is_err() {
        // The reason for the failure is the better error.
        let _ = fs::remove_file(&beside);
    }
    written
}

/// A new file in the same folder, since a rename works only within a file system.
fn create_beside(target: &Path) -> io::Result<(PathBuf, File)> {
    let Some(name) = target.file_name() else {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "is not the name of a file"));
    };
    let mut attempt = 0;
    loop {
        let mut hidden = std::ffi::OsString::from(".");
        hidden.push(name);
        hidden.push(format!(".{}-{attempt}.tmp", std::process::id()));
        let beside = target.with_file_name(hidden);
        match OpenOptions::new().write(true).create_new(true).open(&beside) {
            Ok(file) => return Ok((beside, file)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && attempt < 100 => attempt += 1,
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECTION: Section = Section("bench");
    const BEGIN: &str = "<!-- gpufeed bench: begin -->";
    const END: &str = "<!-- gpufeed bench: end -->";

    fn updated(old: &[u8], body: &str) -> Result<Vec<u8>, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("page.md");
        fs::write(&path, old).unwrap();
        let result = SECTION.update(&path, body);
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
        SECTION.update(&path, "text\n").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), format!("{BEGIN}\ntext\n{END}\n"));
        let nowhere = SECTION.update(&folder.path().join("no/such/folder.md"), "text\n").unwrap_err();
        assert!(nowhere.contains("folder.md cannot be written"), "{nowhere}");
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
        assert!(own.contains("of its own"), "{own}");
    }

    #[cfg(unix)]
    #[test]
    fn a_link_stays_a_link_and_permissions_stay() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = tempfile::tempdir().unwrap();
        let (real, link) = (folder.path().join("real.md"), folder.path().join("link.md"));
        fs::write(&real, "old").unwrap();
        fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
        symlink(&real, &link).unwrap();
        replace(&link, b"new").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read(&real).unwrap(), b"new");
        assert_eq!(fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o640);
    }
}
