//! `DataLoader::replay` of damaged and cut files gives the batch's image, bit for bit: with either policy for cut
//! files, with seek indexes and without.

use gpufeed::decode::{SeekIndexes, Truncated};
use gpufeed::transforms::{RandomHorizontalFlip, RandomResizedCrop};
use gpufeed::{Backend, DataLoader, InMemory, Label, OnError};
use gpufeed_testing::damaged::{damaged_files, damaged_other_files, whole_files};

/// Number of damaged files.
const DAMAGED: usize = 1500;

/// Returns damaged files, and as many undamaged ones, which replace those that are refused.
fn files() -> InMemory {
    let damaged = [damaged_files(), damaged_other_files()].concat();
    assert_eq!(damaged.len(), DAMAGED);
    let files = damaged.into_iter().chain(whole_files().into_iter().cycle().take(DAMAGED));
    files.map(|bytes| (bytes, Label::None)).collect()
}

#[test]
#[allow(clippy::print_stdout)] // the test prints how many images are of damaged files
fn a_replay_of_a_damaged_file_is_the_batch() {
    for truncated in [Truncated::Error, Truncated::Fill] {
        for (indexes, scaled) in [(SeekIndexes::Off, false), (SeekIndexes::Memory, false), (SeekIndexes::Memory, true)]
        {
            let loader = DataLoader::builder(files())
                .transform(RandomResizedCrop::new(12).scale(0.1, 0.9))
                .transform(RandomHorizontalFlip::new(0.5))
                .batch_size(50)
                .shuffle(true) // else the first batches would be of damaged files alone
                .workers(2)
                .seed(8)
                .truncated(truncated)
                .on_error(OnError::Skip { max_share: 1.0 })
                .seek_indexes(indexes.clone())
                .scaled_decode(scaled)
                .build(&Backend::Cpu)
                .unwrap();
            let (mut replayed, mut damaged) = (0, 0);
            // The second epoch uses the seek indexes that the first has built.
            for batch in loader.epochs(0..2).unwrap() {
                let batch = batch.unwrap();
                let host = batch.to_host().unwrap();
                let image = host.len() / batch.len();
                for (at, (id, params)) in batch.ids().iter().zip(batch.params()).enumerate() {
                    let again = loader.replay(*id as usize, params).unwrap();
                    assert!(again == host[at * image..][..image], "{truncated:?} {indexes:?} {scaled} {id} {params:?}");
                    replayed += 1;
                    damaged += usize::from(*id < DAMAGED as u64);
                }
            }
            assert!(replayed == 4 * DAMAGED && damaged > DAMAGED / 2, "{replayed} {damaged}");
            println!("{truncated:?} {indexes:?} {scaled}: {damaged} of {replayed} images of damaged files");
            if truncated == Truncated::Fill {
                assert!(damaged > 19 * DAMAGED / 10, "{damaged}");
            }
        }
    }
}
