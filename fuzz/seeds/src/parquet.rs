//! Seeds for the target `parquet`: the files of tests/parquet, which other programs have written.

use crate::Seed;
use std::error::Error;
use std::path::Path;

/// Reads the files in the folder beside `golden`.
pub fn seeds(golden: &Path) -> Result<Vec<Seed>, Box<dyn Error>> {
    let mut seeds = Vec::new();
    for entry in std::fs::read_dir(golden.with_file_name("parquet"))? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "parquet") {
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            // Flags of the target: 1 allows samples without labels, 2 names the columns, 8 reads all fields, 16 some.
            for flags in [1u8, 3, 9, 17] {
                seeds.push((format!("{name}-{flags}"), [&[flags][..], &std::fs::read(&path)?].concat()));
            }
        }
    }
    Ok(seeds)
}
