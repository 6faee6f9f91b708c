// One image's ops as one sampling and a list of colour steps per stage: the part of src/plan/program.rs, composer.rs and
// src/transforms/op/color_steps.rs that images of floats without a gathering operator need. Names, numbers and places come from the
// description that `gpufeed explain --json --wgsl` prints.

import { named } from './draws.js';

const { fround } = Math;

/** One axis of one level (source or grid) during composition. */
class Frame {
  constructor(length) {
    Object.assign(this, { start: 0, len: length, window: 0, size: length, mirror: false });
  }

  crop(offset, length) {
    this.window += this.mirror ? this.size - offset - length : offset;
    this.size = length;
  }

  pad(before, after, bordered) {
    // The border surrounds the part that the crop has left.
    if (!bordered) [this.start, this.len, this.window] = [this.start + this.window, this.size, 0];
    this.window -= this.mirror ? after : before;
    this.size += before + after;
  }
}

/** The geometry of one stage, op by op. */
class Composer {
  constructor(size) {
    Object.assign(this, { source: size.map((length) => new Frame(length)), grid: null, borders: { source: null, grid: null } });
  }

  get size() {
    return (this.grid?.frames ?? this.source).map((frame) => frame.size);
  }

  level(onGrid) {
    if (onGrid && !this.grid) this.resize(this.size, 'Nearest');
    return onGrid ? ['grid', this.grid.frames] : ['source', this.source];
  }

  crop(onGrid, { left, top, width, height }) {
    const [, [x, y]] = this.level(onGrid);
    x.crop(left, width);
    y.crop(top, height);
  }

  pad(onGrid, { left, top, right, bottom, mode }, fill) {
    const [name, [x, y]] = this.level(onGrid);
    const bordered = this.borders[name] !== null;
    x.pad(left, right, bordered);
    y.pad(top, bottom, bordered);
    this.borders[name] = { mode, fill };
  }

  flip(onGrid, axis) {
    const [, frames] = this.level(onGrid);
    frames[axis].mirror = !frames[axis].mirror;
  }

  resize(size, filter) {
    // An image that already has the size stays as it is.
    const same = this.size.every((length, i) => length === size[i]);
    this.grid = { frames: size.map((length) => new Frame(length)), whole: size, filter: same ? 'Nearest' : filter };
  }

  finish() {
    if (!this.grid) this.resize(this.size, 'Nearest');
    const { frames, whole, filter } = this.grid;
    const axis = (i) => {
      const [source, grid] = [this.source[i], frames[i]];
      const scale = fround(source.size / whole[i]);
      return {
        len: grid.size,
        grid_mirror: Number(grid.mirror),
        grid_window: grid.window,
        grid_start: grid.start,
        grid_len: grid.len,
        scale,
        support: (filter === 'CubicAntialias' ? 2 : 1) * Math.max(scale, 1),
        inverse: scale > 1 ? fround(1 / scale) : 1,
        view_len: source.size,
        view_mirror: Number(source.mirror),
        source_window: source.window,
        source_start: source.start,
        source_len: source.len,
        phase: 0,
      };
    };
    return { x: axis(0), y: axis(1), filter, borders: this.borders };
  }
}

function filterOf({ interpolation, antialias }) {
  if (interpolation.startsWith('Nearest')) return interpolation;
  return (interpolation === 'Bilinear' ? 'Linear' : 'Cubic') + (antialias ? 'Antialias' : '');
}

/** The numbers of an image's channels in three registers: a single channel is repeated in all of them. */
const repeated = (numbers, channels) => (channels === 1 ? [numbers[0], numbers[0], numbers[0]] : numbers);

const bitsOf = (value) => new Uint32Array(new Float32Array([value]).buffer)[0];

/** The colour steps of an op: name, three or four floats, and up to three integers. */
const COLOR_STEPS = {
  Brightness: ({ factor }) => [['brightness', [factor, factor, factor]]],
  Contrast: ({ factor }) => [['contrast', [factor, factor, factor]]],
  Saturation: ({ factor }, channels) => (channels === 1 ? [] : [['saturation', [factor, factor, factor]]]),
  Hue: ({ factor }, channels) => (channels === 1 ? [] : [['hue', [factor, factor, factor]]]),
  Grayscale: (_, channels) => (channels === 1 ? [] : [['grayscale', []]]),
  Invert: () => [['invert', []]],
  Solarize: ({ threshold }) => [['solarize', [threshold, threshold, threshold]]],
  // torchvision clamps only if it multiplies.
  AdjustGamma: ({ gamma, gain }) => [['adjust_gamma', [gamma, gain, gain === 1 ? 3.4028234663852886e38 : 1]]],
  Posterize: ({ bits }) => [['posterize', [2 ** bits, 2 ** bits - 1, 1 / 2 ** bits]]],
  PermuteChannels: ({ permutation }, channels) => (channels === 1 ? [] : [['permute_channels', permutation]]),
  Erase: ({ top, left, width, height, value }, channels) => [
    ['erase', [left, top, left + width, top + height], repeated(value.Color, channels).map(bitsOf)],
  ],
  Normalize: ({ mean, std }, channels) => [['subtract', repeated(mean, channels)], ['divide', repeated(std, channels)]],
};

const NO_STEP = { opcode: 0, integer_0: 0, integer_1: 0, integer_2: 0, value: [0, 0, 0, 0] };

/** The steps of a stage, each at the first free position that can hold it: `src/plan/positions.rs`. */
function placed(steps, positions) {
  if (positions.length === 0) return steps;
  const all = [];
  for (const step of steps) {
    while (all.length < positions.length && !positions[all.length].includes(step.opcode)) all.push(NO_STEP);
    all.push(step);
  }
  return all;
}

/** The stages of one image: `{ sampling, steps }` each. `params` are those of draws.js, or of the same form. */
export function compose(description, { width, height, ops }) {
  const stages = [];
  let [composer, steps, channels] = [new Composer([width, height]), [], description.input_channels];
  const finish = () => {
    stages.push({ sampling: composer.finish(), steps: placed(steps, description.positions[stages.length]) });
    [composer, steps] = [new Composer(composer.size), []];
  };
  for (const { slot, op } of ops) {
    const { stage, on_grid: onGrid, statistic } = description.slots[slot];
    while (stages.length < stage) finish();
    const [name, numbers] = named(op);
    switch (name) {
      case 'Crop': composer.crop(onGrid, numbers); break;
      case 'Pad': composer.pad(onGrid, numbers, repeated(numbers.fill, channels)); break;
      case 'Resize': composer.resize([numbers.width, numbers.height], filterOf(numbers)); break;
      case 'HorizontalFlip': composer.flip(onGrid, 0); break;
      case 'VerticalFlip': composer.flip(onGrid, 1); break;
      default:
        if (!COLOR_STEPS[name]) throw new Error(`This page does not have the operation ${name}.`);
        for (const [step, value, integers] of COLOR_STEPS[name](numbers, channels)) {
          const gray = Number(channels === 1);
          const [first, second, third] = integers ?? [step === 'contrast' ? statistic : 0, 0, gray];
          const numbersOf = [...value, 0, 0, 0, 0].slice(0, 4);
          steps.push({ opcode: description.color_steps[step], integer_0: first, integer_1: second, integer_2: third, value: numbersOf });
        }
    }
    if (name === 'Grayscale') channels = numbers.channels;
  }
  while (stages.length < description.stages) finish();
  return stages;
}
