//! Packs by many machines: a plan lists the samples once, each part packs a range of them, and a join makes one data
//! set.
//!
//! All parts write their shards into the folder to pack into, each under names of its own. A hidden folder in it has
//! the plan and the records, until the join removes it.

// plan.rs     makes a plan and reads it; listing.rs has what it lists
// part.rs     packs one part; listed.rs reads its samples where they are files
// record.rs   the files of a part: its journal, and its record when it is done
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
use super::journal::{MANIFEST, Manifest, Planned, read_json};

/// The folder of the plan and the records, in the folder to pack into.
const FOLDER: &str = ".gpufeed-pack-parts";

fn records_in(out: &Folder) -> Folder {
    out.within(FOLDER)
}

/// Returns the number of parts of the plan there, and false; or that of a pack that was joined, and true.
pub(super) fn planned(out: &Folder) -> Result<(usize, bool)> {
    if let Some(plan) = plan::Plan::read(out)? {
        return Ok((plan.planned.parts, false));
    }
    joined(out)?.map(|(_, planned)| (planned.parts, true)).ok_or_else(|| no_plan(out))
}

/// Returns the manifest and the plan of parts that have been joined already.
fn joined(out: &Folder) -> Result<Option<(Manifest, Planned)>> {
    if out.contents().map_err(permitted)?.has(UNFINISHED) {
        return Ok(None);
    }
    let manifest: Option<Manifest> = read_json(out, MANIFEST)?;
    Ok(manifest.and_then(|manifest| manifest.plan.clone().map(|plan| (manifest, plan))))
}

/// Returns the error of a folder without a plan.
fn no_plan(out: &Folder) -> Error {
    there(out, Reason::new("there is no plan").advise(PACK_PLAN))
}
