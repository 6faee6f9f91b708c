//! The order of blocks, frozen and the same on every platform.
//!
//! The blocks of an epoch, each of so many neighbours in the data set, are laid end to end in a random order: the
//! *line*. It is cut into equal runs, the lanes, of which the first ones have a sample more where the samples do not
//! divide. A lane is divided into windows of whole blocks (its first and last block may be cut), as few as the greatest
//! window allows, of which the first ones have a block more. Each window is shuffled by itself. Position `p` is sample
//! `p / lanes` of lane `p % lanes`.
//!
//! So a shard, which takes every `world`-th position, reads whole lanes if `world` divides their number, and the samples
//! at given positions do not depend on `world`. A position needs its own window and nothing else.
//!
//! Padding continues each lane by itself: after a lane's last sample come those of its last window again, which its
//! rank has read, as often as needed.

use super::Position;
use super::shuffle::{epoch_key, shuffle};
use crate::random::Numbers;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// Domain of these random numbers, which keeps them apart from others with the same seed. Changing it, or anything else
/// here, changes the order of every user of blocks.
const DOMAIN: [u8; 16] = *b"gpufeed.blocks.1";

/// The order of an epoch, as one rank reads it.
#[derive(Debug)]
pub(super) struct BlockOrder {
    line: Line,
    /// The most blocks of a window.
    window: usize,
    lanes: usize,
    world: usize,
    /// The key of the windows' shuffles; `None` leaves all in the order of the data set. Stream 0 orders the blocks, and
    /// stream 1 + p the window that begins at place p of the line.
    key: Option<[u8; 32]>,
    /// The window of each lane that was read last, by the lane's number among those of the rank.
    windows: Mutex<Vec<Window>>,
}

/// A window that is laid out.
#[derive(Debug, Default)]
struct Window {
    /// Its places on the line.
    places: Range<usize>,
    /// The distance from the first place to the sample that comes at each; empty without shuffling.
    order: Vec<u32>,
}

/// The settings of an order, beside the random numbers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    /// Samples of the data set.
    pub(super) len: usize,
    /// Samples of a block.
    pub(super) samples: usize,
    /// The most blocks of a window.
    pub(super) window: usize,
    /// Lanes, a multiple of `world` and not above `len`.
    pub(super) lanes: usize,
    pub(super) world: usize,
}

impl BlockOrder {
    /// The order of an epoch; without a seed, in the order of the data set.
    pub(super) fn new(shape: Shape, seed: Option<u64>, epoch: u64) -> Self {
        let Shape { len, samples, window, lanes, world } = shape;
        let key = seed.map(|seed| epoch_key(seed, epoch, DOMAIN));
        let line = Line::new(len, samples, key);
        let windows = Mutex::new((0..lanes / world).map(|_| Window::default()).collect());
        BlockOrder { line, window, lanes, world, key, windows }
    }

    /// Returns what is at `positions`, which are of one rank.
    pub(super) fn at(&self, positions: impl Iterator<Item = usize>) -> Vec<Position> {
        let mut windows = self.windows.lock().unwrap_or_else(PoisonError::into_inner);
        positions.map(|position| self.position(position, &mut windows)).collect()
    }

    fn position(&self, position: usize, windows: &mut [Window]) -> Position {
        let (lane, within) = (position % self.lanes, position / self.lanes);
        let run = Shares { total: self.line.len, parts: self.lanes }.share(lane);
        let place = run.start + within.min(run.len() - 1);
        let window = &mut windows[lane / self.world];
        if !window.places.contains(&place) {
            window.places = self.window_at(&run, place);
            self.lay_out(window);
        }
        // The samples of the lane that come before this position, beyond its end.
        let beyond = within.checked_sub(run.len());
        let (round, offset) = match beyond {
            None => (0, place - window.places.start),
            Some(beyond) => (1 + beyond / window.places.len(), beyond % window.places.len()),
        };
        let offset = window.order.get(offset).map_or(offset, |&offset| offset as usize);
        let index = self.line.sample(window.places.start + offset);
        // No cast truncates: Sampler::checked limits the rounds of padding.
        Position { index, occurrence: round as u32, global: position as u64, padding: beyond.is_some() }
    }

    /// The places of the window of lane `run` that has `place`.
    fn window_at(&self, run: &Range<usize>, place: usize) -> Range<usize> {
        let first = self.line.block_at(run.start);
        let blocks = self.line.block_at(run.end - 1) + 1 - first;
        let windows = Shares { total: blocks, parts: blocks.div_ceil(self.window) };
        let of = windows.share(windows.part_of(self.line.block_at(place) - first));
        let (start, end) = (self.line.start(first + of.start), self.line.start(first + of.end));
        start.max(run.start)..end.min(run.end)
    }

    /// Shuffles a window whose places are set.
    fn lay_out(&self, window: &mut Window) {
        let Some(key) = self.key else { return };
        window.order.clear();
        // Windows differ by a block: no more memory than the largest takes. Order::check limits their samples.
        window.order.reserve_exact(window.places.len());
        window.order.extend(0..window.places.len() as u32);
        shuffle(&mut window.order, &mut Numbers::new(key, 1 + window.places.start as u64));
    }
}

impl Clone for BlockOrder {
    /// The clone lays out windows of its own.
    fn clone(&self) -> Self {
        let windows = Mutex::new((0..self.lanes / self.world).map(|_| Window::default()).collect());
        BlockOrder { line: self.line.clone(), windows, ..*self }
    }
}

/// `total` things in `parts` parts whose sizes differ by one at most: the larger ones come first. No part is empty, as
/// there are not more parts than things.
#[derive(Clone, Copy)]
struct Shares {
    total: usize,
    parts: usize,
}

impl Shares {
    fn share(self, part: usize) -> Range<usize> {
        let (size, larger) = (self.total / self.parts, self.total % self.parts);
        let start = |part: usize| part * size + part.min(larger);
        start(part)..start(part + 1)
    }

    /// The part that has `thing`.
    fn part_of(self, thing: usize) -> usize {
        let (size, larger) = (self.total / self.parts, self.total % self.parts);
        match thing.checked_sub(larger * (size + 1)) {
            None => thing / (size + 1),
            Some(rest) => larger + rest / size,
        }
    }
}

/// The blocks of an epoch end to end. Its places are counted in samples.
#[derive(Clone, Debug)]
struct Line {
    len: usize,
    /// Samples of a block.
    samples: usize,
    blocks: Blocks,
    /// Where among the blocks the data set's last one comes, and what it lacks to a whole one.
    short: (usize, usize),
}

/// The number of the block that comes at each place among the blocks, in 4 bytes where possible.
#[derive(Clone, Debug)]
enum Blocks {
    InOrder,
    Narrow(Vec<u32>),
    Wide(Vec<u64>),
}

impl Line {
    fn new(len: usize, samples: usize, key: Option<[u8; 32]>) -> Self {
        let count = len.div_ceil(samples);
        let numbers = key.map(|key| Numbers::new(key, 0));
        let (blocks, last) = match (numbers, u32::try_from(count)) {
            (None, _) => (Blocks::InOrder, None),
            (Some(mut numbers), Ok(narrow)) => {
                let mut blocks: Vec<u32> = (0..narrow).collect();
                shuffle(&mut blocks, &mut numbers);
                let last = blocks.iter().position(|&block| block == narrow - 1);
                (Blocks::Narrow(blocks), last)
            }
            (Some(mut numbers), Err(_)) => {
                let mut blocks: Vec<u64> = (0..count as u64).collect();
                shuffle(&mut blocks, &mut numbers);
                let last = blocks.iter().position(|&block| block == count as u64 - 1);
                (Blocks::Wide(blocks), last)
            }
        };
        Line { len, samples, blocks, short: (last.unwrap_or(count - 1), (samples - len % samples) % samples) }
    }

    /// The place at which the `at`-th block of the line begins; the line's end for the one after the last.
    fn start(&self, at: usize) -> usize {
        let (short, lacks) = self.short;
        at * self.samples - if at > short { lacks } else { 0 }
    }

    /// Which block of the line `place` is in, counted along the line.
    fn block_at(&self, place: usize) -> usize {
        let (short, lacks) = self.short;
        match place < self.start(short + 1) {
            true => place / self.samples,
            false => (place + lacks) / self.samples,
        }
    }

    /// The sample at `place`.
    fn sample(&self, place: usize) -> usize {
        let at = self.block_at(place);
        let block = match &self.blocks {
            Blocks::InOrder => at,
            Blocks::Narrow(blocks) => blocks[at] as usize,
            Blocks::Wide(blocks) => blocks[at] as usize,
        };
        block * self.samples + (place - self.start(at))
    }
}

#[cfg(test)]
mod tests;
