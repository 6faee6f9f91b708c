"""Sets of tar shards, written by WebDataset's own writer: those of img2dataset, and a stereo rig."""

from __future__ import annotations

import hashlib
import io
import json
import math
import random
from pathlib import Path
from typing import Any

import numpy
import pyarrow as pa
import pyarrow.parquet as pq
from webdataset.writer import TarWriter

from pictures import Pictures, caption

# The columns of img2dataset's Parquet files, with which each sample's document is written.
COLUMNS = pa.schema(
    [(name, pa.string()) for name in ["caption", "url", "key", "status", "error_message"]]
    + [(name, pa.int32()) for name in ["width", "height", "original_width", "original_height"]]
    + [("exif", pa.string()), ("sha256", pa.string())]
)


def img2dataset(folder: Path, pictures: Pictures, samples: int) -> None:
    """Shards as img2dataset writes them in the format `webdataset`: samples in the order in which downloads ended, none of
    a download that failed; beside each shard its Parquet file, which lists all downloads, and its statistics; and the folder
    that stays where it was stopped."""
    (folder / "_tmp").mkdir(parents=True)
    (folder / "_tmp" / "00004.feather").write_bytes(b"ARROW1\0\0")
    per_shard = math.ceil(samples / 4)
    digits = math.ceil(math.log10(per_shard))
    draws = random.Random(1)
    written = 0
    for shard in range(4):
        # One of eleven fails, so that keys have gaps; more are tried until the shard has its share.
        share = min(per_shard, samples - written)
        tried = [number for number in range(share * 2) if number % 11 != 10][:share]
        downloads = list(range(tried[-1] + 1)) if tried else []
        draws.shuffle(downloads)
        rows = []
        with (folder / f"{shard:05}.tar").open("wb") as file:
            writer = TarWriter(file, mtime=0)
            for number in downloads:
                meta = document(f"{10**digits * shard + number:0{digits + 5}}", number, pictures)
                rows.append(meta)
                if meta["status"] != "success":
                    continue
                image = pictures.jpeg(written)
                meta |= {"sha256": hashlib.sha256(image).hexdigest()}
                text = meta["caption"] if meta["caption"] is not None else ""
                writer.write({"__key__": meta["key"], "jpg": image, "txt": text, "json": json.dumps(meta, indent=4)})
                written += 1
            writer.close()
        pq.write_table(pa.Table.from_pylist(rows, COLUMNS), folder / f"{shard:05}.parquet")
        failed = sum(row["status"] != "success" for row in rows)
        stats = {
            "count": len(rows), "successes": len(rows) - failed, "failed_to_download": failed, "failed_to_resize": 0, "duration": 1.5,
            "start_time": 1.7e9, "end_time": 1.7e9 + 1.5, "status_dict": {"success": len(rows) - failed, "HTTP Error 404": failed},
        }
        (folder / f"{shard:05}_stats.json").write_text(json.dumps(stats, indent=4))


def document(key: str, number: int, pictures: Pictures) -> dict[str, Any]:
    """What img2dataset says of a download, under its own keys."""
    failed = number % 11 == 10
    width, height = pictures.size
    exif = {"Image Make": "drawn", "EXIF ISOSpeedRatings": str(number)} if number % 3 == 0 else {}
    return {
        "caption": None if number % 13 == 12 else caption(number),
        "url": f"https://example.com/{number}.jpg?size=1024&q=\u00fc",
        "key": key,
        "status": "failed_to_download" if failed else "success",
        "error_message": "HTTP Error 404: Not Found" if failed else None,
        "width": None if failed else width,
        "height": None if failed else height,
        "original_width": None if failed else 3 * width,
        "original_height": None if failed else 3 * height,
        "exif": None if failed else json.dumps(exif),
        "sha256": None,
    }


def rig(folder: Path, pictures: Pictures, samples: int) -> None:
    """Two cameras, how far away each pixel of the left one is (16 bits), their calibration, the rig's pose, and a class."""
    folder.mkdir()
    half = math.ceil(samples / 2)
    for shard in range(2):
        with (folder / f"rig-{shard:06}.tar").open("wb") as file:
            writer = TarWriter(file, mtime=0)
            for number in range(half * shard, min(half * (shard + 1), samples)):
                pose = io.BytesIO()
                numpy.save(pose, numpy.eye(4) * (number + 0.1))
                calibration = {"focal": 500.5 + number, "baseline": 0.12, "distortion": [0.1, -0.2, 1e-7], "camera": "left"}
                writer.write({
                    "__key__": f"drive_{number // 7:04}/{number:06}",
                    "left.jpg": pictures.jpeg(2 * number),
                    "right.jpg": pictures.jpeg(2 * number + 1),
                    "depth.png": pictures.depth(number),
                    "calib.json": json.dumps(calibration).encode(),
                    "pose.npy": pose.getvalue(),
                    "cls": str(number % 4).encode(),
                })
            writer.close()
