//! Decoding of files to pixels: formats, regions, damage, seek indexes.

mod formats;
mod golden;
mod hostile;
mod png_rows;
mod seek_index;
