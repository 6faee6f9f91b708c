// gpufeed's random numbers (src/random/): ChaCha8 under a key of seed, epoch, sample, occurrence and view; an operator's path in the list is
// the stream. The same seed gives the same numbers here and in gpufeed.

const MASK = (1n << 64n) - 1n;

/** A group's number stands above this many bits of its view's: src/loader/group.rs. */
const VIEW_BITS = 16;

/**
 * The eight words that key the generator. `seed`, `epoch` and `sample` are numbers or BigInts of up to 64 bits; `group` is the number of the
 * view's group.
 */
export function keyWords({ seed = 0, epoch = 0, sample = 0, occurrence = 0, group = 0, view = 0 }) {
  const words = new Uint32Array(8);
  [seed, epoch, sample].forEach((part, i) => {
    const wide = BigInt(part) & MASK;
    words[2 * i] = Number(wide & 0xffffffffn);
    words[2 * i + 1] = Number(wide >> 32n);
  });
  words[6] = occurrence;
  words[7] = group * 2 ** VIEW_BITS + view;
  return words;
}

/** The path of the `i`-th operator of the list of the operator at `path`; the plan's own list has the path 0. */
export const child = (path, i) => path * 256n + BigInt(i) + 1n;

const rotated = (word, by) => (word << by) | (word >>> (32 - by));

function quarterRound(state, a, b, c, d) {
  state[a] += state[b];
  state[d] = rotated(state[d] ^ state[a], 16);
  state[c] += state[d];
  state[b] = rotated(state[b] ^ state[c], 12);
  state[a] += state[b];
  state[d] = rotated(state[d] ^ state[a], 8);
  state[c] += state[d];
  state[b] = rotated(state[b] ^ state[c], 7);
}

/** Sixteen words of the stream: block number `block`. */
function chacha8(key, stream, block) {
  const begin = new Uint32Array([
    0x61707865, 0x3320646e, 0x79622d32, 0x6b206574, ...key,
    block, 0, Number(stream & 0xffffffffn), Number(stream >> 32n),
  ]);
  const state = begin.slice();
  for (let round = 0; round < 8; round += 2) {
    for (let i = 0; i < 4; i++) quarterRound(state, i, 4 + i, 8 + i, 12 + i);
    for (let i = 0; i < 4; i++) quarterRound(state, i, 4 + ((i + 1) % 4), 8 + ((i + 2) % 4), 12 + ((i + 3) % 4));
  }
  return state.map((word, i) => word + begin[i]);
}

/** The numbers of one operator and one image. */
export class Numbers {
  constructor(key, stream) {
    this.key = key;
    this.stream = stream & MASK;
    this.taken = 0;
  }

  next() {
    const at = this.taken % 8;
    if (at === 0) this.words = chacha8(this.key, this.stream, this.taken / 8);
    this.taken += 1;
    return BigInt(this.words[2 * at]) | (BigInt(this.words[2 * at + 1]) << 32n);
  }

  /** Uniform in [0, 1): the top 53 bits of 64. */
  unit() {
    return Number(this.next() >> 11n) / 2 ** 53;
  }

  uniform(low, high) {
    return low + (high - low) * this.unit();
  }

  /** A whole number uniform in 0 to `bound` - 1, without bias (Lemire, arXiv 1805.10941). */
  below(bound) {
    const wide = BigInt(bound);
    for (;;) {
      const product = this.next() * wide;
      const low = product & MASK;
      if (low >= wide || low >= (MASK + 1n - wide) % wide) return Number(product >> 64n);
    }
  }

  /** A key for a generator that makes a number for each pixel. */
  pixelKey() {
    return [this.below(2 ** 32), this.below(2 ** 32)];
  }

  /** 0 to `n` - 1 in a random order: Fisher and Yates' shuffle. */
  permutation(n) {
    const order = Array.from({ length: n }, (_, i) => i);
    for (let i = n - 1; i > 0; i--) {
      const other = this.below(i + 1);
      [order[i], order[other]] = [order[other], order[i]];
    }
    return order;
  }

  chance(p) {
    return this.unit() < p;
  }
}
