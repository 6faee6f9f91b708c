//! The lists that a sampler has made, or was given.

use super::list::{Bounds, EpochList, Given};
use super::{Orders, Source};
use crate::error::{Error, Result};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Lists that are made stay while an epoch is under way and the next ones are announced.
const MADE: usize = 3;

/// How often a thread that waits for a list looks whether its run stops.
const ROUND: Duration = Duration::from_millis(20);

/// An order with its lists; clones of a sampler share it.
#[derive(Debug)]
pub(in crate::sampler) struct Listed {
    pub(in crate::sampler) orders: Orders,
    known: Mutex<Known>,
    given: Condvar,
}

#[derive(Debug, Default)]
struct Known {
    /// By seed and epoch; the newest last.
    lists: Vec<((u64, u64), Arc<EpochList>)>,
    digests: BTreeMap<(u64, u64), u64>,
    /// The epochs whose lists each open run may still need, by the run's number.
    runs: BTreeMap<u64, Range<u64>>,
    /// The number of the next run.
    next: u64,
}

/// A run's claim to the lists of its epochs, for as long as the run is open.
#[derive(Debug)]
pub(crate) struct OpenLists {
    listed: Arc<Listed>,
    number: u64,
}

impl OpenLists {
    /// Notes that the run has handed out a batch of `epoch`: it needs the lists of earlier epochs no more.
    pub(crate) fn reach(&self, epoch: u64) {
        if let Some(epochs) = self.listed.known().runs.get_mut(&self.number) {
            epochs.start = epoch;
        }
    }
}

impl Drop for OpenLists {
    fn drop(&mut self) {
        self.listed.known().runs.remove(&self.number);
    }
}

impl Listed {
    pub(in crate::sampler) fn new(orders: Orders) -> Self {
        Listed { orders, known: Mutex::default(), given: Condvar::new() }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn found(&self, key: (u64, u64)) -> Option<Arc<EpochList>> {
        self.known().lists.iter().find(|(known, _)| *known == key).map(|(_, list)| Arc::clone(list))
    }

    /// Returns the list of an epoch; `None` if it has to be given first.
    pub(in crate::sampler) fn list(&self, bounds: Bounds, seed: u64, epoch: u64) -> Result<Option<Arc<EpochList>>> {
        let key = (seed, epoch);
        if let Some(list) = self.found(key) {
            return Ok(Some(list));
        }
        // The user's function runs outside the lock.
        let Some(list) = self.orders.make(bounds, seed, epoch)? else { return Ok(None) };
        let (list, mut known) = (Arc::new(list), self.known());
        known.digests.insert(key, list.digest());
        known.lists.push((key, Arc::clone(&list)));
        if known.lists.len() > MADE {
            known.lists.remove(0);
        }
        Ok(Some(list))
    }

    /// As [`list`](Self::list), but waits for one that has to be given; `None` if `stops` says so first.
    pub(in crate::sampler) fn wait(
        &self,
        bounds: Bounds,
        seed: u64,
        epoch: u64,
        stops: impl Fn() -> bool,
    ) -> Result<Option<Arc<EpochList>>> {
        loop {
            if let Some(list) = self.list(bounds, seed, epoch)? {
                return Ok(Some(list));
            }
            if stops() {
                return Ok(None);
            }
            let known = self.known();
            if known.lists.iter().all(|(key, _)| *key != (seed, epoch)) {
                drop(self.given.wait_timeout(known, ROUND).unwrap_or_else(PoisonError::into_inner));
            }
        }
    }

    /// Keeps the lists of these epochs that are given, until the run ends or has come further.
    pub(in crate::sampler) fn open(self: &Arc<Self>, epochs: Range<u64>) -> OpenLists {
        let mut known = self.known();
        let number = known.next;
        known.next += 1;
        known.runs.insert(number, epochs);
        OpenLists { listed: Arc::clone(self), number }
    }

    /// Takes the list of an epoch. Those of other epochs are forgotten, but for the one before and those of open runs.
    pub(in crate::sampler) fn give(&self, given: Given, bounds: Bounds, seed: u64, epoch: u64) -> Result<()> {
        let list = EpochList::new(given, bounds, epoch)?;
        let mut guard = self.known();
        let known = &mut *guard;
        known.digests.insert((seed, epoch), list.digest());
        let runs = &known.runs;
        known.lists.retain(|((_, other), _)| {
            let is_open = || runs.values().any(|epochs| epochs.contains(other));
            *other != epoch && (other.checked_add(1) == Some(epoch) || is_open())
        });
        known.lists.push(((seed, epoch), Arc::new(list)));
        self.given.notify_all();
        Ok(())
    }

    /// The digest of an epoch's list, if it has been made or given.
    pub(in crate::sampler) fn digest(&self, seed: u64, epoch: u64) -> Option<u64> {
        self.known().digests.get(&(seed, epoch)).copied()
    }

    /// True if the list of an epoch is not there.
    pub(in crate::sampler) fn is_missing(&self, seed: u64, epoch: u64) -> bool {
        self.found((seed, epoch)).is_none()
    }

    /// The error of a list that was not given.
    pub(in crate::sampler) fn missing(&self, epoch: u64) -> Error {
        Error::argument(self.orders.setting(), format!("the order of epoch {epoch} was not given"))
    }

    pub(in crate::sampler) fn is_given(&self) -> bool {
        matches!(*self.orders.source, Source::Given(_))
    }
}

impl PartialEq for Listed {
    fn eq(&self, other: &Self) -> bool {
        self.orders == other.orders
    }
}

impl Eq for Listed {}
