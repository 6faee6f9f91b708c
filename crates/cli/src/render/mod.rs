//! Turns results into a page: `html.rs` writes it, `charts/` draws its figures, and `tables.rs` words its tables. Nothing
//! here measures. The summary at the terminal, in `bench/output/`, prints the same tables. `style.css` is the page's style sheet.

mod charts;
pub(crate) mod html;
pub(crate) mod tables;
