//! The position of a run, which a checkpoint holds.

mod written;

use super::{LastBatch, Order, Sampler};
use crate::advice::{self, Reason, Setting, Value};
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};
use written::Saved;

/// The position of a run: the next batch that is due. Serialise it into a checkpoint.
///
/// It holds the epoch's global position, that is, how many samples all ranks together have had of the epoch, the size of
/// their global batches, and the order; nothing of it depends on the rank, so any rank may save it and any may load it.
/// A run may go on with another world or batch size, wherever a global batch of the new settings begins at that
/// position; [`DataLoader::resume`](crate::DataLoader::resume) refuses other states, and those of another seed, order,
/// number of lanes or data set, by the name of the setting.
///
/// Within an epoch of a list ([`Sampler::orders`]) it also has a digest of the list, as another list of the same length would go on
/// with other samples.
///
/// It is written as a map with a `version`. Earlier states are still read: those of version 1 have `batch_size` and
/// `world` for `global_batch`; those of gpufeed 0.1, which had no version and counted the batches of a rank, name no
/// settings, so they fit any loader with the same seed.
///
/// ```
/// use gpufeed::{Sampler, State};
///
/// let sampler = Sampler::new(1000, 32)?.seed(42).shard(0, 2)?;
/// let state = sampler.state(3, 5);
/// let saved = serde_json::to_string(&state)?;
/// assert_eq!(
///     saved,
///     r#"{"version":2,"seed":42,"epoch":3,"position":320,"samples":1000,"global_batch":64,"order":"sequential"}"#
/// );
/// assert_eq!(serde_json::from_str::<State>(&saved)?, state);
///
/// // Four ranks go on with the same global batches.
/// assert_eq!(sampler.clone().shard(3, 4)?.batch_of(&state).unwrap_err().to_string().split(':').next(), Some("batch_size"));
/// assert_eq!(Sampler::new(1000, 16)?.seed(42).shard(3, 4)?.batch_of(&state)?, 5);
///
/// let old: State = serde_json::from_str(r#"{"seed":42,"epoch":3,"batch":17}"#)?;
/// assert_eq!(old, State::at(42, 3, 17));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "Saved", try_from = "Saved")]
pub struct State {
    pub(super) seed: u64,
    pub(super) epoch: u64,
    pub(super) place: EpochPlace,
}

/// The place in the epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum EpochPlace {
    /// The next batch of a rank, of whatever settings; states of gpufeed 0.1.
    Batch(u64),
    Global(Global),
}

/// The global position in an epoch, and the settings under which it was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Global {
    /// Samples that all ranks together have had of the epoch.
    pub(super) position: u64,
    /// Samples of the data set.
    pub(super) samples: u64,
    /// Samples of the batches of all ranks together.
    pub(super) global_batch: u64,
    pub(super) order: OrderKind,
    /// Lanes of an order of blocks, shuffled or not.
    pub(super) lanes: Option<u64>,
}

/// The kind of an epoch's order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum OrderKind {
    Sequential,
    Shuffled(Order),
    Weighted,
    /// A list of the epoch, with its digest where the state is within the epoch.
    Listed(Option<u64>),
    /// A list of batches.
    Batches(Option<u64>),
}

impl Default for State {
    /// The first batch of epoch 0 with seed 0.
    fn default() -> Self {
        State::at(0, 0, 0)
    }
}

impl State {
    /// Batch `batch` of epoch `epoch`, counted as the loader that resumes it counts: without the settings that
    /// [`Epochs::state`](crate::Epochs::state) adds, so nothing but the seed is compared.
    pub fn at(seed: u64, epoch: u64, batch: u64) -> State {
        State { seed, epoch, place: EpochPlace::Batch(batch) }
    }

    /// The seed of the run.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The epoch, from 0.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// The samples that all ranks together have had of the epoch, or the batches, where the order has lists of these; `None` for a state of gpufeed 0.1, or of
    /// [`State::at`].
    pub fn position(&self) -> Option<u64> {
        match self.place {
            EpochPlace::Batch(_) => None,
            EpochPlace::Global(Global { position, .. }) => Some(position),
        }
    }
}

/// Refuses positions that no run has: beyond the last sample there is the end of the last global batch alone.
fn check_position(global: &Global) -> Result<()> {
    let Global { position, samples, global_batch, .. } = *global;
    let refused = |reason: String| {
        let reason = format!("{reason}; the state was changed or damaged after it was saved: load another one");
        Err(Error::argument("state", reason))
    };
    if global_batch == 0 {
        return refused("global_batch is 0, but a batch has at least 1 sample".to_owned());
    }
    let end = samples.div_ceil(global_batch).saturating_mul(global_batch);
    if position > samples && position != end {
        return refused(format!(
            "position {position} is none of an epoch of {samples} samples, which ends at position {end} with the state's \
             global_batch of {global_batch}"
        ));
    }
    Ok(())
}

impl Sampler {
    fn order_kind(&self, digest: Option<u64>) -> OrderKind {
        if self.listed.is_some() {
            return if self.is_of_batches() { OrderKind::Batches(digest) } else { OrderKind::Listed(digest) };
        }
        match (&self.weights, self.shuffle) {
            (Some(_), _) => OrderKind::Weighted,
            (None, true) => OrderKind::Shuffled(self.order),
            (None, false) => OrderKind::Sequential,
        }
    }

    /// Samples of a global batch, those of all ranks together; of lists of batches: its batches.
    fn global_batch(&self) -> u64 {
        self.step() as u64 * self.world as u64
    }

    /// Returns the state from which a loader continues with batch `batch` of epoch `epoch`.
    pub fn state(&self, epoch: u64, batch: u64) -> State {
        let global = Global {
            position: batch.saturating_mul(self.global_batch()),
            samples: self.length() as u64,
            global_batch: self.global_batch(),
            // Before the first batch of an epoch its list may be another one still.
            order: self.order_kind(if batch > 0 { self.digest(epoch) } else { None }),
            lanes: (self.order != Order::Full).then_some(self.lane_count() as u64),
        };
        State { seed: self.seed, epoch, place: EpochPlace::Global(global) }
    }

    /// The batch of this sampler's epoch that is due at `state`: from 0 to [`batches`](Self::batches), which is the
    /// epoch's end.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Argument`](crate::ErrorKind::Argument) with the setting that differs: `seed`, `dataset` (its length),
    /// `shuffle`, `order`, `lanes`, `sampler` (another list of the epoch); `batch_size` or `shard` if no global batch begins at the state's position, with the
    /// nearest positions at which one does; `last_batch` if this sampler's epoch ends before it. `state` if no epoch has
    /// the position: it is after the last sample, and not where the state's own global batches end, filled up; `epoch`
    /// for `u64::MAX`, which has no end.
    pub fn batch_of(&self, state: &State) -> Result<u64> {
        if state.epoch == u64::MAX {
            return Err(Error::argument("epoch", format!("{}; up to {} works", u64::MAX, u64::MAX - 1)));
        }
        if state.seed != self.seed {
            let reason = format!("the state was saved with seed {}, but the loader has {}", state.seed, self.seed);
            return Err(Error::argument("seed", reason));
        }
        let batches = self.batches() as u64;
        let global = match state.place {
            EpochPlace::Batch(batch) if batch <= batches => return Ok(batch),
            EpochPlace::Batch(batch) => {
                let reason = format!("batch {batch} is after the end of an epoch of {batches} batches");
                return Err(Error::argument("state", reason));
            }
            EpochPlace::Global(global) => global,
        };
        let Global { position, samples, global_batch, .. } = global;
        let len = self.length() as u64;
        if self.listed.is_some() {
            self.check_listed(state.epoch, &global)?;
        } else if samples != len {
            let reason = format!("the state was saved with {samples} samples, but the data set has {len}");
            return Err(Error::argument("dataset", reason));
        }
        self.check_order(&global)?;
        check_position(&global)?;
        // All samples have come: the epoch's end, wherever the last batch ended with its padding.
        if position >= len && self.last_batch != LastBatch::Drop {
            return Ok(batches);
        }
        if !position.is_multiple_of(self.global_batch()) {
            return Err(self.no_batch_at(position, global_batch));
        }
        let batch = position / self.global_batch();
        if batch > batches {
            let reason = format!("position {position} is after the end of an epoch of {batches} batches");
            return Err(Error::argument("last_batch", reason));
        }
        Ok(batch)
    }

    /// Refuses a state of another order.
    fn check_order(&self, saved: &Global) -> Result<()> {
        let now = self.order_kind(None);
        let name = |order| match order {
            OrderKind::Sequential => "in the order of the data set",
            OrderKind::Shuffled(_) => "shuffled",
            OrderKind::Weighted => "chosen by weight",
            OrderKind::Listed(_) => "ordered by a sampler",
            OrderKind::Batches(_) => "ordered by a sampler of batches",
        };
        if name(saved.order) != name(now) {
            let (saved_kind, now_kind) = (saved.order, now);
            let (saved, now) = (name(saved.order), name(now));
            let reason = format!("the state was saved in an epoch {saved}, this one is {now}");
            let of_sampler = |order| matches!(order, OrderKind::Listed(_) | OrderKind::Batches(_));
            let setting = if of_sampler(saved_kind) || of_sampler(now_kind) { "sampler" } else { "shuffle" };
            return Err(Error::argument(setting, reason));
        }
        let lanes = (self.order != Order::Full).then_some(self.lane_count() as u64);
        let unlike = |saved: String, now: String, settings: Vec<_>| {
            let reason = Reason::new(format!("the state was saved with {saved}, but the loader has {now}"));
            reason.advise(advice::go_on_with(settings))
        };
        match (saved.order, now) {
            (OrderKind::Shuffled(saved), OrderKind::Shuffled(now)) if saved != now => {
                let reason = unlike(in_words(saved), in_words(now), vec![(Setting::Order, Some(value(saved)))]);
                return Err(Error::argument("order", reason));
            }
            _ => {}
        }
        let words = |lanes: Option<u64>| lanes.map_or("no lanes".to_owned(), |lanes| format!("{lanes} lanes"));
        if saved.lanes != lanes {
            let number = |lanes| (Setting::Lanes, Some(Value::Number(lanes)));
            let (setting, settings) = match (saved.lanes, lanes) {
                (None, _) if self.lanes.is_some() => ("lanes", Vec::new()),
                (None, _) => ("order", vec![(Setting::Order, Some(value(Order::Full)))]),
                (Some(lanes), Some(_)) => ("lanes", vec![number(lanes)]),
                (Some(lanes), None) => ("order", vec![(Setting::Order, Some(Value::AnyBlocks)), number(lanes)]),
            };
            if settings.is_empty() {
                let facts = format!("the state was saved with no lanes, but the loader has {}", words(lanes));
                let reason = Reason::new(facts + "; leave the lanes out").advise(advice::FULL_ORDER);
                return Err(Error::argument(setting, reason));
            }
            return Err(Error::argument(setting, unlike(words(saved.lanes), words(lanes), settings)));
        }
        Ok(())
    }

    /// The error of a position at which no global batch begins: the nearest at which one does, and settings with which
    /// one does here.
    fn no_batch_at(&self, position: u64, saved: u64) -> Error {
        let (batch_size, world, own) = (self.batch_size as u64, self.world as u64, self.global_batch());
        let batch = position / own;
        let fits = |number: &u64| position.is_multiple_of(*number);
        let (setting, choice, advice) = if position.is_multiple_of(world) {
            // 1 always fits.
            let near = (1..=batch_size).rev().find(|size| fits(&(size * world))).unwrap_or(1);
            let like_saved =
                (saved > 0 && saved.is_multiple_of(world)).then(|| saved / world).filter(|size| fits(&(size * world)));
            let (choice, fitting) = match like_saved {
                Some(same) if same != near => {
                    (format!("; batches of {same} make the global batches of the state"), vec![same, near])
                }
                Some(same) => (format!("; batches of {same} make the global batches of the state"), vec![same]),
                None => (String::new(), vec![near]),
            };
            ("batch_size", choice, Some(advice::choose(Setting::BatchSize, &fitting)))
        } else {
            let near = (1..world).rev().find(fits).unwrap_or(1);
            let choice = format!("; choose a world that divides {position}, such as {near}, and batches that fit");
            ("shard", choice, None)
        };
        let reason = format!(
            "no batch of {batch_size} samples in world {world} begins at position {position}, where the state was saved \
             with global batches of {saved}; the nearest begin at {} (batch {batch}) and {} (batch {}){choice}",
            batch * own,
            (batch + 1).saturating_mul(own),
            batch + 1,
        );
        let error = Error::argument(setting, reason);
        advice.into_iter().fold(error, Error::advise)
    }
}

/// An order, as errors name it.
fn in_words(order: Order) -> String {
    match order {
        Order::Full => "all samples shuffled".to_owned(),
        Order::Blocks { samples, window } => format!("blocks of {samples} samples in windows of {window}"),
    }
}

/// An order, as advice gives it.
fn value(order: Order) -> Value {
    match order {
        Order::Full => Value::Word { rust: "Order::Full", word: "full" },
        Order::Blocks { samples, window } => Value::Blocks { samples: samples as u64, window: window as u64 },
    }
}

#[cfg(test)]
mod tests;
