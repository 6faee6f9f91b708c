//! Turns results into files for people: `html.rs` writes the page of a report, `charts/` draws its figures, `markdown/`
//! rewrites a section of a markdown file, and `tables.rs` words the tables that page and markdown share. Nothing here
//! measures, and the summary at the terminal is in `bench/output/`. `style.css` is the page's style sheet.

mod charts;
pub(crate) mod html;
pub(crate) mod markdown;
mod tables;
