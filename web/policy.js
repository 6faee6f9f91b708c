// The operations of RandAugment and TrivialAugmentWide with their magnitudes: src/transforms/policy.rs. Magnitudes are f32, as torch computes them.

import { roundTiesEven } from './rounding.js';

const { fround } = Math;

/** In torchvision's order, which the random numbers choose from. */
const OPERATIONS = [
  'Identity', 'ShearX', 'ShearY', 'TranslateX', 'TranslateY', 'Rotate', 'Brightness', 'Color', 'Contrast', 'Sharpness', 'Posterize', 'Solarize',
  'AutoContrast', 'Equalize',
];

/** The greatest magnitudes; `lessBits` is by how many bits Posterize goes down from 8. */
export const RAND_AUGMENT = { shear: 0.3, translate: (side) => (150 / 331) * side, rotate: 30, factor: 0.9, lessBits: 4 };
export const TRIVIAL_AUGMENT_WIDE = { shear: 0.99, translate: () => 32, rotate: 135, factor: 0.99, lessBits: 6 };

/** Element `i` of torch.linspace. torch rounds the product and the sum once, and f64 holds the product of two f32. */
function linspace(from, to, i, count) {
  const step = fround(fround(fround(to) - fround(from)) / (count - 1));
  return fround(i < Math.floor(count / 2) ? step * i + fround(from) : -step * (count - 1 - i) + fround(to));
}

/** The magnitude of an operation at bin `bin` of `bins`, and whether its sign is random. */
export function magnitudeOf(space, id, bin, bins, { width, height }) {
  const upTo = (greatest) => [linspace(0, greatest, bin, bins), true];
  switch (id) {
    case 'ShearX': case 'ShearY': return upTo(space.shear);
    case 'TranslateX': return upTo(space.translate(width));
    case 'TranslateY': return upTo(space.translate(height));
    case 'Rotate': return upTo(space.rotate);
    case 'Brightness': case 'Color': case 'Contrast': case 'Sharpness': return upTo(space.factor);
    case 'Posterize': return [roundTiesEven(fround(8 - fround(bin / fround((bins - 1) / space.lessBits)))), false];
    case 'Solarize': return [linspace(1, 0, bin, bins), false];
    default: return [0, false];
  }
}

/** Draws an operation and its sign. `binOf` gives the magnitude's bin. Returns the op; null for Identity, which changes nothing. */
export function drawOperation(space, { num_magnitude_bins: bins, interpolation }, binOf, size, numbers) {
  const id = OPERATIONS[numbers.below(OPERATIONS.length)];
  const [greatest, isSigned] = magnitudeOf(space, id, binOf(bins), bins, size);
  const magnitude = numbers.unit() <= 0.5 && isSigned ? -greatest : greatest;
  // The page's recipes fill with black, which is no fill.
  return id === 'Identity' ? null : { Policy: { id, magnitude, interpolation, fill: null } };
}

/** The name and the numbers of the op that an operation stands for. `white` is the number of white. */
export function resolved({ id, magnitude: m, interpolation, fill }, white) {
  const degrees = (Math.atan(m) * 180) / Math.PI;
  const warp = { translate: [0, 0], shear: [0, 0], fromCorner: false, interpolation, fill };
  switch (id) {
    case 'ShearX': return ['Affine', { ...warp, shear: [degrees, 0], fromCorner: true }];
    case 'ShearY': return ['Affine', { ...warp, shear: [0, degrees], fromCorner: true }];
    case 'TranslateX': return ['Affine', { ...warp, translate: [Math.trunc(m), 0] }];
    case 'TranslateY': return ['Affine', { ...warp, translate: [0, Math.trunc(m)] }];
    case 'Rotate': return ['Rotate', { angle: m, interpolation, fill }];
    // `rest` is 1 - factor in f64, which the op of ColorJitter computes from the decimal number.
    case 'Color': return ['Saturation', { factor: 1 + m, rest: 1 - (1 + m) }];
    case 'Contrast': return ['Contrast', { factor: 1 + m, rest: 1 - (1 + m) }];
    case 'Brightness': case 'Sharpness': return [id, { factor: 1 + m }];
    case 'Posterize': return [id, { bits: Math.trunc(m) }];
    case 'Solarize': return [id, { threshold: white * m }];
    case 'AutoContrast': return ['Autocontrast', {}];
    default: return [id, {}];
  }
}
