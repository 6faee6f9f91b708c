// The parameters of one image: the operators of src/transforms/ that this page has, with the same random numbers in the same order, so that a
// seed gives the same draws here and in `gpufeed preview`. Only arguments that the page's recipes have are read. web/data/draws.json holds draws of
// the command, and the check compares them, those of every operator.

import { RAND_AUGMENT, TRIVIAL_AUGMENT_WIDE, drawOperation } from './policy.js';
import { Numbers, child, keyWords } from './random.js';
import { roundTiesEven } from './rounding.js';

/** A range of factors about `neutral`, which is 0 for the hue and 1 for the others; null for one that changes nothing. */
function jitterRange(jitter, neutral) {
  if (!jitter) return null;
  return neutral === 0 ? [-jitter, jitter] : [Math.max(neutral - jitter, 0), neutral + jitter];
}

/** The short side gets `size`, unless both sides are given. */
function resizedTo({ size }, width, height) {
  if (Array.isArray(size)) return [size[1], size[0]];
  const long = Math.max(Math.floor((size * Math.max(width, height)) / Math.min(width, height)), 1);
  return width <= height ? [size, long] : [long, size];
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

const padded = ({ padding: side, padding_mode: mode, fill }) => ({ Pad: { left: side, top: side, right: side, bottom: side, mode, fill } });

/** With probability `p` the op that `make` makes. */
const sometimes = (make) => (t, context, numbers) => numbers.chance(t.p) && context.emit(0, make(t));

/** What each operator emits, and into which of its op slots. */
export const OPERATORS = {
  RandomResizedCrop(t, context, numbers) {
    context.emit(0, { Crop: resizedCrop(t, context, numbers) });
    context.emit(1, { Resize: { height: t.size, width: t.size, interpolation: t.interpolation, antialias: t.antialias } });
  },
  RandomCrop(t, context, numbers) {
    if (t.padding !== undefined) context.emit(0, padded(t));
    if (Math.min(context.width, context.height) < t.size) {
      throw new Error(`RandomCrop: the image of ${context.width}×${context.height} is smaller than the crop of ${t.size}×${t.size}.`);
    }
    context.emit(2, { Crop: placed(context, numbers, t.size, t.size) });
  },
  Resize(t, context) {
    const [width, height] = resizedTo(t, context.width, context.height);
    context.emit(0, { Resize: { height, width, interpolation: t.interpolation, antialias: t.antialias } });
  },
  CenterCrop(t, context) {
    const [height, width] = [t.size, t.size];
    const [x, y] = [Math.max(width - context.width, 0), Math.max(height - context.height, 0)];
    const [left, top] = [Math.floor(x / 2), Math.floor(y / 2)];
    if (x + y > 0) context.emit(0, { Pad: { left, top, right: x - left, bottom: y - top, mode: 'Constant', fill: [0, 0, 0] } });
    const offset = (side, target) => roundTiesEven((side - target) / 2);
    context.emit(1, { Crop: { top: offset(context.height, height), left: offset(context.width, width), height, width } });
  },
  Pad: (t, context) => context.emit(0, padded(t)),
  RandomHorizontalFlip: sometimes(() => 'HorizontalFlip'),
  RandomVerticalFlip: sometimes(() => 'VerticalFlip'),
  RandomInvert: sometimes(() => 'Invert'),
  RandomSolarize: sometimes(({ threshold }) => ({ Solarize: { threshold } })),
  RandomPosterize: sometimes(({ bits }) => ({ Posterize: { bits } })),
  ColorJitter(t, context, numbers) {
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
  RandomGrayscale(t, context, numbers) {
    if (numbers.chance(t.p) && context.channels === 3) context.emit(0, { Grayscale: { channels: 3 } });
  },
  Grayscale: (t, context) => context.emit(0, { Grayscale: { channels: t.num_output_channels } }),
  RandomChannelPermutation(t, context, numbers) {
    if (context.channels === 3) context.emit(0, { PermuteChannels: { permutation: numbers.permutation(3) } });
  },
  AdjustGamma: (t, context) => context.emit(0, { AdjustGamma: { gamma: t.gamma, gain: t.gain } }),
  RandomErasing(t, context, numbers) {
    const rectangle = numbers.chance(t.p) && erased(t, context, numbers);
    if (!rectangle || rectangle.width === 0 || rectangle.height === 0) return;
    const color = [t.value, t.value, t.value];
    context.emit(0, { Erase: { ...rectangle, value: t.value === 'random' ? { Noise: { key: numbers.pixelKey() } } : { Color: color } } });
  },
  GaussianBlur(t, context, numbers) {
    const sigma = numbers.uniform(...t.sigma);
    context.emit(0, { GaussianBlur: { kernel_size: t.kernel_size, sigma: [sigma, sigma] } });
  },
  RandAugment(t, context, numbers) {
    for (let slot = 0; slot < t.num_ops; slot++) {
      const op = drawOperation(RAND_AUGMENT, t, () => t.magnitude, context, numbers);
      if (op) context.emit(slot, op);
    }
  },
  TrivialAugmentWide(t, context, numbers) {
    const op = drawOperation(TRIVIAL_AUGMENT_WIDE, t, (bins) => numbers.below(bins), context, numbers);
    if (op) context.emit(0, op);
  },
  Normalize: (t, context) => context.emit(0, { Normalize: { mean: t.mean, std: t.std } }),
};

/** An op's name and its numbers: serde writes an op without numbers as its name alone. */
export const named = (op) => (typeof op === 'string' ? [op, {}] : Object.entries(op)[0]);

class Context {
  constructor(key, slots, { width, height }, channels) {
    Object.assign(this, { key, slots, width, height, channels, path: 0n, first: 0, next: 0, ops: [] });
  }

  emit(slot, op) {
    const [name, n] = named(op);
    if (name === 'Crop' || name === 'Resize') [this.width, this.height] = [n.width, n.height];
    if (name === 'Pad') [this.width, this.height] = [this.width + n.left + n.right, this.height + n.top + n.bottom];
    if (name === 'Grayscale') this.channels = n.channels;
    this.ops.push({ slot: this.first + slot, op });
  }

  /** Walks a list. Of a `RandomApply` that is not `drawn` the op slots are passed over. */
  list(transforms, drawn) {
    const { path } = this;
    transforms.forEach((transform, i) => {
      this.path = child(path, i);
      const numbers = new Numbers(this.key, this.path);
      if (transform.type === 'RandomApply') {
        this.list(transform.transforms, drawn && numbers.chance(transform.p));
        return;
      }
      // The plan lists the op slots in the operators' order, with their names. No recipe has two operators of one name side by side.
      this.first = this.next;
      while (this.slots[this.next]?.transform === transform.type) this.next += 1;
      if (drawn) OPERATORS[transform.type](transform, this, numbers);
    });
    this.path = path;
  }
}

/** The parameters of an image of a size under a key: as gpufeed's `Plan::make_params`. */
export function makeParams({ transforms, slots, input_channels: channels }, { width, height }, key) {
  const context = new Context(keyWords(key), slots, { width, height }, channels);
  context.list(transforms, true);
  return { width, height, ops: context.ops };
}
