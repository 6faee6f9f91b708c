"""A panic inside a decoder is the failure of its sample, and nothing is printed."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CODE = """
import sys
import gpufeed
made = gpufeed.DataLoader(sys.argv[1], recipe={"transform": [{"type": "CenterCrop", "size": 4}]}, batch_size=8, shuffle=False,
                          seek_indexes="memory", on_error=0.5)
for failure in [failure for batch in made.batches() for failure in batch.failures]:
    print(failure.error)
"""


# An animated WebP whose first frame is larger than it says. image-webp 0.2 panics at it.
PANICKING = Path(__file__).parents[2] / "tests" / "data" / "larger-frame.webp"


def test_a_panic_of_a_decoder_is_a_failure_and_prints_nothing(tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    (tmp_path / "a").mkdir()
    for number in range(7):
        image.new("RGB", (8, 8), (9 * number, 99, 199)).save(tmp_path / "a" / f"{number}.jpg")
    shutil.copy(PANICKING, tmp_path / "a" / "panics.webp")
    command = [sys.executable, "-W", "ignore", "-c", CODE, str(tmp_path)]
    done = subprocess.run(command, timeout=60, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "panicked at" not in done.stderr and ".rs:" not in done.stderr, done.stderr
    # Where a newer decoder refuses the file, another such file is needed here.
    assert "the decoder panicked: " in done.stdout and "out of range" in done.stdout, done.stdout
