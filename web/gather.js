// The operators that compute a pixel from several, with which a stage begins: what src/plan/gather.rs, src/warp.rs and the struct `Gather` of
// src/plan/shader_layout.rs do for the operators of the built-in recipes.

const { cos, fround, sin, tan } = Math;

/** More than the error of f32 in an image of 300 pixels: whole rows may lie between two pixels, and this decides for one of them. */
const BEFORE_TIES = 1 / 32768;

/** torchvision's `_get_inverse_affine_matrix` without a scale, in pixels of an image. `centre` is relative to the image's centre. */
function affine([width, height], angle, { translate, shear }, [cx, cy]) {
  const [rotation, shearX, shearY] = [angle, ...shear].map((degrees) => (degrees * Math.PI) / 180);
  const a = cos(rotation - shearY) / cos(shearY);
  const c = sin(rotation - shearY) / cos(shearY);
  const b = -(a * tan(shearX) + sin(rotation));
  const d = cos(rotation) - c * tan(shearX);
  const [x, y] = [cx + translate[0], cy + translate[1]];
  // torch keeps the entries in f32.
  const m = [d, -b, cx - d * x + b * y, -c, a, cy + c * x - a * y].map(fround);
  const [middleX, middleY] = [(width - 1) / 2, (height - 1) / 2];
  m[2] += middleX - m[0] * middleX - m[1] * middleY;
  m[5] += middleY - m[3] * middleX - m[4] * middleY;
  return m;
}

/** The upper and the lower half of a number as a multiple of 2^-32, for warps of 8-bit numbers: src/warp/grid.rs. */
function halves(entry) {
  const whole = BigInt(Math.round(entry * 2 ** 32));
  return [Number(BigInt.asUintN(32, whole >> 32n)), Number(BigInt.asUintN(32, whole))];
}

function warp(matrix, { interpolation, fill }) {
  const nearest = interpolation === 'Nearest';
  const before = nearest ? BEFORE_TIES : 0;
  const [a, b, c, d, e, f] = matrix.map((entry, i) => (i % 3 === 2 ? entry - before : entry));
  const color = fill ? { filled: 1, fill: [...fill, 1] } : {};
  const [whole_0, whole_1, whole_2] = [[a, b], [c, d], [e, f]].map((pair) => pair.flatMap(halves));
  return { kind: 'AFFINE', nearest: Number(nearest), first: [a, b, c, d], second: [e, f, 0, 0], whole_0, whole_1, whole_2, ...color };
}

function rotated(size, { angle, ...look }) {
  const [width, height] = size;
  const turn = ((angle % 360) + 360) % 360;
  const quarter = width === height && (turn === 90 || turn === 270);
  if (turn === 0) return null;
  // torchvision turns a square by a quarter without sampling it.
  if (quarter) return warp(turn === 90 ? [0, -1, width - 1, 1, 0, 0] : [0, 1, 0, -1, 0, height - 1], { interpolation: 'Nearest' });
  return warp(affine(size, -turn, { translate: [0, 0], shear: [0, 0] }, [0, 0]), look);
}

/** The weights of a kernel of `length` pixels. */
function blurWeights(length, sigma) {
  const values = Array.from({ length }, (_, i) => Math.exp(-((i - (length - 1) / 2) ** 2) / (2 * sigma * sigma)));
  const sum = values.reduce((before, value) => before + value);
  return values.map((value) => value / sum);
}

const OPERATORS = {
  Affine: ([width, height], numbers) => (
    warp(affine([width, height], 0, numbers, numbers.fromCorner ? [-width / 2, -height / 2] : [0, 0]), numbers)),
  Rotate: rotated,
  GaussianBlur: (_, { kernel_size: sides, sigma }) => (
    { kind: 'BLUR', first: [...sides, 0, 0], weights: sides.flatMap((side, i) => blurWeights(side, sigma[i])) }),
  Sharpness: (_, { factor }) => ({ kind: 'SHARPEN', first: [1 - factor, 0, 0, 0] }),
  Autocontrast: () => ({ kind: 'AUTOCONTRAST' }),
  Equalize: () => ({ kind: 'EQUALIZE' }),
};

/** The numbers of an image without an operator. */
export const NOTHING = {
  kind: 'NOTHING', width: 0, height: 0, left: 0, top: 0, nearest: 0, filled: 0, first: [0], second: [0], fill: [0], weights: [0],
  whole_0: [0], whole_1: [0], whole_2: [0], whole_3: [0], whole_4: [0], whole_5: [0],
};

export const gathers = (name) => name in OPERATORS;

/** The numbers of an operator for an image of a size, or null if it changes nothing. `kind` is the name of a constant of the shader. */
export function gatherOf(name, numbers, size) {
  const made = OPERATORS[name](size, numbers);
  const [width, height] = size;
  return made && { ...NOTHING, width, height, ...made };
}
