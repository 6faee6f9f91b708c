//! Packs a data set on many machines: a plan lists the samples once, each part packs a range of the samples, and a join
//! makes one data set of the parts.
//!
//! All parts write their shards into the folder to pack into, each part under names of its own. A hidden folder inside
//! this folder has the plan and the parts' records, until the join removes the hidden folder.

// plan.rs     makes a plan, and reads a plan; listing.rs has the plan's lists of samples and files
// part.rs     packs one part; listed.rs is the part's data set if its samples are files
// record.rs   the files of a part: a journal while it is packed, and a record when it is done
// join.rs     makes a data set of all parts

mod join;
mod listed;
mod listing;
mod part;
mod plan;
mod record;

pub(super) use join::join;
pub(super) use part::part;
pub(super) use plan::plan;

use crate::advice::{PACK_PLAN, Reason};
use crate::dataset::UNFINISHED;
use crate::error::{Error, Result};
use crate::storage::Folder;

use super::errors::{permitted, there};
use super::journal::{MANIFEST, Manifest, read_json};
use super::planned::Planned;

/// The name of the folder that has the plan and the parts' records, inside the folder to pack into.
const FOLDER: &str = ".gpufeed-pack-parts";

fn records_in(out: &Folder) -> Folder {
    out.within(FOLDER)
}

/// Returns the number of parts of the plan in the folder `out`, and whether the parts have been joined already.
pub(super) fn planned(out: &Folder) -> Result<(usize, bool)> {
    if let Some(plan) = plan::Plan::read(out)? {
        return Ok((plan.planned.parts, false));
    }
    joined(out)?.map(|(_, planned)| (planned.parts, true)).ok_or_else(|| no_plan(out))
}

/// Returns the manifest and the plan of a pack whose parts have been joined already; `None` if there is none in `out`.
fn joined(out: &Folder) -> Result<Option<(Manifest, Planned)>> {
    if out.contents().map_err(permitted)?.has(UNFINISHED) {
        return Ok(None);
    }
    let manifest: Option<Manifest> = read_json(out, MANIFEST)?;
    Ok(manifest.and_then(|manifest| manifest.plan.clone().map(|plan| (manifest, plan))))
}

/// Returns the error for a folder that has no plan.
fn no_plan(out: &Folder) -> Error {
    there(out, Reason::new("there is no plan").advise(PACK_PLAN))
}
