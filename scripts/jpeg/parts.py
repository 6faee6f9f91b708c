"""A JPEG as a list of its segments, so that headers and scans can be changed one by one."""

import struct

SOI, EOI, SOS, DHT, DQT, DRI, DNL, DAC, COM = 0xD8, 0xD9, 0xDA, 0xC4, 0xDB, 0xDD, 0xDC, 0xCC, 0xFE
APP0, APP1, APP14 = 0xE0, 0xE1, 0xEE
FRAMES = {0xC0, 0xC1, 0xC2, 0xC3, 0xC5, 0xC6, 0xC7, 0xC9, 0xCA, 0xCB, 0xCD, 0xCE, 0xCF}
PROGRESSIVE = {0xC2, 0xCA}


class Part:
    """A segment: its marker, its payload, and the entropy-coded data behind it. A marker that has no payload has `None`."""

    def __init__(self, marker, payload=b"", data=b"", before=b""):
        self.marker, self.payload, self.data, self.before = marker, payload, data, before

    def bytes(self):
        out = self.before + bytes([0xFF, self.marker])
        if self.payload is not None:
            out += struct.pack(">H", 2 + len(self.payload)) + self.payload
        return out + self.data


def split(file):
    """The segments between SOI and EOI of a file without damage."""
    at, parts = 2, []
    while file[at + 1] != EOI:
        length = int.from_bytes(file[at + 2 : at + 4], "big")
        part = Part(file[at + 1], file[at + 4 : at + 2 + length])
        at += 2 + length
        if part.marker == SOS:
            end = at
            while True:
                end = file.index(b"\xff", end)
                if file[end + 1] != 0 and not 0xD0 <= file[end + 1] <= 0xD7:
                    break
                end += 2
            part.data, at = file[at:end], end
        parts.append(part)
    return parts


def join(parts):
    return b"\xff\xd8" + b"".join(part.bytes() for part in parts) + b"\xff\xd9"


def frame_of(parts):
    return next(part for part in parts if part.marker in FRAMES)


def place_of(parts, marker):
    """Where the first segment with the marker is."""
    return next(at for at, part in enumerate(parts) if part.marker == marker)


def scan_places(parts):
    return [at for at, part in enumerate(parts) if part.marker == SOS]


def components(frame):
    """(id, horizontal factor, vertical factor, quantization table) of each component."""
    body = frame.payload[6:]
    return [(body[at], body[at + 1] >> 4, body[at + 1] & 15, body[at + 2]) for at in range(0, len(body), 3)]


def frame(marker, width, height, listed, precision=8):
    body = b"".join(bytes([number, h << 4 | v, table]) for number, h, v, table in listed)
    return Part(marker, struct.pack(">BHHB", precision, height, width, len(listed)) + body)


def rename(parts, ids):
    """Gives the components other ids, in the frame and in all scans."""
    head = frame_of(parts)
    old = [number for number, *_ in components(head)]
    body = bytearray(head.payload)
    for place, number in enumerate(ids):
        body[6 + 3 * place] = number
    head.payload = bytes(body)
    new = dict(zip(old, ids))
    for part in parts:
        if part.marker == SOS:
            body = bytearray(part.payload)
            for place in range(body[0]):
                body[1 + 2 * place] = new[body[1 + 2 * place]]
            part.payload = bytes(body)


def jfif(length=14):
    return Part(APP0, b"JFIF\0\1\1\0\0\1\0\1\0\0"[:length].ljust(length, b"\0"))


def adobe(transform, length=12):
    return Part(APP14, (b"Adobe\0\x64\0\0\0\0" + bytes([transform]))[:length].ljust(length, b"\0"))
