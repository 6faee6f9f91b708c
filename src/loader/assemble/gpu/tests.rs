use super::*;
use crate::loader::assemble::Inbox;
use crate::loader::buffers::RunShares;
use crate::loader::messages::{BatchStart, SlotRequest};
use crate::loader::pipeline::Execution;
use crate::transforms::CenterCrop;
use crate::{DataLoader, Execute, Gpu, InMemory, Label, PixelFormat};
use crossbeam_channel::{RecvTimeoutError, bounded};
use gpufeed_testing::watch::{adapters, application_device};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// One worker waits for its grant. The job before it was taken by another worker, which dropped it without a message when
/// the run was stopped.
#[test]
fn a_stop_ends_the_wait_behind_a_job_that_was_dropped() {
    for adapter in adapters(|_| {}) {
        let (device, queue) = application_device(&adapter);
        let mut data = InMemory::new();
        for _ in 0..2 {
            data.push_pixels(2, 2, PixelFormat::Rgb8, vec![0; 12], Label::None).unwrap();
        }
        let loader = DataLoader::builder(data).transform(CenterCrop::new(2)).batch_size(2).execute(Execute::Gpu);
        let loader = loader.build(&Gpu::from_wgpu(&adapter, device, queue).into()).unwrap();
        let Execution::Gpu(executor) = &loader.pipeline.execution else { panic!("the GPU executes") };
        loader.pipeline.enter().unwrap();
        let (stop, shares) = (AtomicBool::new(false), RunShares::default());
        let (ready, _batches) = bounded(1);
        std::thread::scope(|scope| {
            let (worker, messages) = bounded(4);
            let (_feeder, announced) = bounded(1);
            let inbox = Inbox { messages, announced, stop: &stop };
            let thread = BatchThread { pipeline: &loader.pipeline, shares: &shares, inbox, ready: &ready, stop: &stop };
            scope.spawn(|| run(executor, thread));
            let start =
                BatchStart { number: 0, epoch: 0, index: 0, samples: 2, valid: 2, mix: None, at: Instant::now() };
            worker.send(GpuMessage::Start(start, Vec::new())).unwrap();
            let (reply, granted) = bounded(1);
            worker.send(GpuMessage::Request(SlotRequest { order: Some(1), batch: 0, bytes: 12, reply })).unwrap();
            assert!(matches!(granted.recv_timeout(Duration::from_millis(200)), Err(RecvTimeoutError::Timeout)));
            stop.store(true, Ordering::Relaxed);
            let end = granted.recv_timeout(Duration::from_secs(20));
            assert!(matches!(end, Err(RecvTimeoutError::Disconnected)), "the worker still waits: {end:?}");
            drop(worker);
        });
        loader.pipeline.leave();
    }
}
