// The parameters of one image: the operators of src/transforms/ that this page has, with the same random numbers in the same order, so that a
// seed gives the same draws here and in `gpufeed preview`. web/data/draws.json holds draws of the command, and the check compares them.

import { RAND_AUGMENT, TRIVIAL_AUGMENT_WIDE, drawOperation } from './policy.js';
import { Numbers, child, keyWords } from './random.js';
import { roundTiesEven } from './rounding.js';

const pair = (size) => (Array.isArray(size) ? size : [size, size]);
const sides = (padding) => {
  if (!Array.isArray(padding)) return [padding, padding, padding, padding];
  return padding.length === 2 ? [...padding, ...padding] : padding;
};

/** A range of factors; null for one that changes nothing. `hue` has the neutral factor 0, the others 1. */
function jitterRange(jitter, neutral) {
  if (Array.isArray(jitter)) return jitter[0] === neutral && jitter[1] === neutral ? null : jitter;
  if (!jitter) return null;
  return neutral === 0 ? [-jitter, jitter] : [Math.max(neutral - jitter, 0), neutral + jitter];
}

function resizedTo({ size, max_size: most }, width, height) {
  if (Array.isArray(size)) return [size[1], size[0]];
  const [low, high] = [Math.min(width, height), Math.max(width, height)];
  let [short, long] = [size, Math.floor((size * high) / low)];
  if (most && long > most) [short, long] = [Math.floor((most * short) / long), most];
  [short, long] = [Math.max(short, 1), Math.max(long, 1)];
  return width <= height ? [short, long] : [long, short];
}

/** A crop at a random place; like torchvision, the row comes before the column. */
function placed(context, numbers, width, height) {
  const top = numbers.below(context.height - height + 1);
  const left = numbers.below(context.width - width + 1);
  return { top, left, height, width };
}

function resizedCrop({ scale, ratio }, context, numbers) {
  const { width: w, height: h } = context;
  const logs = ratio.map(Math.log);
  for (let attempt = 0; attempt < 10; attempt++) {
    const area = w * h * numbers.uniform(...scale);
    const shape = Math.exp(numbers.uniform(...logs));
    const width = roundTiesEven(Math.sqrt(area * shape));
    const height = roundTiesEven(Math.sqrt(area / shape));
    if (width > 0 && width <= w && height > 0 && height <= h) return placed(context, numbers, width, height);
  }
  let [width, height] = [w, h];
  if (w / h < ratio[0]) height = roundTiesEven(w / ratio[0]);
  else if (w / h > ratio[1]) width = roundTiesEven(h * ratio[1]);
  [width, height] = [Math.min(Math.max(width, 1), w), Math.min(Math.max(height, 1), h)];
  return { top: Math.floor((h - height) / 2), left: Math.floor((w - width) / 2), height, width };
}

function erased({ scale, ratio }, context, numbers) {
  const { width: w, height: h } = context;
  const logs = ratio.map(Math.log);
  for (let attempt = 0; attempt < 10; attempt++) {
    const area = w * h * numbers.uniform(...scale);
    const shape = Math.exp(numbers.uniform(...logs));
    const height = roundTiesEven(Math.sqrt(area * shape));
    const width = roundTiesEven(Math.sqrt(area / shape));
    if (height < h && width < w) return placed(context, numbers, width, height);
  }
  return null;
}

/** With probability `p` the op that `make` makes. */
const sometimes = (make) => ({ slots: 1, draw: (t, context, numbers) => numbers.chance(t.p) && context.emit(0, make(t)) });

/** The operators: the number of their op slots, and what they emit. */
export const OPERATORS = {
  RandomResizedCrop: {
    slots: 2,
    draw(t, context, numbers) {
      context.emit(0, { Crop: resizedCrop(t, context, numbers) });
      const [height, width] = pair(t.size);
      context.emit(1, { Resize: { height, width, interpolation: t.interpolation, antialias: t.antialias } });
    },
  },
  RandomCrop: {
    slots: 3,
    draw(t, context, numbers) {
      const [height, width] = pair(t.size);
      const pad = (left, top, right, bottom) => ({ Pad: { left, top, right, bottom, mode: t.padding_mode, fill: t.fill } });
      if (t.padding !== undefined) context.emit(0, pad(...sides(t.padding)));
      const [x, y] = [Math.max(width - context.width, 0), Math.max(height - context.height, 0)];
      if (t.pad_if_needed && x + y > 0) context.emit(1, pad(x, y, x, y));
      else if (x + y > 0) {
        throw new Error(`RandomCrop: the image of ${context.width}×${context.height} is smaller than the crop of ${width}×${height}.`);
      }
      context.emit(2, { Crop: placed(context, numbers, width, height) });
    },
  },
  Resize: {
    slots: 1,
    draw(t, context) {
      const [width, height] = resizedTo(t, context.width, context.height);
      context.emit(0, { Resize: { height, width, interpolation: t.interpolation, antialias: t.antialias } });
    },
  },
  CenterCrop: {
    slots: 2,
    draw(t, context) {
      const [height, width] = pair(t.size);
      const [x, y] = [Math.max(width - context.width, 0), Math.max(height - context.height, 0)];
      const [left, top] = [Math.floor(x / 2), Math.floor(y / 2)];
      if (x + y > 0) context.emit(0, { Pad: { left, top, right: x - left, bottom: y - top, mode: 'Constant', fill: [0, 0, 0] } });
      const offset = (side, target) => roundTiesEven((side - target) / 2);
      context.emit(1, { Crop: { top: offset(context.height, height), left: offset(context.width, width), height, width } });
    },
  },
  Pad: {
    slots: 1,
    draw(t, context) {
      const [left, top, right, bottom] = sides(t.padding);
      context.emit(0, { Pad: { left, top, right, bottom, mode: t.padding_mode, fill: t.fill } });
    },
  },
  RandomHorizontalFlip: sometimes(() => 'HorizontalFlip'),
  RandomVerticalFlip: sometimes(() => 'VerticalFlip'),
  RandomInvert: sometimes(() => 'Invert'),
  RandomSolarize: sometimes(({ threshold }) => ({ Solarize: { threshold } })),
  RandomPosterize: sometimes(({ bits }) => ({ Posterize: { bits } })),
  ColorJitter: {
    slots: 4,
    draw(t, context, numbers) {
      const order = numbers.permutation(4);
      const ranges = [jitterRange(t.brightness, 1), jitterRange(t.contrast, 1), jitterRange(t.saturation, 1), jitterRange(t.hue, 0)];
      const factors = ranges.map((range) => range && Math.fround(numbers.uniform(...range)));
      const names = ['Brightness', 'Contrast', 'Saturation', 'Hue'];
      for (const which of order) {
        // One channel has neither saturation nor hue.
        if (factors[which] === null || (which >= 2 && context.channels === 1)) continue;
        context.emit(which, { [names[which]]: { factor: factors[which] } });
      }
    },
  },
  RandomGrayscale: {
    slots: 1,
    draw(t, context, numbers) {
      if (numbers.chance(t.p) && context.channels === 3) context.emit(0, { Grayscale: { channels: 3 } });
    },
  },
  Grayscale: { slots: 1, draw: (t, context) => context.emit(0, { Grayscale: { channels: t.num_output_channels } }) },
  RandomChannelPermutation: {
    slots: 1,
    draw(t, context, numbers) {
      if (context.channels === 3) context.emit(0, { PermuteChannels: { permutation: numbers.permutation(3) } });
    },
  },
  AdjustGamma: { slots: 1, draw: (t, context) => context.emit(0, { AdjustGamma: { gamma: t.gamma, gain: t.gain } }) },
  RandomErasing: {
    slots: 1,
    draw(t, context, numbers) {
      const rectangle = numbers.chance(t.p) && erased(t, context, numbers);
      if (!rectangle || rectangle.width === 0 || rectangle.height === 0) return;
      const color = Array.isArray(t.value) ? t.value : [t.value, t.value, t.value];
      context.emit(0, { Erase: { ...rectangle, value: t.value === 'random' ? { Noise: { key: numbers.pixelKey() } } : { Color: color } } });
    },
  },
  GaussianBlur: {
    slots: 1,
    draw(t, context, numbers) {
      const sigma = numbers.uniform(...t.sigma);
      context.emit(0, { GaussianBlur: { kernel_size: t.kernel_size, sigma: [sigma, sigma] } });
    },
  },
  RandAugment: {
    slots: (t) => t.num_ops,
    draw(t, context, numbers) {
      for (let slot = 0; slot < t.num_ops; slot++) {
        const op = drawOperation(RAND_AUGMENT, t, () => t.magnitude, context, numbers);
        if (op) context.emit(slot, op);
      }
    },
  },
  TrivialAugmentWide: {
    slots: 1,
    draw(t, context, numbers) {
      const op = drawOperation(TRIVIAL_AUGMENT_WIDE, t, (bins) => numbers.below(bins), context, numbers);
      if (op) context.emit(0, op);
    },
  },
  Normalize: { slots: 1, draw: (t, context) => context.emit(0, { Normalize: { mean: t.mean, std: t.std } }) },
  RandomApply: {
    slots: (t) => slotsOf(t.transforms),
    draw: (t, context, numbers) => numbers.chance(t.p) && context.list(t.transforms),
  },
};

const slotsOf = (transforms) => transforms.reduce((sum, t) => sum + slotCount(t), 0);
const slotCount = (t) => (typeof OPERATORS[t.type].slots === 'function' ? OPERATORS[t.type].slots(t) : OPERATORS[t.type].slots);

/** An op's name and its numbers: serde writes an op without numbers as its name alone. */
export const named = (op) => (typeof op === 'string' ? [op, {}] : Object.entries(op)[0]);

class Context {
  constructor(key, width, height, channels) {
    Object.assign(this, { key, width, height, channels, path: 0n, base: 0, ops: [] });
  }

  emit(slot, op) {
    const [name, n] = named(op);
    if (name === 'Crop' || name === 'Resize') [this.width, this.height] = [n.width, n.height];
    if (name === 'Pad') [this.width, this.height] = [this.width + n.left + n.right, this.height + n.top + n.bottom];
    if (name === 'Grayscale') this.channels = n.channels;
    this.ops.push({ slot: this.base + slot, op });
  }

  list(transforms) {
    const { path, base } = this;
    let first = 0;
    transforms.forEach((transform, i) => {
      this.path = child(path, i);
      this.base = base + first;
      first += slotCount(transform);
      OPERATORS[transform.type].draw(transform, this, new Numbers(this.key, this.path));
    });
    [this.path, this.base] = [path, base];
  }
}

/** The parameters of an image of `width` × `height` under a key: as gpufeed's `Plan::make_params`. */
export function makeParams(transforms, channels, { width, height }, key) {
  const context = new Context(keyWords(key), width, height, channels);
  context.list(transforms);
  return { width, height, ops: context.ops };
}
