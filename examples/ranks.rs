//! Every process that a launcher starts takes its share of two epochs, and goes on where it was when it is started again.
//!
//! `mpirun -n 2 target/release/examples/ranks DATA [FOLDER_OF_STATES [MILLISECONDS_OF_A_STEP]]`

use gpufeed::{Backend, DataLoader, State, dataset, recipe};
use serde_json::json;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{Write, stdout};
use std::{error::Error, fs, path::Path, thread, time::Duration};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let data = arguments.next().ok_or("usage: ranks DATA [FOLDER_OF_STATES [MILLISECONDS_OF_A_STEP]]")?;
    let states = arguments.next();
    let step = Duration::from_millis(arguments.next().map_or(Ok(0), |number| number.parse())?);

    let loader = DataLoader::builder(dataset::open(data)?.train)
        .recipe(recipe::load("cifar-train")?)
        .batch_size(8)
        .shuffle(true)
        .seed(42)
        .shard_auto()
        .build(&Backend::Cpu)?;
    let shard = loader.shard();
    writeln!(stdout(), "{}", json!({ "rank": shard.rank, "world": shard.world, "explain": loader.explain() }))?;

    // A rank's own state, and not the first rank's alone, because the ranks of this program do not wait for each other.
    let file = states.map(|states| Path::new(&states).join(format!("rank-{}.json", shard.rank)));
    let state = match &file {
        Some(file) if file.exists() => serde_json::from_slice(&fs::read(file)?)?,
        _ => State::at(loader.seed(), 0, 0),
    };
    let mut epochs = loader.resume_until(&state, 2)?;
    while let Some(batch) = epochs.next() {
        let batch = batch?;
        thread::sleep(step); // a step of the training, with batch.images() and batch.labels()
        let mut params = DefaultHasher::new();
        serde_json::to_string(batch.params())?.hash(&mut params);
        let ids = &batch.ids()[..batch.valid()]; // without padding
        let hash = format!("{:016x}", params.finish());
        let line = json!({ "epoch": batch.epoch(), "batch": batch.index(), "ids": ids, "params": hash });
        writeln!(stdout(), "{line}")?;
        if let Some(file) = &file {
            // Renamed, so that a killed process leaves a whole state: this one, or the one before.
            let unfinished = file.with_extension("unfinished");
            fs::write(&unfinished, serde_json::to_vec(&epochs.state())?)?;
            fs::rename(unfinished, file)?;
        }
    }
    Ok(())
}
