//! Decoding of files to pixels: formats, regions, damage, seek indexes.

mod formats;
mod golden;
mod hostile;
mod orientation;
mod pillow;
mod png_rows;
mod scans;
mod seek_index;
mod tiff;
