//! Turns results into a page: `html.rs` writes it, `charts/` draws its figures, and `tables.rs` words its tables. Nothing
//! here measures, and the summary at the terminal is in `bench/output/`. `style.css` is the page's style sheet.

mod charts;
pub(crate) mod html;
mod tables;
