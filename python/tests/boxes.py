"""Data sets with boxes that tests make: COCO's documents, and ``pycocotools`` in small where it is not installed."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import json
import sys
import types
from collections import defaultdict
from pathlib import Path
from typing import Any

from PIL import Image

from pictures import detection

# Width and height of each image, by the id that it has in the document: an order of its own.
SIZES = {30: (120, 90), 10: (160, 100), 20: (90, 140), 40: (100, 100)}


class COCO:
    """What torchvision calls of ``pycocotools.coco.COCO``."""

    def __init__(self, path: str) -> None:
        document = json.loads(Path(path).read_text())
        self.imgs = {image["id"]: image for image in document["images"]}
        self.anns = {each["id"]: each for each in document["annotations"]}
        self.cats = {each["id"]: each for each in document["categories"]}
        self.of_images = defaultdict(list)
        for each in document["annotations"]:
            self.of_images[each["image_id"]].append(each["id"])

    def getAnnIds(self, image: int) -> list[int]:  # noqa: N802 - its name
        return list(self.of_images.get(image, []))

    def loadAnns(self, ids: list[int]) -> list[Any]:  # noqa: N802 - its name
        return [self.anns[each] for each in ids]

    def loadImgs(self, image: int) -> list[Any]:  # noqa: N802 - its name
        return [self.imgs[image]]


def coco_detection(root: Path, kind: Any = None, **keywords: Any) -> Any:
    """torchvision's data set of :func:`coco_document`."""
    from torchvision import datasets

    if importlib.util.find_spec("pycocotools") is None:
        package, module = types.ModuleType("pycocotools"), types.ModuleType("pycocotools.coco")
        package.coco, module.COCO = module, COCO  # type: ignore[attr-defined]
        sys.modules |= {"pycocotools": package, "pycocotools.coco": module}
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            return (kind or datasets.CocoDetection)(str(root / "images"), str(root / "instances.json"), **keywords)
    finally:
        for name in ("pycocotools", "pycocotools.coco"):
            if getattr(sys.modules.get(name), "__file__", None) is None:
                sys.modules.pop(name, None)


def coco_document(root: Path) -> Path:
    """Images with COCO's annotations; that of the id 40 has none."""
    (root / "images").mkdir(parents=True)
    images, annotations = [], []
    for number, (image, (width, height)) in enumerate(SIZES.items()):
        name = f"{image:04}.png"
        Image.effect_noise((width, height), 80).convert("RGB").save(root / "images" / name)
        images.append({"id": image, "file_name": name, "width": width, "height": height})
        for at, box in enumerate([] if image == 40 else detection(number)["bbox"]):
            area = box[2] * box[3]
            each = {"id": 100 * image + at, "image_id": image, "bbox": [*map(float, box)], "category_id": 1 + 2 * at, "area": area}
            annotations.append(each | {"iscrowd": at % 2, "segmentation": [[0, 0, 5, 0, 5, 5]]})
    categories = [{"id": number, "name": f"class {number}"} for number in (1, 3, 5)]
    (root / "instances.json").write_text(json.dumps({"images": images, "annotations": annotations, "categories": categories}))
    return root
