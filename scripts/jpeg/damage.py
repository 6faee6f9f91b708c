"""Damage of a file's scans: cuts, flipped bits, wrong restart markers and intervals."""

import re

import parts as jpeg
from structure import RESTART


def scan_of(dice, parts):
    """A scan that has data, the last one more often than others."""
    places = [at for at in jpeg.scan_places(parts) if parts[at].data]
    return (places[-1] if dice.random() < 0.3 else dice.choice(places)) if places else None


def cut(dice, made):
    """The file ends inside a scan, with or without an EOI."""
    at = scan_of(dice, made.parts)
    part = made.parts[at]
    part.data = part.data[: dice.randrange(len(part.data))]
    file = jpeg.join(made.parts[: at + 1])
    if dice.random() < 0.5:
        return "cut, FF D9", file
    return "cut", file[:-2]


def cut_anywhere(dice, made):
    file = jpeg.join(made.parts)
    first = len(jpeg.join(made.parts[: jpeg.scan_places(made.parts)[0]]))
    return "cut anywhere", file[: dice.randint(first, len(file) - 1)]


def no_eoi(dice, made):
    return "no EOI", jpeg.join(made.parts)[: -dice.choice([1, 2])]


def flip(dice, made):
    part = made.parts[scan_of(dice, made.parts)]
    data = bytearray(part.data)
    for _ in range(dice.randint(1, 3)):
        data[dice.randrange(len(data))] ^= 1 << dice.randrange(8)
    part.data = bytes(data)
    return "flipped bits", jpeg.join(made.parts)


def bytes_changed(dice, made):
    part = made.parts[scan_of(dice, made.parts)]
    at = dice.randrange(len(part.data))
    gone, new = dice.choice([0, 1, 1, 5]), bytes(dice.randrange(256) for _ in range(dice.choice([0, 1, 3])))
    part.data = part.data[:at] + new + part.data[at + gone :]
    return "bytes changed", jpeg.join(made.parts)


def middle_cut(dice, made):
    """A scan that ends early, with others behind it."""
    part = made.parts[scan_of(dice, made.parts)]
    part.data = part.data[: dice.randrange(len(part.data))]
    return "a scan cut", jpeg.join(made.parts)


def restart_markers(dice, made):
    parts = [part for part in made.parts if part.marker == jpeg.SOS and RESTART.search(part.data)]
    if not parts:
        return interval(dice, made)
    part = dice.choice(parts)
    found = dice.choice(list(RESTART.finditer(part.data)))
    new = dice.choice([b"", found[0] * 2, bytes([0xFF, 0xD0 + dice.randrange(8)]), b"\xff\xe5", found[0] + b"\0\0"])
    part.data = part.data[: found.start()] + new + part.data[found.end() :]
    return "restart marker changed", jpeg.join(made.parts)


def interval(dice, made):
    at = dice.choice(jpeg.scan_places(made.parts))
    made.parts.insert(at, jpeg.Part(jpeg.DRI, dice.choice([0, 1, 2, 5, 300]).to_bytes(2, "big")))
    return "restart interval changed", jpeg.join(made.parts)


def stuffing(dice, made):
    """FF FF 00 in the place of FF 00 somewhere: one byte of data with a fill byte before it."""
    part = made.parts[scan_of(dice, made.parts)]
    found = list(re.finditer(b"\xff\0", part.data))
    if not found:
        return flip(dice, made)
    at = dice.choice(found).start()
    part.data = part.data[:at] + b"\xff" * dice.randint(1, 2) + part.data[at:]
    return "FF FF 00", jpeg.join(made.parts)


KINDS = [
    cut, cut, cut, cut_anywhere, no_eoi, flip, flip, flip, bytes_changed, middle_cut, middle_cut, restart_markers, restart_markers,
    stuffing,
]  # fmt: skip


def harm(dice, made):
    """The file's bytes; one in six is damaged."""
    if dice.random() > 1 / 6 or scan_of(dice, made.parts) is None:
        return jpeg.join(made.parts)
    made.damage, file = dice.choice(KINDS)(dice, made)
    return file
