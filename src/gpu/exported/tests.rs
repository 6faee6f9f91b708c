use super::*;
use crate::gpu::readback;
use gpufeed_testing::device;

const BYTES: u64 = 1024;

/// The devices that export, or none.
fn exporting() -> Vec<Gpu> {
    let gpus: Vec<Gpu> = device::adapters().iter().map(|adapter| Gpu::open(adapter).unwrap()).collect();
    device::require(gpus.iter().map(Gpu::to_string));
    gpus.into_iter().filter(|gpu| gpu.exports().is_ok()).collect()
}

/// Fills the buffer, which completes a batch.
fn fill(gpu: &Gpu, exported: &Exported, byte: u8) {
    gpu.queue().write_buffer(&exported.buffer, 0, &[byte; BYTES as usize]);
    let encoder = gpu.device().create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
    gpu.submit_exported(encoder.finish(), [exported, exported], &[exported]);
}

/// Waits and signals as another API does, on the device's own queue: a value that is never reached would block it.
fn read(gpu: &Gpu, exported: &Exported, external: &External<'_>) -> Vec<u8> {
    if let (Some(ready), Some(free)) = (external.ready(), external.free()) {
        let point = |shared: &SharedSemaphore<'_>| Point { semaphore: shared.semaphore, value: shared.value };
        external::stage(gpu.queue(), &[point(&ready)], &[point(&free)]);
        gpu.queue().submit([]);
    }
    readback::read(gpu, &exported.buffer, 0..BYTES).unwrap()
}

#[test]
fn each_turn_has_its_signals() {
    for gpu in exporting() {
        for handover in [Handover::TimelineSemaphores, Handover::BinarySemaphores, Handover::HostWaits] {
            // No software driver exports timelines: these semaphores are known to this device alone.
            let exported = gpu.exported_by("test", BYTES, handover, false).unwrap();
            for turn in 1..=4_u8 {
                fill(&gpu, &exported, turn);
                let external = exported.hand_out(BYTES).unwrap();
                let value = (handover == Handover::TimelineSemaphores).then_some(u64::from(turn));
                assert_eq!(external.ready().and_then(|ready| ready.value()), value, "{gpu}, {handover}");
                assert_eq!(external.free().and_then(|free| free.value()), value, "{gpu}, {handover}");
                assert_eq!(external.ready().is_none(), handover == Handover::HostWaits);
                assert_eq!(read(&gpu, &exported, &external), [turn; BYTES as usize], "{gpu}, {handover}");
                exported.release();
                assert_eq!(exported.comes_back(), ComesBack::Free);
            }
        }
    }
}

#[test]
fn a_buffer_comes_back_by_what_was_done_with_its_batch() {
    for gpu in exporting() {
        for handover in [Handover::TimelineSemaphores, Handover::BinarySemaphores, Handover::HostWaits] {
            let unheard = if handover == Handover::BinarySemaphores { ComesBack::Spent } else { ComesBack::Free };
            let exported = gpu.exported_by("test", BYTES, handover, false).unwrap();
            assert_eq!(exported.comes_back(), ComesBack::Free, "a batch that was never complete");
            fill(&gpu, &exported, 1);
            exported.hand_out(BYTES).unwrap().unused();
            assert_eq!(exported.comes_back(), unheard, "{handover}");
            let exported = gpu.exported_by("test", BYTES, handover, false).unwrap();
            fill(&gpu, &exported, 1);
            let _ = exported.hand_out(BYTES).unwrap();
            assert_eq!(exported.comes_back(), ComesBack::Never, "{handover}");
        }
    }
}
