// Ops in a few words, as `gpufeed preview` has them below each draw (src/transforms/op/words.rs); the check compares them.

import { named } from './draws.js';

const signed = (number) => `${number < 0 ? '' : '+'}${number.toFixed(2)}`;

function policy({ id, magnitude: m }) {
  if (['AutoContrast', 'Equalize'].includes(id)) return id;
  if (id.startsWith('Translate')) return `${id} ${Math.trunc(m)} pixels`;
  if (id === 'Rotate') return `${id} ${m.toFixed(1)} deg`;
  if (id === 'Posterize') return `${id} ${m} bits`;
  return `${id} ${id === 'Solarize' ? m.toFixed(2) : signed(m)}`;
}

const WORDS = {
  Crop: ({ top, left, width, height }) => `crop ${width}x${height} at ${left},${top}`,
  Pad: ({ left, top, right, bottom }) => ([top, right, bottom].every((side) => side === left)
    ? `pad ${left}` : `pad left ${left}, top ${top}, right ${right}, bottom ${bottom}`),
  Resize: ({ width, height }) => `resize ${width}x${height}`,
  HorizontalFlip: () => 'flip left-right',
  VerticalFlip: () => 'flip top-bottom',
  Hue: ({ factor }) => `hue ${factor < 0 ? '' : '+'}${factor.toFixed(3)}`,
  Grayscale: () => 'gray',
  AdjustGamma: ({ gamma }) => `gamma ${gamma.toFixed(2)}`,
  Posterize: ({ bits }) => `posterize ${bits} bits`,
  PermuteChannels: ({ permutation }) => `channels ${permutation.map((channel) => 'RGB'[channel]).join('')}`,
  Erase: ({ top, left, width, height, value }) => `erase ${width}x${height} at ${left},${top}${value.Noise ? ' (noise)' : ''}`,
  GaussianBlur: ({ kernel_size: [x, y], sigma }) => `blur ${x}x${y}, sigma ${sigma[0].toFixed(2)}`,
  Policy: policy,
  Normalize: () => 'normalize',
};

/** The name and the numbers, where an op has no other words. */
const plain = (name, numbers) => [name.toLowerCase(), ...Object.values(numbers).map((number) => number.toFixed(2))].join(' ');

/** The words of each op. */
export function inWords(ops) {
  return ops.map(({ op }) => {
    const [name, numbers] = named(op);
    return WORDS[name]?.(numbers) ?? plain(name, numbers);
  });
}

/** An argument of a transform: text, a number, a list of these, or the transforms inside RandomApply and the like. */
function argument(value) {
  if (Array.isArray(value)) return value.map(argument).join(', ');
  if (typeof value === 'number') return Number(value.toFixed(4));
  return value?.type ? `(${transformInWords(value)})` : value;
}

/** A transform with its arguments. */
export function transformInWords({ type, ...rest }) {
  const words = Object.entries(rest).map(([name, value]) => `${name} ${argument(value)}`);
  return `${type}${words.length > 0 ? ': ' : ''}${words.join('; ')}`;
}

/** The part of the photograph that the first crop reads, unless a resize or a border comes before it. */
export function cropOf(ops) {
  for (const { op } of ops) {
    const [name, numbers] = named(op);
    if (name === 'Crop') return numbers;
    if (name === 'Resize' || name === 'Pad') return null;
  }
  return null;
}
