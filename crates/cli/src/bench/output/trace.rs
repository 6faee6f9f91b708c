//! Writes the trace of a short run, in the format of Chrome's `about:tracing` and of Perfetto.

use crate::bench::measure::pipeline::Consumer;
use crate::bench::setup::Setup;
use crate::output::Output;
use std::error::Error;
use std::fs::File;
use std::io::{self, Seek, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tracing_chrome::ChromeLayerBuilder;

/// The length of the traced run. It is short, because each image makes several events, and viewers open long traces
/// slowly.
const MOST: Duration = Duration::from_secs(1);

/// Writes the trace to `output`. The process stays traced afterwards, so call this after all measurements.
pub(crate) fn write(setup: &Setup, workers: usize, output: &Output) -> Result<(), Box<dyn Error>> {
    let mut file = events(setup, workers).map_err(|error| format!("--trace: {error}"))?;
    Ok(output.write(|out| io::copy(&mut file, out).map(drop))?)
}

/// Records the trace in a file without a name and returns the file, positioned at its start.
fn events(setup: &Setup, workers: usize) -> Result<File, Box<dyn Error>> {
    let in_folder = |error: io::Error| format!("the temporary folder {}: {error}", std::env::temp_dir().display());
    let mut file = tempfile::tempfile().map_err(in_folder)?;
    let lost = FirstError::default();
    let writer = Watched { file: file.try_clone().map_err(in_folder)?, lost: Arc::clone(&lost) };
    let (layer, guard) = ChromeLayerBuilder::new().writer(writer).include_args(true).build();
    crate::warnings::record(layer);
    let loader = setup.loader(workers)?;
    let mut consumer = Consumer::start(&loader, setup.step)?;
    consumer.skip(2)?;
    consumer.window(MOST)?;
    // Ends the loader's threads before the file is closed, and with the threads their spans.
    drop(consumer);
    drop(guard);
    match lost.lock().unwrap_or_else(PoisonError::into_inner).take() {
        Some(error) => Err(in_folder(error).into()),
        None => {
            file.rewind().map_err(in_folder)?;
            Ok(file)
        }
    }
}

type FirstError = Arc<Mutex<Option<io::Error>>>;

/// Keeps the first error of writing for the command. Otherwise the thread of tracing-chrome would panic on the error,
/// and the user would not learn of it.
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
    fn the_first_error_is_kept_and_stops_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trace");
        std::fs::write(&path, "").unwrap();
        let lost = FirstError::default();
        // The file is open for reading only, so writing fails.
        let mut writer = Watched { file: File::open(path).unwrap(), lost: Arc::clone(&lost) };
        assert_eq!(writer.write(b"[]").unwrap(), 2);
        writer.flush().unwrap();
        assert!(lost.lock().unwrap().is_some());
    }
}
