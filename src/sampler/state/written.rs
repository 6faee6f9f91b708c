//! States as they are written, of every version.

use super::{EpochPlace, Global, OrderKind, State};
use crate::sampler::Order;
use serde::{Deserialize, Serialize};

/// The version of the form in which a state is written. States of gpufeed 0.1 have none; version 1 had `batch_size` and
/// `world` where this one has their product, and knew no lanes.
const VERSION: u32 = 2;

/// A state as it is written. A key that is not listed here is refused: a later version would mean something by it.
#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Saved {
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
    global_batch: Option<u64>,
    /// `sequential`, `shuffled`, `weighted`, `listed`, `batches`, or as [`Order`] is written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    order: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    lanes: Option<u64>,
    /// The digest of the epoch's list, for `listed` and `batches`: 16 hexadecimal digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    digest: Option<String>,
}

impl From<State> for Saved {
    fn from(State { seed, epoch, place }: State) -> Saved {
        let nothing = Saved { seed, epoch, ..Saved::default() };
        match place {
            EpochPlace::Batch(batch) => Saved { batch: Some(batch), ..nothing },
            EpochPlace::Global(Global { position, samples, global_batch, order, lanes }) => Saved {
                version: Some(VERSION),
                position: Some(position),
                samples: Some(samples),
                global_batch: Some(global_batch),
                order: Some(match order {
                    OrderKind::Sequential => "sequential".to_owned(),
                    OrderKind::Shuffled(Order::Full) => "shuffled".to_owned(),
                    OrderKind::Shuffled(order) => order.to_string(),
                    OrderKind::Weighted => "weighted".to_owned(),
                    OrderKind::Listed(_) => "listed".to_owned(),
                    OrderKind::Batches(_) => "batches".to_owned(),
                }),
                lanes,
                digest: match order {
                    OrderKind::Listed(digest) | OrderKind::Batches(digest) => {
                        digest.map(|digest| format!("{digest:016x}"))
                    }
                    _ => None,
                },
                ..nothing
            },
        }
    }
}

impl TryFrom<Saved> for State {
    type Error = String;

    fn try_from(written: Saved) -> Result<State, String> {
        let Saved { version, seed, epoch, batch, position, samples, batch_size, world, global_batch, order, .. } =
            written;
        let (lanes, digest) = (written.lanes, written.digest);
        let order = match order {
            Some(order) => Some(kind(&order, lanes, digest.as_deref())?),
            None if digest.is_some() => return Err(unknown()),
            None => None,
        };
        let place = match (version, position, samples, order) {
            (Some(version), ..) if !(1..=VERSION).contains(&version) => {
                return Err(format!(
                    "a state of version {version}; this version of gpufeed reads those up to {VERSION}"
                ));
            }
            (Some(version), Some(position), Some(samples), Some(order)) if batch.is_none() => {
                let global_batch = match (version, batch_size, world, global_batch) {
                    (1, Some(batch_size), Some(world), None) if lanes.is_none() => {
                        batch_size.checked_mul(world).ok_or("not a state: batch_size times world is too large")?
                    }
                    (VERSION, None, None, Some(global_batch)) => global_batch,
                    _ => return Err(unknown()),
                };
                EpochPlace::Global(Global { position, samples, global_batch, order, lanes })
            }
            (None, None, None, None) => match (batch, batch_size, world, global_batch, lanes) {
                (Some(batch), None, None, None, None) => EpochPlace::Batch(batch),
                _ => return Err(unknown()),
            },
            _ => return Err(unknown()),
        };
        Ok(State { seed, epoch, place })
    }
}

/// The kind of order that a word names. Only an order of blocks needs lanes; the data set's own may have them.
fn kind(order: &str, lanes: Option<u64>, digest: Option<&str>) -> Result<OrderKind, String> {
    let of_list = digest.map(|digest| {
        let plain = digest.len() == 16 && digest.bytes().all(|byte| byte.is_ascii_hexdigit());
        let number = if plain { u64::from_str_radix(digest, 16).ok() } else { None };
        number.ok_or_else(|| format!("not a state: the digest {digest:?} has not 16 hexadecimal digits"))
    });
    let of_list = of_list.transpose()?;
    let kind = match order {
        "sequential" => OrderKind::Sequential,
        "shuffled" => OrderKind::Shuffled(Order::Full),
        "weighted" => OrderKind::Weighted,
        "listed" => OrderKind::Listed(of_list),
        "batches" => OrderKind::Batches(of_list),
        _ => match order.parse() {
            Ok(blocks @ Order::Blocks { .. }) => OrderKind::Shuffled(blocks),
            _ => return Err(format!("a state of order {order:?}, which this version of gpufeed does not know")),
        },
    };
    let fits = match kind {
        OrderKind::Sequential => lanes != Some(0),
        OrderKind::Shuffled(Order::Blocks { .. }) => lanes.is_some_and(|lanes| lanes > 0),
        OrderKind::Shuffled(Order::Full) | OrderKind::Weighted => lanes.is_none(),
        OrderKind::Listed(_) | OrderKind::Batches(_) => return lanes.is_none().then_some(kind).ok_or_else(unknown),
    };
    (fits && of_list.is_none()).then_some(kind).ok_or_else(unknown)
}

fn unknown() -> String {
    "not a state: one has version, seed, epoch, position, samples, global_batch, order, lanes for an order of blocks, and \
     the digest of a list; one of version 1 batch_size and world for global_batch; one of gpufeed 0.1 seed, epoch and batch"
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sampler::Sampler;

    fn read(text: &str) -> Result<State, String> {
        serde_json::from_str(text).map_err(|error| error.to_string())
    }

    fn sampler() -> Sampler {
        Sampler::new(100, 8).unwrap().seed(7).shuffle(true).shard(1, 2).unwrap()
    }

    #[test]
    fn unknown_forms_are_refused_by_name() {
        let refused = |text: &str| read(text).unwrap_err();
        let whole = serde_json::to_string(&sampler().state(0, 3)).unwrap();
        assert!(refused(&whole.replace(r#""version":2"#, r#""version":3"#)).starts_with("a state of version 3"));
        assert!(refused(&whole.replace(r#""version":2"#, r#""version":0"#)).starts_with("a state of version 0"));
        assert!(refused(&whole.replace(r#""version":2"#, r#""version":1"#)).starts_with("not a state"));
        assert!(refused(&whole.replace('}', r#","lane":4}"#)).starts_with("unknown field `lane`"));
        assert!(refused(&whole.replace('}', r#","lanes":4}"#)).starts_with("not a state"));
        assert!(refused(&whole.replace('}', r#","batch":4}"#)).starts_with("not a state"));
        assert!(refused(&whole.replace(r#""global_batch":16,"#, "")).starts_with("not a state"));
        assert!(refused(&whole.replace("shuffled", "sorted")).starts_with(r#"a state of order "sorted""#));
        assert!(refused(&whole.replace("shuffled", "blocks:4:2")).starts_with("not a state"));
        assert!(refused(r#"{"seed":1,"epoch":2}"#).starts_with("not a state"));
        assert!(refused(r#"{"seed":1,"epoch":2,"batch":3,"position":4}"#).starts_with("not a state"));
        assert!(refused(r#"{"seed":1,"epoch":2,"batch":3,"lanes":4}"#).starts_with("not a state"));
        assert_eq!(serde_json::to_string(&State::at(1, 2, 3)).unwrap(), r#"{"seed":1,"epoch":2,"batch":3}"#);
    }

    #[test]
    fn what_is_no_whole_number_is_refused() {
        let whole = serde_json::to_string(&sampler().state(0, 3)).unwrap();
        for (key, number) in
            [("seed", "7"), ("epoch", "0"), ("position", "48"), ("samples", "100"), ("global_batch", "16")]
        {
            let was = format!(r#""{key}":{number}"#);
            assert!(whole.contains(&was), "{whole}");
            for wrong in ["-1", "1.0", "1e3", "1e30", "18446744073709551616", "true", r#""1""#, "[1]", "{}"] {
                assert!(read(&whole.replace(&was, &format!(r#""{key}":{wrong}"#))).is_err(), "{key} {wrong}");
            }
            let without = whole.replace(&format!("{was},"), "");
            assert!(read(&without).is_err() && without != whole, "without {key}");
            let twice = whole.replace(&was, &format!("{was},{was}"));
            assert!(read(&twice).unwrap_err().starts_with("duplicate field"), "{key} twice");
            assert!(read(&whole.replace(&was, &format!(r#""{key}":null"#))).is_err(), "{key} is null");
        }
        for wrong in ["-2", "2.0", "4294967298", "0", "true"] {
            assert!(read(&whole.replace(r#""version":2"#, &format!(r#""version":{wrong}"#))).is_err(), "{wrong}");
        }
    }

    #[test]
    fn states_of_version_1_are_read() {
        let sampler = sampler();
        let old = r#"{"version":1,"seed":7,"epoch":5,"position":48,"samples":100,"batch_size":8,"world":2,"order":"shuffled"}"#;
        assert_eq!(read(old).unwrap(), sampler.state(5, 3));
        let large = old.replace(r#""world":2"#, r#""world":18446744073709551615"#);
        assert!(read(&large).unwrap_err().starts_with("not a state: batch_size times world"));
        assert!(read(&old.replace(r#""order""#, r#""lanes":2,"order""#)).unwrap_err().starts_with("not a state"));
    }

    #[test]
    fn states_of_blocks_name_order_and_lanes() {
        let blocks = Order::Blocks { samples: 4, window: 3 };
        let sampler = sampler().order(blocks).unwrap().lanes(4).unwrap();
        let saved = serde_json::to_string(&sampler.state(0, 1)).unwrap();
        let expected = r#"{"version":2,"seed":7,"epoch":0,"position":16,"samples":100,"global_batch":16,"order":"blocks:4:3","lanes":4}"#;
        assert_eq!(saved, expected);
        assert_eq!(read(&saved).unwrap(), sampler.state(0, 1));
        let runs = serde_json::to_string(&sampler.shuffle(false).state(0, 1)).unwrap();
        assert!(runs.ends_with(r#""order":"sequential","lanes":4}"#), "{runs}");
        assert!(read(&runs).is_ok());
    }
}
