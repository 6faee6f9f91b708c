"""The order of blocks (src/sampler/blocks.rs) once more, from its description, with lists instead of arithmetic and with a
ChaCha8 of its own. Prints the known answers of that file's tests.

    python3 tests/golden/block_order.py
"""
import struct


def rotate(value, by):
    return (value << by | value >> (32 - by)) & 0xFFFFFFFF


def chacha8(key, stream, counter):
    """The 16 words of one block: 64 bits of counter, 64 bits of stream."""
    start = [*b"expand 32-byte k"]
    words = [*struct.unpack("<4I", bytes(start)), *struct.unpack("<8I", key)]
    words += [counter & 0xFFFFFFFF, counter >> 32, stream & 0xFFFFFFFF, stream >> 32]
    state = words[:]

    def quarter(a, b, c, d):
        for x, y, z, by in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
            state[x] = (state[x] + state[y]) & 0xFFFFFFFF
            state[z] = rotate(state[z] ^ state[x], by)

    for _ in range(4):
        for column in range(4):
            quarter(column, 4 + column, 8 + column, 12 + column)
        for diagonal in range(4):
            quarter(diagonal, 4 + (diagonal + 1) % 4, 8 + (diagonal + 2) % 4, 12 + (diagonal + 3) % 4)
    return [(a + b) & 0xFFFFFFFF for a, b in zip(state, words)]


def numbers(key, stream):
    counter = 0
    while True:
        words = chacha8(key, stream, counter)
        for low, high in zip(words[::2], words[1::2]):
            yield low | high << 32
        counter += 1


def below(bound, source):
    """Lemire's unbiased integer."""
    while True:
        product = next(source) * bound
        if product % 2**64 >= 2**64 % bound:
            return product >> 64


def shuffled(values, source):
    for position in range(len(values) - 1, 0, -1):
        other = below(position + 1, source)
        values[position], values[other] = values[other], values[position]
    return values


def parts(values, count):
    """`count` parts, the larger ones first."""
    size, larger = divmod(len(values), count)
    found = []
    for part in range(count):
        end = size + (part < larger)
        found.append(values[:end])
        values = values[end:]
    return found


def key(seed, epoch):
    return struct.pack("<QQ", seed, epoch) + b"gpufeed.blocks.1"


def line(length, samples, seed, epoch):
    """The blocks in their order, each a list of samples."""
    blocks = [list(range(length))[first : first + samples] for first in range(0, length, samples)]
    return shuffled(blocks, numbers(key(seed, epoch), 0))


def lanes(length, samples, window, count, seed, epoch):
    """The samples of each lane in order, and how many of them are its last window."""
    numbered = [(number, sample) for number, block in enumerate(line(length, samples, seed, epoch)) for sample in block]
    place, found = 0, []
    for lane in parts(numbered, count):
        in_lane = sorted({number for number, _ in lane})
        order, last = [], 0
        for group in parts(in_lane, -(-len(in_lane) // window)):
            here = [sample for number, sample in lane if number in group]
            stream, last = 1 + place, len(here)
            place += last
            order += shuffled(here, numbers(key(seed, epoch), stream))
        found.append((order, last))
    return found


def position(found, number):
    """(index, occurrence) at a position."""
    order, last = found[number % len(found)]
    within = number // len(found)
    if within < len(order):
        return order[within], 0
    beyond = within - len(order)
    return order[-last:][beyond % last], 1 + beyond // last


if __name__ == "__main__":
    # J. Strömbergson, draft-strombergson-chacha-test-vectors-01 (2013), TC1 with 8 rounds.
    assert next(numbers(bytes(32), 0)) == 0xD6405F892FEF003E
    assert shuffled(list(range(10)), numbers(struct.pack("<QQ", 42, 0) + b"gpufeed.shuffle1", 0)) == [8, 4, 1, 2, 0, 6, 3, 5, 9, 7]
    print([position(lanes(23, 4, 2, 3, 42, 0), number) for number in range(28)])
    print([position(lanes(10, 3, 5, 1, 0, 7), number)[0] for number in range(10)])
    # Lanes that are shorter than a block.
    print([position(lanes(7, 5, 1, 4, 9, 1), number) for number in range(12)])
    large = lanes(100_003, 64, 10, 8, 2**64 - 1, 2**40)
    print([position(large, number)[0] for number in (0, 1, 7, 8, 50_000, 99_999, 100_000, 100_001, 100_002)])
    print([position(large, number) for number in (100_003, 100_007, 110_000)])
    total = sum(number * position(large, number)[0] for number in range(100_003)) % 2**64
    print(total)
