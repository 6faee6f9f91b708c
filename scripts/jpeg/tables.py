"""Changes of the tables: Huffman, quantization, and those of arithmetic coding."""

import functools
import struct

import numpy

import parts as jpeg
from colours import avi1
from encode import saved
from places import before_scan


@functools.cache
def standard_tables():
    """The Huffman tables of T.81 annex K, as Pillow writes them where it is not asked to optimise."""
    usual = jpeg.split(saved(numpy.zeros((8, 8, 3), "u1"), quality=75))
    return {part.payload for part in usual if part.marker == jpeg.DHT}


def no_dht(dice, parts):
    gone = {part.payload for part in parts if part.marker == jpeg.DHT}
    if not gone or gone - standard_tables():
        return None
    if dice.random() < 0.3:
        gone = {dice.choice(sorted(gone))}
    parts[:] = [part for part in parts if part.payload not in gone]
    if dice.random() < 0.3:
        return avi1(dice, parts) + " without DHT"
    return "no DHT" if len(gone) > 1 else "a DHT left out"


def unused_tables(dice, parts):
    used = {table for *_, table in jpeg.components(jpeg.frame_of(parts))}
    slot = next((slot for slot in (3, 2) if slot not in used), None)
    if slot is None:
        return None
    wide = dice.random() < 0.5
    parts.insert(before_scan(dice, parts), jpeg.Part(jpeg.DQT, bytes([16 * wide + slot]) + bytes([1]) * (128 if wide else 64)))
    form, counts, symbols = dice.choice([
        ("usual", [0, 1], b"\0"), ("empty", [], b""), ("with too many codes", [3], b"\0\1\2"), ("with a code of ones", [2], b"\0\1"),
        ("with symbols above 15", [0, 3], b"\x20\xff\x10"),
    ])  # fmt: skip
    head = bytes([dice.choice([0x13, 0x03])]) + bytes(counts).ljust(16, b"\0")
    parts.insert(before_scan(dice, parts), jpeg.Part(jpeg.DHT, head + symbols))
    return f"unused tables, {form}"


def joined_tables(dice, parts):
    """All tables of a kind before the first scan in one segment."""
    first = jpeg.scan_places(parts)[0]
    for marker in (jpeg.DQT, jpeg.DHT):
        found = [part for part in parts[:first] if part.marker == marker]
        if found:
            found[0].payload = b"".join(part.payload for part in found)
            parts[:] = [part for part in parts if part not in found[1:]]
            first -= len(found) - 1
    return "joined tables"


def wide_quantization(dice, parts):
    """Tables of 16 bits; where `times` is above 1, with values that products wrap around."""
    times = dice.choice([1, 1, 3, 200])
    for part in parts:
        if part.marker == jpeg.DQT and len(part.payload) == 65:
            values = [min(65535, value * times) for value in part.payload[1:]]
            part.payload = bytes([0x10 | part.payload[0]]) + struct.pack(">64H", *values)
    return "16-bit DQT" if times == 1 else "16-bit DQT, large"


def other_quantization(dice, parts):
    """Other values in a table, 0 among them."""
    tables = [part for part in parts if part.marker == jpeg.DQT and len(part.payload) == 65]
    if not tables:
        return None
    part = dice.choice(tables)
    low = dice.choice([0, 1, 1])
    part.payload = part.payload[:1] + bytes(dice.randint(low, dice.choice([20, 255])) for _ in range(64))
    return "other DQT" if low else "DQT with zeros"


def late_quantization(dice, parts):
    """A table that is defined again after the first scan that uses it."""
    tables, places = [part for part in parts if part.marker == jpeg.DQT], jpeg.scan_places(parts)
    again = dice.choice(tables)
    if len(places) < 2 or len(again.payload) != 65:
        return None
    changed = again.payload[:1] + bytes(dice.randint(1, 60) for _ in range(64))
    parts.insert(dice.choice(places[:-1]) + 1, jpeg.Part(jpeg.DQT, changed))
    return "DQT again between scans"


def conditioning(dice, parts):
    parts.insert(before_scan(dice, parts), jpeg.Part(jpeg.DAC, bytes([0, 0x10])))
    return "DAC"


CHANGES = [
    no_dht, no_dht, unused_tables, joined_tables, wide_quantization, wide_quantization, other_quantization, late_quantization,
    conditioning,
]  # fmt: skip
