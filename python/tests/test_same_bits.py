"""Batches in Python and those of ``examples/batches.rs``, a program in Rust, byte for byte."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy
import pytest

import gpufeed
from gpufeed import _gpufeed
from pictures import folder

STEPS: list[dict[str, Any]] = [
    {"type": "RandomResizedCrop", "size": 24},
    {"type": "RandomHorizontalFlip"},
    {"type": "ColorJitter", "brightness": 0.4, "contrast": 0.4, "saturation": 0.4, "hue": 0.1},
    {"type": "RandAugment"},
]
DTYPES = {"F32": "float32", "F16": "float16", "BF16": "bfloat16", "U8": "uint8"}


def program() -> list[str]:
    """The command of the program: built by ``scripts/test-python.sh``, or by cargo here, in a checkout."""
    if built := os.environ.get("GPUFEED_BATCHES"):
        return [built]
    manifest = Path(__file__).parents[1] / "Cargo.toml"
    if shutil.which("cargo") is None or not manifest.exists():
        pytest.skip("GPUFEED_BATCHES names no program, and there is no cargo to build examples/batches.rs")
    return ["cargo", "run", "--quiet", "--manifest-path", str(manifest), "--example", "batches", "--"]


@pytest.mark.parametrize("channels", [3, 1])
@pytest.mark.parametrize("semantics", ["Float", "Uint8"])
def test_batches_are_those_of_a_rust_program(tmp_path: Path, semantics: str, channels: int) -> None:
    command = program()
    data = folder(tmp_path / "data", count=17)
    steps = [*STEPS, {"type": "Grayscale", "num_output_channels": 1}] if channels == 1 else STEPS
    for (dtype, name), layout, views in itertools.product(DTYPES.items(), ("Nchw", "Nhwc"), (1, 2)):
        recipe: dict[str, Any] = {"semantics": semantics, "transform": steps}
        own = tmp_path / "recipe.toml"
        content = json.dumps(recipe | {"output": {"dtype": dtype, "layout": layout}})
        own.write_text(_gpufeed.recipe_toml(content))
        done = subprocess.run([*command, str(data), str(own), str(views)], check=True, stdout=subprocess.PIPE)
        loader = gpufeed.DataLoader(
            str(data),
            recipe=recipe,
            batch_size=7,
            views=views,
            shuffle=True,
            seed=11,
            dtype=name,
            channels_last=layout == "Nhwc",
        )
        found = b""
        for batch in (each for _ in range(2) for each in loader.batches()):
            found += len(batch.ids).to_bytes(8, "little")
            found += b"".join(each.to_bytes(8, "little") for each in batch.ids)
            images = batch.images.as_uint16() if dtype == "BF16" else batch.images
            found += numpy.from_dlpack(images).tobytes()
        assert len(found) > 2 * 17 * views * 24 * 24 * channels
        assert found == done.stdout
