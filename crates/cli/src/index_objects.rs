//! `gpufeed index` of objects in a store: puts the indexes that say where their samples are beside them.

use crate::part::PartNumber;
use crate::{DONE, Outcome, error_text, to_stdout};
use gpufeed::dataset::{Format, TarShards};
use gpufeed::internals::{addresses_of, shown_path};
use gpufeed::{Dataset as _, Error, ErrorKind};
use serde_json::json;
use std::io::Write as _;
use std::path::Path;
use std::time::Instant;

/// Opens the set, or a part of its objects, and writes the indexes that are missing. Prints what is there then.
///
/// # Errors
/// Objects that cannot be read, and a store that cannot be written.
pub(crate) fn run(address: &Path, part: Option<PartNumber>, as_json: bool) -> Outcome {
    let start = Instant::now();
    let (samples, objects) = opened(address, part).map_err(|error| match error.kind() {
        ErrorKind::Io { path, .. } if path.to_string_lossy().ends_with("gpufeed-index") => format!(
            "{} (the indexes cannot be put beside the objects; each machine then makes its own, and keeps them where \
             its loader says)",
            error_text::describe(&error)
        ),
        _ => error_text::describe(&error),
    })?;
    let seconds = start.elapsed().as_secs_f64();
    if as_json {
        let mut value = json!({ "samples": samples, "objects": objects, "seconds": seconds });
        if let Some(PartNumber { part, parts }) = part {
            (value["part"], value["parts"]) = (part.into(), parts.into());
        }
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
fn opened(address: &Path, part: Option<PartNumber>) -> Result<(usize, usize), Error> {
    let tar = || TarShards::builder().allow_unlabelled(true).put_indexes(true);
    #[cfg(feature = "parquet")]
    if Format::detect(address) == Format::Parquet {
        let builder = gpufeed::dataset::Parquet::builder().allow_unlabelled(true).put_indexes(true);
        let Some(part) = part else {
            let (train, test) = builder.parts(address)?;
            let all = || std::iter::once(&train).chain(&test);
            return Ok((all().map(|part| part.len()).sum(), all().map(|part| part.files()).sum()));
        };
        let files = of_part(address, "parquet", part)?;
        let count = files.len();
        return Ok(if count == 0 { (0, 0) } else { (builder.open_list(files)?.len(), count) });
    }
    match (Format::detect(address), part) {
        (Format::Tar, None) => {
            let shards = tar().open(address)?;
            Ok((shards.len(), shards.shards()))
        }
        (Format::Tar, Some(part)) => {
            let shards = of_part(address, "tar", part)?;
            let count = shards.len();
            Ok(if count == 0 { (0, 0) } else { (tar().open_list(shards)?.len(), count) })
        }
        // The error says which formats are read from stores.
        (other, _) => other.open(address).map(|opened| (opened.train.len(), 0)),
    }
}

/// Returns the addresses of a part of the objects; none where there are more parts than objects.
fn of_part(address: &Path, ending: &str, part: PartNumber) -> Result<Vec<String>, Error> {
    let mut all = addresses_of(&address.to_string_lossy(), ending)?;
    let range = part.range(all.len());
    Ok(all.drain(range).collect())
}
