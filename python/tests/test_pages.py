"""The pages of docs/guide/pytorch: each program runs as it stands there, and the table of transforms has them all."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("torchvision")

from gpufeed.torchvision import SUPPORTED  # noqa: E402
from pictures import detection_shard, folder  # noqa: E402

ROOT = Path(__file__).parents[2]
PAGES = ROOT / "docs" / "guide" / "pytorch"
FULL = "GPUFEED_FULL" in os.environ
# What the page's program imports, beside torch.
NEEDS = {"accelerate": "accelerate", "hugging-face": "datasets", "lightning": "lightning", "timm": "timm", "transformers": "transformers"}


def program(page: str, under: Path, number: int = 0) -> Path:
    """A program of the page as a file, by default the first one."""
    codes = re.findall(r"^```python\n(.*?)^```$", (PAGES / f"{page}.md").read_text(), re.DOTALL | re.MULTILINE)
    path = under / f"train_{Path(page).name}_{number}.py"
    path.write_text(codes[number])
    return path


def losses(*command: str) -> list[float]:
    environment = os.environ | {"CUDA_VISIBLE_DEVICES": "", "ACCELERATE_USE_CPU": "true", "OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, *command], capture_output=True, text=True, timeout=300, env=environment)
    assert done.returncode == 0, done.stderr
    return [float(loss) for loss in re.findall(r"\d loss (\S+)$", done.stdout, re.MULTILINE)]


def test_every_page_with_a_program_is_run() -> None:
    pages = [PAGES.with_suffix(".md"), *PAGES.glob("*.md")]
    assert {page.stem for page in pages if "```python" in page.read_text()} == {
        "pytorch", "one-import-line", "distributed", "ray", "views", "fields", "orders", "transforms", *NEEDS,
    }  # fmt: skip


def test_the_lines_of_the_readme(tmp_path: Path) -> None:
    """The lines of the repository's README, with the folder that they name."""
    (code,) = re.findall(r"^```python\n(.*?)^```$", (ROOT / "README.md").read_text(), re.DOTALL | re.MULTILINE)
    folder(tmp_path / "imagenet" / "train", count=9)
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr


def test_the_first_page(tmp_path: Path) -> None:
    found = losses(str(program("../pytorch", tmp_path)), str(folder(tmp_path / "data", count=40)))
    assert len(found) == 2 * (40 // 8)


@pytest.mark.parametrize("page", ["views", "fields"])
def test_views_and_fields(page: str, tmp_path: Path) -> None:
    found = losses(str(program(page, tmp_path)), str(folder(tmp_path / "data", count=40)))
    assert len(found) == 2 * (40 // 8)


def test_boxes(tmp_path: Path) -> None:
    command = [sys.executable, str(program("fields", tmp_path, 1)), str(detection_shard(tmp_path / "boxes.tar", count=40))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("BoundingBoxFormat.XYXY") == 2 and done.stdout.count("\n16 BoundingBoxes(") + done.stdout.startswith("16 ") == 2


@pytest.mark.skipif(not FULL, reason="takes long: only with GPUFEED_FULL=1")
def test_one_import_line(tmp_path: Path) -> None:
    """The program has as many batches with the line of torch."""
    path, data = program("one-import-line", tmp_path), str(folder(tmp_path / "data", count=48))
    found = losses(str(path), data)
    assert len(found) == 2 * (40 // 8)
    theirs = tmp_path / "train_torch.py"
    theirs.write_text(path.read_text().replace("from gpufeed.torch_compat import DataLoader", "from torch.utils.data import DataLoader"))
    assert len(losses(str(theirs), data)) == len(found)


def test_orders(tmp_path: Path) -> None:
    """Two epochs of each order: half of the data, 16 samples, two whole batches of the half, all, all, and 24 samples."""
    found = losses(str(program("orders", tmp_path)), str(folder(tmp_path / "data", count=40)))
    assert len(found) == 2 * (3 + 2 + 2 + 5 + 5 + 3)


def test_own_code(tmp_path: Path) -> None:
    command = [sys.executable, str(program("transforms", tmp_path)), str(folder(tmp_path / "data", count=40))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "own code: transforms[1]: noise, on the host" in done.stdout and done.stdout.count("torch.Size([8, 3, 64, 64])") == 5
    assert "transforms[1]: noise runs in Python" in done.stderr and "ms an image in epoch 0" in done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="torchrun needs libuv, which Windows builds of torch lack")
def test_distributed(tmp_path: Path) -> None:
    """One process and two have the same losses: the global batches are the same."""
    path, data = str(program("distributed", tmp_path)), str(folder(tmp_path / "data", count=72))
    run = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node"]
    alone, together = losses(*run, "1", path, data), losses(*run, "2", path, data)
    assert len(alone) == 2 * (72 // 16)
    assert together == pytest.approx(alone, abs=1e-5)


@pytest.mark.skipif(not FULL or importlib.util.find_spec("ray") is None, reason="Ray: where installed, with GPUFEED_FULL=1")
def test_ray(tmp_path: Path) -> None:
    """Two actors in a cluster that the program begins itself, on this machine's loopback."""
    data = str(folder(tmp_path / "data", count=72))
    begin = "import ray; ray.init(num_cpus=2, include_dashboard=False, _node_ip_address='127.0.0.1', log_to_driver=False)"
    run = f"import runpy, sys; {begin}; sys.argv = sys.argv[1:]; runpy.run_path(sys.argv[0], run_name='__main__')"
    found = losses("-c", run, str(program("ray", tmp_path)), data)
    assert len(found) == 2 * 2 * (72 // 16)
    assert len(losses("-c", run, str(program("ray", tmp_path, 1)), data)) == 2 * (72 // 16)


@pytest.mark.skipif(not FULL, reason="frameworks: only with GPUFEED_FULL=1")
@pytest.mark.parametrize("page", NEEDS)
def test_frameworks(page: str, tmp_path: Path) -> None:
    if importlib.util.find_spec(NEEDS[page]) is None:
        pytest.skip(f"{NEEDS[page]} is not installed")
    found = losses(str(program(page, tmp_path)), str(folder(tmp_path / "data", count=40)))
    assert len(found) == 2 * (40 // 8)


# Those of torchvision, of its references, and of timm.
OF_BATCHES = ("MixUp", "CutMix", "RandomMixUp", "RandomCutMix", "Mixup", "FastCollateMixup")


def test_the_table_of_transforms_is_complete() -> None:
    # The tables behind it are of other libraries, and of code.
    text = (PAGES / "transforms.md").read_text().partition("Some code of your own")[0]
    listed = {name for row in re.findall(r"^\| (`.*?) \|", text, re.MULTILINE) for name in re.findall(r"`(\w+)`", row)}
    assert listed == {*SUPPORTED, *OF_BATCHES, "ImageClassification", "Sequential"}
