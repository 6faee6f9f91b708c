//! Saves a loader's seek indexes: at the end of epochs, without delaying them, and at the loader's end.

use super::{SeekStore, unpoisoned};
use std::sync::{Arc, Mutex};
use std::thread::{Builder, JoinHandle, sleep};
use std::time::{Duration, Instant};

/// Longest wait of the end of a run for other writers. All ranks end their epochs at the same time.
const BRIEFLY: Duration = Duration::from_millis(200);
/// Longest wait of the background thread and of the loader's end.
const LONG: Duration = Duration::from_secs(10);

/// The seek indexes of a loader, and the thread that saves them. The store reports errors; their only effect is lost
/// time.
#[derive(Debug)]
pub(crate) struct Saver {
    store: Arc<SeekStore>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Saver {
    pub(crate) fn new(store: SeekStore) -> Saver {
        Saver { store: Arc::new(store), thread: Mutex::default() }
    }

    pub(crate) fn store(&self) -> &SeekStore {
        &self.store
    }

    /// Saves in the background, between two epochs of a run.
    pub(crate) fn between_epochs(&self) {
        let mut thread = unpoisoned(self.thread.lock());
        let busy = thread.as_ref().is_some_and(|thread| !thread.is_finished());
        if !busy && self.store.is_due() {
            let store = Arc::clone(&self.store);
            let work = move || {
                store.save_or_say(LONG);
            };
            // If the thread cannot be started, the records are saved later.
            *thread = Builder::new().name("gpufeed-index".to_owned()).spawn(work).ok();
        } else {
            self.store.refresh();
        }
    }

    /// Saves at the end of a run, or in the background if other processes are writing.
    pub(crate) fn after_run(&self) {
        let mut thread = unpoisoned(self.thread.lock());
        let start = Instant::now();
        while thread.as_ref().is_some_and(|thread| !thread.is_finished()) && start.elapsed() < BRIEFLY {
            sleep(Duration::from_millis(1));
        }
        if let Some(ended) = thread.take_if(|thread| thread.is_finished()) {
            let _ = ended.join();
        }
        drop(thread);
        if !self.store.save_or_say(BRIEFLY) {
            self.between_epochs();
        }
    }
}

impl Drop for Saver {
    fn drop(&mut self) {
        if let Some(thread) = unpoisoned(self.thread.lock()).take() {
            let _ = thread.join();
        }
        self.store.save_or_say(LONG);
    }
}
