//! Memory that runs out at each buffer, and mappings that fail.

use super::{Line, lines, misbehaving};
use gpufeed::internals::{Fault, Mock};
use gpufeed::transforms::{ColorJitter, Key, RandomResizedCrop};
use gpufeed::{DType, Error, ErrorKind, Execute, Gpu, Layout, Output, PixelFormat, Pixels, Plan, Processor};
use gpufeed_testing::pipeline::{assert_same, is_full, loader_devices};
use gpufeed_testing::watch::{alone, gpu_buffers, left_over};
use std::ops::Range;

fn names_the_settings(what: &str, error: &Error) {
    let ErrorKind::OutOfMemory { what: buffer, bytes } = error.kind() else { panic!("{what}: {error}") };
    assert!(!buffer.is_empty() && *bytes > 0, "{what}: {error}");
    let text = error.to_string();
    assert!(["batch_size", "queue_depth", "slot_bytes"].iter().all(|setting| text.contains(setting)), "{what}: {text}");
}

fn could_not_be_mapped(what: &str, error: &Error) {
    let ErrorKind::Device { stage, reason } = error.kind() else { panic!("{what}: {error}") };
    assert!(!stage.is_empty() && reason.contains("mapped"), "{what}: {error}");
}

/// Runs a line with each of the calls of a kind failing: the batches are right, or the error is as `check` wants it,
/// and the device goes on to work. `rest` adds runs in which all later calls fail as well. Returns the number of runs
/// that ended with an error.
fn each_fails(
    line: &Line,
    (gpu, fault): (&Gpu, &Fault),
    execute: Execute,
    rest: bool,
    check: fn(&str, &Error),
) -> usize {
    fault.at(0..0);
    let expected = line.batches(gpu, execute).unwrap();
    let calls = fault.calls();
    assert!(calls > 0, "{gpu}: {}: the line makes no such call", line.name);
    let buffers = gpu_buffers(gpu).0;
    let once = |call| call..call + 1;
    let failing: Vec<Range<u64>> =
        (0..calls).flat_map(|call| [once(call)].into_iter().chain(rest.then_some(call..u64::MAX))).collect();
    let mut errors = 0;
    for calls in failing {
        let what = format!("{gpu}, {execute:?}, {}: calls {calls:?}", line.name);
        fault.at(calls);
        match line.batches(gpu, execute) {
            Ok(batches) => assert_same(&expected, &batches, &what),
            Err(error) => {
                errors += 1;
                check(&what, &error);
            }
        }
        fault.at(0..0);
        assert_eq!(left_over(), [""; 0], "{what}");
        assert!(gpu_buffers(gpu).0 <= buffers, "{what}: buffers stay");
    }
    assert_same(&expected, &line.batches(gpu, execute).unwrap(), "a new loader, after all faults");
    errors
}

/// Runs the lines whose buffers differ most on the shaders, and one whose batches are copied up.
fn each_line(test: impl Fn(&Line, (&Gpu, &Mock), Execute)) {
    for device in loader_devices() {
        let (gpu, mock) = misbehaving(device, false, Mock::default());
        let chosen = ["means", "a device cache", "intermediates", "mixed"];
        for line in lines().iter().filter(|line| is_full() || chosen.iter().any(|name| line.name.starts_with(name))) {
            test(line, (&gpu, &mock), Execute::Gpu);
        }
        test(&lines()[0], (&gpu, &mock), Execute::Cpu);
    }
}

#[test]
fn memory_that_runs_out_at_any_buffer_names_the_settings() {
    alone(300, "buffers", || {
        each_line(|line, (gpu, mock), execute| {
            let errors = each_fails(line, (gpu, &mock.buffers), execute, true, names_the_settings);
            assert!(errors > 5, "{gpu}, {}: {errors}", line.name);
            let errors = each_fails(line, (gpu, &mock.probes), execute, false, names_the_settings);
            assert!(errors > 5, "{gpu}, {}: {errors}", line.name);
        });
    });
}

#[test]
fn a_mapping_that_fails_ends_the_run_with_its_stage_or_changes_nothing() {
    alone(300, "mappings", || {
        each_line(|line, (gpu, mock), execute| {
            let errors = each_fails(line, (gpu, &mock.maps), execute, true, could_not_be_mapped);
            assert!(errors > 3, "{gpu}, {}: {errors}", line.name);
        });
    });
}

/// A batch that could not be read can be read later: its buffer has not changed.
#[test]
fn a_batch_that_could_not_be_read_is_read_later() {
    alone(60, "reading again", || {
        for device in loader_devices() {
            let (gpu, mock) = misbehaving(device, false, Mock::default());
            for execute in [Execute::Gpu, Execute::Cpu] {
                let loader = lines()[0].builder.clone().execute(execute).build(&gpu.clone().into()).unwrap();
                let batch = loader.epoch(0).unwrap().next().unwrap().unwrap();
                let expected = batch.to_host().unwrap();
                mock.maps.at(0..1);
                could_not_be_mapped("to_host", &batch.to_host().unwrap_err());
                mock.buffers.at(0..1);
                names_the_settings("to_host", &batch.to_host().unwrap_err());
                assert!(batch.to_host().unwrap() == expected, "{gpu}, {execute:?}");
            }
        }
    });
}

#[test]
fn a_processor_without_memory_or_mappings_names_the_same() {
    alone(60, "processor", || {
        let list = [RandomResizedCrop::new(16).into(), ColorJitter::new(0.2, 0.2, 0.2, 0.0).into()];
        let plan = Plan::compile(&list, &Output { layout: Layout::Nchw, dtype: DType::F16 }).unwrap();
        let params = plan.make_params(30, 20, &Key::default()).unwrap();
        let bytes: Vec<u8> = (0..30 * 20 * 3).map(|i| (i * 7 % 256) as u8).collect();
        let pixels = Pixels::new(30, 20, PixelFormat::Rgb8, &bytes).unwrap();
        for device in loader_devices() {
            let (gpu, mock) = misbehaving(device, false, Mock::default());
            let processor = Processor::new(&plan, &gpu.clone().into()).unwrap();
            let expected = processor.run(&[(pixels, &params)]).unwrap();
            for (fault, check) in [
                (&mock.buffers, names_the_settings as fn(&str, &Error)),
                (&mock.probes, names_the_settings),
                (&mock.maps, could_not_be_mapped),
            ] {
                fault.at(0..0);
                processor.run(&[(pixels, &params)]).unwrap();
                for call in 0..fault.calls() {
                    fault.at(call..call + 1);
                    check(&format!("{gpu}, call {call}"), &processor.run(&[(pixels, &params)]).unwrap_err());
                    assert!(processor.run(&[(pixels, &params)]).unwrap() == expected, "{gpu}, after call {call}");
                }
            }
        }
    });
}
