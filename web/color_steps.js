// The colour steps of an op, on floats and on 8-bit numbers: src/transforms/op/color_steps.rs.

import { shortest } from './rounding.js';

/** The numbers of an image's channels in three registers: a single channel is repeated in all of them. */
export const repeated = (numbers, channels) => (channels === 1 ? [numbers[0], numbers[0], numbers[0]] : numbers);

const bitsOf = (value) => new Uint32Array(new Float32Array([value]).buffer)[0];

function erase({ top, left, width, height, value }, channels) {
  const rectangle = [left, top, left + width, top + height];
  if (value.Noise) return [['noise', rectangle, [...value.Noise.key, Number(channels === 1)]]];
  return [['erase', rectangle, repeated(value.Color, channels).map(bitsOf)]];
}

/**
 * The step of an op's name, `permute_channels` of `PermuteChannels`, with the op's numbers; one number stands in all three registers.
 * `rest` is for 8-bit numbers alone.
 */
function plain(name, { rest: _, ...numbers }, uint8) {
  const step = name.replace(/(?!^)[A-Z]/g, '_$&').toLowerCase();
  const values = Object.values(numbers).flat();
  return [[uint8 ? `${step}_u8` : step, values.length === 1 && !uint8 ? [...values, ...values, ...values] : values]];
}

/** Ops with other steps or other numbers: name, up to four floats, and three integers where they are not those of most steps. */
const STEPS = {
  Grayscale: () => [['grayscale', []]],
  // torchvision clamps only if it multiplies.
  AdjustGamma: ({ gamma, gain }) => [['adjust_gamma', [gamma, gain, gain === 1 ? 3.4028234663852886e38 : 1]]],
  Posterize: ({ bits }) => [['posterize', [2 ** bits, 2 ** bits - 1, 1 / 2 ** bits]]],
  Erase: erase,
  Normalize: ({ mean, std }, channels) => [['subtract', repeated(mean, channels)], ['divide', repeated(std, channels)]],
};

/** A factor and 1 - factor, which torch computes from the decimal number. */
const ratios = ({ factor, rest }) => [factor, rest ?? 1 - shortest(factor)];

const UINT8_STEPS = {
  Contrast: (numbers) => [['contrast_u8', ratios(numbers)]],
  Saturation: (numbers) => [['saturation_u8', ratios(numbers)]],
  Grayscale: () => [['grayscale_u8', []]],
  Posterize: ({ bits }) => [['posterize_u8', [2 ** (8 - bits), 2 ** (bits - 8)]]],
};

/** A single channel has neither saturation nor hue, is gray already, and has only one order of channels. */
const OF_COLORS = ['Saturation', 'Hue', 'Grayscale', 'PermuteChannels'];

/** The steps of an op in the form of the shader's struct `Step`. `slot` is the op's slot in the plan. */
export function colorSteps([name, numbers], channels, { statistic, uint8 }, opcodes) {
  if (channels === 1 && OF_COLORS.includes(name)) return [];
  const made = (uint8 ? UINT8_STEPS : STEPS)[name]?.(numbers, channels) ?? plain(name, numbers, uint8);
  return made.map(([step, value, integers]) => {
    if (!(step in opcodes)) throw new Error(`This page does not have the operation ${name}${uint8 ? ' on 8-bit numbers' : ''}.`);
    const [first, second, third] = integers ?? [name === 'Contrast' ? statistic : 0, 0, Number(channels === 1)];
    return { opcode: opcodes[step], integer_0: first, integer_1: second, integer_2: third, value: [...value, 0, 0, 0, 0].slice(0, 4) };
  });
}
