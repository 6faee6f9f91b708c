//! `gpufeed index` of objects in a store: puts the indexes that say where their samples are beside them.

use crate::{DONE, Outcome, error_text, to_stdout};
use gpufeed::dataset::{Format, TarShards};
use gpufeed::internals::shown_path;
use gpufeed::{Dataset as _, Error, ErrorKind};
use serde_json::json;
use std::io::Write as _;
use std::path::Path;
use std::time::Instant;

/// Opens the set, and writes the indexes that are missing. Prints what is there then.
///
/// # Errors
/// Objects that cannot be read, and a store that cannot be written.
pub(crate) fn run(address: &Path, as_json: bool) -> Outcome {
    let start = Instant::now();
    let (samples, objects) = opened(address).map_err(|error| match error.kind() {
        ErrorKind::Io { path, .. } if path.to_string_lossy().ends_with("gpufeed-index") => format!(
            "{} (the indexes cannot be put beside the objects; each machine then makes its own, and keeps them where \
             RemoteOptions::cache or ShardIndexes::Folder says)",
            error_text::describe(&error)
        ),
        _ => error_text::describe(&error),
    })?;
    let seconds = start.elapsed().as_secs_f64();
    if as_json {
        let value = json!({ "samples": samples, "objects": objects, "seconds": seconds });
        let text = serde_json::to_string_pretty(&value)?;
        to_stdout(|out| writeln!(out, "{text}"))?;
    } else {
        let name = shown_path(address);
        say!(
            "{}: {samples} samples in {objects} objects, with their indexes beside them; {seconds:.1} s",
            name.display()
        );
    }
    Ok(DONE)
}

/// Returns the number of samples and of objects.
fn opened(address: &Path) -> Result<(usize, usize), Error> {
    #[cfg(feature = "parquet")]
    if Format::detect(address) == Format::Parquet {
        let builder = gpufeed::dataset::Parquet::builder().allow_unlabelled(true).put_indexes(true);
        let (train, test) = builder.parts(address)?;
        let all = || std::iter::once(&train).chain(&test);
        return Ok((all().map(|part| part.len()).sum(), all().map(|part| part.files()).sum()));
    }
    match Format::detect(address) {
        Format::Tar => {
            let shards = TarShards::builder().allow_unlabelled(true).put_indexes(true).open(address)?;
            Ok((shards.len(), shards.shards()))
        }
        // The error says which formats are read from stores.
        other => other.open(address).map(|opened| (opened.train.len(), 0)),
    }
}
