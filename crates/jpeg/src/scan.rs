//! The scan: blocks are decoded where the region needs them and stepped over elsewhere.

use multiversion::multiversion;

use crate::bits::{Bits, Block, NATURAL};
use crate::huffman::{Ac, Dc};
use crate::idct::{self, IdctSize};
use crate::index::{Entry, GROUP, SeekIndex};
use crate::markers::{MCU_BLOCKS, Scan};
use crate::stuffing::{Cut, Destuffed};

/// How the blocks of a component are coded.
#[derive(Clone)]
pub(crate) struct Coder<'a> {
    /// Blocks of an MCU across and down.
    pub(crate) across: usize,
    pub(crate) down: usize,
    pub(crate) dc: &'a Dc,
    pub(crate) ac: &'a Ac,
    /// Steps of quantisation, row by row.
    pub(crate) steps: [i16; 64],
}

/// Steps of quantisation, row by row, from those in zigzag order.
pub(crate) fn in_rows(steps: &[u16; 64]) -> [i16; 64] {
    let mut rows = [0; 64];
    NATURAL.iter().zip(steps).for_each(|(&place, &step)| rows[usize::from(place)] = step as i16);
    rows
}

/// The blocks of a component that are wanted, and where their samples go.
#[derive(Debug, Default)]
pub(crate) struct Part<'a> {
    /// The first block and the one after the last, horizontally and vertically.
    pub(crate) columns: (usize, usize),
    pub(crate) rows: (usize, usize),
    /// Rows of the wanted blocks' samples, without gaps.
    pub(crate) samples: &'a mut [u8],
    /// The size that a block gets.
    pub(crate) size: IdctSize,
}

impl Part<'_> {
    /// Samples in a row.
    pub(crate) fn stride(&self) -> usize {
        self.size.samples() * (self.columns.1 - self.columns.0)
    }
}

/// MCUs `from..end` of a row of MCUs.
#[derive(Clone, Copy)]
pub(crate) struct Run {
    pub(crate) row: usize,
    pub(crate) from: usize,
    pub(crate) end: usize,
}

/// Blocks that wait for their inverse DCT. Vectors read from a block whose single coefficients were just written would
/// wait for these to reach the cache.
const WAITING: usize = 16;

/// A block's component, the place of its samples, and its last coefficient.
#[derive(Clone, Copy, Default)]
pub(crate) struct Place {
    pub(crate) component: usize,
    pub(crate) at: usize,
    pub(crate) last: usize,
}

/// One of an MCU's blocks, in a row of MCUs.
#[derive(Clone, Copy)]
pub(crate) struct Unit<'a> {
    pub(crate) component: usize,
    pub(crate) dc: &'a Dc,
    pub(crate) ac: &'a Ac,
    /// The next block's column among the wanted ones; beyond them where it is not wanted, or before the first.
    column: usize,
    /// From one MCU to the next.
    step: usize,
    /// Wanted columns; none where the row is not wanted.
    columns: usize,
    /// Where the row's samples begin.
    at: usize,
    /// Samples of a block in a row.
    side: usize,
}

impl Unit<'_> {
    /// Goes on to the next MCU: where the block's samples begin, if they are wanted.
    #[inline(always)]
    pub(crate) fn advance(&mut self) -> Option<usize> {
        let wanted = self.column < self.columns;
        let at = self.at.wrapping_add(self.column.wrapping_mul(self.side));
        self.column = self.column.wrapping_add(self.step);
        wanted.then_some(at)
    }
}

/// The blocks of an MCU in their order, for the MCUs from `run.from` on; how many there are.
#[inline(always)]
pub(crate) fn units<'a>(
    coders: &'a [Coder<'a>],
    parts: &[Part<'_>],
    run: Run,
) -> Option<([Unit<'a>; MCU_BLOCKS], usize)> {
    let Coder { dc, ac, .. } = coders.first()?;
    let mut units = [Unit { component: 0, dc, ac, column: 0, step: 0, columns: 0, at: 0, side: 0 }; MCU_BLOCKS];
    let mut count = 0;
    for (component, (coder, part)) in coders.iter().zip(parts).enumerate() {
        for block in 0..coder.down * coder.across {
            let (down, across) = (block / coder.across, block % coder.across);
            let row = (run.row * coder.down + down).wrapping_sub(part.rows.0);
            let wanted = row < part.rows.1 - part.rows.0;
            *units.get_mut(count)? = Unit {
                component,
                dc: coder.dc,
                ac: coder.ac,
                column: (run.from * coder.across + across).wrapping_sub(part.columns.0),
                step: coder.across,
                columns: if wanted { part.columns.1 - part.columns.0 } else { 0 },
                at: row.wrapping_mul(part.size.samples() * part.stride()),
                side: part.size.samples(),
            };
            count += 1;
        }
    }
    Some((units, count))
}

/// Decodes the blocks of a run that are wanted.
#[multiversion(targets("x86_64+avx2+bmi1+bmi2"))]
fn decode_run(
    bits: &mut Bits<'_>,
    predictors: &mut [i16; 3],
    coders: &[Coder<'_>],
    parts: &mut [Part<'_>],
    run: Run,
) -> Option<()> {
    let mut stream = *bits;
    let mut blocks = [[0; 64]; WAITING];
    let mut places = [Place::default(); WAITING];
    let mut waiting = 0;
    let (mut units, count) = units(coders, parts, run)?;
    for _ in run.from..run.end {
        for unit in &mut units[..count] {
            let block = &mut blocks[waiting % WAITING];
            *block = [0; 64];
            let (difference, last) = stream.block(unit.dc, unit.ac, block)?;
            let predictor = &mut predictors[unit.component];
            *predictor = predictor.wrapping_add(difference as i16);
            block[0] = *predictor;
            let at = unit.at.wrapping_add(unit.column.wrapping_mul(unit.side));
            places[waiting % WAITING] = Place { component: unit.component, at, last };
            waiting += usize::from(unit.column < unit.columns);
            unit.column = unit.column.wrapping_add(unit.step);
            if waiting == WAITING {
                transform(&blocks, &places, coders, parts)?;
                waiting = 0;
            }
        }
    }
    transform(&blocks[..waiting], &places, coders, parts)?;
    *bits = stream;
    Some(())
}

/// Coefficients to samples.
#[multiversion(targets("x86_64+avx2"))]
pub(crate) fn transform(
    blocks: &[Block],
    places: &[Place],
    coders: &[Coder<'_>],
    parts: &mut [Part<'_>],
) -> Option<()> {
    if parts.iter().any(|part| part.size != IdctSize::Eight) {
        return transform_scaled(blocks, places, coders, parts);
    }
    for (block, place) in blocks.iter().zip(places) {
        let (coder, part) = (&coders[place.component], &mut parts[place.component]);
        let stride = part.stride();
        let mut coefficients = [0; 64];
        for ((to, &level), &step) in coefficients.iter_mut().zip(block).zip(&coder.steps) {
            *to = level.wrapping_mul(step);
        }
        idct::eight(&coefficients, place.last, part.samples.get_mut(place.at..)?, stride);
    }
    Some(())
}

/// [`transform`] to blocks of any size: apart, so that the usual one chooses no size for each block.
#[multiversion(targets("x86_64+avx2"))]
fn transform_scaled(blocks: &[Block], places: &[Place], coders: &[Coder<'_>], parts: &mut [Part<'_>]) -> Option<()> {
    for (block, place) in blocks.iter().zip(places) {
        let (coder, part) = (&coders[place.component], &mut parts[place.component]);
        let stride = part.stride();
        let mut coefficients = [0; 64];
        for ((to, &level), &step) in coefficients.iter_mut().zip(block).zip(&coder.steps) {
            *to = level.wrapping_mul(step);
        }
        idct::sized(part.size, &coefficients, place.last, part.samples.get_mut(place.at..)?, stride);
    }
    Some(())
}

/// Steps over a run.
#[multiversion(targets("x86_64+avx2+bmi1+bmi2"))]
fn skip_run(bits: &mut Bits<'_>, predictors: &mut [i16; 3], coders: &[Coder<'_>], run: Run) -> Option<()> {
    let mut stream = *bits;
    let mut unused = [0; 64];
    for _ in run.from..run.end {
        for (coder, predictor) in coders.iter().zip(&mut *predictors) {
            for _ in 0..coder.across * coder.down {
                let difference = stream.skip_block(coder.dc, coder.ac, &mut unused)?;
                *predictor = predictor.wrapping_add(difference as i16);
            }
        }
    }
    *bits = stream;
    Some(())
}

/// Reads a destuffed stretch from MCU to MCU, over restart markers.
struct Stream<'a> {
    data: &'a Destuffed,
    bits: Bits<'a>,
    predictors: [i16; 3],
    /// MCUs of a restart interval; 0 where there are none.
    restart: usize,
    /// MCUs before the next restart marker.
    left: usize,
    /// The interval, counted from the stretch's start, and where it ends in bits.
    interval: usize,
    end: usize,
}

impl<'a> Stream<'a> {
    /// Starts before MCU `number` of the scan.
    fn new(data: &'a Destuffed, restart: usize, number: usize, entry: Entry) -> Option<Self> {
        let mut bits = Bits::new(data.bytes(), 0);
        bits.skip_bits((entry.at % 8) as u32)?;
        let left = if restart == 0 { usize::MAX } else { restart - number % restart };
        let (_, end) = data.interval(0)?;
        Some(Stream { data, bits, predictors: entry.predictors, restart, left, interval: 0, end: 8 * end })
    }

    /// Steps over a restart marker if one is due.
    fn restart(&mut self) -> Option<()> {
        if self.left == 0 {
            self.interval += 1;
            let (start, end) = self.data.interval(self.interval)?;
            self.bits = Bits::new(self.data.bytes(), start);
            self.end = 8 * end;
            self.predictors = [0; 3];
            self.left = self.restart;
        }
        Some(())
    }

    /// Reads a run, `read` doing so between restart markers.
    fn run(
        &mut self,
        mut run: Run,
        mut read: impl FnMut(&mut Bits<'a>, &mut [i16; 3], Run) -> Option<()>,
    ) -> Option<()> {
        while run.from < run.end {
            self.restart()?;
            let end = run.end.min(run.from.saturating_add(self.left));
            read(&mut self.bits, &mut self.predictors, Run { end, ..run })?;
            if self.bits.position() > self.end {
                return None;
            }
            if self.restart > 0 {
                self.left -= end - run.from;
            }
            run.from = end;
        }
        Some(())
    }
}

/// The parts of a scan that are to be decoded. Components are counted within the scan.
pub(crate) struct Job<'a, 'b> {
    pub(crate) bytes: &'a [u8],
    pub(crate) scan: &'a Scan,
    pub(crate) coders: &'a [Coder<'a>],
    pub(crate) parts: &'a mut [Part<'b>],
}

impl Job<'_, '_> {
    /// The MCUs that hold wanted blocks: columns and rows, each first and behind-last.
    pub(crate) fn wanted(&self) -> ((usize, usize), (usize, usize)) {
        let hull = |of: fn(&Part<'_>) -> (usize, usize), factor: fn(&Coder<'_>) -> usize| {
            self.coders.iter().zip(&*self.parts).fold((usize::MAX, 0), |hull, (coder, part)| {
                let (first, end) = of(part);
                (hull.0.min(first / factor(coder)), hull.1.max(end.div_ceil(factor(coder))))
            })
        };
        (hull(|part| part.columns, |coder| coder.across), hull(|part| part.rows, |coder| coder.down))
    }

    /// From the scan's start; to its end if an index is wanted. A scan that is whole up to the region's end and corrupt
    /// after it gives no index. `None` if it is corrupt or cut before the region's end.
    pub(crate) fn read_whole(&mut self, data: &mut Destuffed, build: bool) -> Option<Option<SeekIndex>> {
        let Scan { mcus, restart, at: start, .. } = *self.scan;
        data.read(&self.bytes[start..], Cut { interval: (restart > 0).then_some(0), noted: build });
        let data = &*data;
        let (columns, rows) = self.wanted();
        let mut stream = Stream::new(data, restart, 0, Entry::default())?;
        let mut entries = Vec::with_capacity(if build { mcus.1 * mcus.0.div_ceil(GROUP) } else { 0 });
        // Rows that hold nothing of the region are stepped over.
        let wanted = |row| if (rows.0..rows.1).contains(&row) { columns } else { (0, 0) };
        for row in 0..rows.1 {
            let end = if row + 1 < rows.1 { mcus.0 } else { columns.1 };
            self.row(&mut stream, &mut entries, build, Run { row, from: 0, end }, wanted(row))?;
        }
        if !build {
            return Some(None);
        }
        // Pixels do not depend on whether an index is built: what lies behind the region, in its last row too, costs
        // the index alone.
        let last = Run { row: rows.1.saturating_sub(1), from: columns.1, end: mcus.0 };
        let behind = (rows.1..mcus.1).map(|row| Run { row, from: 0, end: mcus.0 });
        for run in std::iter::once(last).chain(behind) {
            if self.row(&mut stream, &mut entries, true, run, (0, 0)).is_none() {
                return Some(None);
            }
        }
        let mut place = data.places();
        for entry in &mut entries {
            entry.at = ((start + place((entry.at / 8) as usize)) * 8) as u64 + entry.at % 8;
        }
        let end = start + place(stream.bits.position().div_ceil(8));
        Some(Some(SeekIndex::new(mcus, self.coders.len(), entries, end as u64)))
    }

    /// Reads a run, of which `wanted` are decoded; notes entries, in destuffed bits, if there is an index to build.
    fn row(
        &mut self,
        stream: &mut Stream<'_>,
        entries: &mut Vec<Entry>,
        build: bool,
        Run { row, mut from, end }: Run,
        wanted: (usize, usize),
    ) -> Option<()> {
        while from < end {
            let decodes = (wanted.0..wanted.1).contains(&from);
            let border = if decodes {
                wanted.1
            } else if from < wanted.0 {
                wanted.0
            } else {
                end
            };
            let mut next = border.min(end);
            if build {
                if from % GROUP == 0 {
                    stream.restart()?;
                    entries.push(Entry { at: stream.bits.position() as u64, predictors: stream.predictors });
                }
                next = next.min((from / GROUP + 1) * GROUP);
            }
            self.read(stream, Run { row, from, end: next }, decodes)?;
            from = next;
        }
        Some(())
    }

    fn read(&mut self, stream: &mut Stream<'_>, run: Run, decodes: bool) -> Option<()> {
        let Job { coders, parts, .. } = self;
        stream.run(run, |bits, predictors, run| match decodes {
            true => decode_run(bits, predictors, coders, parts, run),
            false => skip_run(bits, predictors, coders, run),
        })
    }

    /// The wanted MCUs alone, each row from the nearest entry of `index`. `None` if the index does not fit the file.
    pub(crate) fn read_indexed(&mut self, data: &mut Destuffed, index: &SeekIndex) -> Option<()> {
        let (columns, rows) = self.wanted();
        let Scan { mcus, restart, at, .. } = *self.scan;
        if !index.fits(mcus, self.coders.len(), at) {
            return None;
        }
        for row in rows.0..rows.1 {
            let (entry, from, until) = index.seek(row, columns.0, columns.1)?;
            let source = self.bytes.get(usize::try_from(entry.at / 8).ok()?..until.min(self.bytes.len()))?;
            let number = row * mcus.0 + from;
            let interval = (restart > 0).then(|| number / restart);
            if restart > 0 && number.is_multiple_of(restart) && entry.predictors != [0; 3] {
                return None;
            }
            data.read(source, Cut { interval, noted: true });
            let data = &*data;
            let mut place = data.places();
            let mut stream = Stream::new(data, restart, number, entry)?;
            // The last entry on the way; if there is none, the next one. After a restart marker no entry says anything
            // of the predictors before it.
            let reached = columns.1.min(from.saturating_add(stream.left - 1));
            // There is no entry after the scan's last MCU.
            let last = match index.entry(row, reached) {
                Some(_) => reached,
                None => reached.min(mcus.0 - 1) / GROUP * GROUP,
            };
            let met = if last > from { last } else { mcus.0.min(from + GROUP) };
            let before = met.min(columns.1);
            self.read(&mut stream, Run { row, from, end: columns.0 }, false)?;
            self.read(&mut stream, Run { row, from: columns.0, end: before }, true)?;
            self.read(&mut stream, Run { row, from: before, end: met }, false)?;
            if let Some(expected) = index.entry(row, met) {
                stream.restart()?;
                let bits = stream.bits.position();
                let at = (entry.at / 8 + place(bits / 8) as u64) * 8 + bits as u64 % 8;
                if *expected != (Entry { at, predictors: stream.predictors }) {
                    return None;
                }
            }
            self.read(&mut stream, Run { row, from: before, end: columns.1 }, true)?;
        }
        Some(())
    }
}
