// torchvision's results for fixed operations (tests/golden/), and this page's for the same operations by the same shaders as its draws.

import { compose } from './compose.js';

const A = [53, 31, 17];
const B = [19, 47, 71];

/** The value of the drawn picture that tests/golden/README.md defines, in wrapping 32-bit arithmetic. */
function procedural(seed, x, y, c) {
  let h = (Math.imul(x, 0x9e3779b1) + Math.imul(y, 0x85ebca77) + Math.imul(c, 0xc2b2ae3d) + Math.imul(seed, 0x27d4eb2f)) >>> 0;
  h = Math.imul(h ^ (h >>> 15), 0x2c1b3c6d) >>> 0;
  h = Math.imul(h ^ (h >>> 12), 0x297a2d39) >>> 0;
  h = (h ^ (h >>> 15)) >>> 0;
  const p = (x * A[c] + y * B[c] + c * 1365 + seed * 977) >>> 0;
  const q = (p >>> 4) & 511;
  const s = (q < 256 ? q : 511 - q) + (h & 31);
  return s < 16 ? 0 : Math.min(s - 16, 255);
}

function valueOf(input, x, y, c) {
  switch (input.kind) {
    case 'procedural': return procedural(input.seed, x, y, c);
    case 'constant': return input.value[c];
    case 'checkerboard': return (Math.floor(x / input.cell) + Math.floor(y / input.cell)) % 2 === 0 ? input.low[c] : input.high[c];
    case 'planes': return input.planes[(c * input.height + y) * input.width + x];
    case 'pixels': return input.data[(y * input.width + x) * input.channels + c];
    case 'ramp': {
      const value = input.width > 1 ? Math.floor((x * 255) / (input.width - 1)) : 0;
      return c === 1 ? 255 - value : value;
    }
    default: throw new Error(`An input of the kind ${input.kind}: this page does not have it.`);
  }
}

/** The image of a case as RGBA bytes; one channel is repeated in all three. */
export function inputImage(input) {
  const { width, height, channels } = input;
  const pixels = new Uint8Array(4 * width * height);
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const at = 4 * (y * width + x);
      for (let c = 0; c < 3; c++) pixels[at + c] = valueOf(input, x, y, channels === 1 ? 0 : c);
      pixels[at + 3] = 255;
    }
  }
  return { pixels, width, height };
}

/** The values of every `rows`-th row: of large outputs the file holds a part. */
const everyRow = (values, [, height, width], rows) => values.filter((_, i) => (Math.floor(i / width) % height) % rows === 0);

/**
 * The largest difference, or the reason why a result is wrong: as `within` of crates/testing/src/compare.rs. `unsure` has the numbers of the
 * values that the last bit of torchvision's own arithmetic decides.
 */
export function within(expected, actual, bound, unsure) {
  if (expected.length !== actual.length) return { passed: false, worst: NaN, reason: `${actual.length} values instead of ${expected.length}` };
  let worst = 0;
  for (let i = 0; i < expected.length; i++) {
    if (unsure.includes(i)) continue;
    const difference = Math.abs(expected[i] - actual[i]);
    // A NaN is not within any bound.
    if (!(difference <= bound)) {
      return { passed: false, worst: difference, reason: `value ${i} is ${actual[i]}, not ${expected[i]}: more than ${bound} apart` };
    }
    worst = Math.max(worst, difference);
  }
  return { passed: true, worst };
}

/** Loads the cases and their outputs. */
export async function loadGolden() {
  const [cases, vectors] = await Promise.all([
    fetch('data/golden.json').then((response) => response.json()),
    fetch('data/golden.bin').then((response) => response.arrayBuffer()),
  ]);
  return cases.map((each) => {
    const { offset, rows, bytes, shape: [channels, height, width] } = each.output;
    const count = channels * Math.ceil(height / rows) * width;
    const values = new (bytes ? Uint8Array : Float32Array)(vectors, offset, count);
    // The page's results are in [0, 1].
    const expected = bytes ? Float32Array.from(values, (byte) => byte / 255) : values;
    const planes = each.input.kind === 'planes' && new Uint8Array(vectors, each.input.offset);
    return { ...each, expected, input: { ...each.input, planes } };
  });
}

/** Runs one case on the shaders of its recipe. */
export async function runCase(runner, each) {
  const { width, height } = each.input;
  const program = compose(runner.description, { width, height, ops: each.ops });
  const [image] = await runner.run(inputImage(each.input), [program]);
  const values = everyRow(image.values, each.output.shape, each.output.rows);
  return { name: each.name, recipe: each.recipe, bound: each.bound, ...within(each.expected, values, each.bound, each.unsure) };
}
