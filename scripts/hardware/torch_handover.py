"""Batches that stay on the card: torch has them by CUDA, as gpufeed's shaders wrote them. Are they whole, and what do they cost?

    python torch_handover.py FOLDER [--hand-overs 2000] [--loaders 20] [--seconds 4] [--device cuda] [--model resnet50] [--backend gpu]

1. The bits of batches of several kinds are those of batches that are read back.
2. Batches whose pixels are their numbers, read late on three streams and kept for a random time, are read whole. How many a
   reader sees torn that gives each back before it has read it says whether this would be seen.
3. Images from a cache, which nothing decodes: microseconds and GB/s of a batch that is handed over, of one that is copied through
   the host, and of one that the CPU makes and that is copied ahead.
4. How much longer a training step takes behind each of the three: waiting, and the shaders' share of the card.
5. Loaders that end in the middle leave no file handle behind. The program itself ends with a batch alive.

Prints lines `RESULT {json}`.
"""

from __future__ import annotations

import argparse
import gc
import os
import random
import time
from typing import Any, Callable, Dict, List, Tuple

import numpy
import torch
from torchvision.transforms import v2

import gpufeed
import torch_rates
from gpufeed import handed_over
from torch_loader import training_step
from torch_rates import MEAN, STD

HANDED_OVER = "handed over on the GPU"
SIDE, PICTURES = 12, 64
# Pixels of the side of images that are measured.
SIZE = 224
CROP = [v2.RandomCrop(32), v2.RandomHorizontalFlip(), v2.ColorJitter(0.4, 0.4)]
NORMALIZE = [v2.ToImage(), v2.ToDtype(torch.float32, scale=True), v2.Normalize(MEAN, STD)]
# Kinds of batches: a name, the transforms, and the settings.
KINDS: Tuple[Tuple[str, List[Any], Dict[str, Any]], ...] = (
    ("f32", [*CROP, *NORMALIZE], {}),
    ("f16", [*CROP, *NORMALIZE], {"dtype": "float16"}),
    ("bf16 nhwc", [*CROP, *NORMALIZE], {"dtype": "bfloat16", "layout": "nhwc"}),
    ("u8 channels_last", CROP, {"dtype": "uint8", "channels_last": True}),
    ("two views", [*CROP, *NORMALIZE], {"views": 2}),
    ("cache on the card", [*CROP, *NORMALIZE], {"cache": "device:64M"}),
    ("normalized by torch", [*CROP, *NORMALIZE], {"normalize_on_device": True}),
)
# The loaders that are measured: a name, and their settings.
PATHS: Tuple[Tuple[str, Dict[str, Any]], ...] = (
    ("handed over", {"handover": True}),
    ("copied through the host", {"handover": False}),
    ("by the CPU, copied ahead", {"backend": "cpu"}),
)
# The most cycles that a stream sleeps before it reads one of eight batches: about 25 ms.
LATE = 50_000_000


def numbered(count: int = PICTURES) -> List[Tuple[Any, int]]:
    """Pictures whose pixels are their numbers."""
    return [(numpy.full((SIDE, SIDE, 3), number, numpy.uint8), number % 10) for number in range(count)]


def loader(data: Any, transforms: List[Any], **settings: Any) -> gpufeed.DataLoader:
    given = {"batch_size": 8, "seed": 3, "execute": "auto" if settings.get("backend") == "cpu" else "gpu", **settings}
    return gpufeed.DataLoader(data, transforms, **given)


def bits(device: str, backend: str, differing: List[str]) -> int:
    """Compares two epochs of each kind with batches that are read back; adds the names of those that differ."""
    numbers = numpy.random.default_rng(0)
    pictures = [(numbers.integers(0, 256, (40, 40, 3), numpy.uint8), number % 10) for number in range(24)]
    for name, transforms, settings in KINDS:
        given = {**settings, "backend": backend, "shuffle": True}
        with loader(pictures, transforms, device=device, **given) as ours:
            found = [[tensor.clone() for tensor in batch] for _ in range(2) for batch in ours]
            said = ours.stats()["handover"]
        with loader(pictures, transforms, device=device, handover=False, **given) as theirs:
            wanted = [[tensor.clone() for tensor in batch] for _ in range(2) for batch in theirs]
        equal = len(found) == len(wanted) > 0 and all(
            mine.dtype == other.dtype and mine.stride() == other.stride() and torch.equal(mine, other)
            for one, two in zip(found, wanted)
            for mine, other in zip(one, two)
        )
        if not equal or said != HANDED_OVER:
            differing.append(name if said == HANDED_OVER else f"{name}: {said}")
    return len(KINDS)


def torn(device: str, backend: str, hand_overs: int, waits: bool = True) -> int:
    """Returns how many of so many batches were not whole when a late consumer read them. The control, which does not wait, gives
    each back before its readers have ended."""
    dice = random.Random(3)
    streams = [torch.cuda.Stream(device) for _ in range(3)]
    other = torch.cuda.Stream(device)
    held: List[Tuple[torch.Tensor, Any]] = []
    wrong: List[torch.Tensor] = []

    def give_back(place: int) -> None:
        tensor, stream = held.pop(place)
        # Freed while the stream may not have come to the kernel yet.
        with torch.cuda.stream(stream if waits else other):
            del tensor

    with loader(numbered(), [v2.RandomCrop(8)], device=device, backend=backend, dtype="uint8") as made:
        while len(wrong) < hand_overs:
            for batch in made.batches():
                stream = dice.choice(streams)
                ids = torch.tensor(batch.ids, dtype=torch.uint8)
                with torch.cuda.stream(stream):
                    tensor = torch.from_dlpack(batch.images)
                    if tensor.is_cuda:
                        # A copy of memory that is not pinned would wait for the stream.
                        ids = ids.pin_memory().to(tensor.device, non_blocking=True)
                    if dice.randrange(8) == 0:
                        torch.cuda._sleep(dice.randrange(LATE))
                    wrong.append((tensor != ids.view(-1, 1, 1, 1)).any())
                held.append((tensor, stream))
                del batch, tensor
                while len(held) > dice.randrange(3):
                    give_back(dice.randrange(len(held)))
        while held:
            give_back(0)
    torch.cuda.synchronize(device)
    return int(torch.stack(wrong).sum())


def torn_by_one_that_does_not_wait(device: str, backend: str, hand_overs: int) -> int:
    """The control of `torn`: nothing joins the streams that read a batch with the one on which it is given back."""
    join = handed_over._Use._join
    handed_over._Use._join = lambda use, current: None  # type: ignore[method-assign]
    try:
        return torn(device, backend, hand_overs, waits=False)
    finally:
        handed_over._Use._join = join  # type: ignore[method-assign]


def handles(device: str, backend: str, loaders: int) -> int:
    """Returns how many file handles so many loaders left open."""

    def one(number: int) -> None:
        made = loader(numbered(), [v2.RandomCrop(8)], device=device, backend=backend, dtype="uint8")
        batches = iter(made)
        kept = next(batches)
        if number % 2:
            made.close()
        assert kept[0].float().mean() >= 0

    def count() -> int:
        gc.collect()
        return len(os.listdir("/proc/self/fd"))

    for number in range(3):
        one(number)
    before = count()
    for number in range(loaders):
        one(number)
    until = time.monotonic() + 1
    # A thread may close one a little later.
    while count() > before and time.monotonic() < until:
        time.sleep(0.05)
    return count() - before


class Timed:
    """The host's time in the calls that take a batch and that give it back."""

    def __init__(self) -> None:
        self.seconds: List[float] = []
        for kind, name in ((handed_over.Importer, "hand_over"), (handed_over._Use, "drop")):
            setattr(kind, name, self._timed(getattr(kind, name)))

    def _timed(self, whole: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*arguments: Any) -> Any:
            began = time.perf_counter()
            try:
                return whole(*arguments)
            finally:
                self.seconds.append(time.perf_counter() - began)

        return timed

    def microseconds(self) -> float:
        """Both calls of a batch; the median passes over those that import a buffer."""
        half = sorted(self.seconds)
        return 2e6 * half[len(half) // 2] if half else 0.0


class Found:
    """What is known so far."""

    def __init__(self) -> None:
        self.says: List[str] = []
        self.failed: List[str] = []
        self.data: Dict[str, Any] = {}

    def add(self, said: str, failed: str = "", **data: Any) -> None:
        """Prints one more fact. `failed` names it, if it is a fault."""
        self.says.append(said)
        self.failed += [failed] if failed else []
        self.data.update(data)
        torch_rates.report(self.says, self.failed, self.data)


def checks(asked: argparse.Namespace, found: Found) -> None:
    device, backend = asked.device, asked.backend
    differing: List[str] = []
    compared = bits(device, backend, differing)
    said = f"{compared - len(differing)} of {compared} kinds of batches have the bits of those that are read back"
    found.add(said, "bits" if differing else "", differing=differing)
    wrong = torn(device, backend, asked.hand_overs)
    found.add(f"{wrong} of {asked.hand_overs} batches torn", "torn batches" if wrong else "", torn=wrong)
    seen = torn_by_one_that_does_not_wait(device, backend, asked.hand_overs // 4)
    found.add(f"{seen} of {asked.hand_overs // 4} by a reader that does not wait, the control", torn_control=seen)


def closes(asked: argparse.Namespace, found: Found) -> None:
    left = handles(asked.device, asked.backend, asked.loaders)
    found.add(f"{asked.loaders} loaders left {left} file handles", "file handles" if left > 0 else "", handles=left)


def costs(asked: argparse.Namespace, found: Found) -> None:
    """The time of a batch in a loop that does nothing else."""
    size = asked.batch_size
    timed = Timed()
    crop = [v2.RandomCrop(SIZE), v2.RandomHorizontalFlip(), *torch_rates.recipe()[2:]]
    edge = SIZE + 32
    pictures = [(numpy.full((edge, edge, 3), number, numpy.uint8), 0) for number in range(4 * size)]
    for name, settings in PATHS:
        cache = "host:8G" if settings.get("backend") == "cpu" else "device:2G"
        given = {"backend": asked.backend, "cache": cache, "shuffle": True, "batch_size": size, **settings}
        with loader(pictures, crop, device=asked.device, **given) as made:
            each = size / torch_rates.rate(torch_rates.endless(made), asked.seconds / 4, asked.device)
        row = {"microseconds": 1e6 * each, "gb_per_second": 4 * size * 3 * SIZE**2 / each / 1e9}
        said = f"{name}: {row['microseconds']:,.0f} µs a batch of {size} from a cache, {row['gb_per_second']:.1f} GB/s"
        if name == "handed over":
            row["host_microseconds"] = timed.microseconds()
            said += f", {timed.microseconds():.0f} µs of the host's for its calls"
        found.add(said, **{name: row})


def waits(asked: argparse.Namespace, found: Found, place: str) -> None:
    """How much longer a training step takes behind a folder of JPEGs."""
    step = training_step(asked.model, place)
    batch = torch.randn(asked.batch_size, 3, SIZE, SIZE, device=place)
    most = torch_rates.rate(iter(lambda: batch, None), asked.seconds / 2, asked.device, step)
    found.data["the step alone"] = most
    for name, settings in PATHS:
        given = {"backend": asked.backend, "shuffle": True, "batch_size": asked.batch_size, **settings}
        with loader(asked.folder, torch_rates.recipe(), device=asked.device, **given) as made:
            fed = torch_rates.rate(torch_rates.endless(made), asked.seconds / 2, asked.device, step)
        found.data[name]["longer"] = longer = most / fed - 1
        found.add(f"{asked.model}'s step, {name}: {fed:,.0f} images/s, a step takes {100 * longer:+.0f} %")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--hand-overs", type=int, default=2000)
    parser.add_argument("--loaders", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--model", default="resnet50")
    parser.add_argument("--batch-size", type=int, default=torch_rates.BATCH, help="of the batches that are timed")
    parser.add_argument("--backend", default="gpu", help="gpufeed's backend with shaders")
    asked = parser.parse_args()
    found = Found()
    kept = loader(numbered(), [v2.RandomCrop(8)], device=asked.device, backend=asked.backend, dtype="uint8")
    batch = next(iter(kept))
    said = kept.stats()["handover"]
    if said != HANDED_OVER:
        found.add(said, "hand-over")
        return
    explained = next(line for line in kept.explain().splitlines() if line.startswith("handed over: "))
    found.add(explained.rsplit(", ", 1)[-1], explain=explained)
    checks(asked, found)
    costs(asked, found)
    waits(asked, found, str(batch[0].device))
    closes(asked, found)
    # The interpreter ends with a batch alive.
    globals()["alive"] = kept, batch


if __name__ == "__main__":
    main()
