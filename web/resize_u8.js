// The weights of an antialiased resize on 8-bit numbers: src/plan/resize_u8.rs, and `write_weights` of src/plan/shader_layout.rs.

function filterAt(filter, distance) {
  const x = Math.abs(distance);
  if (filter === 'LinearAntialias') return Math.max(1 - x, 0);
  if (x < 1) return (1.5 * x - 2.5) * x * x + 1;
  return x < 2 ? ((x - 5) * x + 8) * x * -0.5 + 2 : 0;
}

/** For each output the first source pixel and the weights; computed in f64, like torch's. */
function exactWeights(length, outputs, filter) {
  const scale = length / outputs;
  const reduction = Math.max(scale, 1);
  const support = (filter === 'CubicAntialias' ? 2 : 1) * reduction;
  return Array.from({ length: outputs }, (_, i) => {
    if (length === outputs) return { first: i, weights: [1] };
    const centre = scale * (i + 0.5);
    const first = Math.max(Math.trunc(centre - support + 0.5), 0);
    const end = Math.min(Math.trunc(centre + support + 0.5), length);
    const weights = Array.from({ length: end - first }, (_, k) => filterAt(filter, (first + k - centre + 0.5) / reduction));
    const sum = weights.reduce((before, weight) => before + weight, 0);
    return { first, weights: weights.map((weight) => weight / sum) };
  });
}

/** Appends the words of an axis that a shader reads: taps, bits, and for each output the first pixel and its weights. */
function appendAxis(axis, outputs, filter, words) {
  const rows = exactWeights(axis.view_len, outputs, filter);
  const taps = Math.max(...rows.map(({ weights }) => weights.length));
  const most = rows.reduce((before, { weights }) => Math.max(before, ...weights), 0);
  // As many bits as fit the largest weight in 16 with its sign.
  let bits = 0;
  while (bits < 22 && Math.trunc(0.5 + most * 2 ** (bits + 1)) < 2 ** 15) bits += 1;
  words.push(taps, bits);
  for (let i = 0; i < axis.len; i++) {
    const { first, weights } = rows[(axis.grid_mirror ? axis.len - 1 - i : i) + axis.grid_window + axis.grid_start];
    words.push(first);
    for (let k = 0; k < taps; k++) words.push(Math.trunc((weights[k] ?? 0) * 2 ** bits + (weights[k] < 0 ? -0.5 : 0.5)));
  }
}

/** Appends the weights of a stage's resize to `words`, which begin at word `begin` of a buffer. Returns where each axis begins. */
export function appendWeights({ x, y, filter, resized }, begin, words) {
  if (!filter.endsWith('Antialias')) throw new Error(`This page has no weights of the filter ${filter} on 8-bit numbers.`);
  return [x, y].map((axis, i) => {
    const at = begin + words.length;
    appendAxis(axis, resized[i], filter, words);
    return at;
  });
}
