//! Reads the numbers of samples from a JSON file, so that a set can be opened without opening its files.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::FileList;
use crate::credentials::without_credentials;
use crate::error::{Error, Result};
use crate::storage::local::regular_file;
use crate::storage::{Address, Location, Remote, RemoteOptions, check};

/// The largest JSON that is fetched. A million shards with names of 50 characters take 70 MB.
const LARGEST: u64 = 256 << 20;

/// The most samples of a file. The headers of so many are 256 GiB of a tar. Memory has a place for each 512 samples of
/// a set.
const MOST: usize = 1 << 28;

/// The number of samples of each file, by its name.
#[derive(Debug)]
pub(super) struct SampleCounts {
    json: PathBuf,
    samples: HashMap<String, usize>,
}

impl SampleCounts {
    /// Reads a JSON file or object. `files` are the files of the set.
    ///
    /// # Errors
    /// A JSON that is not there, or that has another form than [`parse`] reads.
    pub(super) fn read(json: &Location, files: &FileList, options: &RemoteOptions) -> Result<SampleCounts> {
        let bytes = match json {
            Location::Path(path) => regular_file::read(path).map_err(|source| Error::io(path, source))?,
            Location::Address(address) => fetch(address, files, options)?,
        };
        let json = json.shown();
        match parse(&bytes) {
            Ok(samples) => Ok(SampleCounts { json, samples }),
            Err(reason) => Err(Error::io(&json, io::Error::new(io::ErrorKind::InvalidData, reason))),
        }
    }

    /// Returns the number of samples of a file. The JSON may have the file's whole name, or the end of the name from
    /// some folder on. If several entries fit, the longest counts.
    ///
    /// # Errors
    /// A file that the JSON does not have.
    pub(super) fn of(&self, name: &str) -> Result<usize> {
        let plain = &*without_credentials(name);
        let ends = plain.match_indices(['/', '\\']).map(|(at, _)| &plain[at + 1..]);
        let count = [name, plain].into_iter().chain(ends).find_map(|end| self.samples.get(end));
        count.copied().ok_or_else(|| {
            let reason = format!("{name} is not in {}; add its number of samples, or leave `counts` out", self.json());
            Error::argument("counts", reason)
        })
    }

    /// Compares the number of samples in the JSON with the number in the file's index.
    ///
    /// # Errors
    /// The two numbers differ.
    pub(super) fn check(&self, name: &Path, found: usize) -> Result<()> {
        let said = self.of(&name.to_string_lossy())?;
        if said == found {
            return Ok(());
        }
        let reason = format!(
            "it has {found} samples, but {} says {said}: correct that number, or leave `counts` out",
            self.json()
        );
        Err(Error::io(name, io::Error::new(io::ErrorKind::InvalidData, reason)))
    }

    fn json(&self) -> std::path::Display<'_> {
        self.json.display()
    }
}

fn fetch(address: &Address, files: &FileList, options: &RemoteOptions) -> Result<Vec<u8>> {
    check(address)?;
    let remote = files.remote().map_or_else(|| Remote::new(options), |remote| Ok(remote.clone()))?;
    let found = remote.get_small(address.with_credentials(), LARGEST)?;
    let missing = || Error::io(address.to_string(), io::ErrorKind::NotFound.into());
    found.map(|(bytes, _)| bytes).ok_or_else(missing)
}

/// Reads one of three forms: an object of numbers by name, as OpenCLIP's `sizes.json`; a list `shardlist` of `url` and
/// `nsamples`, as WebDataset's `wids-index`; or a list `shards` of `file` and `samples`, as `gpufeed-pack.json`.
///
/// # Errors
/// The reason if the JSON has another form, or has a name twice.
fn parse(bytes: &[u8]) -> Result<HashMap<String, usize>, String> {
    let form = "write the number of samples of each file: {\"train-000.tar\": 1000, \"train-001.tar\": 998}";
    let json: Map<String, Value> = serde_json::from_slice(bytes).map_err(|error| format!("{error}; {form}"))?;
    let list = ["shardlist", "shards"].into_iter().find_map(|name| json.get(name)?.as_array());
    let mut samples = HashMap::new();
    let mut add = |name: Option<&str>, count: Option<&Value>| {
        let count = count.and_then(Value::as_u64).and_then(|count| usize::try_from(count).ok());
        let (Some(name), Some(count)) = (name, count) else {
            return Err(format!("{} has no number of samples; {form}", name.unwrap_or("an entry without a name")));
        };
        if count > MOST {
            return Err(format!("{name} has {count} samples, but a file has at most {MOST}"));
        }
        match samples.insert(name.trim_start_matches("./").to_owned(), count) {
            None => Ok(()),
            Some(_) => Err(format!("{name} is there twice")),
        }
    };
    match list {
        Some(list) => list.iter().try_for_each(|entry| {
            let name = ["url", "file"].into_iter().find_map(|name| entry.get(name)?.as_str());
            add(name, ["nsamples", "samples"].into_iter().find_map(|name| entry.get(name)))
        })?,
        None => json.iter().try_for_each(|(name, count)| add(Some(name), Some(count)))?,
    }
    Ok(samples)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(json: &str) -> Result<SampleCounts, String> {
        Ok(SampleCounts { json: "sizes.json".into(), samples: parse(json.as_bytes())? })
    }

    #[test]
    fn three_forms_are_read() {
        for json in [
            r#"{"0.tar": 7, "b/1.tar": 8, "s3://a/2.tar": 9}"#,
            r#"{"wids_version": 1, "shardlist": [{"url": "0.tar", "nsamples": 7}, {"url": "./b/1.tar", "nsamples": 8},
                {"url": "s3://a/2.tar", "nsamples": 9, "filesize": 1}]}"#,
            r#"{"shards": [{"file": "0.tar", "samples": 7, "first": 0}, {"file": "b/1.tar", "samples": 8},
                {"file": "s3://a/2.tar", "samples": 9}]}"#,
        ] {
            let counts = counts(json).unwrap();
            for (name, count) in [
                ("0.tar", 7),
                ("x/0.tar", 7),
                ("s3://x/y/b/1.tar", 8),
                ("https://h/0.tar?key=1", 7),
                ("s3://a/2.tar", 9),
            ] {
                assert_eq!(counts.of(name).unwrap(), count, "{name} of {json}");
            }
            for name in ["1.tar", "c/1.tar", "s3://b/2.tar", "00.tar"] {
                let error = counts.of(name).unwrap_err().to_string();
                assert!(error.contains(name) && error.contains("is not in sizes.json"), "{error}");
            }
        }
    }

    #[test]
    fn other_forms_are_refused() {
        for (json, says) in [
            ("[1, 2]", "write the number of samples"),
            ("{", "EOF"),
            (r#"{"0.tar": "7"}"#, "0.tar has no number of samples"),
            (r#"{"0.tar": -7}"#, "0.tar has no number of samples"),
            (
                r#"{"0.tar": 9000000000000000000}"#,
                "0.tar has 9000000000000000000 samples, but a file has at most 268435456",
            ),
            (r#"{"0.tar": 7.5}"#, "0.tar has no number of samples"),
            (r#"{"shards": [{"samples": 7}]}"#, "an entry without a name has no number"),
            (r#"{"shardlist": [{"url": "a"}]}"#, "a has no number of samples"),
            (r#"{"shardlist": [{"url": "a", "nsamples": 1}, {"url": "./a", "nsamples": 1}]}"#, "./a is there twice"),
        ] {
            let error = counts(json).unwrap_err();
            assert!(error.contains(says), "{json}: {error}");
        }
    }
}
