//! A pack made by many machines: a plan that lists the samples once, parts that pack a range of them each, and the join.
//!
//! `listing.rs` has what a plan lists, `plan.rs` makes and reads it. `part.rs` packs one part, `record.rs` has what parts
//! leave behind, and `join.rs` makes a data set of them. All parts write their shards into the folder to pack into, under
//! names of their own; plan and records lie in a hidden folder there, which the join removes.

mod join;
mod listing;
mod part;
mod plan;
mod record;

pub(super) use join::join;
pub(super) use part::part;
pub(super) use plan::plan;

use crate::pack::journal::{MANIFEST, Manifest, Planned, read_json};
use crate::pack::out_folder::told;
use gpufeed::dataset::UNFINISHED;
use gpufeed::storage::{Folder, Location};
use std::path::Path;

/// The folder of plan and records, in the folder to pack into.
const FOLDER: &str = ".gpufeed-pack-parts";

fn records_in(out: &Folder) -> Folder {
    out.within(FOLDER)
}

/// Returns the manifest of parts that have been joined already.
fn joined(out: &Folder) -> Result<Option<(Manifest, Planned)>, String> {
    if out.contents().map_err(told)?.has(UNFINISHED) {
        return Ok(None);
    }
    let manifest: Option<Manifest> = read_json(out, MANIFEST)?;
    Ok(manifest.and_then(|manifest| manifest.plan.clone().map(|plan| (manifest, plan))))
}

/// Returns the error of a folder without a plan.
fn no_plan(source: &Path, out: &Folder) -> String {
    let (source, out) = (Location::from(source), out.path(""));
    let out = out.display();
    format!("{out}: there is no plan; `gpufeed pack {source} {out} --plan --parts N` makes one, once for all parts")
}
