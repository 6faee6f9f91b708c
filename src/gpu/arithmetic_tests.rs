//! `shaders/exact/exact.wgsl` on every adapter, against Rust's floats.

use super::encode::{bind, whole};
use super::{Gpu, compile, readback};
use gpufeed_testing::device;

const MAIN: &str = "
@group(0) @binding(0) var<storage, read> source: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read> zeros: array<u32>;
@group(0) @binding(2) var<storage, read_write> unused: array<u32>;
@group(0) @binding(3) var<storage, read_write> results: array<vec4<f32>>;

@compute @workgroup_size(64, 1, 1)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    zero = zeros[0];
    let given = source[id.x];
    let quotient = divided(given.xyz, given.yzw).x;
    let sum = added_product(vec3(given.z), vec3(given.x), vec3(given.y)).y;
    let chain = kept(kept(vec3(given.x) + vec3(given.y)) + vec3(given.z)).z;
    results[id.x] = vec4(quotient, root(abs(given.yzw)).x, sum, chain);
}
";

const COUNT: u32 = 1 << 16;

/// Floats of both signs, of sizes from 2^-20 to 2^20, and zeros.
fn floats() -> Vec<[f32; 4]> {
    let mut state = 1_u32;
    let mut float = |zeros: bool| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let exponent = 107 + (state >> 24) % 41;
        let bits = (state & (1 << 31)) | (exponent << 23) | (state >> 3 & 0x007f_ffff);
        if zeros && (state >> 8).is_multiple_of(64) { 0.0 } else { f32::from_bits(bits) }
    };
    (0..COUNT).map(|_| [float(true), float(false), float(false), float(false)]).collect()
}

#[test]
fn exact_arithmetic_is_that_of_rust() {
    let adapters = Gpu::enumerate();
    device::require(adapters.iter().map(|adapter| device::name(&adapter.get_info())));
    let given = floats();
    let expected: Vec<[f32; 4]> =
        given.iter().map(|&[x, y, z, _]| [x / y, y.abs().sqrt(), z + x * y, (x + y) + z]).collect();
    for adapter in adapters {
        let gpu = Gpu::open(&adapter).unwrap();
        let text = format!("{}{MAIN}", include_str!("../../shaders/exact/exact.wgsl"));
        let (pipelines, _) = compile::pipelines(&gpu, &[("exact".to_owned(), text)]).unwrap();
        let buffers = [16 * u64::from(COUNT), 256, 256, 16 * u64::from(COUNT)];
        let buffers = buffers.map(|bytes| gpu.storage("gpufeed test", bytes).unwrap());
        gpu.queue().write_buffer(&buffers[0], 0, bytemuck::cast_slice(&given));
        gpu.queue().write_buffer(&buffers[1], 0, &[0; 256]);
        let device = gpu.device();
        let entries =
            [whole(&buffers[0]), whole(&buffers[1]), whole(&buffers[2]), bind(&buffers[3], 0..buffers[3].size())];
        let entries: Vec<_> =
            (0..).zip(entries).map(|(binding, resource)| wgpu::BindGroupEntry { binding, resource }).collect();
        let layout = gpu.pipelines().bind_group_layout(device);
        let group = device.create_bind_group(&wgpu::BindGroupDescriptor { label: None, layout, entries: &entries });
        let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
        pass.set_pipeline(&pipelines[0]);
        pass.set_bind_group(0, &group, &[]);
        pass.dispatch_workgroups(COUNT / 64, 1, 1);
        drop(pass);
        gpu.submit([encoder.finish()]);
        let bytes = readback::read(&gpu, &buffers[3], 0..buffers[3].size()).unwrap();
        let actual: &[[f32; 4]] = bytemuck::cast_slice(&bytes);
        for ((actual, expected), given) in actual.iter().zip(&expected).zip(&given) {
            assert_eq!(
                actual.map(f32::to_bits),
                expected.map(f32::to_bits),
                "{gpu}: {actual:?} {expected:?} of {given:?}"
            );
        }
    }
}
