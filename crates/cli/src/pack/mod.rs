//! `gpufeed pack`: packs a data set in any format into tar shards or an LMDB, by `gpufeed::pack`.

// arguments.rs   the options
// bar.rs         shows how far the pack is
// summary.rs     prints the result

mod arguments;
mod bar;
mod summary;

pub(crate) use arguments::PackArguments;

use crate::part::AskedPart;
use crate::{DONE, FINDINGS, Outcome};
use arguments::To;
use bar::Bar;
use gpufeed::pack::{Packed, Packer, PartNumber};
use gpufeed::storage::Location;
use std::ops::ControlFlow;

/// Packs, verifies if the options ask for it, and prints the result; or does one step of a pack in parts.
pub(crate) fn run(arguments: &PackArguments) -> Outcome {
    let PackArguments { source, out, json, .. } = arguments;
    let mut bar = Bar::default();
    let packer = Packer::new(source, out).settings(arguments.settings()).listen(|event| {
        bar.hear(event);
        ControlFlow::Continue(())
    });
    match (arguments.plan, arguments.parts, arguments.part) {
        (true, Some(parts), _) => {
            if arguments.to != To::Tar {
                let reason = "--plan is for tar shards, as one process writes an LMDB: pack into shards by parts, join them, \
                              and pack what is joined with --to lmdb";
                return Err(crate::conflict(reason).into());
            }
            summary::print_plan(source, &packer.plan(parts)?, *json)?;
            Ok(DONE)
        }
        (_, parts, Some(asked)) => {
            let number = part_of(&packer, arguments, parts, asked)?;
            match packer.part(number.part, number.parts)? {
                Some(packed) => report(&packed, *json),
                None => {
                    summary::print_joined(number, *json)?;
                    Ok(DONE)
                }
            }
        }
        (false, Some(_), None) => Err(crate::conflict("--parts N goes with --plan, or with --part").into()),
        _ if arguments.join => report(&packer.join()?, *json),
        _ => report(&packer.pack()?, *json),
    }
}

/// Returns the part that `--part` asks for, among those of the plan.
fn part_of(
    packer: &Packer<'_>,
    PackArguments { out, .. }: &PackArguments,
    asked_parts: Option<usize>,
    asked: AskedPart,
) -> Result<PartNumber, Box<dyn std::error::Error>> {
    let (parts, joined) = packer.parts()?;
    let whence = format!("the {} in {}", if joined { "pack" } else { "plan" }, Location::from(out));
    if let Some(asked) = asked_parts.filter(|asked| *asked != parts && !joined) {
        return Err(format!("--parts {asked}, but {whence} has {parts}").into());
    }
    Ok(asked.resolve(Some(parts), &whence)?)
}

/// Prints a result. A part that is done has exit code 0, so that no engine repeats it. The join names the samples that
/// were left out.
fn report(packed: &Packed, as_json: bool) -> Outcome {
    summary::print(packed, as_json)?;
    Ok(if packed.has_findings() { FINDINGS } else { DONE })
}
