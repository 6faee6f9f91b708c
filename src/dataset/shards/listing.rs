//! Finds the files of this machine that a path names: one, a brace list of them, or those of a folder.

use std::fs;
use std::path::{Path, PathBuf};

use super::brace;
use crate::error::{Error, ErrorKind, Result};
use crate::quote::shortened;

/// Returns the files that `path` names: itself, those of a brace list, or those of a folder that end in `.ending`,
/// sorted by name.
///
/// # Errors
/// A malformed brace list; a pattern with a star, which a shell would have expanded; a folder that cannot be read, or has
/// no such file.
pub(in crate::dataset) fn listed(path: &Path, ending: &str) -> Result<Vec<PathBuf>> {
    match path.to_str() {
        _ if path.is_dir() => in_folder(path, ending),
        Some(pattern) if !path.exists() && pattern.contains(['{', '}']) => {
            Ok(brace::expand(pattern)?.into_iter().map(PathBuf::from).collect())
        }
        Some(pattern) if !path.exists() && pattern.contains('*') => {
            let shown = shortened(pattern);
            let reason = format!(
                "{shown}: a star stands for no names here; give the folder with the files, or a list in braces such as \
                 {{000..146}}"
            );
            Err(Error::argument("shards", reason))
        }
        _ => Ok(vec![path.to_owned()]),
    }
}

fn in_folder(folder: &Path, ending: &str) -> Result<Vec<PathBuf>> {
    let failed = |source| Error::io(folder, source);
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let hidden = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        if !hidden && path.extension().is_some_and(|extension| extension == ending) {
            files.push(path);
        }
    }
    if files.is_empty() {
        let hint = format!("looked for *.{ending} in it");
        return Err(ErrorKind::EmptyDataset { what: folder.display().to_string(), hint }.into());
    }
    files.sort_unstable();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_is_no_pattern() {
        let folder = tempfile::tempdir().unwrap();
        let star = folder.path().join("*.tar");
        let error = listed(&star, "tar").unwrap_err().to_string();
        assert!(error.contains("*.tar: a star stands for no names here; give the folder"), "{error}");
        // It may be the name of a file.
        fs::write(&star, "").unwrap();
        assert_eq!(listed(&star, "tar").unwrap(), [star.as_path()]);
        assert_eq!(listed(folder.path(), "tar").unwrap(), [star]);
    }
}
