"""Who takes part in which recipe, with which settings, and what of it is not the same work."""

import os
from dataclasses import dataclass, field
from typing import Dict, Optional, Tuple

import recipes

HERE = os.path.dirname(os.path.abspath(__file__))


@dataclass(frozen=True)
class Cell:
    """One recipe with one loader: what becomes a row."""

    recipe: str
    # One for each loader, or way to use it, in a recipe.
    name: str
    variant: str
    batch: int
    note: str
    command: Tuple[str, ...]
    # The version, where the program does not get as far as saying it.
    version: str = ""
    # Why it cannot run here; it becomes a row with this reason.
    missing: Optional[str] = None


@dataclass(frozen=True)
class Rival:
    """A script with one of its ways to do some recipes."""

    name: str
    variant: str
    script: str
    package: str
    letters: str
    # What is not gpufeed's work in all recipes, and in one of them.
    note: str = ""
    notes: Dict[str, str] = field(default_factory=dict)
    arguments: Tuple[str, ...] = ()
    # Needs an NVIDIA GPU.
    gpu: bool = False
    # Measured only with `--all-ways`: another way to do what a row does already.
    extra: bool = False

    def note_on(self, letter):
        return "; ".join(filter(None, (self.notes.get(letter), self.note)))


def both(one, other):
    return {letter: "; ".join(filter(None, (one.get(letter), other.get(letter)))) for letter in {**one, **other}}


def each(letters, note):
    return dict.fromkeys(letters, note)


UINT8 = {**each("A", "uint8 until Normalize"), **each("BCDE", "uint8 arithmetic for colours")}
IN_MEMORY = {"F": "decodes bytes in memory, in threads"}
NO_ANTIALIAS = each("ABCD", "OpenCV's INTER_LINEAR does not antialias")
ONE_BY_ONE = {"G": "one image at a time"}
FIXED = each("BCDE", "uint8 arithmetic for colours, contrast about a fixed centre, fixed order of the steps")
WINDOW = each("BC", "resizes only the window that the crop leaves")
ONE_ORDER = {
    "A": "RandomResizedCrop on each picture in the processes, without antialias",
    **each("BCD", "torchvision decodes and resizes; one order of the colour steps a batch"),
    "E": "one order of the colour steps a batch",
}

TORCHVISION, DALI = ("torchvision_v2.py", "torchvision"), ("dali.py", "nvidia-dali-cuda130")
ALBUMENTATIONS, KORNIA = ("albumentations_.py", "albumentations"), ("kornia_.py", "kornia")
STEADY = "queues stay full between epochs; no copy into torch's tensors"
ON_GPU = "batches stay on the GPU"

RIVALS = (
    Rival("gpufeed, Python", "torch tensors", "gpufeed_python.py", "gpufeed", "ABCDEGHIKLM"),
    Rival(
        "gpufeed, data set in Python",
        "torch tensors",
        "gpufeed_python.py",
        "gpufeed",
        "A",
        "the files are read by `__getitem__`",
        arguments=("--variant", "data set in Python"),
        extra=True,
    ),
    Rival(
        "torchvision v2", "DataLoader, tensors", *TORCHVISION, "ABCDEFGHIKLM", notes={**UINT8, **IN_MEMORY, **ONE_BY_ONE}
    ),
    Rival(
        "torchvision v2, PIL",
        "DataLoader, Pillow's images",
        *TORCHVISION,
        "HIKLM",
        "Pillow's arithmetic",
        arguments=("--variant", "PIL"),
    ),
    Rival(
        "torch, whole batch",
        "threads",
        *TORCHVISION,
        "G",
        "by hand, with plain torch operators on the resident set",
        arguments=("--variant", "whole batch"),
    ),
    Rival("DALI CPU", "CPU pipeline", *DALI, "ABCDEFG", STEADY, both(WINDOW, FIXED)),
    Rival(
        "DALI CPU, crop after resize", "CPU pipeline", *DALI, "BC", STEADY, FIXED, ("--variant", "plain"), extra=True
    ),
    Rival("DALI GPU", "GPU pipeline", *DALI, "ABCDEFG", ON_GPU, both(WINDOW, FIXED), ("--device", "gpu"), gpu=True),
    Rival(
        "Albumentations",
        "DataLoader, INTER_LINEAR",
        *ALBUMENTATIONS,
        "ABCDEFG",
        notes={
            **both(UINT8, NO_ANTIALIAS),
            **IN_MEMORY,
            **ONE_BY_ONE,
            "B": "uint8 arithmetic; RandomBrightnessContrast adds brightness, contrast about 0; " + NO_ANTIALIAS["B"],
        },
    ),
    Rival(
        "Albumentations, antialiased",
        "DataLoader, INTER_AREA",
        *ALBUMENTATIONS,
        "ABCD",
        "INTER_AREA where it reduces",
        UINT8,
        ("--variant", "area"),
        extra=True,
    ),
    Rival("Kornia", "DataLoader, batch on the CPU", *KORNIA, "ABCDEG", notes=ONE_ORDER),
    Rival("Kornia", "threads", *KORNIA, "F", "kornia-rs, which decodes for kornia.io; bytes in memory"),
    Rival(
        "Kornia GPU",
        "DataLoader, batch on the GPU",
        *KORNIA,
        "ABCDEG",
        ON_GPU,
        ONE_ORDER,
        ("--device", "gpu"),
        gpu=True,
    ),
)


def batch_size(letter, asked):
    """Small images come in larger batches, whatever is asked for."""
    own = recipes.ALL[letter].batch
    return asked if own == recipes.Recipe.batch else own


def pinned(package):
    """The version that requirements.txt asks for."""
    with open(os.path.join(HERE, "requirements.txt"), encoding="utf-8") as file:
        for line in file:
            name, _, version = line.strip().partition("==")
            if name == package:
                return version
    return ""


def rivals(letters, python, sets, workers, batch, seconds, no_gpu, missing, all_ways=False):
    """The rivals' cells. `sets`: arguments that name the data; `no_gpu`: why no GPU can be used, or None; `missing`: by
    letter, why a recipe cannot run."""
    cells = []
    for rival in RIVALS:
        if rival.extra and not all_ways:
            continue
        for letter in (letter for letter in letters if letter in rival.letters):
            size = batch_size(letter, batch)
            command = (python, os.path.join(HERE, rival.script), "--recipe", letter, *rival.arguments, *sets)
            command += ("--workers", str(workers), "--batch", str(size), "--seconds", str(seconds))
            reason = f"not measured: {no_gpu}" if rival.gpu and no_gpu else missing.get(letter)
            cells.append(
                Cell(
                    letter,
                    rival.name,
                    rival.variant,
                    size,
                    rival.note_on(letter),
                    command,
                    pinned(rival.package),
                    reason,
                )
            )
    return cells
