//! The position of a run, which a checkpoint holds.

use super::written::Written;
use super::{LastBatch, Order, Sampler};
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// The position of a run: the next batch that is due. Serialise it into a checkpoint.
///
/// It holds the epoch's global position, that is, how many samples all ranks together have had of the epoch, the size of
/// their global batches, and the order; nothing of it depends on the rank, so any rank may save it and any may load it.
/// A run may go on with another world or batch size, wherever a global batch of the new settings begins at that
/// position; [`DataLoader::resume`](crate::DataLoader::resume) refuses other states, and those of another seed, order,
/// number of lanes or data set, by the name of the setting.
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
#[serde(into = "Written", try_from = "Written")]
pub struct State {
    pub(super) seed: u64,
    pub(super) epoch: u64,
    pub(super) place: Place,
}

/// The place in the epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Place {
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
        State { seed, epoch, place: Place::Batch(batch) }
    }

    /// The seed of the run.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The epoch, from 0.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// The samples that all ranks together have had of the epoch; `None` for a state of gpufeed 0.1, or of
    /// [`State::at`].
    pub fn position(&self) -> Option<u64> {
        match self.place {
            Place::Batch(_) => None,
            Place::Global(Global { position, .. }) => Some(position),
        }
    }
}

impl Sampler {
    fn order_kind(&self) -> OrderKind {
        match (&self.weights, self.shuffle) {
            (Some(_), _) => OrderKind::Weighted,
            (None, true) => OrderKind::Shuffled(self.order),
            (None, false) => OrderKind::Sequential,
        }
    }

    /// Samples of a global batch: those of all ranks together.
    fn global_batch(&self) -> u64 {
        self.batch_size as u64 * self.world as u64
    }

    /// The state at which batch `batch` of epoch `epoch` is due.
    pub fn state(&self, epoch: u64, batch: u64) -> State {
        let global = Global {
            position: batch.saturating_mul(self.global_batch()),
            samples: self.len as u64,
            global_batch: self.global_batch(),
            order: self.order_kind(),
            lanes: (self.order != Order::Full).then_some(self.lane_count() as u64),
        };
        State { seed: self.seed, epoch, place: Place::Global(global) }
    }

    /// The batch of this sampler's epoch that is due at `state`: from 0 to [`batches`](Self::batches), which is the
    /// epoch's end.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Argument`](crate::ErrorKind::Argument) with the setting that differs: `seed`, `dataset` (its length),
    /// `shuffle`, `order`, `lanes`; `batch_size` or `shard` if no global batch begins at the state's position, with the
    /// nearest positions at which one does; `last_batch` if this sampler's epoch ends before it.
    pub fn batch_of(&self, state: &State) -> Result<u64> {
        if state.seed != self.seed {
            let reason = format!("the state was saved with seed {}, but the loader has {}", state.seed, self.seed);
            return Err(Error::argument("seed", reason));
        }
        let batches = self.batches() as u64;
        let global = match state.place {
            Place::Batch(batch) if batch <= batches => return Ok(batch),
            Place::Batch(batch) => {
                let reason = format!("batch {batch} is after the end of an epoch of {batches} batches");
                return Err(Error::argument("state", reason));
            }
            Place::Global(global) => global,
        };
        let Global { position, samples, global_batch, .. } = global;
        let len = self.len as u64;
        if samples != len {
            let reason = format!("the state was saved with {samples} samples, but the data set has {len}");
            return Err(Error::argument("dataset", reason));
        }
        self.check_order(&global)?;
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
        let now = self.order_kind();
        let name = |order| match order {
            OrderKind::Sequential => "in the order of the data set",
            OrderKind::Shuffled(_) => "shuffled",
            OrderKind::Weighted => "chosen by weight",
        };
        if name(saved.order) != name(now) {
            let (saved, now) = (name(saved.order), name(now));
            let reason = format!("the state was saved in an epoch {saved}, this one is {now}");
            return Err(Error::argument("shuffle", reason));
        }
        let lanes = (self.order != Order::Full).then_some(self.lane_count() as u64);
        let unlike = |what: &str, saved: String, now: String, write: String| {
            format!("the state was saved with {what}{saved}, but the loader has {now}; write {write} to go on")
        };
        match (saved.order, now) {
            (OrderKind::Shuffled(saved), OrderKind::Shuffled(now)) if saved != now => {
                let write = format!(".order(Order::{saved:?})");
                let reason = unlike("Order::", format!("{saved:?}"), format!("Order::{now:?}"), write);
                return Err(Error::argument("order", reason));
            }
            _ => {}
        }
        let words = |lanes: Option<u64>| lanes.map_or("no lanes".to_owned(), |lanes| format!("{lanes} lanes"));
        if saved.lanes != lanes {
            let (setting, write) = match (saved.lanes, lanes) {
                (None, _) => ("order", "no .order(..)".to_owned()),
                (Some(lanes), Some(_)) => ("lanes", format!(".lanes({lanes})")),
                (Some(lanes), None) => ("order", format!(".order(Order::Blocks {{ .. }}) and .lanes({lanes})")),
            };
            return Err(Error::argument(setting, unlike("", words(saved.lanes), words(lanes), write)));
        }
        Ok(())
    }

    /// The error of a position at which no global batch begins: the nearest at which one does, and settings with which
    /// one does here.
    fn no_batch_at(&self, position: u64, saved: u64) -> Error {
        let (batch_size, world, own) = (self.batch_size as u64, self.world as u64, self.global_batch());
        let batch = position / own;
        let fits = |number: &u64| position.is_multiple_of(*number);
        let (setting, write) = if position.is_multiple_of(world) {
            // 1 always fits.
            let near = (1..=batch_size).rev().find(|size| fits(&(size * world))).unwrap_or(1);
            let like_saved =
                (saved > 0 && saved.is_multiple_of(world)).then(|| saved / world).filter(|size| fits(&(size * world)));
            let write = match like_saved {
                Some(same) if same != near => {
                    format!("batch_size({same}), which makes the global batches of the state, or batch_size({near})")
                }
                Some(same) => format!("batch_size({same}), which makes the global batches of the state"),
                None => format!("batch_size({near})"),
            };
            ("batch_size", write)
        } else {
            let near = (1..world).rev().find(fits).unwrap_or(1);
            ("shard", format!("a world that divides {position}, such as {near}, and a batch_size that fits"))
        };
        let reason = format!(
            "no batch of {batch_size} samples in world {world} begins at position {position}, where the state was saved \
             with global batches of {saved}; the nearest begin at {} (batch {batch}) and {} (batch {}); choose {write}",
            batch * own,
            (batch + 1).saturating_mul(own),
            batch + 1,
        );
        Error::argument(setting, reason)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sampler::LastBatch;

    fn sampler(batch_size: usize, world: usize) -> Sampler {
        Sampler::new(100, batch_size).unwrap().seed(7).shuffle(true).shard(world - 1, world).unwrap()
    }

    fn refused(sampler: &Sampler, state: &State) -> String {
        sampler.batch_of(state).unwrap_err().to_string()
    }

    #[test]
    fn every_batch_is_found_again() {
        for world in 1..4 {
            let sampler = sampler(8, world);
            for batch in 0..=sampler.batches() as u64 {
                assert_eq!(sampler.batch_of(&sampler.state(2, batch)).unwrap(), batch);
                assert_eq!(sampler.batch_of(&State::at(7, 2, batch)).unwrap(), batch);
            }
        }
    }

    #[test]
    fn another_world_or_batch_size_goes_on_where_a_global_batch_begins() {
        let state = sampler(8, 2).state(0, 3);
        assert_eq!(state.position(), Some(48));
        for (batch_size, world, batch) in [(8, 1, 6), (8, 3, 2), (16, 1, 3), (4, 4, 3), (1, 1, 48), (12, 2, 2)] {
            let other = sampler(batch_size, world);
            assert_eq!(other.batch_of(&state).unwrap(), batch, "{batch_size} in world {world}");
            // All ranks together go on with the samples that were due.
            let rest = |batch_size, world, batch: u64| {
                let mut due: Vec<u64> = (0..world)
                    .flat_map(|rank| {
                        let shard = sampler(batch_size, world).shard(rank, world).unwrap();
                        let order = shard.epoch(0);
                        (batch as usize..order.batches())
                            .flat_map(|batch| order.batch(batch).collect::<Vec<_>>())
                            .filter(|position| !position.padding)
                            .map(|position| position.global)
                            .collect::<Vec<_>>()
                    })
                    .collect();
                due.sort_unstable();
                due
            };
            assert_eq!(rest(8, 2, 3), rest(batch_size, world, batch), "{batch_size} in world {world}");
        }
    }

    #[test]
    fn after_the_last_sample_comes_the_end_in_every_world() {
        let end = sampler(8, 2).state(0, 7);
        assert_eq!(end.position(), Some(112));
        for (batch_size, world) in [(8, 1), (9, 1), (50, 3)] {
            let other = sampler(batch_size, world);
            assert_eq!(other.batch_of(&end).unwrap(), other.batches() as u64);
        }
    }

    #[test]
    fn orders_of_blocks_go_on_with_their_own_lanes_and_numbers_alone() {
        let blocks = Order::Blocks { samples: 4, window: 3 };
        let saved = sampler(4, 4).order(blocks).unwrap();
        let state = saved.state(2, 2);
        // Lanes are the world's unless they are set: another world has to name those of the first run.
        let error = refused(&sampler(8, 2).order(blocks).unwrap(), &state);
        assert_eq!(
            error,
            "lanes: the state was saved with 4 lanes, but the loader has 2 lanes; write .lanes(4) to go on"
        );
        assert_eq!(sampler(8, 2).lanes(4).unwrap().order(blocks).unwrap().batch_of(&state).unwrap(), 2);
        assert_eq!(sampler(8, 2).lanes(4).unwrap().order(blocks).unwrap().state(2, 2), state);
        let error = refused(&sampler(4, 4), &state);
        assert!(
            error.starts_with("order: the state was saved with Order::Blocks { samples: 4, window: 3 }"),
            "{error}"
        );
        assert!(error.ends_with("has Order::Full; write .order(Order::Blocks { samples: 4, window: 3 }) to go on"));
        let other = sampler(4, 4).order(Order::Blocks { samples: 4, window: 2 }).unwrap();
        assert!(refused(&other, &state).contains("but the loader has Order::Blocks { samples: 4, window: 2 }"));
        let error = refused(&saved.clone().shuffle(false), &state);
        assert!(
            error.starts_with("shuffle: ") && error.contains("this one is in the order of the data set"),
            "{error}"
        );
        let runs = saved.clone().shuffle(false).state(2, 2);
        assert_eq!(saved.clone().shuffle(false).batch_of(&runs).unwrap(), 2);
        assert!(refused(&sampler(4, 4).shuffle(false), &runs).starts_with("order: the state was saved with 4 lanes"));
        let plain = sampler(4, 4).shuffle(false).state(2, 2);
        assert!(refused(&saved.shuffle(false), &plain).starts_with("order: the state was saved with no lanes"));
    }

    #[test]
    fn other_settings_are_refused_by_name() {
        let state = sampler(8, 2).state(0, 3);
        for (other, setting, words) in [
            (sampler(8, 2).seed(8), "seed: ", "saved with seed 7, but the loader has 8"),
            (sampler(8, 5), "shard: ", "global batches of 16; the nearest begin at 40 (batch 1) and 80 (batch 2)"),
            (sampler(8, 5), "shard: ", "choose a world that divides 48, such as 4,"),
            (sampler(10, 2), "batch_size: ", "no batch of 10 samples in world 2 begins at position 48"),
            (sampler(10, 2), "batch_size: ", "batch_size(8), which makes the global batches of the state"),
            (sampler(10, 2), "batch_size: ", "the nearest begin at 40 (batch 2) and 60 (batch 3)"),
            (sampler(7, 3), "batch_size: ", "choose batch_size(4)"),
            (sampler(8, 2).shuffle(false), "shuffle: ", "an epoch shuffled, this one is in the order of the data set"),
            (sampler(8, 2).weights(&[1.0; 100]).unwrap(), "shuffle: ", "this one is chosen by weight"),
        ] {
            let error = refused(&other, &state);
            assert!(error.starts_with(setting) && error.contains(words), "{error}");
        }
        let longer = Sampler::new(101, 8).unwrap().seed(7).shuffle(true).shard(0, 2).unwrap();
        assert!(refused(&longer, &state).starts_with("dataset: the state was saved with 100 samples"));
        let end = sampler(8, 2).state(0, 7);
        let dropping = sampler(8, 2).last_batch(LastBatch::Drop).unwrap();
        assert!(refused(&dropping, &end).starts_with("last_batch: position 112 is after the end"));
        assert!(refused(&sampler(8, 2), &State::at(7, 0, 8)).starts_with("state: batch 8 is after the end"));
    }
}
