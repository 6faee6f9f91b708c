//! The position of a run, which a checkpoint holds.

use super::Sampler;
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// The version of the form in which a state is written. States of gpufeed 0.1 have none.
const VERSION: u32 = 1;

/// The position of a run: the next batch that is due. Serialise it into a checkpoint.
///
/// It holds the epoch's global position, that is, how many samples all ranks together have had of the epoch, and the
/// settings under which it was taken. So a run may go on with another world or batch size, wherever a global batch of
/// the new settings begins at that position; [`DataLoader::resume`](crate::DataLoader::resume) refuses other states, and
/// those of another seed, order or data set, by the name of the setting.
///
/// It is written as a map with a `version`. States of gpufeed 0.1, which had no version and counted the batches of a
/// rank, are still read; they name no settings, so they fit any loader with the same seed.
///
/// ```
/// use gpufeed::{Sampler, State};
///
/// let sampler = Sampler::new(1000, 32)?.seed(42).shard(0, 2)?;
/// let state = sampler.state(3, 5);
/// let saved = serde_json::to_string(&state)?;
/// assert_eq!(
///     saved,
///     r#"{"version":1,"seed":42,"epoch":3,"position":320,"samples":1000,"batch_size":32,"world":2,"order":"sequential"}"#
/// );
/// assert_eq!(serde_json::from_str::<State>(&saved)?, state);
///
/// // Four ranks go on with the same global batches.
/// assert_eq!(sampler.clone().shard(3, 4)?.batch_of(&state).unwrap_err().to_string().split(':').next(), Some("shard"));
/// assert_eq!(Sampler::new(1000, 16)?.seed(42).shard(3, 4)?.batch_of(&state)?, 5);
///
/// let old: State = serde_json::from_str(r#"{"seed":42,"epoch":3,"batch":17}"#)?;
/// assert_eq!(old, State::at(42, 3, 17));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "Written", try_from = "Written")]
pub struct State {
    seed: u64,
    epoch: u64,
    place: Place,
}

/// The place in the epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Place {
    /// The next batch of a rank, of whatever settings; states of gpufeed 0.1.
    Batch(u64),
    Global(Global),
}

/// The global position in an epoch, and the settings under which it was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Global {
    /// Samples that all ranks together have had of the epoch.
    position: u64,
    /// Samples of the data set.
    samples: u64,
    batch_size: u64,
    world: u64,
    order: OrderKind,
}

/// The kind of an epoch's order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum OrderKind {
    Sequential,
    Shuffled,
    Weighted,
}

/// A state as it is written. A key that is not listed here is refused: a later version would mean something by it.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    version: Option<u32>,
    seed: u64,
    epoch: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    batch: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    position: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    samples: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    batch_size: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    world: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    order: Option<OrderKind>,
}

impl From<State> for Written {
    fn from(State { seed, epoch, place }: State) -> Written {
        let nothing = Written {
            version: None,
            seed,
            epoch,
            batch: None,
            position: None,
            samples: None,
            batch_size: None,
            world: None,
            order: None,
        };
        match place {
            Place::Batch(batch) => Written { batch: Some(batch), ..nothing },
            Place::Global(Global { position, samples, batch_size, world, order }) => Written {
                version: Some(VERSION),
                position: Some(position),
                samples: Some(samples),
                batch_size: Some(batch_size),
                world: Some(world),
                order: Some(order),
                ..nothing
            },
        }
    }
}

impl TryFrom<Written> for State {
    type Error = String;

    fn try_from(written: Written) -> Result<State, String> {
        let place = match written {
            Written { version: Some(version), .. } if version != VERSION => {
                return Err(format!("a state of version {version}; this version of gpufeed reads {VERSION}"));
            }
            Written {
                version: Some(_),
                batch: None,
                position: Some(position),
                samples: Some(samples),
                batch_size: Some(batch_size),
                world: Some(world),
                order: Some(order),
                ..
            } => Place::Global(Global { position, samples, batch_size, world, order }),
            Written {
                version: None,
                batch: Some(batch),
                position: None,
                samples: None,
                batch_size: None,
                world: None,
                order: None,
                ..
            } => Place::Batch(batch),
            _ => {
                return Err(
                    "not a state: one has version, seed, epoch, position, samples, batch_size, world and order, \
                            one of gpufeed 0.1 seed, epoch and batch"
                        .to_owned(),
                );
            }
        };
        Ok(State { seed: written.seed, epoch: written.epoch, place })
    }
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
            (None, true) => OrderKind::Shuffled,
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
            batch_size: self.batch_size as u64,
            world: self.world as u64,
            order: self.order_kind(),
        };
        State { seed: self.seed, epoch, place: Place::Global(global) }
    }

    /// The batch of this sampler's epoch that is due at `state`: from 0 to [`batches`](Self::batches), which is the
    /// epoch's end.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Argument`](crate::ErrorKind::Argument) with the setting that differs: `seed`, `dataset` (its length),
    /// `shuffle`, `batch_size` or `shard` if no global batch begins at the state's position, `last_batch` if this
    /// sampler's epoch ends before it.
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
        let len = self.len as u64;
        if global.samples != len {
            let reason = format!("the state was saved with {} samples, but the data set has {len}", global.samples);
            return Err(Error::argument("dataset", reason));
        }
        if global.order != self.order_kind() {
            let name = |order| match order {
                OrderKind::Sequential => "in the order of the data set",
                OrderKind::Shuffled => "shuffled",
                OrderKind::Weighted => "chosen by weight",
            };
            let (saved, now) = (name(global.order), name(self.order_kind()));
            return Err(Error::argument(
                "shuffle",
                format!("the state was saved in an epoch {saved}, this one is {now}"),
            ));
        }
        let Global { position, batch_size, world, .. } = global;
        if position % self.global_batch() != 0 {
            let setting = if batch_size == self.batch_size as u64 { "shard" } else { "batch_size" };
            let reason = format!(
                "no batch of {} samples in world {} begins at position {position}, where the state was saved with \
                 batches of {batch_size} in world {world}; batch_size times world has to divide {position}",
                self.batch_size, self.world
            );
            return Err(Error::argument(setting, reason));
        }
        let batch = position / self.global_batch();
        if batch > batches {
            let reason = format!("position {position} is after the end of an epoch of {batches} batches");
            return Err(Error::argument("last_batch", reason));
        }
        Ok(batch)
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
    fn other_settings_are_refused_by_name() {
        let state = sampler(8, 2).state(0, 3);
        for (other, setting, words) in [
            (sampler(8, 2).seed(8), "seed: ", "saved with seed 7, but the loader has 8"),
            (sampler(8, 5), "shard: ", "batches of 8 in world 2; batch_size times world has to divide 48"),
            (sampler(10, 2), "batch_size: ", "no batch of 10 samples in world 2 begins at position 48"),
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

    #[test]
    fn unknown_forms_are_refused_by_name() {
        let read = |text: &str| serde_json::from_str::<State>(text).unwrap_err().to_string();
        let whole = serde_json::to_string(&sampler(8, 2).state(0, 3)).unwrap();
        assert!(read(&whole.replace(r#""version":1"#, r#""version":2"#)).starts_with("a state of version 2"));
        assert!(read(&whole.replace('}', r#","lanes":4}"#)).starts_with("unknown field `lanes`"));
        assert!(read(&whole.replace(r#""world":2,"#, "")).starts_with("not a state"));
        assert!(read(r#"{"seed":1,"epoch":2}"#).starts_with("not a state"));
        assert!(read(r#"{"seed":1,"epoch":2,"batch":3,"position":4}"#).starts_with("not a state"));
        assert_eq!(serde_json::to_string(&State::at(1, 2, 3)).unwrap(), r#"{"seed":1,"epoch":2,"batch":3}"#);
    }
}
