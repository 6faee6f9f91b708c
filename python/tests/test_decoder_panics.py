"""A panic inside a decoder is the failure of its sample, and nothing is printed."""

from __future__ import annotations

import io
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


def panicking_file() -> bytes:
    """A progressive JPEG whose third component has more samples than the others. zune-jpeg 0.5 panics at it."""
    image = pytest.importorskip("PIL.Image")
    data = io.BytesIO()
    image.new("RGB", (1, 17), (9, 99, 199)).save(data, "JPEG", progressive=True, subsampling=1)
    made = bytearray(data.getvalue())
    frame = made.index(b"\xff\xc2")
    made[frame + 11], made[frame + 14], made[frame + 17] = 0x11, 0x11, 0x22
    return bytes(made)


def test_a_panic_of_a_decoder_is_a_failure_and_prints_nothing(tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    (tmp_path / "a").mkdir()
    for number in range(7):
        image.new("RGB", (8, 8), (9 * number, 99, 199)).save(tmp_path / "a" / f"{number}.jpg")
    (tmp_path / "a" / "panics.jpg").write_bytes(panicking_file())
    command = [sys.executable, "-W", "ignore", "-c", CODE, str(tmp_path)]
    done = subprocess.run(command, timeout=60, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "panicked at" not in done.stderr and ".rs:" not in done.stderr, done.stderr
    if "panicked" not in done.stdout:
        pytest.skip(f"this file no longer makes a decoder panic: {done.stdout}")
    assert "the decoder panicked: assertion failed: " in done.stdout
