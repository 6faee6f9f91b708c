"""What every rival's process does: build, a warm-up epoch that is checked, whole epochs until enough seconds have
passed, then one line `RESULT {json}`. A rival's script defines `build(arguments, recipe)` and calls `main`.
"""

import argparse
import importlib.metadata
import json
import os
import sys
import time
from dataclasses import dataclass
from typing import Any, Callable, Iterator

import data
import measure
import recipes

# A single epoch would hide how the queues fill and empty.
LEAST_EPOCHS = 2


@dataclass
class Peer:
    # One pass over the data; each item is a batch.
    epoch: Callable[[], Iterator[Any]]
    # A batch as NumPy arrays: one for the batch, for recipe F one for each picture.
    arrays: Callable[[Any], list]
    # How many images a batch holds.
    count: Callable[[Any], int] = len
    # Waits until the device has done what was asked for.
    finish: Callable[[], None] = lambda: None


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--recipe", required=True, choices=list(recipes.ALL))
    parser.add_argument("--variant", default="")
    parser.add_argument("--device", default="cpu", choices=["cpu", "gpu"])
    parser.add_argument("--workers", type=int, required=True)
    parser.add_argument("--batch", type=int, required=True)
    parser.add_argument("--data", required=True, help="the folder with JPEG files")
    parser.add_argument("--resident", help="uint8 (64, 384, 384, 3), for recipe E")
    parser.add_argument("--small", help="uint8 (50000, 32, 32, 3), for recipe G")
    parser.add_argument("--seconds", type=float, required=True)
    return parser.parse_args()


def resident(arguments):
    """Recipe E's pictures: uint8 (n, height, width, 3)."""
    import numpy

    return numpy.load(arguments.resident)


def small(arguments):
    """Recipe G's pictures: uint8 (n, height, width, 3)."""
    import numpy

    return numpy.load(arguments.small)


def encoded(arguments):
    """Recipe F's files as bytes. Names that share a file share its bytes."""
    held = {}
    for path in data.files(arguments.data):
        key = os.stat(path).st_ino
        if key not in held:
            with open(path, "rb") as file:
                held[key] = file.read()
        yield held[key]


def labels(paths):
    """The class of each file, by the name of its folder."""
    folders = [os.path.dirname(path) for path in paths]
    place = {folder: i for i, folder in enumerate(sorted(set(folders)))}
    return [place[folder] for folder in folders]


def decode_in_threads(arguments, decode):
    """Recipe F: `workers` threads decode what lies in memory; a batch is a list of pictures."""
    from concurrent.futures import ThreadPoolExecutor

    files = list(encoded(arguments))
    pool = ThreadPoolExecutor(arguments.workers)
    # A few files a task: the pool's own locks would count otherwise.
    step = 8
    chunks = [files[i : i + step] for i in range(0, len(files), step)]

    def epoch():
        yield from pool.map(lambda chunk: [decode(file) for file in chunk], chunks)

    return epoch


def check(recipe, peer, batch, before):
    """Fails where the batch is not what the recipe makes, or the same as another; returns its sum."""
    for array in peer.arrays(batch):
        low, high, mean = float(array.min()), float(array.max()), float(array.mean(dtype="float64"))
        fault = recipes.wrong(recipe, array.shape, str(array.dtype), array.flags["C_CONTIGUOUS"], low, high, mean)
        if fault:
            raise ValueError(f"recipe {recipe.letter}: {fault}")
        total = mean * array.size
        if total == before and recipe.side is not None:
            raise ValueError(f"recipe {recipe.letter}: two batches are the same: nothing is random")
    return total


def version(package):
    return importlib.metadata.version(package)


def run(peer, recipe, seconds):
    images, before = 0, None
    for number, batch in enumerate(peer.epoch()):
        if number < 2:
            before = check(recipe, peer, batch, before)
        images += peer.count(batch)
        # DataLoader's memory goes back before the next batch is asked for.
        del batch
    peer.finish()
    if before is None:
        raise ValueError("no batch")
    expected, images, epochs = images, 0, 0
    own, system, start = measure.cpu_seconds(), measure.system_cpu_seconds(), time.perf_counter()
    while epochs < LEAST_EPOCHS or time.perf_counter() - start < seconds:
        for batch in peer.epoch():
            images += peer.count(batch)
            del batch
        epochs += 1
    peer.finish()
    wall = time.perf_counter() - start
    if images != epochs * expected:
        raise ValueError(f"{images} images in {epochs} epochs of {expected}")
    result = {"images_per_s": images / wall, "images": images, "epochs": epochs, "cpu_ms_per_image": None}
    if own is not None:
        own, system = measure.cpu_seconds() - own, measure.system_cpu_seconds() - system
        result["cpu_ms_per_image"] = 1e3 * own / images
        result["other_cores_busy"] = max(0.0, system - own) / wall
    return result


def main(build, package, others=()):
    given = arguments()
    recipe = recipes.ALL[given.recipe]
    versions = ", ".join(f"{name} {version(name)}" for name in others)
    result = run(build(given, recipe), recipe, given.seconds)
    result["version"] = version(package) + (f" ({versions})" if versions else "")
    print("RESULT " + json.dumps(result), flush=True)
    sys.stderr.flush()
    # Some libraries hang or crash while the interpreter shuts down; what was to be measured is measured.
    os._exit(0)
