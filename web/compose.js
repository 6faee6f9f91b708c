// One image's ops as one sampling and a list of colour steps per stage, before which a gathering operator may stand: src/plan/program.rs and
// composer.rs. Names, numbers and places come from the description that `gpufeed explain --json --wgsl` prints.

import { colorSteps, repeated } from './color_steps.js';
import { named } from './draws.js';
import { gatherOf, gathers } from './gather.js';
import { resolved } from './policy.js';

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

  resize(size, filter, uint8 = false) {
    // An image that already has the size stays as it is.
    const same = this.size.every((length, i) => length === size[i]);
    this.grid = { frames: size.map((length) => new Frame(length)), whole: size, filter: same ? 'Nearest' : filter, uint8: uint8 && !same };
  }

  finish() {
    if (!this.grid) this.resize(this.size, 'Nearest');
    const { frames, whole, filter, uint8 } = this.grid;
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
        zero: 0,
      };
    };
    return { x: axis(0), y: axis(1), filter, borders: this.borders, resized: uint8 ? whole : null };
  }
}

function filterOf({ interpolation, antialias }) {
  if (interpolation.startsWith('Nearest')) return interpolation;
  return (interpolation === 'Bilinear' ? 'Linear' : 'Cubic') + (antialias ? 'Antialias' : '');
}

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

/** The stages of one image: `{ gather, sampling, steps }` each. `params` are those of draws.js, or of the same form. */
export function compose(description, { width, height, ops }) {
  const stages = [];
  let [gather, composer, steps, channels] = [null, new Composer([width, height]), [], description.input_channels];
  const finish = () => {
    stages.push({ gather, sampling: composer.finish(), steps: placed(steps, description.positions[stages.length]) });
    [gather, composer, steps] = [null, new Composer(composer.size), []];
  };
  for (const { slot, op } of ops) {
    const place = description.slots[slot];
    const { stage, on_grid: onGrid, uint8 } = place;
    while (stages.length < stage) finish();
    const [own, ownNumbers] = named(op);
    const [name, numbers] = own === 'Policy' ? resolved(ownNumbers, uint8 ? 255 : 1) : [own, ownNumbers];
    switch (name) {
      case 'Crop': composer.crop(onGrid, numbers); break;
      case 'Pad': composer.pad(onGrid, numbers, repeated(numbers.fill, channels)); break;
      case 'Resize': composer.resize([numbers.width, numbers.height], filterOf(numbers), uint8); break;
      case 'HorizontalFlip': composer.flip(onGrid, 0); break;
      case 'VerticalFlip': composer.flip(onGrid, 1); break;
      default:
        if (gathers(name)) gather = gatherOf(name, numbers, composer.size);
        else steps.push(...colorSteps([name, numbers], channels, place, description.color_steps));
    }
    if (name === 'Grayscale') channels = numbers.channels;
  }
  while (stages.length < description.stages) finish();
  return stages;
}
