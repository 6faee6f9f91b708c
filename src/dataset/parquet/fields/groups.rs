//! Holds the fields of the row groups that were read last, up to a number of bytes.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

use parking_lot::Mutex;

use super::kept::KeptColumn;
use crate::error::Result;

/// A row group: the number of its file in the set, and its own number there.
pub(super) type GroupKey = (usize, usize);

/// The fields of row groups, a clock cache: each row group that was not asked for since the last visit leaves when the
/// memory is full. The lock of all is held while a pointer is copied; that of a row group while it is read, so that
/// several threads that want it read it once.
#[derive(Debug)]
pub(super) struct GroupsInUse {
    most: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    cells: HashMap<GroupKey, Arc<GroupCell>>,
    round: VecDeque<GroupKey>,
    /// The row groups whose reads were announced and not made.
    announced: HashSet<GroupKey>,
    bytes: usize,
}

#[derive(Debug, Default)]
struct GroupCell {
    columns: Mutex<Option<Arc<Vec<KeptColumn>>>>,
    /// The bytes of the columns; 0 until they are read.
    bytes: AtomicUsize,
    asked: AtomicBool,
}

impl GroupsInUse {
    /// Holds at most `most` bytes. A row group that is larger is held alone.
    pub(super) fn new(most: usize) -> GroupsInUse {
        GroupsInUse { most, state: Mutex::default() }
    }

    /// Returns true if a row group has to be read, and its read was not announced before.
    pub(super) fn announces(&self, key: GroupKey) -> bool {
        let State { cells, announced, .. } = &mut *self.state.lock();
        !cells.contains_key(&key) && announced.insert(key)
    }

    /// Returns the columns of a row group, which `read` reads if they are not in memory.
    ///
    /// # Errors
    /// Those of `read`.
    pub(super) fn get(
        &self,
        key: GroupKey,
        read: impl FnOnce() -> Result<Vec<KeptColumn>>,
    ) -> Result<Arc<Vec<KeptColumn>>> {
        let cell = {
            let State { cells, round, announced, .. } = &mut *self.state.lock();
            announced.remove(&key);
            match cells.get(&key) {
                Some(known) => {
                    known.asked.store(true, Relaxed);
                    Arc::clone(known)
                }
                // A row group that is asked for once counts less than one that is asked for again.
                None => {
                    round.push_back(key);
                    Arc::clone(cells.entry(key).or_default())
                }
            }
        };
        let mut held = cell.columns.lock();
        if let Some(columns) = &*held {
            return Ok(Arc::clone(columns));
        }
        let columns = read().map(Arc::new);
        let mut state = self.state.lock();
        let is_own = state.cells.get(&key).is_some_and(|known| Arc::ptr_eq(known, &cell));
        match &columns {
            Ok(columns) if is_own => {
                let bytes = columns.iter().map(KeptColumn::memory).sum::<usize>().max(1);
                *held = Some(Arc::clone(columns));
                cell.bytes.store(bytes, Relaxed);
                state.bytes += bytes;
                state.make_room(self.most, key);
            }
            Err(_) if is_own => {
                state.cells.remove(&key);
                state.round.retain(|other| *other != key);
            }
            _ => {}
        }
        columns
    }
}

impl State {
    /// Removes row groups until the others fit. Two rounds meet each that was not asked for.
    fn make_room(&mut self, most: usize, but: GroupKey) {
        for _ in 0..2 * self.round.len() {
            if self.bytes <= most {
                return;
            }
            let Some(key) = self.round.pop_front() else { return };
            let Some(cell) = self.cells.get(&key) else { continue };
            let bytes = cell.bytes.load(Relaxed);
            if key == but || bytes == 0 || cell.asked.swap(false, Relaxed) {
                self.round.push_back(key);
            } else {
                self.bytes -= bytes;
                self.cells.remove(&key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;

    fn columns(bytes: usize) -> Vec<KeptColumn> {
        vec![KeptColumn::Values { rows: Vec::new(), bytes: Vec::with_capacity(bytes), axes: Vec::new() }]
    }

    #[test]
    fn memory_has_a_bound_and_what_is_asked_for_often_stays() {
        let groups = GroupsInUse::new(1000);
        let mut read = 0;
        for turn in 0..2000 {
            for number in [turn % 100, 7] {
                let kept = groups.get((0, number), || {
                    read += usize::from(number == 7);
                    Ok(columns(100))
                });
                assert!(kept.is_ok() && groups.state.lock().bytes <= 1000);
            }
        }
        assert_eq!(read, 1, "the row group that every turn asks for is read once");
        assert!(groups.state.lock().cells.len() <= 10 && groups.state.lock().round.len() <= 20);
    }

    #[test]
    fn a_row_group_that_cannot_be_read_is_asked_for_again_and_one_above_the_bound_is_held() {
        let groups = GroupsInUse::new(10);
        assert!(groups.get((1, 2), || Err(Error::argument("fields", "damaged"))).is_err());
        assert!(groups.state.lock().round.is_empty());
        assert!(groups.get((1, 2), || Ok(columns(100))).is_ok());
        assert!(groups.get((1, 2), || panic!("it is in memory")).is_ok());
        assert!(groups.get((1, 3), || Ok(columns(100))).is_ok());
        assert_eq!(groups.state.lock().bytes, 100);
    }

    #[test]
    fn a_read_is_announced_once_and_not_for_what_is_in_memory() {
        let groups = GroupsInUse::new(10);
        assert_eq!([groups.announces((0, 1)), groups.announces((0, 1))], [true, false]);
        assert!(groups.get((0, 1), || Ok(columns(5))).is_ok() && !groups.announces((0, 1)));
        // Another one takes its place, so that it has to be read again.
        assert!(groups.get((0, 2), || Ok(columns(10))).is_ok() && groups.get((0, 3), || Ok(columns(10))).is_ok());
        assert!(groups.announces((0, 1)));
    }
}
