//! Keys that are not samples, and labels that are words: what is decided for a whole file.

use super::layout::{LmdbLayout, NoLabel, is_no_sample, numbered_key, parse, source_of};
use super::reader::Reader;
use crate::dataset::Label;
use crate::error::Result;

/// Keys that the writers of many sets add, whatever the other keys are.
const USUAL: [&[u8]; 2] = [b"length", b"keys"];

/// Returns the keys that are metadata: the usual ones, and words among other keys if they are few, where their values are
/// no images.
pub(super) fn keys(reader: &Reader, max_bytes: u64) -> Result<Vec<Vec<u8>>> {
    const FEW: usize = 32;
    let is_usual = |key: &[u8]| USUAL.contains(&key);
    let (mut wordy, mut words, mut samples) = (Vec::new(), 0, 0u64);
    reader.keys(|key| {
        // Binary numbers are no words, though most have no digit.
        let word = key.iter().all(|byte| byte.is_ascii_alphabetic() || b"_-.".contains(byte));
        if is_usual(key) {
            wordy.push(key.to_vec());
        } else if word && words <= FEW && !is_no_sample(key) {
            wordy.push(key.to_vec());
            words += 1;
        }
        samples += u64::from(!word);
    })?;
    if words > FEW || samples == 0 {
        wordy.retain(|key| is_usual(key));
    }
    let (mut found, mut buffer) = (Vec::new(), Vec::new());
    for key in wordy {
        // A key with an empty value is a sample that fails, unless it is one of the usual keys of metadata.
        let value = reader.get(&key, max_bytes, &mut buffer).ok().flatten().unwrap_or_default();
        if (!value.is_empty() || is_usual(&key)) && LmdbLayout::of(value).is_err() {
            found.push(key);
        }
    }
    Ok(found)
}

/// The labels of a set of numbered samples.
#[derive(Debug, Default)]
pub(super) struct LabelsFound {
    /// True if one is neither a class nor a list of numbers. Then nothing more is known.
    pub(super) words: bool,
    pub(super) first: Option<Label>,
    /// The number of samples without one.
    pub(super) missing: u64,
}

/// Reads the labels, whose keys begin with `source`, up to the first word.
pub(super) fn labels(reader: &Reader, source: &str, count: usize, max_bytes: u64) -> Result<LabelsFound> {
    let (mut found, mut buffer) = (LabelsFound::default(), Vec::new());
    for number in 1..=count as u64 {
        match reader.get(numbered_key(source, number).as_bytes(), max_bytes, &mut buffer)?.map(parse) {
            None => found.missing += 1,
            Some(Ok(label)) => found.first = found.first.or(Some(label)),
            // The sample's read names it.
            Some(Err(NoLabel::Number(_))) => {}
            Some(Err(NoLabel::Word)) => return Ok(LabelsFound { words: true, ..LabelsFound::default() }),
        }
    }
    Ok(found)
}

/// Returns what stands before the number in the keys of numbered samples, each once: `image`, `label`, `caption`. Each
/// takes a search or two, however many samples there are.
pub(super) fn sources(reader: &Reader, count: u64) -> Result<Vec<String>> {
    /// A file of other keys, one by one, would be searched for long.
    const SEARCHES: usize = 1024;
    let (mut found, mut from) = (Vec::<String>::new(), Vec::new());
    for _ in 0..SEARCHES {
        let Some(key) = reader.first_not_below(&from)? else { break };
        let source = source_of(&key).map(str::to_owned);
        // The last key before the next search. Keys of a source such as `image-2` may lie between those of `image`.
        from = match source {
            Some(source) if found.contains(&source) => {
                let last = numbered_key(&source, count + values_beyond(reader, &source, count)?).into_bytes();
                // The colon follows the digits. Behind a gap no other source is looked for.
                if last >= key { last } else { format!("{source}-:").into_bytes() }
            }
            Some(source) => {
                let last = numbered_key(&source, count).into_bytes();
                found.push(source);
                last.max(key)
            }
            None => key,
        };
        from.push(0);
    }
    Ok(found)
}

/// Counts the values of `source` that follow those of `num-samples` without a gap, in some twenty searches.
pub(super) fn values_beyond(reader: &Reader, source: &str, count: u64) -> Result<u64> {
    let mut buffer = Vec::new();
    let (mut there, mut missing) = (count, reader.len() + 1);
    while missing - there > 1 {
        // The next one is asked first, as most sets have none.
        let asked = if there == count { count + 1 } else { there.midpoint(missing) };
        match reader.find(numbered_key(source, asked).as_bytes(), &mut buffer)? {
            Some(_) => there = asked,
            None => missing = asked,
        }
    }
    Ok(there - count)
}
