"""Writes the archives beside it as their users have them, by Python's tarfile and py-lmdb: `python3 tests/archives/generate.py`.

Needs Pillow and lmdb. All hold the same five samples, the LMDBs those four whose label is a class; `expected.json` has their keys, labels and the
SHA-256 of their images.
"""

import hashlib
import io
import json
import pathlib
import tarfile

import lmdb
from PIL import Image

HERE = pathlib.Path(__file__).parent
LONG = "a-folder-of-many-letters/" * 7 + "photograph-000003"


def image(number, kind):
    picture = Image.new("RGB", (12 + number, 9))
    picture.putdata([((x * 20) % 256, (y * 25) % 256, number * 40) for y in range(9) for x in range(12 + number)])
    out = io.BytesIO()
    picture.save(out, kind)
    return out.getvalue()


# Key, members by extension, label.
SAMPLES = [
    ("000000", {"jpg": image(0, "JPEG"), "cls": b"2"}, 2),
    ("train/000001", {"PNG": image(1, "PNG"), "json": json.dumps({"label": 1, "caption": "a wug"}).encode()}, 1),
    ("../../etc/000002", {"webp": image(2, "WEBP"), "txt": b"a caption, no label", "cls": b"0\n"}, 0),
    (LONG, {"left.npy": b"\x93NUMPY", "bmp": image(3, "BMP"), "json": json.dumps([0.25, 1, 0]).encode()}, [0.25, 1, 0]),
    ("Käse/000004", {"jpg": image(4, "JPEG"), "txt": b"1"}, 1),
]


def write(name, flavour):
    with tarfile.open(HERE / name, "w", format=flavour) as archive:

        def add(member, content, kind=tarfile.REGTYPE):
            info = tarfile.TarInfo(member)
            info.size, info.type = len(content), kind
            archive.addfile(info, io.BytesIO(content))

        add("train", b"", tarfile.DIRTYPE)
        add("README", b"five samples")
        add("classes.txt", b"cat\ndog\nwug\n")
        for key, members, _ in SAMPLES:
            for extension, content in members.items():
                add(f"{key}.{extension}", content)
        add("._000000.jpg", b"what macOS leaves")


write("gnu.tar", tarfile.GNU_FORMAT)
write("pax.tar", tarfile.PAX_FORMAT)


def write_lmdb(name, pairs):
    path = HERE / name
    path.unlink(missing_ok=True)
    with lmdb.open(str(path), map_size=1 << 40, subdir=False, lock=False) as env:
        with env.begin(write=True) as transaction:
            for key, value in pairs:
                transaction.put(key, value)


expected, images = [], []
for key, members, label in SAMPLES:
    content = next(members[kind] for kind in ("jpg", "PNG", "webp", "bmp") if kind in members)
    if isinstance(label, int):
        images.append((content, label))
    expected.append({"key": key, "label": label, "sha256": hashlib.sha256(content).hexdigest()})
(HERE / "expected.json").write_text(json.dumps(expected, indent=1, ensure_ascii=False) + "\n")
numbered = [(b"num-samples", b"%d" % len(images))]
for number, (content, label) in enumerate(images, 1):
    numbered += [(b"image-%09d" % number, content), (b"label-%09d" % number, b"%d" % label)]
write_lmdb("numbered.mdb", numbered)
with_class = [(b"%08d" % number, label.to_bytes(4, "little") + content) for number, (content, label) in enumerate(images)]
write_lmdb("class_and_image.mdb", with_class + [(b"__len__", b"4")])
