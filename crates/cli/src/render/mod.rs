//! Turns results into a page: `html.rs` writes it, `charts/` draws its figures, and `tables.rs` words its tables, which
//! the summary at the terminal (`bench/output/`) prints, too. Nothing here measures. `style.css` is the style sheet.

mod charts;
pub(crate) mod html;
pub(crate) mod tables;
