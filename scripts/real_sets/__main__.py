#!/usr/bin/env python3
"""Draws data sets as the programs of others write them, and what WebDataset and `datasets` read of them.

    python scripts/real_sets FOLDER [--samples N]     FOLDER is emptied; N samples of img2dataset's shards (10,000), and fewer of the other sets;
                                                      fewer than 100 make small pictures, as tests/real_sets has them

`pictures.py` draws images and captions, `tar_sets.py` the sets of tar shards, `table_sets.py` those of COCO and of Parquet
files. `truth.py` reads them by the other libraries and writes truth.json, which the tests of Rust, of Python and
`command.py` compare with. `scripts/test-real-sets.sh` makes the environment and runs them all.
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

import datasets

import table_sets
import tar_sets
import truth
from pictures import Pictures


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--samples", type=int, default=10_000)
    given = parser.parse_args()
    folder, samples = given.folder.resolve(), given.samples
    datasets.disable_progress_bars()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    pictures = Pictures((64, 48) if samples >= 100 else (32, 24))
    tar_sets.img2dataset(folder / "img2dataset", pictures, samples)
    tar_sets.rig(folder / "rig", pictures, max(samples // 20, 5))
    table_sets.coco(folder / "coco", pictures, max(samples // 20, 5))
    table_sets.captions(folder / "captions", pictures, max(samples // 5, 8))
    table_sets.pairs(folder / "pairs", pictures, max(samples // 10, 6))
    for each in truth.write(folder, pictures.size):
        print(f"{each['name']}: {len(each['samples'])} samples, {', '.join(each['kinds'])}; read by {each['read_by']}")


if __name__ == "__main__":
    main()
