//! Keys that are not samples, and labels that are words: what is decided for a whole file.

use super::layout::{LmdbLayout, is_no_sample, label_key, parse};
use super::reader::Reader;
use crate::error::Result;

/// Returns the keys that are metadata: they have no digit, are few, and their values are no images.
pub(super) fn keys(reader: &Reader, max_bytes: u64) -> Result<Vec<Vec<u8>>> {
    const FEW: usize = 32;
    let (mut wordy, mut samples) = (Vec::new(), 0u64);
    reader.keys(|key| {
        let word = !key.iter().any(u8::is_ascii_digit);
        if word && wordy.len() <= FEW && !is_no_sample(key) {
            wordy.push(key.to_vec());
        }
        samples += u64::from(!word);
    })?;
    if wordy.len() > FEW || samples == 0 {
        return Ok(Vec::new());
    }
    let (mut found, mut buffer) = (Vec::new(), Vec::new());
    for key in wordy {
        // What is empty or cannot be read is a sample that fails.
        let value = reader.get(&key, max_bytes, &mut buffer).ok().flatten().unwrap_or_default();
        if !value.is_empty() && LmdbLayout::of(value).is_err() {
            found.push(key);
        }
    }
    Ok(found)
}

/// Returns true if a label is neither a class nor a list of numbers.
pub(super) fn has_words(reader: &Reader, count: usize, max_bytes: u64) -> Result<bool> {
    let mut buffer = Vec::new();
    for number in 1..=count as u64 {
        let text = reader.get(label_key(number).as_bytes(), max_bytes, &mut buffer)?;
        if text.is_some_and(|text| parse(text).is_err()) {
            return Ok(true);
        }
    }
    Ok(false)
}
