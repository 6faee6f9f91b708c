"""COCO's captions, and sets of Parquet files as `datasets` writes them: captions, and pairs for the editing of images."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import datasets

from pictures import Pictures, caption

ROOT = Path(__file__).resolve().parents[2]
STYLES = ["photograph", "drawing", "painting"]


def coco(folder: Path, pictures: Pictures, samples: int) -> None:
    """A folder of images and the official file of their captions, five or more for each; then what the guide's program makes
    of it, and a table with a line for each caption, as OpenCLIP reads it."""
    images, annotations = [], []
    (folder / "train2017").mkdir(parents=True)
    (folder / "annotations").mkdir()
    for number in range(samples):
        # Ids are no numbers of places, and the file has them in no order.
        image = (number * 7919 + 9) % 1_000_003
        name = f"{image:012}.jpg"
        (folder / "train2017" / name).write_bytes(pictures.jpeg(number))
        width, height = pictures.size
        images.append({
            "license": 3, "file_name": name, "coco_url": f"http://images.cocodataset.org/train2017/{name}", "height": height,
            "width": width, "date_captured": "2013-11-14 17:02:52", "flickr_url": "http://example.com/a_z.jpg", "id": image,
        })
    # Captions of an image do not stand beside each other.
    for turn in range(6):
        for number, image in enumerate(images):
            if turn < 5 or number % 9 == 0:
                text = caption(number * 6 + turn) or "An empty plate."
                annotations.append({"image_id": image["id"], "id": 100 + len(annotations), "caption": text})
    written = {"info": {"year": 2017}, "licenses": [{"id": 3}], "images": images, "annotations": annotations}
    (folder / "annotations" / "captions_train2017.json").write_text(json.dumps(written))
    program = folder.parent / "coco_captions.py"
    program.write_text(guide_program())
    subprocess.run([sys.executable, program, "annotations/captions_train2017.json", "train2017"], cwd=folder, check=True)
    program.unlink()
    names = {image["id"]: image["file_name"] for image in images}
    with (folder / "captions.tsv").open("w", newline="") as table:
        table.write("filepath\ttitle\n")
        for annotation in annotations:
            title = " ".join(annotation["caption"].replace('"', "'").split())
            table.write(f"train2017/{names[annotation['image_id']]}\t{title}\n")


def guide_program() -> str:
    """The program of the guide that makes a list of COCO's captions."""
    text = (ROOT / "docs" / "guide" / "fields.md").read_text(encoding="utf-8")
    (code,) = (code for code in re.findall(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE) if "coco_captions.py" in code)
    return code


def captions(folder: Path, pictures: Pictures, samples: int) -> None:
    """Images with captions, scores and a document, as a set on Hugging Face's hub lies in its folder."""
    rows = [caption_row(number, pictures) for number in range(samples)]
    text, real = datasets.Value("string"), datasets.Value("float32")
    features = datasets.Features({
        "image": datasets.Image(), "text": text, "captions": datasets.List(text), "alt": text, "width": datasets.Value("int32"),
        "similarity": datasets.Value("float64"), "aesthetic": real, "nsfw": datasets.Value("bool"),
        "embedding": datasets.List(real, length=8), "meta": {"author": text, "tags": datasets.List(text), "votes": datasets.Value("int64")},
        "label": datasets.ClassLabel(names=STYLES), "hash": datasets.Value("binary"),
    })
    write(folder, datasets.Dataset.from_list(rows, features=features), "train-{:05}-of-{:05}.parquet")


def caption_row(number: int, pictures: Pictures) -> dict[str, Any]:
    file, ending = (pictures.jpeg(number), "jpg") if number % 4 else (pictures.png(number), "png")
    return {
        "image": {"bytes": file, "path": f"{number:06}.{ending}"},
        "text": caption(number),
        "captions": [caption(number + turn) for turn in range(number % 6)],
        "alt": None if number % 5 == 0 else f"alt {number}",
        "width": pictures.size[0],
        "similarity": 0.3 + number / 30_000,
        "aesthetic": 5 + number / 7,
        "nsfw": number % 17 == 0,
        "embedding": [number / 8 + place for place in range(8)],
        "meta": {"author": None if number % 3 == 0 else f"author {number}", "tags": ["a", "b"][: number % 3], "votes": number * 10**12},
        "label": number % 3,
        "hash": bytes([number % 256, 0, 255]) * (number % 5),
    }


def pairs(folder: Path, pictures: Pictures, samples: int) -> None:
    """Pairs of images with the words that lead from one to the other, as InstructPix2Pix' set has them."""
    rows = [
        {
            "original_prompt": caption(number), "original_image": {"bytes": pictures.jpeg(number), "path": None},
            "edit_prompt": f"make it number {number}", "edited_prompt": caption(number + 1),
            "edited_image": {"bytes": pictures.png(number + 1) if number % 2 else pictures.jpeg(number + 1), "path": None},
        }
        for number in range(samples)
    ]
    text = datasets.Value("string")
    features = datasets.Features({
        "original_prompt": text, "original_image": datasets.Image(), "edit_prompt": text, "edited_prompt": text,
        "edited_image": datasets.Image(),
    })
    write(folder, datasets.Dataset.from_list(rows, features=features), "train-{:05}-of-{:05}-57cebf95b4a9170c.parquet")


def write(folder: Path, rows: datasets.Dataset, name: str, files: int = 2) -> None:
    """Parquet files as the hub has them, with the files that lie beside them."""
    (folder / "data").mkdir(parents=True)
    for file in range(files):
        part = rows.shard(files, file, contiguous=True)
        part.to_parquet(folder / "data" / name.format(file, files), batch_size=100)
    (folder / "README.md").write_text("---\nlicense: mit\n---\n# Drawn\n")
