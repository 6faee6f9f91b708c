//! YCbCr to RGB, in the integers of libtiff, and for uncompressed pixels with whole chroma in those of Pillow.

use super::super::directory::{DirectoryEntry, Integers};

/// What the tags say of YCbCr.
#[derive(Clone, Copy, Debug)]
pub(super) struct YCbCr {
    /// Columns and rows that share a sample of chroma.
    pub(super) across: u32,
    pub(super) down: u32,
    /// Red's, green's and blue's share of the luma.
    luma: [f32; 3],
    /// The samples of black and white for Y, Cb and Cr, in pairs.
    black_and_white: [f32; 6],
    /// Pillow converts pixels itself that it reads without libtiff.
    pub(super) by_pillow: bool,
}

impl Default for YCbCr {
    fn default() -> Self {
        YCbCr {
            across: 2,
            down: 2,
            luma: [0.299, 0.587, 0.114],
            black_and_white: [0.0, 255.0, 128.0, 255.0, 128.0, 255.0],
            by_pillow: false,
        }
    }
}

impl YCbCr {
    pub(super) fn set_coefficients(&mut self, entry: &DirectoryEntry<'_>) {
        if let (Some(r), Some(g), Some(b)) = (entry.rational(0), entry.rational(1), entry.rational(2))
            && g != 0.0
        {
            self.luma = [r, g, b];
        }
    }

    pub(super) fn set_black_and_white(&mut self, entry: &DirectoryEntry<'_>) {
        let values: [Option<f32>; 6] = std::array::from_fn(|n| entry.rational(n));
        if values.iter().all(Option::is_some) {
            self.black_and_white = values.map(Option::unwrap_or_default);
        }
    }

    pub(super) fn set_subsampling(&mut self, values: Option<Integers<'_>>) {
        if let Some((across, down)) = values.and_then(|values| Some((values.get(0)?, values.get(1)?))) {
            (self.across, self.down) = (u32::try_from(across).unwrap_or(0), u32::try_from(down).unwrap_or(0));
        }
    }

    pub(super) fn tables(&self) -> Tables {
        if self.by_pillow { Tables::of_pillow() } else { Tables::of_libtiff(self) }
    }
}

/// What each sample adds to red, green and blue.
pub(super) struct Tables {
    luma: [i32; 256],
    red: [i32; 256],
    green_cb: [i32; 256],
    green_cr: [i32; 256],
    blue: [i32; 256],
    /// The bits of green's fraction.
    shift: u32,
}

impl Tables {
    /// JFIF's formula with 6 bits of fraction.
    fn of_pillow() -> Tables {
        // The cast rounds towards zero.
        let table = |factor: f64| std::array::from_fn(|index| (factor * (index as f64 - 128.0) * 64.0 + 0.5) as i32);
        let whole = |table: [i32; 256]| table.map(|value: i32| value >> 6);
        Tables {
            luma: std::array::from_fn(|index| index as i32),
            red: whole(table(1.402)),
            green_cb: table(-0.344_14),
            green_cr: table(-0.714_14),
            blue: whole(table(1.772)),
            shift: 6,
        }
    }

    /// The tags' coefficients with 16 bits of fraction.
    fn of_libtiff(ycbcr: &YCbCr) -> Tables {
        const HALF: i32 = 1 << 15;
        let fixed = |value: f32| (f64::from(value.clamp(0.0, 2.0)) * 65536.0 + 0.5) as i32;
        let [r, g, b] = ycbcr.luma;
        let (red, blue) = (2.0 - 2.0 * r, 2.0 - 2.0 * b);
        let (d1, d2, d3, d4) = (fixed(red), -fixed(r * red / g), fixed(blue), -fixed(b * blue / g));
        let code = |c: i32, black: f32, white: f32, range: f32| {
            let span = if white - black != 0.0 { white - black } else { 1.0 };
            // libtiff subtracts whole numbers, which overflow where a file says that black is far away.
            ((c as f32 - black.trunc()) * range / span).clamp(-4096.0, 4096.0) as i32
        };
        let [y0, y1, cb0, cb1, cr0, cr1] = ycbcr.black_and_white;
        let chroma = |x: i32, black: f32, white: f32| code(x, black - 128.0, white - 128.0, 127.0);
        let table = |value: &dyn Fn(i32) -> i32| std::array::from_fn(|index| value(index as i32 - 128));
        Tables {
            luma: table(&|x| code(x + 128, y0, y1, 255.0)),
            red: table(&|x| (d1 * chroma(x, cr0, cr1) + HALF) >> 16),
            green_cb: table(&|x| d4 * chroma(x, cb0, cb1) + HALF),
            green_cr: table(&|x| d2 * chroma(x, cr0, cr1)),
            blue: table(&|x| (d3 * chroma(x, cb0, cb1) + HALF) >> 16),
            shift: 16,
        }
    }

    pub(super) fn rgb(&self, y: u8, cb: u8, cr: u8) -> [u8; 3] {
        let [y, cb, cr] = [y, cb, cr].map(usize::from);
        let luma = self.luma[y];
        let green = luma + ((self.green_cb[cb] + self.green_cr[cr]) >> self.shift);
        [luma + self.red[cr], green, luma + self.blue[cb]].map(|value| value.clamp(0, 255) as u8)
    }
}
