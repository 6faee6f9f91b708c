//! The results of `gpufeed bench` and of `benches/peers/run.py`, as their JSON files hold them. Nothing here measures
//! or prints: `bench` fills a report, `compare` reads two, and `render` turns one into pages and tables. `report.rs` is
//! the JSON object of a run, `sections.rs` its parts, `spread.rs` a number measured several times, `peers.rs` the rows
//! of other loaders. `card.rs` leaves names and paths out,
//! `frozen.rs` tests that older files stay readable.

mod card;
#[cfg(test)]
mod frozen;
mod peers;
mod report;
mod sections;
mod spread;

pub(crate) use peers::{PeerRow, Peers, Ratio};
#[cfg(test)]
pub(crate) use report::sample;
pub(crate) use report::{Report, SCHEMA};
pub(crate) use sections::{
    Bottleneck, Data, GpuTime, IsolatedStage, Kernels, Latency, Machine, Memory, Perturbation, Pool, Prediction, Queue,
    Rate, Remote, Roofline, Stage, Statistics, Sweep,
};
pub(crate) use spread::{Spread, median};
