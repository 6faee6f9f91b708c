"""Tests an installed wheel of gpufeed with nothing but Python's standard library: loads an epoch, and compares its
labels and pixels with the files; then lets an interpreter end before a worker. scripts/wheels.sh runs this script for each
wheel.

python -I scripts/test_wheel.py VERSION     VERSION: what gpufeed.__version__ must be
"""

import ctypes
import importlib.util
import subprocess
import sys
import tempfile
from pathlib import Path

import gpufeed

COLOURS = {"cats": (255, 0, 0), "dogs": (0, 128, 255)}
RECIPE = {"transform": [{"type": "CenterCrop", "size": 6}], "semantics": "Uint8", "output": {"layout": "Nchw", "dtype": "U8"}}
# A worker waits inside the data set while the interpreter ends. CPython before 3.14 ends its thread by unwinding the stack,
# which crashes where the module was linked with another unwinder than glibc's.
ENDS_EARLY = """
import builtins, time, gpufeed

class Waits:
    def __len__(self):
        return 8

    def __getitem__(self, index):
        while index == 5:
            time.sleep(0.01)
        return b"P6 8 8 255\\n" + bytes(192), 0

class Late:
    def __del__(self, sleep=time.sleep):
        sleep(0.5)

loader = gpufeed.DataLoader(Waits(), recipe={recipe!r}, batch_size=2, workers=1, backend="cpu", exit_timeout=0.2)
batches = iter(loader.batches())
print(next(batches).ids)
time.sleep(0.5)
builtins.late = Late()
"""


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
    ended = subprocess.run([sys.executable, "-I", "-c", ENDS_EARLY.format(recipe=RECIPE)], timeout=60, capture_output=True, text=True)
    assert (ended.returncode, ended.stdout) == (0, "[0, 1]\n"), f"an interpreter that ends before a worker: {ended}"
    print(f"gpufeed {version} on Python {sys.version.split()[0]}: an epoch of {len(labels)} images")


main(*sys.argv[1:])
