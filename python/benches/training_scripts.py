#!/usr/bin/env python3
"""Training scripts of others with gpufeed in the place of torch's loader: what changes in them, their loss curves for 1 and 4 workers, and
the rates of their loaders. Needs the release wheel, torch, torchvision and timm.

    python benches/training_scripts.py --timm TRAIN.PY --references FOLDER [--photos FOLDER] [--rounds N]

TRAIN.PY is timm's train.py, of https://github.com/huggingface/pytorch-image-models, and FOLDER references/classification of
https://github.com/pytorch/vision; neither is a part of this project. The third script is scripts/dino_loop.py. Each runs on the CPU for two
epochs of 500 drawn images. What is printed is the log that benches/results/training-scripts.md has.

Rates are of the loaders alone, as the scripts make them with their own settings, two workers, by turns; on photographs of --photos, a
folder of class folders, and without it on drawn ones of 500x375. "gpufeed" and "torch" are images a second, the medians; the ratio is the
median of the rounds', with the least and the greatest.
"""

from __future__ import annotations

import argparse
import csv
import difflib
import importlib.util
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "tests"))

from pictures import jpeg  # noqa: E402

DINO = HERE / "scripts" / "dino_loop.py"
IMAGES, CLASSES, WORKERS = 500, 10, (1, 4)

# Each script by the lines that change in it.
CHANGES = {
    "timm": [("    Mixup, FastCollateMixup, AugMixDataset\n", "    Mixup, FastCollateMixup, AugMixDataset\nfrom gpufeed.timm_compat import create_loader\n")],
    "references": [
        ("import torch.utils.data\n", "import torch.utils.data, gpufeed.torch_compat\n"),
        ("    data_loader = torch.utils.data.DataLoader(\n", "    data_loader = gpufeed.torch_compat.DataLoader(\n"),
        ("    data_loader_test = torch.utils.data.DataLoader(\n", "    data_loader_test = gpufeed.torch_compat.DataLoader(\n"),
    ],
    "dino_loop": [("from torch.utils.data import DataLoader\n", "from gpufeed.torch_compat import DataLoader\n")],
}

# The arguments of each script, for a folder of data, a number of workers and a folder for what it writes.
ARGUMENTS: dict[str, Callable[[str, int, str], list[str]]] = {
    "timm": lambda data, workers, out: (
        f"--data-dir {data} --train-split train --val-split val --model resnet10t --num-classes {CLASSES} --input-size 3 64 64 --batch-size 50 "
        f"--epochs 2 --sched-on-updates --aa rand-m9-mstd0.5-inc1 --mixup 0.8 --cutmix 1.0 --smoothing 0.1 --reprob 0.25 --remode pixel "
        f"--workers {workers} --device cpu --log-interval 1 --seed 42 --output {out} --train-interpolation random --lr 0.01"
    ).split(),
    "references": lambda data, workers, out: (
        f"--data-path {data} --model mobilenet_v3_small --device cpu --batch-size 50 --epochs 2 --workers {workers} --print-freq 1 --lr 0.01 "
        "--train-crop-size 64 --val-resize-size 72 --val-crop-size 64 --auto-augment ta_wide --random-erase 0.1 --mixup-alpha 0.2 "
        "--cutmix-alpha 1.0 --label-smoothing 0.1"
    ).split(),
    "dino_loop": lambda data, workers, out: f"{data}/train --workers {workers}".split(),
}

# Runs a script as it is, with torch's random numbers from a seed and on one thread. torchvision's has no argument for either.
RUNNER = (
    "import os, runpy, sys, random, numpy, torch; random.seed(0); numpy.random.seed(0); torch.manual_seed(0); torch.set_num_threads(1); "
    "sys.argv = sys.argv[1:]; sys.path.insert(0, os.path.dirname(sys.argv[0])); runpy.run_path(sys.argv[0], run_name='__main__')"
)
_LOSS = re.compile(r"[Ll]oss: ([0-9.]+)")


def draw(folder: Path, per_class: int, width: int, height: int, first: int = 0) -> None:
    for number in range(CLASSES * per_class):
        under = folder / f"class-{number % CLASSES}"
        under.mkdir(parents=True, exist_ok=True)
        (under / f"{number:05}.jpg").write_bytes(jpeg(first + number, width, height))


def changed(name: str, script: Path, under: Path) -> tuple[Path, list[str]]:
    """Writes a script with its changed lines beside copies of the files next to it. Returns its path and the lines that differ."""
    before = script.read_text()
    after = before
    for old, new in CHANGES[name]:
        if after.count(old) != 1:
            raise SystemExit(f"{script}: {after.count(old)} lines {old.strip()!r}, and one is expected")
        after = after.replace(old, new)
    folder = under / name
    folder.mkdir()
    for other in script.parent.glob("*.py"):
        (folder / other.name).write_text(other.read_text())
    (folder / script.name).write_text(after)
    lines = [line for line in difflib.unified_diff(before.splitlines(), after.splitlines(), n=0, lineterm="") if line[0] in "+-"]
    return folder / script.name, lines[2:]


def losses(name: str, script: Path, data: Path, workers: int, under: Path) -> tuple[list[str], list[str]]:
    """Runs a script. Returns the loss of each step, as it prints them, and what gpufeed warns of."""
    command = [sys.executable, "-c", RUNNER, str(script), *ARGUMENTS[name](str(data), workers, str(under / f"{name}-{workers}"))]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "GPUFEED_BACKEND": "cpu"}, check=False, cwd=under)
    said = done.stdout + done.stderr
    if done.returncode != 0:
        raise SystemExit(f"{name} with {workers} workers ended with {done.returncode}:\n{said[-4000:]}")
    steps = [line for line in said.splitlines() if _LOSS.search(line) and not re.search(r"\bTest\b", line)]
    found = [_LOSS.findall(line)[0] for line in steps]
    # timm prints three digits of a step's loss, and writes all of an epoch's, of training and of validation.
    for summary in (under / f"{name}-{workers}").glob("*/summary.csv"):
        with summary.open() as rows:
            found += [row[column] for row in csv.DictReader(rows) for column in ("train_loss", "eval_loss")]
    warned = [line.strip() for line in said.splitlines() if "gpufeed:" in line]
    return found, [*dict.fromkeys(warned)]


def run_scripts(scripts: dict[str, Path], under: Path) -> bool:
    """Runs each script with 1 and with 4 workers. Returns True if their losses are the same."""
    data = under / "data"
    draw(data / "train", IMAGES // CLASSES, 120, 90)
    draw(data / "val", 5, 120, 90, IMAGES)
    equal = True
    for name, script in scripts.items():
        path, lines = changed(name, script, under)
        print(f"\n## {name}: {script.name}\n\n```diff")
        print(*lines, sep="\n")
        print("```\n\n`" + " ".join([script.name, *ARGUMENTS[name]("DATA", WORKERS[0], "OUT")]) + "`\n", flush=True)
        curves = {}
        for workers in WORKERS:
            began = time.perf_counter()
            curves[workers], warned = losses(name, path, data, workers, under)
            print(f"{workers} workers, {time.perf_counter() - began:.0f} s, {len(curves[workers])} losses: {' '.join(curves[workers])}\n", flush=True)
        for line in warned:
            print(f"    {line}")
        same = curves[WORKERS[0]] == curves[WORKERS[1]] and len(curves[WORKERS[0]]) >= 2 * (IMAGES // 50)
        equal = equal and same
        print(f"\nThe losses are {'equal' if same else 'DIFFERENT'}.", flush=True)
    return equal


def loaded(name: str, path: Path) -> Any:
    """Imports a file."""
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # As an import does: what looks at classes finds their module here.
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def pairs(scripts: dict[str, Path], folder: str, workers: int) -> dict[str, tuple[Callable[[], Any], Callable[[], Any]]]:
    """What makes the loader of each script, gpufeed's and torch's."""
    import timm.data
    import torch
    from torchvision.datasets import ImageFolder

    from gpufeed import timm_compat, torch_compat

    def of_timm(create: Callable[..., Any], **given: Any) -> Any:
        return create(
            timm.data.create_dataset("", folder, search_split=False),
            (3, 224, 224),
            64,
            is_training=True,
            num_workers=workers,
            device=torch.device("cpu"),
            pin_memory=False,
            persistent_workers=False,
            **given,
        )

    deit = {"auto_augment": "rand-m9-mstd0.5-inc1", "interpolation": "bicubic", "re_prob": 0.25, "re_mode": "pixel"}
    both: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {}
    for name, given in (("timm, train.py's defaults", {}), ("timm, DeiT's arguments", deit)):
        both[name] = (lambda given=given: of_timm(timm_compat.create_loader, **given), lambda given=given: of_timm(timm.data.create_loader, **given))
    presets = loaded("presets", scripts["references"].parent / "presets.py")
    for name, policy in (("references, defaults", None), ("references, --auto-augment ta_wide --random-erase 0.1", "ta_wide")):
        preset = presets.ClassificationPresetTrain(crop_size=224, auto_augment_policy=policy, random_erase_prob=0.1 if policy else 0.0)
        data = ImageFolder(folder, preset)
        given = {"batch_size": 32, "shuffle": True, "num_workers": workers}
        both[name] = (
            lambda data=data, given=given: torch_compat.DataLoader(data, **given),
            lambda data=data, given=given: torch.utils.data.DataLoader(data, **given),
        )
    theirs = loaded("dino_theirs", DINO)
    ours = loaded("dino_ours", DINO)
    ours.DataLoader = torch_compat.DataLoader
    both["dino_loop, DINO's crops"] = (lambda: ours.loader(folder, 32, workers), lambda: theirs.loader(folder, 32, workers))
    return both


def rate(loader: Any) -> float:
    """Images a second of an epoch, its start included."""
    began, count = time.perf_counter(), 0
    for images, _ in loader:
        count += len(images[0]) if isinstance(images, list) else len(images)
    return count / (time.perf_counter() - began)


def run_rates(scripts: dict[str, Path], folder: str, rounds: int, workers: int) -> None:
    print(f"\n## Rates of the loaders alone, {workers} workers, {rounds} rounds by turns\n")
    print("| loader | gpufeed | torch | ratio |\n|---|---|---|---|", flush=True)
    for name, makers in pairs(scripts, folder, workers).items():
        loaders = [make() for make in makers]
        for loader in loaders:
            rate(loader)
        found: list[list[float]] = [[], []]
        for number in range(rounds):
            for which in (0, 1) if number % 2 == 0 else (1, 0):
                found[which].append(rate(loaders[which]))
        ratios = sorted(a / b for a, b in zip(*found))
        middle = [statistics.median(each) for each in found]
        print(f"| {name} | {middle[0]:.0f} | {middle[1]:.0f} | {statistics.median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f}) |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--timm", type=Path, required=True)
    parser.add_argument("--references", type=Path, required=True)
    parser.add_argument("--photos")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--part", choices=["scripts", "rates", "all"], default="all")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    scripts = {"timm": args.timm, "references": args.references / "train.py", "dino_loop": DINO}
    equal = True
    with tempfile.TemporaryDirectory() as under:
        if args.part != "rates":
            equal = run_scripts(scripts, Path(under))
        if args.part != "scripts":
            folder = args.photos
            if folder is None:
                draw(Path(under) / "photos", 25, 500, 375)
                folder = str(Path(under) / "photos")
            run_rates(scripts, folder, args.rounds, args.workers)
    raise SystemExit(0 if equal else "the losses differ")


if __name__ == "__main__":
    main()
