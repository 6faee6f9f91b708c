//! The charts of the page, one file each: `stages.rs`, `pools.rs`, `sweep.rs`. Each makes a `Figure`
//! (`figure.rs`) of a report. `ink.rs` has the colours, `svg.rs` the parts that charts share. The page
//! around them is `../html.rs`.

mod figure;
pub(crate) mod ink;
pub(crate) mod pools;
pub(crate) mod stages;
mod svg;
pub(crate) mod sweep;
