//! Draws pictures of ten classes of stripes, in CIFAR-10's binary layout.

use std::fs::File;
use std::io::{BufWriter, Result, Write};
use std::path::{Path, PathBuf};

const SIDE: usize = 32;

/// Writes five training files of `images / 5` images each, and a test file. Returns their folder.
pub(crate) fn cifar(folder: &Path, images: usize) -> Result<PathBuf> {
    let mut number = 0;
    for name in (1..6).map(|batch| format!("data_batch_{batch}.bin")).chain(["test_batch.bin".to_owned()]) {
        let mut file = BufWriter::new(File::create(folder.join(name))?);
        for _ in 0..images / 5 {
            file.write_all(&image(number))?;
            number += 1;
        }
        file.flush()?;
    }
    Ok(folder.to_owned())
}

/// Returns one record of a file: the class, then the red, the green and the blue values of all pixels.
fn image(number: usize) -> Vec<u8> {
    let class = number % 10;
    let (across, down) = (1 + class % 5, 1 + class / 5 * 3);
    let value = |channel: usize, y: usize, x: usize| {
        let wave = (across * x + down * y + number / 10 + 40 * channel) % 64;
        (4 * wave.min(63 - wave) + 8 * (number * 7919 % 13)) as u8
    };
    let mut bytes = vec![class as u8];
    for channel in 0..3 {
        bytes.extend((0..SIDE * SIDE).map(|i| value(channel, i / SIDE, i % SIDE)));
    }
    bytes
}
