// The device, the pipelines of a description, and their dispatches: what src/gpu/encode.rs does with wgpu.

import { NOTHING } from './gather.js';
import { appendWeights } from './resize_u8.js';

/** An error whose message is for the reader of the page. */
export class Told extends Error {}

/** Opens the GPU. `onLost` and `onError` get a sentence each. */
export async function openGpu({ onLost, onError }) {
  if (!navigator.gpu) {
    throw new Told('WebGPU is absent: this browser does not have it, or the page was not loaded by https or from this machine. '
      + 'Current versions of Chrome, Edge, Firefox and Safari have WebGPU.');
  }
  const adapter = await navigator.gpu.requestAdapter({ powerPreference: 'high-performance' });
  if (!adapter) {
    throw new Told('WebGPU is absent: this browser knows WebGPU, but gives no adapter. Its graphics driver may be missing, too old or blocked.');
  }
  // More than the default limits allows larger photographs.
  const { maxStorageBufferBindingSize, maxBufferSize } = adapter.limits;
  const device = await adapter.requestDevice({ requiredLimits: { maxStorageBufferBindingSize, maxBufferSize } });
  device.lost.then(({ reason, message }) => reason !== 'destroyed' && onLost(`The GPU was lost: ${(message || reason).replace(/\.$/, '')}. Load the page again.`));
  device.addEventListener('uncapturederror', ({ error }) => onError(`The GPU reports an error: ${error.message}`));
  const { vendor, architecture, description, isFallbackAdapter } = adapter.info;
  const name = description || [vendor, architecture].filter(Boolean).join(' ') || 'an adapter without a name';
  return { device, adapter: isFallbackAdapter ? `${name} (software)` : name };
}

/** Writes `values` as the struct `name` at byte `at`; every field but padding must be given, and no other. */
function write(view, at, structs, name, values) {
  const { fields } = structs[name];
  const unknown = Object.keys(values).find((key) => !fields.some((field) => field.name === key));
  if (unknown) throw new Error(`The shader's struct ${name} has no field ${unknown}.`);
  for (const { name: key, offset, type, count, stride } of fields) {
    if (values[key] === undefined && key.startsWith('padding')) continue;
    if (values[key] === undefined) throw new Error(`Nothing fills the field ${key} of the shader's struct ${name}.`);
    const elements = Array.isArray(values[key]) ? values[key] : [values[key]];
    if (elements.length > count) throw new Error(`The shader's field ${key} of ${name} has room for ${count}, not ${elements.length}.`);
    elements.forEach((element, i) => {
      const to = at + offset + i * stride;
      if (type === 'f32') view.setFloat32(to, element, true);
      else if (type === 'i32') view.setInt32(to, element, true);
      else if (type === 'u32') view.setUint32(to, element, true);
      else write(view, to, structs, type, element);
    });
  }
}

const BORDERS = { Edge: 'BORDER_EDGE', Constant: 'BORDER_CONSTANT', Reflect: 'BORDER_REFLECT', Symmetric: 'BORDER_SYMMETRIC' };
const FILTERS = {
  Nearest: 'NEAREST', NearestExact: 'NEAREST_EXACT', Linear: 'LINEAR', Cubic: 'CUBIC',
  LinearAntialias: 'LINEAR_ANTIALIAS', CubicAntialias: 'CUBIC_ANTIALIAS',
};

/** The operators that a stage's image may begin with in a pass, by the second part of the pass's name; other passes take all images. */
const KERNELS = {
  tables: ['AUTOCONTRAST', 'EQUALIZE'], point: ['NOTHING', 'AUTOCONTRAST', 'EQUALIZE'], warp: ['AFFINE'], sharpen: ['SHARPEN'], blur: ['BLUR'],
};

function takes({ name }, { gather }) {
  const kinds = KERNELS[name.split(', ')[1]];
  return !kinds || kinds.includes((gather ?? NOTHING).kind);
}

/** Words of an image's tables of autocontrast or equalize: one for each number of each channel. */
const TABLE_WORDS = 3 * 256;

/** The operator's part of an image's struct. */
function gatherFields(gather, constants, table) {
  const { weights, ...numbers } = gather ?? NOTHING;
  return { gather: { ...numbers, kind: constants[numbers.kind], table }, weights };
}

/** An image's struct in a stage: `src/plan/shader_layout.rs`. */
function imageOf({ sampling, steps }, constants, pixels, target, number, weights) {
  const { x, y, filter, borders, resized } = sampling;
  const plain = !borders.source && !borders.grid && !resized;
  const fill = (border) => [...(border?.fill ?? [0, 0, 0]), 1];
  return {
    x,
    y,
    source_fill: fill(borders.source),
    grid_fill: fill(borders.grid),
    source_border: constants[BORDERS[borders.source?.mode ?? 'Edge']],
    grid_border: constants[BORDERS[borders.grid?.mode ?? 'Edge']],
    // A shader without a resize does not have the constants.
    filter_mode: constants[FILTERS[filter]] ?? 0,
    strip: Number(filter === 'LinearAntialias' && y.scale >= 1 && plain),
    source_offset: pixels.offset,
    source_stride: pixels.stride,
    source_float: Number(pixels.float),
    target_offset: target,
    steps_len: steps.length,
    number,
    weights_x: weights?.[0] ?? 0,
    weights_y: weights?.[1] ?? 0,
    steps,
  };
}

const sizeOf = ({ sampling }) => [sampling.x.len, sampling.y.len];

/** Runs the passes of a description. */
export class Runner {
  constructor(device, description, output) {
    Object.assign(this, { device, description, output });
    const types = ['read-only-storage', 'read-only-storage', 'storage', 'storage'];
    const entries = types.map((type, binding) => ({ binding, visibility: GPUShaderStage.COMPUTE, buffer: { type } }));
    this.bindGroupLayout = device.createBindGroupLayout({ entries });
    this.layout = device.createPipelineLayout({ bindGroupLayouts: [this.bindGroupLayout] });
  }

  /** Compiles the shaders of a description. */
  static async make(device, description, output) {
    const runner = new Runner(device, description, output);
    runner.pipelines = await Promise.all(description.passes.map((pass) => device.createComputePipelineAsync({
      layout: runner.layout,
      compute: { module: device.createShaderModule({ code: pass.wgsl }), entryPoint: pass.entry_point },
    })));
    return runner;
  }

  buffer(bytes, usage, contents) {
    const size = Math.max(4 * Math.ceil(bytes / 4), 16);
    const limit = this.device.limits.maxStorageBufferBindingSize;
    if (size > limit) {
      const [needed, most] = [size, limit].map((number) => (number / 1e6).toFixed(1));
      throw new Told(`${needed} million bytes do not fit a buffer of this GPU, which holds ${most}: a smaller photograph, a smaller size or fewer draws fit.`);
    }
    const buffer = this.device.createBuffer({ size, usage });
    if (contents) this.device.queue.writeBuffer(buffer, 0, contents);
    this.held.push(buffer);
    return buffer;
  }

  /** True if the result of a stage is stored in bytes, as a later stage computes on 8-bit numbers. */
  storesBytes(stage) {
    return this.description.slots.some((slot) => slot.uint8 && slot.stage > stage);
  }

  /** The statistics, behind them each image's tables, and behind those the weights of resizes on 8-bit numbers. */
  statistics(programs) {
    const { STORAGE, COPY_DST } = GPUBufferUsage;
    const counted = this.description.passes.map(({ constants }) => (constants.STATISTICS ?? 0) * (constants.PARTIALS ?? 0));
    const tables = programs.length * Math.max(...counted);
    const first = tables + programs.length * TABLE_WORDS;
    const [words, weights] = [[], new Map()];
    const resizing = programs.flat().filter(({ sampling }) => sampling.resized);
    resizing.forEach((stage) => weights.set(stage, appendWeights(stage.sampling, first, words)));
    const buffer = this.buffer(4 * (first + words.length), STORAGE | COPY_DST);
    this.device.queue.writeBuffer(buffer, 4 * first, Int32Array.from(words));
    return { buffer, tables, weights };
  }

  /** The parameters of a pass for the images that take part in it. */
  params(pass, programs, source, { tables, weights }) {
    const { structs, constants } = pass;
    const stride = structs.Image.bytes;
    const images = programs.filter((program) => takes(pass, program[pass.stage])).length;
    const bytes = new ArrayBuffer(stride * images);
    const view = new DataView(bytes);
    let at = 0;
    const last = pass.stage + 1 === this.description.stages;
    let [readAt, writeAt] = [0, 0];
    programs.forEach((program, number) => {
      const stage = program[pass.stage];
      const [width, height] = sizeOf(stage);
      let pixels = { offset: 0, stride: source.width, float: false };
      if (pass.stage > 0) {
        const [beforeWidth, beforeHeight] = sizeOf(program[pass.stage - 1]);
        pixels = { offset: readAt, stride: beforeWidth, float: !this.storesBytes(pass.stage - 1) };
        readAt += beforeWidth * beforeHeight;
      }
      if (takes(pass, stage)) {
        const image = imageOf(stage, constants, pixels, writeAt, number, weights.get(stage));
        const gather = structs.Gather ? gatherFields(stage.gather, constants, tables + TABLE_WORDS * number) : {};
        write(view, at, structs, 'Image', { ...image, ...gather });
        at += stride;
      }
      writeAt += width * height * (last ? constants.CHANNELS : 1);
    });
    return { bytes, images, elements: writeAt };
  }

  /** Runs `programs`, which compose.js has made, on one source of RGBA bytes: `{ pixels, width, height }`. Returns the images. */
  async run(source, programs) {
    const { device, description } = this;
    const { STORAGE, COPY_SRC, COPY_DST, MAP_READ } = GPUBufferUsage;
    this.held = [];
    try {
      let read = this.buffer(source.pixels.byteLength, STORAGE | COPY_DST, source.pixels);
      const statistics = this.statistics(programs);
      const unused = this.buffer(16, STORAGE);
      const encoder = device.createCommandEncoder();
      let [outputs, elements, stage] = [null, 0, 0];
      description.passes.forEach((pass, i) => {
        if (pass.dispatch.words) {
          const packed = Math.ceil(elements / (this.output.dtype === 'U8' ? 4 : 2));
          const group = [outputs, unused, statistics.buffer, outputs = this.buffer(4 * packed, STORAGE | COPY_SRC)];
          const groups = Math.ceil(packed / pass.dispatch.words);
          this.dispatch(encoder, i, group, [Math.min(groups, 32768), Math.ceil(groups / 32768), 1]);
          return;
        }
        // A stage may have several passes; the next stage reads what they have written.
        if (pass.stage !== stage) [read, outputs, stage] = [outputs, null, pass.stage];
        const made = this.params(pass, programs, source, statistics);
        if (made.images === 0) return;
        const params = this.buffer(made.bytes.byteLength, STORAGE | COPY_DST, made.bytes);
        const largest = [0, 1].map((side) => Math.max(...programs.map((program) => sizeOf(program[pass.stage])[side])));
        const [columns, rows] = pass.dispatch.outputs ?? [];
        const groups = columns
          ? [Math.ceil(largest[0] / columns), Math.ceil(largest[1] / rows), made.images]
          : [pass.dispatch.groups, 1, made.images];
        if (pass.writes_statistics) {
          this.dispatch(encoder, i, [read, params, statistics.buffer, unused], groups);
          return;
        }
        const last = pass.stage + 1 === description.stages;
        outputs ??= this.buffer(made.elements * (last || this.storesBytes(stage) ? 4 : 16), STORAGE | COPY_SRC);
        elements = made.elements;
        this.dispatch(encoder, i, [read, params, statistics.buffer, outputs], groups);
      });
      const back = this.buffer(outputs.size, MAP_READ | COPY_DST);
      encoder.copyBufferToBuffer(outputs, 0, back, 0, outputs.size);
      device.queue.submit([encoder.finish()]);
      await back.mapAsync(GPUMapMode.READ);
      return this.images(back.getMappedRange(), programs);
    } finally {
      this.held.forEach((buffer) => buffer.destroy());
    }
  }

  dispatch(encoder, number, buffers, groups) {
    const entries = buffers.map((buffer, binding) => ({ binding, resource: { buffer } }));
    const compute = encoder.beginComputePass();
    compute.setPipeline(this.pipelines[number]);
    compute.setBindGroup(0, this.device.createBindGroup({ layout: this.bindGroupLayout, entries }));
    compute.dispatchWorkgroups(...groups);
    compute.end();
  }

  /** The images in the batch, whose elements stand one after the other. */
  images(bytes, programs) {
    const { layout, dtype } = this.output;
    const all = dtype === 'U8' ? new Uint8Array(bytes) : new Float32Array(bytes);
    const channels = this.description.passes.find((pass) => pass.constants.CHANNELS).constants.CHANNELS;
    let at = 0;
    return programs.map((program) => {
      const [width, height] = sizeOf(program.at(-1));
      const length = width * height * channels;
      const values = all.slice(at, at + length);
      at += length;
      return { width, height, channels, layout, scale: dtype === 'U8' ? 255 : 1, values };
    });
  }
}
