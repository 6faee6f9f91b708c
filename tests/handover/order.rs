//! Who waits for whom.

use crate::consumer::{Consumer, Reading};
use crate::{content, exporting, numbered};
use gpufeed::transforms::GaussianBlur;
use gpufeed::{Backend, Batch, DataLoader, Execute, Export, Gpu, Handover};
use gpufeed_testing::dice::Dice;
use std::collections::VecDeque;
use std::time::Duration;

fn loader(gpu: &Gpu, execute: Execute, side: u32) -> DataLoader {
    let builder = numbered(64, side).batch_size(4).execute(execute).export(Export::Auto);
    builder.build(&Backend::Gpu(gpu.clone())).unwrap()
}

fn external(batch: &Batch) -> gpufeed::External<'_> {
    batch.group("image").unwrap().external().unwrap()
}

/// A batch that a consumer reads, with what it must have.
struct Taken {
    batch: Batch,
    reading: Option<Reading>,
    expected: Vec<u8>,
}

#[test]
fn no_batch_is_torn_whatever_the_consumer_keeps() {
    let batches = if is_full() { 10_000 } else { 1_000 };
    for gpu in exporting() {
        for execute in [Execute::Cpu, Execute::Gpu] {
            let loader = loader(&gpu, execute, 8);
            let (mut consumer, mut dice, handover) = (None, Dice(7), exports_by(&gpu));
            let (mut held, mut seen): (VecDeque<Taken>, usize) = (VecDeque::new(), 0);
            let mut finish = |consumer: &Consumer, taken: Taken| {
                if let Some(reading) = taken.reading {
                    assert_eq!(consumer.end(reading), taken.expected, "{gpu}, batch {}", taken.batch.index());
                    taken.batch.release();
                }
                seen += 1;
            };
            for batch in loader.epochs(0..(batches / 16) as u64).unwrap() {
                let batch = batch.unwrap();
                let expected = content(&batch);
                let consumer = consumer.get_or_insert_with(|| {
                    let external = external(&batch);
                    let consumer = Consumer::open(external.uuid().unwrap(), external.handover());
                    external.unused();
                    consumer
                });
                // Now and then a batch that nobody imports, and one that is handed out and not used.
                let reading = match dice.below(10) {
                    0 => None,
                    1 => {
                        external(&batch).unused();
                        None
                    }
                    _ => Some(consumer.begin(&external(&batch), true)),
                };
                held.push_back(Taken { batch, reading, expected });
                let keep = dice.below(4);
                while held.len() > keep {
                    if dice.below(20) == 0 {
                        std::thread::sleep(Duration::from_millis(3));
                    }
                    let at = dice.below(held.len());
                    let taken = held.remove(at).unwrap();
                    finish(consumer, taken);
                }
            }
            let consumer = consumer.unwrap();
            held.into_iter().for_each(|taken| finish(&consumer, taken));
            assert_eq!(seen, batches / 16 * 16);
            // The ring is four buffers, and grows while the consumer holds several. Where binary semaphores say that a batch
            // is ready, and nobody waits for that, the next batch has a new buffer.
            let most = if handover == Handover::BinarySemaphores { batches } else { 8 };
            assert!(consumer.imports() <= most, "{} buffers were imported", consumer.imports());
        }
    }
}

/// A consumer without a semaphore has to be seen, or the test above would prove nothing. Only drivers with semaphores run the
/// two devices' work beside each other.
#[test]
fn a_consumer_that_does_not_wait_reads_another_batch() {
    for gpu in exporting() {
        let slow = |builder: gpufeed::DataLoaderBuilder| builder.transform(GaussianBlur::new(23));
        let builder = slow(numbered(64, 160)).batch_size(16).execute(Execute::Gpu).export(Export::Auto);
        let loader = builder.build(&Backend::Gpu(gpu.clone())).unwrap();
        let (mut consumer, mut wrong) = (None, 0);
        for batch in loader.epochs(0..6).unwrap() {
            let batch = batch.unwrap();
            let external = external(&batch);
            if external.handover() == Handover::HostWaits {
                break;
            }
            let uuid = external.uuid().unwrap();
            let consumer = consumer.get_or_insert_with(|| Consumer::open(uuid, external.handover()));
            let reading = consumer.begin(&external, false);
            wrong += usize::from(consumer.end(reading) != content(&batch));
            external.unused();
        }
        assert_eq!(wrong > 0, consumer.is_some(), "{gpu}: {wrong} of 24 batches");
    }
}

#[test]
fn a_consumer_that_signals_too_early_is_overtaken() {
    for gpu in exporting() {
        let loader = loader(&gpu, Execute::Gpu, 64);
        let (mut consumer, mut wrong) = (None, 0);
        // Where the batch before is, and what it had.
        let mut before: Option<((u64, u64), Vec<u8>)> = None;
        for batch in loader.epochs(0..2).unwrap() {
            let batch = batch.unwrap();
            let external = external(&batch);
            if external.handover() == Handover::HostWaits {
                break;
            }
            let uuid = external.uuid().unwrap();
            let consumer: &mut Consumer = consumer.get_or_insert_with(|| Consumer::open(uuid, external.handover()));
            // Now that a batch was taken, the buffer of the one before is filled again.
            std::thread::sleep(Duration::from_millis(20));
            if let Some(((id, bytes), expected)) = before.take() {
                wrong += usize::from(consumer.end(consumer.copy(id, bytes)) != expected);
            }
            before = Some((consumer.free_unread(&external), content(&batch)));
            batch.release();
        }
        assert_eq!(wrong > 0, consumer.is_some(), "{gpu}: {wrong} of 31 batches");
    }
}

fn exports_by(gpu: &Gpu) -> Handover {
    let loader = loader(gpu, Execute::Auto, 8);
    let batch = loader.epoch(0).unwrap().next().unwrap().unwrap();
    let external = external(&batch);
    let handover = external.handover();
    external.unused();
    handover
}

fn is_full() -> bool {
    std::env::var_os("GPUFEED_FULL").is_some()
}
