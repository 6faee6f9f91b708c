//! A trace of a short run, as Chrome's `about:tracing` and Perfetto read it.

use super::line::Consumer;
use super::setup::Setup;
use std::error::Error;
use std::path::Path;
use std::time::Duration;
use tracing_chrome::ChromeLayerBuilder;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::prelude::*;

/// A trace holds several events for each image: longer ones only open slowly.
const MOST: Duration = Duration::from_secs(1);

/// Writes it to `path`. From then on the process is traced, so this comes after everything that is measured.
pub(super) fn write(setup: &Setup, workers: usize, path: &Path) -> Result<(), Box<dyn Error>> {
    let file = std::fs::File::create(path).map_err(|error| format!("trace: {}: {error}", path.display()))?;
    let (layer, guard) = ChromeLayerBuilder::new().writer(std::io::BufWriter::new(file)).include_args(true).build();
    let ours = filter_fn(|metadata| metadata.target().starts_with("gpufeed"));
    let subscriber = tracing_subscriber::registry().with(layer.with_filter(ours));
    tracing::subscriber::set_global_default(subscriber)?;
    let loader = setup.loader(workers)?;
    let mut consumer = Consumer::start(&loader, setup.step)?;
    consumer.skip(2)?;
    consumer.window(MOST)?;
    // The spans of its threads end before the file does.
    drop(consumer);
    drop(guard);
    Ok(())
}
