//! Makes seeds for the targets `jpeg` and `decode` from every file of tests/golden/jpeg_files.bin (all subsamplings, with and
//! without restart markers, in one scan and in several, 1×1 to 67×129 pixels) and of jpeg_others.bin (progressive, CMYK and
//! YCCK). Each file gives three seeds: unchanged; with segments that it lacks (an orientation, a comment, Adobe's segment, or
//! 16-bit quantisation tables); and cut. A file of several scans gives a fourth one that lacks its last scans. The bytes that
//! control the target follow each file.

use super::Seed;
use gpufeed_testing::dice::Dice;
use std::error::Error;
use std::path::Path;

pub fn seeds(golden: &Path) -> Result<Vec<Seed>, Box<dyn Error>> {
    let mut dice = Dice(1);
    let mut seeds = Vec::new();
    let files = [packed(golden, "jpeg_files", 0)?, packed(golden, "jpeg_others", 1)?].concat();
    for (number, file) in files.iter().enumerate() {
        let kinds = [("plain", file.clone()), ("rich", rich(file, number)), ("cut", cut(file, &mut dice))];
        let fewer = fewer_scans(file, &mut dice).map(|bytes| ("fewer-scans", bytes));
        for (kind, bytes) in kinds.into_iter().chain(fewer) {
            let input = [bytes, control(&mut dice).to_vec()].concat();
            seeds.push((format!("{number:03}-{kind}"), input));
        }
    }
    Ok(seeds)
}

/// Reads the files of `name`.bin. Each line of `name`.txt begins with a file's length, and then has those of `more` things that lie
/// behind the file.
fn packed(golden: &Path, name: &str, more: usize) -> Result<Vec<Vec<u8>>, Box<dyn Error>> {
    let list = std::fs::read_to_string(golden.join(name).with_extension("txt"))?;
    let packed = std::fs::read(golden.join(name).with_extension("bin"))?;
    let (mut rest, mut files) = (packed.as_slice(), Vec::new());
    for line in list.lines() {
        for (number, length) in line.split(' ').take(1 + more).enumerate() {
            let (bytes, behind) = rest
                .split_at_checked(length.parse()?)
                .ok_or_else(|| format!("{name}.bin is shorter than {name}.txt says"))?;
            rest = behind;
            if number == 0 {
                files.push(bytes.to_vec());
            }
        }
    }
    Ok(files)
}

/// Cuts the file before one of its scans but the first, and adds an end-of-image marker. `None` for a file of one scan.
fn fewer_scans(file: &[u8], dice: &mut Dice) -> Option<Vec<u8>> {
    let scans: Vec<usize> = (1..file.len()).filter(|&at| file[at - 1..=at] == [0xFF, 0xDA]).collect();
    let count = scans.len().checked_sub(1).filter(|&count| count > 0)?;
    // The tables before a scan's header stay: nothing uses them.
    Some([&file[..scans[1 + dice.below(count)] - 1], &[0xFF, 0xD9]].concat())
}

/// Draws the 24 bytes that tell the target which checks to make with a file.
fn control(dice: &mut Dice) -> [u8; 24] {
    let mut bytes = [0; 24];
    for part in bytes.chunks_mut(8) {
        part.copy_from_slice(&dice.bits().to_le_bytes());
    }
    bytes[0] &= 7;
    bytes
}

/// Adds one kind of segment that the file does not have.
fn rich(file: &[u8], number: usize) -> Vec<u8> {
    let (start, rest) = file.split_at(2);
    let orientation = 1 + (number % 8) as u8;
    let mut out = start.to_vec();
    match number % 4 {
        0 => {
            out.extend_from_slice(b"\xFF\xE1\0\x22Exif\0\0MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0");
            out.extend_from_slice(&[orientation, 0, 0, 0, 0, 0, 0]);
        }
        1 => out.extend_from_slice(b"\xFF\xFF\xFE\0\x09comment"),
        2 => out.extend_from_slice(b"\xFF\xEE\0\x0EAdobe\0\x64\0\0\0\0\x01"),
        // Adds 16-bit quantisation tables as tables 2 and 3; the file's own tables follow.
        _ => {
            for slot in [0x12, 0x13] {
                out.extend_from_slice(&[0xFF, 0xDB, 0, 131, slot]);
                (1..=64_u16).for_each(|step| out.extend_from_slice(&(step * 7).to_be_bytes()));
            }
        }
    }
    out.extend_from_slice(rest);
    out
}

/// Cuts the file within its second half, and adds an end-of-image marker to half of the files.
fn cut(file: &[u8], dice: &mut Dice) -> Vec<u8> {
    let length = file.len() / 2 + (dice.bits() % (file.len() as u64 / 2)) as usize;
    let mut out = file[..length].to_vec();
    if dice.bits() % 2 == 0 {
        out.extend_from_slice(&[0xFF, 0xD9]);
    }
    out
}
