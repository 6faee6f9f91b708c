//! The setting `order`: the kind of an epoch's order.

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
                "Order::Blocks {{ samples: {samples}, window: {window} }}, but a block has at least 1 sample and a window \
                 at least 1 block"
            );
            return Err(Error::argument("order", reason));
        }
        if samples.checked_mul(window).is_none_or(|most| u32::try_from(most).is_err()) {
            let reason = format!(
                "Order::Blocks {{ samples: {samples}, window: {window} }}, but a window has at most {} samples, samples \
                 times window",
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
            assert!(error.starts_with("order: Order::Blocks { samples: "), "{text}: {error}");
        }
        assert!("blocks:65535:65536".parse::<Order>().is_ok());
    }
}
