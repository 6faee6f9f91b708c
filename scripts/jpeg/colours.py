"""Changes of what says which colours a file has: JFIF's and Adobe's segments, and the ids of the components."""

import parts as jpeg
from places import before_scan, without

FIRST = {jpeg.APP0, jpeg.APP14}


def adobe(dice, parts):
    without(parts, {jpeg.APP14})
    transform = dice.choice([0, 1, 2, 3, 4, 128, 255])
    parts.insert(before_scan(dice, parts), jpeg.adobe(transform))
    return f"adobe {transform}"


def adobe_alone(dice, parts):
    without(parts, FIRST)
    transform = dice.choice([0, 1, 2, 3, 255])
    parts.insert(0, jpeg.adobe(transform))
    return f"adobe {transform} alone"


def adobe_length(dice, parts):
    without(parts, FIRST)
    length = dice.choice([0, 3, 5, 7, 11, 13, 40])
    parts.insert(0, jpeg.adobe(dice.choice([0, 1, 2]), length))
    return f"adobe of {length} bytes"


def adobe_late(dice, parts):
    without(parts, {jpeg.APP14})
    places = jpeg.scan_places(parts)
    parts.insert(dice.choice(places) + 1, jpeg.adobe(dice.choice([0, 1, 2])))
    return "adobe after a scan"


def two_adobes(dice, parts):
    without(parts, {jpeg.APP14})
    parts[0:0] = [jpeg.adobe(dice.choice([0, 1, 2])), jpeg.adobe(dice.choice([0, 1, 2]))]
    return "two adobes"


def adobe_then_jfif(dice, parts):
    without(parts, FIRST)
    parts[0:0] = [jpeg.adobe(dice.choice([0, 1, 2])), jpeg.jfif()]
    return "adobe before jfif"


def no_first(dice, parts):
    without(parts, FIRST)
    return "no jfif, no adobe"


def jfif_length(dice, parts):
    without(parts, FIRST)
    length = dice.choice([0, 4, 5, 13, 14, 20])
    parts.insert(0, jpeg.jfif(length))
    return f"jfif of {length} bytes"


def jfif_added(dice, parts):
    without(parts, {jpeg.APP0})
    parts.insert(before_scan(dice, parts), jpeg.jfif())
    return "jfif in any place"


def jfxx(dice, parts):
    without(parts, FIRST)
    parts.insert(0, jpeg.Part(jpeg.APP0, b"JFXX\0\x10" + bytes(30)))
    return "jfxx alone"


def avi1(dice, parts):
    without(parts, FIRST)
    parts.insert(0, jpeg.Part(jpeg.APP0, b"AVI1" + bytes(dice.choice([0, 10]))))
    return "avi1"


def ids(dice, parts):
    count = len(jpeg.components(jpeg.frame_of(parts)))
    name, chosen = dice.choice([
        ("0 1 2", range(count)), ("RGB", b"RGBK"[:count]), ("bgr", b"BGRA"[:count]), ("CMYK", b"CMYK"[:count]),
        ("reversed", range(count, 0, -1)), ("equal", [dice.choice([0, 1, 255])] * count), ("1 1 2", [1, 1, 2, 2][:count]),
        ("random", [dice.randint(0, 255) for _ in range(count)]), ("1 34 35", [1, 34, 35, 36][:count]),
    ])  # fmt: skip
    jpeg.rename(parts, list(chosen))
    if dice.random() < 0.7:
        without(parts, FIRST)
        name += " alone"
    return f"ids {name}"


CHANGES = [
    adobe, adobe_alone, adobe_alone, adobe_length, adobe_late, two_adobes, adobe_then_jfif, no_first, jfif_length, jfif_added, jfxx,
    avi1, ids, ids, ids,
]  # fmt: skip
