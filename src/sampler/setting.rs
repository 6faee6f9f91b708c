//! The settings `order` and `lanes`: the kind of an epoch's order.

use super::Sampler;
use crate::advice::{self, Reason, Setting};
use crate::error::{Error, Result};
use std::fmt;
use std::str::FromStr;

/// The kind of an epoch's order: which samples may follow each other.
///
/// It is written `full` or `blocks:SAMPLES:WINDOW`, as commands take it.
///
/// ```
/// use gpufeed::{Order, Sampler};
///
/// let order: Order = "blocks:256:64".parse()?;
/// assert_eq!(order, Order::Blocks { samples: 256, window: 64 });
/// assert_eq!(order.to_string(), "blocks:256:64");
///
/// // Four processes read from eight lanes, two each.
/// let sampler = Sampler::new(100_000, 64)?.shuffle(true).order(order)?.lanes(8)?.shard(3, 4)?;
/// assert_eq!(sampler.epoch(0).batch(0).len(), 64);
/// # Ok::<(), gpufeed::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Order {
    /// With shuffling, all samples in one random order, each of which is equally likely: a sample may follow any other.
    /// It takes 4 bytes a sample. For data that can be read anywhere at little cost.
    #[default]
    Full,
    /// Neighbours in the data set stay near each other in the epoch, so that a process reads few blocks of the data at
    /// a time, and each block once. For data that comes in large pieces, as from an object store.
    ///
    /// Blocks of neighbours are laid end to end in a random order. That line is cut into equal runs, the *lanes*
    /// ([`Sampler::lanes`](super::Sampler::lanes)), and each lane is shuffled within windows of its blocks. Positions
    /// take the next sample of each lane in turn; rank `r` of `world` owns the lanes `r`, `r + world`, ... and reads no
    /// other.
    ///
    /// Without shuffling, the line is the data set in its order, and a lane is a run of it.
    ///
    /// A batch holds `window` times `lanes` blocks' neighbours at most: the larger that is, the nearer is a batch to one
    /// of [`Full`](Order::Full). A process has `window` blocks of each lane that it owns under way.
    Blocks {
        /// Consecutive samples of a block, at least 1; the data set's last block may have fewer.
        samples: usize,
        /// The most blocks of a window, at least 1. A lane is divided into windows whose sizes differ by one block at
        /// most, none of which exceeds this.
        window: usize,
    },
}

impl Order {
    /// Checks the numbers, by the name of the setting.
    pub(super) fn check(self) -> Result<()> {
        let Order::Blocks { samples, window } = self else { return Ok(()) };
        if samples == 0 || window == 0 {
            let reason = format!(
                "blocks of {samples} samples in windows of {window}, but a block has at least 1 sample and a window at \
                 least 1 block"
            );
            return Err(Error::argument("order", reason));
        }
        if samples.checked_mul(window).is_none_or(|most| u32::try_from(most).is_err()) {
            let reason = format!(
                "blocks of {samples} samples in windows of {window}, but a window has at most {} samples, samples times \
                 window",
                u32::MAX
            );
            return Err(Error::argument("order", reason));
        }
        Ok(())
    }
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Order::Full => f.write_str("full"),
            Order::Blocks { samples, window } => write!(f, "blocks:{samples}:{window}"),
        }
    }
}

impl FromStr for Order {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let numbers = |rest: &str| -> Option<Order> {
            let (samples, window) = rest.split_once(':')?;
            Some(Order::Blocks { samples: samples.parse().ok()?, window: window.parse().ok()? })
        };
        let order = match text.strip_prefix("blocks:") {
            Some(rest) => numbers(rest),
            None => (text == "full").then_some(Order::Full),
        };
        let order = order.ok_or_else(|| {
            Error::argument("order", format!("{text:?}; full and blocks:SAMPLES:WINDOW work, such as blocks:256:64"))
        })?;
        order.check()?;
        Ok(order)
    }
}

impl Sampler {
    /// Sets the kind of the order. Default: [`Order::Full`].
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Argument`](crate::ErrorKind::Argument) for [`Order::Blocks`] if a number is 0 or a window exceeds 2^32 - 1 samples, if `world`
    /// does not divide the [lanes](Self::lanes), if there are fewer samples than lanes, or with
    /// [weights](Self::weights).
    pub fn order(self, order: Order) -> Result<Self> {
        Sampler { order, ..self }.checked()
    }

    /// Sets the number of lanes of [`Order::Blocks`], a multiple of `world`; other orders have none. Default: `world`.
    ///
    /// The lanes are part of the order: every `world` that divides them has the same samples in a global batch. 64 lanes
    /// suit 1, 2, 4, ... 64 processes; each process has a window of every lane that it owns under way.
    ///
    /// ```
    /// use gpufeed::{Order, Sampler};
    ///
    /// let order = Order::Blocks { samples: 10, window: 4 };
    /// let sampler = Sampler::new(1000, 16)?.shuffle(true).order(order)?.lanes(4)?;
    /// let two = |rank| sampler.clone().shard(rank, 2);
    /// let one = Sampler::new(1000, 32)?.shuffle(true).order(order)?.lanes(4)?;
    ///
    /// let mut global: Vec<_> = two(0)?.epoch(0).batch(3).chain(two(1)?.epoch(0).batch(3)).collect();
    /// global.sort_by_key(|position| position.global);
    /// assert!(one.epoch(0).batch(3).eq(global));
    /// # Ok::<(), gpufeed::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Argument`](crate::ErrorKind::Argument) for 0; with [`Order::Blocks`] also if `world` does not divide `lanes`, or if there are
    /// fewer samples than lanes.
    pub fn lanes(self, lanes: usize) -> Result<Self> {
        if lanes == 0 {
            return Err(Error::argument("lanes", "0, but an order of blocks has at least 1 lane"));
        }
        Sampler { lanes: Some(lanes), ..self }.checked()
    }

    /// The order in words.
    pub(crate) fn describe(&self) -> String {
        if let Some(listed) = &self.listed {
            let (name, len) = (listed.orders.name(), listed.orders.len());
            let what = if self.is_of_batches() { "batches" } else { "positions" };
            return format!("{name}, {len} {what} an epoch");
        }
        let (order, lanes) = match (self.order, self.shuffle) {
            _ if self.weights.is_some() => ("chosen by weight".to_owned(), None),
            (Order::Full, true) => ("all samples shuffled".to_owned(), None),
            (Order::Full, false) => ("that of the data set".to_owned(), None),
            (Order::Blocks { samples, window }, true) => {
                (format!("blocks of {samples} samples, shuffled in windows of {window}"), Some(self.lane_count()))
            }
            (Order::Blocks { .. }, false) => ("that of the data set in runs".to_owned(), Some(self.lane_count())),
        };
        let lanes = lanes.map_or(String::new(), |lanes| format!(", {lanes} lanes"));
        format!("{order}{lanes}")
    }

    /// Lanes of an order of blocks.
    pub(super) fn lane_count(&self) -> usize {
        self.lanes.unwrap_or(self.world)
    }

    /// Checks what only an order of blocks needs.
    pub(super) fn check_blocks(&self) -> Result<()> {
        let &Sampler { len, batch_size, order, world, .. } = self;
        order.check()?;
        let Order::Blocks { samples, .. } = order else { return Ok(()) };
        if self.weights.is_some() {
            let reason = "blocks have each sample once, but weights choose samples from all over the data set; leave the \
                          weights out";
            return Err(Error::argument("order", Reason::new(reason).advise(advice::FULL_ORDER)));
        }
        let lanes = self.lane_count();
        if !lanes.is_multiple_of(world) {
            let (below, above) = (lanes - lanes % world, lanes.next_multiple_of(world));
            let near = [below as u64, above as u64];
            let reason = format!(
                "{lanes} in world {world}, but a rank owns whole lanes, as many as every other; the world has to divide {lanes}"
            );
            let advice = advice::choose(Setting::Lanes, &near[usize::from(below == 0)..]);
            return Err(Error::argument("lanes", Reason::new(reason).advise(advice)));
        }
        if lanes > len {
            let reason = format!(
                "{lanes} for {len} samples, but each lane has a sample; choose fewer lanes, or a smaller world"
            );
            return Err(Error::argument("lanes", reason));
        }
        // Upper bound of a lane's padding, which one sample may have to fill, and of a block's last place.
        if batch_size >= u32::MAX as usize - 1 || len.checked_add(samples).is_none() {
            let reason = format!("{batch_size} is too large for {len} samples in blocks of {samples}");
            return Err(Error::argument("batch_size", reason));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_is_read_as_it_is_written() {
        for order in [Order::Full, Order::Blocks { samples: 1, window: 1 }, Order::Blocks { samples: 512, window: 8 }] {
            assert_eq!(order.to_string().parse::<Order>().unwrap(), order);
        }
        assert_eq!(Order::default(), Order::Full);
    }

    #[test]
    fn other_words_are_refused_with_what_works() {
        for text in
            ["", "Full", "blocks", "blocks:", "blocks:256", "blocks:256:", "blocks:a:1", "blocks:1:2:3", "blocks:-1:2"]
        {
            let error = text.parse::<Order>().unwrap_err().to_string();
            assert!(error.starts_with("order: ") && error.contains("blocks:SAMPLES:WINDOW"), "{text}: {error}");
        }
        for text in ["blocks:0:4", "blocks:4:0", "blocks:65536:65536", "blocks:18446744073709551615:2"] {
            let error = text.parse::<Order>().unwrap_err().to_string();
            assert!(error.starts_with("order: blocks of "), "{text}: {error}");
        }
        assert!("blocks:65535:65536".parse::<Order>().is_ok());
    }
}
