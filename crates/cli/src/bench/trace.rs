//! A trace of a short run, as Chrome's `about:tracing` and Perfetto read it.

use super::line::Consumer;
use super::setup::Setup;
use crate::output::Output;
use std::error::Error;
use std::fs::File;
use std::io::{self, Seek, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tracing_chrome::ChromeLayerBuilder;
use tracing_subscriber::prelude::*;

/// A trace holds several events for each image: longer ones only open slowly.
const MOST: Duration = Duration::from_secs(1);

/// Writes it to `output`. From then on the process is traced, so this comes after everything that is measured.
pub(super) fn write(setup: &Setup, workers: usize, output: &Output) -> Result<(), Box<dyn Error>> {
    let mut file = events(setup, workers).map_err(|error| format!("--trace: {error}"))?;
    Ok(output.write(|out| io::copy(&mut file, out).map(drop))?)
}

/// The trace in a file without a name, read from its start.
fn events(setup: &Setup, workers: usize) -> Result<File, Box<dyn Error>> {
    let beside = |error: io::Error| format!("the temporary folder {}: {error}", std::env::temp_dir().display());
    let mut file = tempfile::tempfile().map_err(beside)?;
    let lost = FirstError::default();
    let writer = Watched { file: file.try_clone().map_err(beside)?, lost: Arc::clone(&lost) };
    let (layer, guard) = ChromeLayerBuilder::new().writer(writer).include_args(true).build();
    crate::warnings::record(Box::new(tracing_subscriber::registry().with(layer)));
    let loader = setup.loader(workers)?;
    let mut consumer = Consumer::start(&loader, setup.step)?;
    consumer.skip(2)?;
    consumer.window(MOST)?;
    // The spans of its threads end before the file does.
    drop(consumer);
    drop(guard);
    match lost.lock().unwrap_or_else(PoisonError::into_inner).take() {
        Some(error) => Err(beside(error).into()),
        None => {
            file.rewind().map_err(beside)?;
            Ok(file)
        }
    }
}

type FirstError = Arc<Mutex<Option<io::Error>>>;

/// Keeps the first error for the command: tracing-chrome's own thread would panic on it, and the user would not know.
struct Watched {
    file: File,
    lost: FirstError,
}

impl Write for Watched {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Err(error) = self.file.write_all(bytes) {
            self.lost.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_written_is_kept_and_stops_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trace");
        std::fs::write(&path, "").unwrap();
        let lost = FirstError::default();
        // Opened for reading alone.
        let mut writer = Watched { file: File::open(path).unwrap(), lost: Arc::clone(&lost) };
        assert_eq!(writer.write(b"[]").unwrap(), 2);
        writer.flush().unwrap();
        assert!(lost.lock().unwrap().is_some());
    }
}
