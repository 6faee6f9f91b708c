// Compiles every .wgsl file of a folder with Tint, and makes a compute pipeline of each, on Dawn's null backend: no GPU is
// needed. WebGPU's default limits, no features, gpufeed's own bindings. Usage: node check.mjs FOLDER

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { create, globals } from 'webgpu';

Object.assign(globalThis, globals);

/** What Tint must refuse: else the check checks nothing. */
const REFUSED = {
  'a type error': `
    @compute @workgroup_size(1) fn main() { let x: u32 = 1.5; }`,
  'a barrier in control flow that is not uniform': `
    var<workgroup> sums: array<f32, 64>;
    @compute @workgroup_size(64) fn main(@builtin(local_invocation_index) index: u32) {
      sums[index] = f32(index);
      if index < 32u { workgroupBarrier(); }
    }`,
  'a barrier in a loop whose end was read from a writable buffer': `
    @group(0) @binding(2) var<storage, read_write> statistics: array<f32>;
    @compute @workgroup_size(64) fn main() {
      for (var i = 0.0; i < statistics[0]; i += 1.0) { workgroupBarrier(); }
    }`,
  'a binding that the layout does not have': `
    @group(0) @binding(4) var<storage, read_write> more: array<f32>;
    @compute @workgroup_size(1) fn main() { more[0] = 1.0; }`,
  'more invocations than the default limits allow': `
    @compute @workgroup_size(512) fn main() {}`,
};

const folder = process.argv[2];
const files = readdirSync(folder).filter((name) => name.endsWith('.wgsl')).sort();
if (files.length === 0) {
  throw new Error(`no .wgsl file in ${folder}`);
}

const gpu = create(['backend=null']);
const adapter = await gpu.requestAdapter();
const device = await adapter.requestDevice();
// The library does not keep what it still uses: without this the collector takes the instance away after some thousand
// shaders, and the process crashes.
globalThis.kept = { gpu, adapter, device };
// An exception in a listener might not end the process.
let failed = false;
device.addEventListener('uncapturederror', (event) => {
  console.error(event.error.message);
  failed = true;
});

// The bindings of src/gpu/kernel.rs.
const types = ['read-only-storage', 'read-only-storage', 'storage', 'storage'];
const entries = types.map((type, binding) => ({ binding, visibility: GPUShaderStage.COMPUTE, buffer: { type } }));
const layout = device.createPipelineLayout({ bindGroupLayouts: [device.createBindGroupLayout({ entries })] });

/** Tint's messages and Dawn's error about `code`. */
async function compile(code) {
  device.pushErrorScope('validation');
  const module = device.createShaderModule({ code });
  const { messages } = await module.getCompilationInfo();
  const told = messages.map(({ type, lineNum, linePos, message }) => ({ type, text: `${lineNum}:${linePos}: ${message}` }));
  device.createComputePipeline({ layout, compute: { module, entryPoint: 'main' } });
  const error = await device.popErrorScope();
  return {
    errors: [...told.filter(({ type }) => type === 'error').map(({ text }) => text), ...(error ? [error.message] : [])],
    warnings: told.filter(({ type }) => type === 'warning').map(({ text }) => text),
  };
}

let accepted = 0;
for (const [what, code] of Object.entries(REFUSED)) {
  const { errors } = await compile(code);
  if (errors.length === 0) {
    console.error(`Tint accepts ${what}: this check checks nothing`);
    accepted += 1;
  }
}

let [refused, warnings] = [0, 0];
for (const name of files) {
  const told = await compile(readFileSync(join(folder, name), 'utf8'));
  warnings += told.warnings.length;
  if (told.errors.length > 0) {
    refused += 1;
    // The first tell the cause; thousands of variants may share it.
    if (refused <= 3) {
      console.error(`${join(folder, name)}:\n${told.errors.join('\n')}`);
    }
  }
}
console.log(`Tint: ${files.length} shaders and pipelines, ${refused} refused, ${warnings} warnings; ` +
  `${Object.keys(REFUSED).length} that are wrong on purpose were ${accepted > 0 ? 'NOT all ' : ''}refused`);
// Dawn's threads would keep Node running.
process.exit(failed || accepted > 0 || refused > 0 ? 1 : 0);
