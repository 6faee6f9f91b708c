//! The results of `gpufeed bench`, as their JSON files hold them. Nothing here measures or prints: `bench` fills a report,
//! `compare` reads two, and `render` turns one into a page. `report.rs` is the JSON object of a run, `sections.rs` its
//! parts, `spread.rs` a number measured several times. `card.rs` leaves names and paths out, `frozen.rs` tests that older
//! files stay readable.

mod card;
#[cfg(test)]
mod frozen;
mod report;
mod sections;
mod spread;

#[cfg(test)]
pub(crate) use report::sample;
pub(crate) use report::{Report, SCHEMA};
pub(crate) use sections::{
    Bottleneck, Data, GpuTime, Group, Kernels, Machine, Memory, Perturbation, Pool, Rate, Remote, Roofline, Slots,
    Stage, Sweep,
};
pub(crate) use spread::{Spread, median};
