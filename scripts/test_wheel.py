"""Tests an installed wheel of gpufeed with nothing but Python's standard library: loads an epoch, and compares its
labels and pixels with the files. scripts/wheels.sh runs this script for each wheel.

python -I scripts/test_wheel.py VERSION     VERSION: what gpufeed.__version__ must be
"""

import ctypes
import importlib.util
import sys
import tempfile
from pathlib import Path

import gpufeed

COLOURS = {"cats": (255, 0, 0), "dogs": (0, 128, 255)}
RECIPE = {"transform": [{"type": "CenterCrop", "size": 6}], "semantics": "Uint8", "output": {"layout": "Nchw", "dtype": "U8"}}


def content(array: gpufeed.Array) -> bytes:
    return ctypes.string_at(array.data_ptr, array.nbytes)


def main(version: str) -> None:
    assert gpufeed.__version__ == version, f"the package says that it is {gpufeed.__version__}, the wheel's name {version}"
    for name in ("numpy", "torch"):
        assert importlib.util.find_spec(name) is None, f"{name} is installed: this check wants an environment without it"
    with tempfile.TemporaryDirectory() as folder:
        for name, colour in COLOURS.items():
            (Path(folder) / name).mkdir()
            for number in range(3):
                (Path(folder) / name / f"{number}.ppm").write_bytes(b"P6 8 8 255\n" + bytes(colour) * 64)
        loader = gpufeed.DataLoader(folder, recipe=RECIPE, batch_size=4, shuffle=True, seed=7, backend="cpu")
        labels = pixels = b""
        for batch in loader.batches():
            assert not batch.failures, [failure.error for failure in batch.failures]
            labels += content(batch.labels)[::8]  # the lowest byte of each label, an int64
            pixels += content(batch.images)
    assert sorted(labels) == [0, 0, 0, 1, 1, 1], list(labels)
    colours = list(COLOURS.values())
    wanted = b"".join(bytes([value]) * 36 for label in labels for value in colours[label])
    assert pixels == wanted, "the images of the epoch have other pixels than the files"
    print(f"gpufeed {version} on Python {sys.version.split()[0]}: an epoch of {len(labels)} images")


main(*sys.argv[1:])
