//! The text file of one image: an object in each line.

use crate::quote::shortened;

/// The most that a number of a class may be.
const MOST_CLASS: f64 = 65_535.0;

/// An object of a file, in shares of the image's width and height.
#[derive(Debug, PartialEq)]
pub(super) struct YoloObject {
    pub(super) class: u32,
    /// The middle's column and row, width, height.
    pub(super) each: [f32; 4],
    /// The line has a polygon, of which the box is made.
    pub(super) is_polygon: bool,
    /// \[x, y\] and the visibility of each.
    pub(super) keypoints: Vec<([f32; 2], u8)>,
}

/// The numbers that a line of an annotation has, in all files of a set.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lines {
    /// The number of keypoints of an object, and the numbers of each: 2 or 3.
    pub(super) kpt_shape: Option<(usize, usize)>,
    /// The number of names of classes; 0 where there are none.
    pub(super) classes: usize,
}

impl Lines {
    /// Parses a file.
    ///
    /// # Errors
    /// The line, and the reason.
    pub(super) fn parse(self, text: &str) -> Result<Vec<YoloObject>, (String, String)> {
        let mut found = Vec::new();
        for (number, line) in text.lines().enumerate() {
            if !line.trim().is_empty() {
                found.push(self.object(line).map_err(|reason| (format!("line {}", number + 1), reason))?);
            }
        }
        Ok(found)
    }

    fn object(self, line: &str) -> Result<YoloObject, String> {
        let mut words = line.split_whitespace();
        let class = self.class(words.next().unwrap_or_default())?;
        let numbers = words.map(|word| {
            let number = word.parse::<f32>().ok().filter(|number| number.is_finite());
            number.ok_or_else(|| format!("has {:?}, which is no number", shortened(word)))
        });
        let numbers = numbers.collect::<Result<Vec<f32>, String>>()?;
        let object = |each: [f32; 4]| YoloObject { class, each, is_polygon: false, keypoints: Vec::new() };
        let count = numbers.len();
        match (&numbers[..], self.kpt_shape) {
            (&[x, y, w, h, ref rest @ ..], Some((points, numbers))) if rest.len() == points * numbers => {
                let keypoints = rest.chunks_exact(numbers).map(keypoint).collect::<Result<_, String>>()?;
                Ok(YoloObject { keypoints, ..object([x, y, w, h]) })
            }
            (_, Some((points, numbers))) => Err(format!(
                "has {count} numbers behind the class; with kpt_shape [{points}, {numbers}] it is {}",
                4 + points * numbers
            )),
            (&[x, y, w, h], None) => Ok(object([x, y, w, h])),
            (corners, None) if count >= 6 && count.is_multiple_of(2) => {
                Ok(YoloObject { is_polygon: true, ..object(around(corners)) })
            }
            _ => Err(format!(
                "has {count} numbers behind the class; 4 of a box work, or pairs of three points or more; keypoints need \
                 kpt_shape"
            )),
        }
    }

    /// The number of a class, which some tools write as `3.0`.
    fn class(self, word: &str) -> Result<u32, String> {
        let number =
            word.parse::<f64>().ok().filter(|number| number.fract() == 0.0 && (0.0..=MOST_CLASS).contains(number));
        let class =
            number.ok_or_else(|| format!("begins with {:?}; the number of a class works", shortened(word)))? as u32;
        if self.classes > 0 && class as usize >= self.classes {
            return Err(format!("has the class {class}, but there are names of {} classes, from 0 on", self.classes));
        }
        Ok(class)
    }
}

fn keypoint(numbers: &[f32]) -> Result<([f32; 2], u8), String> {
    match *numbers {
        [x, y] if x < 0.0 || y < 0.0 => Ok(([x, y], 0)),
        [x, y] => Ok(([x, y], 2)),
        [x, y, seen] if [0.0, 1.0, 2.0].contains(&seen) => Ok(([x, y], seen as u8)),
        [.., seen] => Err(format!("has a keypoint of the visibility {seen}; 0, 1 and 2 work")),
        [] => Ok(([0.0; 2], 0)),
    }
}

/// The box around the corners of a polygon.
fn around(corners: &[f32]) -> [f32; 4] {
    let ends = |first: usize| {
        let numbers = corners[first..].iter().step_by(2).map(|number| f64::from(*number));
        numbers.fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), number| (number.min(least), number.max(most)))
    };
    let ((left, right), (top, bottom)) = (ends(0), ends(1));
    [(left + right) / 2.0, (top + bottom) / 2.0, right - left, bottom - top].map(|number| number as f32)
}
