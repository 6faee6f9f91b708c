//! A pack made by many machines: a plan that lists the samples once, parts that pack a range of them each, and the join.
//!
//! All parts write their shards into the folder to pack into, under names of their own; plan and records lie in a hidden
//! folder there, which the join removes.

// plan.rs     makes a plan and reads it; listing.rs has what it lists
// part.rs     packs one part; listed.rs reads its samples where they are files
// record.rs   what parts leave behind
// join.rs     makes a data set of them

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

/// The folder of plan and records, in the folder to pack into.
const FOLDER: &str = ".gpufeed-pack-parts";

fn records_in(out: &Folder) -> Folder {
    out.within(FOLDER)
}

/// Returns the number of parts of the plan there, or of a pack that was joined, and true for the latter.
pub(super) fn planned(out: &Folder) -> Result<(usize, bool)> {
    if let Some(plan) = plan::Plan::read(out)? {
        return Ok((plan.planned.parts, false));
    }
    joined(out)?.map(|(_, planned)| (planned.parts, true)).ok_or_else(|| no_plan(out))
}

/// Returns the manifest of parts that have been joined already.
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
