//! Timestamps that are missing, zero or go backwards, and adapters that say something else about themselves.

use super::{Line, lines, misbehaving, misbehaving_with};
use gpufeed::internals::{Clock, Mock};
use gpufeed::{Execute, Gpu, GpuClock, GpuTime, wgpu};
use gpufeed_testing::device::{Device, devices};
use gpufeed_testing::golden;
use gpufeed_testing::pipeline::{assert_same, seen};
use gpufeed_testing::watch::alone;

/// The batches of a line on a device with these faults are right; returns the time of its passes.
fn time_of(line: &Line, device: &Device, mock: Mock) -> GpuTime {
    let what = format!("{}: {}: {mock:?}", device.name, line.name);
    let expected = line.batches(&device.open(device.features()), Execute::Gpu).unwrap();
    let (gpu, _) = misbehaving(device, false, mock);
    let loader = line.builder.clone().execute(Execute::Gpu).build(&gpu.into()).unwrap();
    assert_same(&expected, &seen(loader.epochs(0..2).unwrap()), &what);
    // Timestamps are read some submissions later.
    seen(loader.epochs(2..12).unwrap());
    loader.stats().gpu
}

#[test]
fn a_wrong_clock_is_not_believed_and_changes_no_batch() {
    alone(120, "clocks", || {
        for device in devices() {
            let line = &lines()[0];
            let has_clock = device.features().contains(wgpu::Features::TIMESTAMP_QUERY);
            let truth = time_of(line, device, Mock::default());
            assert_eq!(truth.clock == GpuClock::Timestamps, has_clock, "{}: {truth:?}", device.name);
            for clock in [Clock::Zero, Clock::Backwards] {
                let time = time_of(line, device, Mock::with_clock(clock));
                assert!(
                    time.clock == GpuClock::Waits && time.passes.is_empty(),
                    "{}: {clock:?}: {time:?}",
                    device.name
                );
                assert_eq!(time.busy, time.waited, "{}: {clock:?}", device.name);
            }
        }
    });
}

/// Writing a slot is timed everywhere, its copy where there is one and the device has a clock that can be believed.
#[test]
fn slots_are_timed_as_far_as_they_can_be() {
    alone(240, "slots", || {
        let (clock, in_place) = (wgpu::Features::TIMESTAMP_QUERY, wgpu::Features::MAPPABLE_PRIMARY_BUFFERS);
        for device in devices() {
            let slots = |gpu: Gpu| {
                let loader = lines()[0].builder.clone().execute(Execute::Gpu).build(&gpu.into()).unwrap();
                seen(loader.epochs(0..12).unwrap());
                let stats = loader.stats();
                let slots = stats.slots;
                assert!(slots.slots >= 12 && slots.bytes == stats.bytes_uploaded, "{}: {stats}", device.name);
                assert!(slots.written > 0 && slots.written <= slots.bytes, "{}: {slots:?}", device.name);
                assert!(slots.write_rate().is_some_and(|rate| rate > 1e6), "{}: {slots}", device.name);
                slots
            };
            let copied = slots(device.open(device.features() - in_place));
            let has_clock = device.features().contains(clock);
            assert_eq!((copied.copied > 0, copied.copy_time().is_some()), (has_clock, has_clock), "{}", device.name);
            assert!(copied.copied <= copied.bytes, "{}: {copied:?}", device.name);
            let zero = Mock::with_clock(Clock::Zero);
            let (gpu, _) = misbehaving_with(device, device.features() - in_place, false, zero);
            assert_eq!(slots(gpu).copied, 0, "{}: zeros are no time", device.name);
            let gpu = device.open(device.features());
            if gpu.mappable() {
                assert_eq!(slots(gpu).copied, 0, "{}: nothing is copied", device.name);
            }
        }
    });
}

#[test]
fn timestamps_that_cannot_be_read_change_no_batch() {
    alone(120, "unread", || {
        for device in devices() {
            let (gpu, mock) = misbehaving(device, false, Mock::default());
            let line = &lines()[0];
            let expected = line.batches(&gpu, Execute::Gpu).unwrap();
            let maps = mock.maps.calls();
            // Slots, timestamps and batches are mapped. Where the first mapping of timestamps fails, batches go on.
            let goes_on = |map: u64| {
                mock.maps.at(map..map + 1);
                line.batches(&gpu, Execute::Gpu).is_ok_and(|batches| {
                    assert_same(&expected, &batches, &format!("{gpu}: mapping {map}"));
                    true
                })
            };
            let has_clock = device.features().contains(wgpu::Features::TIMESTAMP_QUERY);
            // Without a clock the last slots alone may fail unnoticed. With one, timestamps are mapped once the device is done with
            // them, which on a slow machine may be after a run of few batches.
            let right = (0..5).any(|_| (0..maps).filter(|&map| goes_on(map)).count() > 0);
            assert!(right || !has_clock, "{gpu}: {maps} mappings");
        }
    });
}

/// No shader uses subgroups, so their sizes, and the kind of the adapter, change no batch.
#[test]
fn what_an_adapter_says_of_itself_changes_no_batch() {
    let infos: [fn(&mut wgpu::AdapterInfo); 8] = [
        |info| (info.subgroup_min_size, info.subgroup_max_size) = (4, 4),
        |info| (info.subgroup_min_size, info.subgroup_max_size) = (4, 128),
        |info| (info.subgroup_min_size, info.subgroup_max_size) = (32, 64),
        |info| (info.subgroup_min_size, info.subgroup_max_size) = (128, 128),
        |info| info.device_type = wgpu::DeviceType::DiscreteGpu,
        |info| info.device_type = wgpu::DeviceType::IntegratedGpu,
        |info| info.device_type = wgpu::DeviceType::Other,
        |info| info.device_type = wgpu::DeviceType::Cpu,
    ];
    alone(120, "infos", move || {
        for device in devices() {
            let line = &lines()[0];
            let shaders = |gpu: &gpufeed::Gpu| line.batches(gpu, Execute::Gpu).unwrap();
            let expected = shaders(&device.open(device.features()));
            for info in infos {
                let mock = || Mock::with_info(info);
                let (gpu, _) = misbehaving(device, false, mock());
                assert_same(&expected, &shaders(&gpu), &format!("{:?}", gpu.info()));
                // `Auto` takes the shaders unless the adapter is a software one.
                let loader = line.builder.clone().build(&gpu.clone().into()).unwrap();
                assert_eq!(loader.explain().contains("CPU executor"), gpu.is_software(), "{}", loader.explain());
                let unified =
                    [wgpu::DeviceType::IntegratedGpu, wgpu::DeviceType::Cpu].contains(&gpu.info().device_type);
                let feature = device.features().contains(wgpu::Features::MAPPABLE_PRIMARY_BUFFERS);
                assert_eq!(gpu.mappable(), unified && feature, "{gpu}");
            }
        }
    });
}

#[test]
fn no_shader_uses_subgroups() {
    let mut texts = Vec::new();
    let mut folders = vec![golden::committed("shaders")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                texts.push(std::fs::read_to_string(path).unwrap());
            }
        }
    }
    for line in lines() {
        let loader = line.builder.build(&gpufeed::Backend::Cpu).unwrap();
        texts.extend(loader.plan().shaders().into_iter().map(|shader| shader.wgsl));
    }
    assert!(texts.len() > 50);
    for text in texts {
        assert!(!text.contains("subgroup") && !text.contains("enable "), "{text}");
    }
}
