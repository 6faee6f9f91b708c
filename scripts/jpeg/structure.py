"""Changes of a file's structure: what lies between its segments, its frame, its markers."""

import re
import struct

import parts as jpeg
from places import any_place, before_scan

RESTART = re.compile(rb"\xff[\xd0-\xd7]")


def fill_bytes(dice, parts):
    for part in dice.sample(parts, dice.randint(1, len(parts))):
        part.before = b"\xff" * dice.randint(1, 4)
    return "fill bytes"


def factors_of_one(dice, parts):
    """Sampling factors of a single component, which change no block, but which rows libjpeg's block smoothing looks at."""
    head = jpeg.frame_of(parts)
    if len(jpeg.components(head)) != 1:
        return None
    body = bytearray(head.payload)
    body[7] = dice.randint(1, 4) << 4 | dice.randint(1, 4)
    head.payload = bytes(body)
    return "factors of one component"


def stray_bytes(dice, parts):
    part = parts[any_place(dice, parts)]
    part.before = bytes(dice.randint(0, 254) for _ in range(dice.randint(1, 6)))
    return "stray bytes"


def stray_ff00(dice, parts):
    part = parts[any_place(dice, parts)]
    part.before = dice.choice([b"\xff\0", b"\xff\0\xff\0", b"a\xff\0b", b"\xff\xff\0"])
    return "FF 00 between segments"


def stray_restart(dice, parts):
    parts[before_scan(dice, parts)].before = bytes([0xFF, dice.choice([0x01, 0xD0, 0xD7])])
    return "TEM or RST between segments"


def reserved(dice, parts):
    parts.insert(before_scan(dice, parts), jpeg.Part(dice.choice([0x02, 0xBF, 0xC8, 0xF0, 0xFD, 0xDE, 0xDF]), bytes(2)))
    return "reserved marker"


def two_soi(dice, parts):
    parts.insert(dice.choice([0, 0, before_scan(dice, parts)]), jpeg.Part(jpeg.SOI, None))
    return "two SOI"


def early_eoi(dice, parts):
    parts.insert(before_scan(dice, parts), jpeg.Part(jpeg.EOI, None))
    return "EOI before the scan"


def exif(dice, parts):
    order = dice.choice("<>")
    entry = struct.pack(order + "HHIHH", 274, 3, 1, dice.randint(1, 8), 0)
    tiff = (b"II*\0" if order == "<" else b"MM\0*") + struct.pack(order + "IH", 8, 1) + entry + bytes(4)
    parts.insert(before_scan(dice, parts), jpeg.Part(jpeg.APP1, b"Exif\0\0" + tiff))
    return "exif"


def other_segments(dice, parts):
    for _ in range(dice.randint(1, 4)):
        marker = dice.choice([jpeg.COM, 0xE1, 0xE2, 0xE3, 0xED, 0xEF])
        content = bytes(dice.randint(0, 255) for _ in range(dice.randint(0, 60)))
        first = dice.choice([b"", b"\xff\xd8\xff\xd9", b"\xff\xda\0\x08"])
        parts.insert(any_place(dice, parts), jpeg.Part(marker, first + content))
    return "comments and APPn"


def height(parts, rows):
    frame = jpeg.frame_of(parts)
    before, frame.payload = frame.payload, frame.payload[:1] + struct.pack(">H", rows) + frame.payload[3:]
    return before[1:3]


def dnl(dice, parts):
    rows = height(parts, 0)
    parts.insert(jpeg.scan_places(parts)[0] + 1, jpeg.Part(jpeg.DNL, rows))
    return "DNL and height 0"


def dnl_too(dice, parts):
    frame = jpeg.frame_of(parts)
    rows = dice.choice([frame.payload[1:3], struct.pack(">H", dice.randint(1, 300))])
    parts.insert(jpeg.scan_places(parts)[0] + 1, jpeg.Part(jpeg.DNL, rows))
    return "DNL beside a height"


def frame_kind(dice, parts):
    frame = jpeg.frame_of(parts)
    if frame.marker not in (0xC0, 0xC1):
        return None
    frame.marker ^= 1
    return "SOF0 as SOF1" if frame.marker == 0xC1 else "SOF1 as SOF0"


def other_frame(dice, parts):
    frame = jpeg.frame_of(parts)
    frame.marker = dice.choice([0xC3, 0xC5, 0xC6, 0xC7, 0xCB, 0xCD, 0xCE, 0xCF])
    return f"SOF{frame.marker & 15}"


def precision(dice, parts):
    frame = jpeg.frame_of(parts)
    frame.payload = bytes([dice.choice([2, 7, 12, 16])]) + frame.payload[1:]
    return f"{frame.payload[0]} bits"


def two_frames(dice, parts):
    frame = jpeg.frame_of(parts)
    parts.insert(before_scan(dice, parts), jpeg.Part(frame.marker, frame.payload))
    return "two frames"


def frame_order(dice, parts):
    """The frame lists the components in another order. The scans name them as before; one of all components cannot."""
    if any(parts[place].payload[0] > 2 for place in jpeg.scan_places(parts)):
        return None
    frame = jpeg.frame_of(parts)
    listed = [frame.payload[at : at + 3] for at in range(6, len(frame.payload), 3)]
    dice.shuffle(listed)
    frame.payload = frame.payload[:6] + b"".join(listed)
    return "components in another order"


def empty_segment(dice, parts):
    """A comment or APPn whose length is 0 or 1, which counts itself."""
    part = jpeg.Part(dice.choice([jpeg.COM, 0xE3]), None, bytes([0, dice.choice([0, 1, 2])]))
    parts.insert(any_place(dice, parts), part)
    return f"segment of length {part.data[1]}"


def fill_restarts(dice, parts):
    """Fill bytes before restart markers."""
    scans = [part for part in parts if part.marker == jpeg.SOS and RESTART.search(part.data)]
    for part in scans:
        part.data = RESTART.sub(lambda found: b"\xff" * dice.randint(0, 2) + found[0], part.data)
    return "fill bytes before RST" if scans else None


def spectral(dice, parts):
    """A sequential scan whose header has the numbers of a progressive one."""
    if jpeg.frame_of(parts).marker in jpeg.PROGRESSIVE:
        return None
    part = parts[dice.choice(jpeg.scan_places(parts))]
    part.payload = part.payload[:-3] + bytes([dice.choice([0, 1]), dice.choice([0, 5, 63]), dice.choice([0, 1, 0x10])])
    return "odd SOS numbers"


def trailing(dice, parts):
    parts += [jpeg.Part(jpeg.EOI, None, dice.choice([b"\0\0\n", b"text", b"\xff\xd8\xff\xe0\0\4ab", bytes(range(1, 200))]))]
    return "bytes behind EOI"


def refused(dice, parts):
    """What Pillow refuses at all times."""
    return dice.choice([reserved, two_soi, early_eoi, dnl, other_frame, precision, two_frames])(dice, parts)


CHANGES = [
    factors_of_one, factors_of_one,
    fill_bytes, stray_bytes, stray_ff00, stray_restart, exif, other_segments, dnl_too, frame_kind, frame_order, frame_order,
    empty_segment, fill_restarts, fill_restarts, spectral, trailing, refused, refused,
]  # fmt: skip
