"""Writes the Parquet files of this folder, as Hugging Face's `datasets` and pyarrow write them, and expected.json with the
rows that `datasets` reads from them. `scripts/test-parquet.sh` makes its environment.

    python generate.py [FOLDER]
"""

import base64
import hashlib
import io
import json
import sys
from pathlib import Path

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.parquet.encryption as encryption
from PIL import Image

FOLDER = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent
NAMES = ["cat", "dog", "wug"]


def image(number: int, kind: str) -> bytes:
    size = (8 + number % 7, 6 + number % 5)
    picture = Image.new("RGB", size)
    picture.putdata([((x * 31 + number * 17) % 256, (y * 47) % 256, (x * y + number) % 256)
                     for y in range(size[1]) for x in range(size[0])])
    out = io.BytesIO()
    picture.save(out, kind)
    return out.getvalue()


def rows(count: int):
    return [{"image": {"bytes": image(i, "PNG" if i % 3 else "BMP"), "path": f"{i:04}.png" if i % 4 else None},
             "label": i % 3} for i in range(count)]


def expected(path: Path, image_column: str, label_column: str | None):
    """What `datasets` reads: a hash of the file of each row, its path and its label."""
    read = datasets.load_dataset("parquet", data_files=str(path), split="train", cache_dir=str(FOLDER / ".cache"))
    if isinstance(read.features[image_column], datasets.Image):
        read = read.cast_column(image_column, datasets.Image(decode=False))
    result = []
    for row in read:
        value = row[image_column]
        value = value if isinstance(value, dict) else {"bytes": value, "path": None}
        label = row[label_column] if label_column else None
        result.append({"sha256": hashlib.sha256(value["bytes"]).hexdigest(), "path": value.get("path") or "",
                       "label": label})
    return result


def main():
    FOLDER.mkdir(exist_ok=True)
    found = {}
    features = datasets.Features({"image": datasets.Image(), "label": datasets.ClassLabel(names=NAMES)})
    data = rows(40)

    # As `datasets` writes today.
    new = datasets.Dataset.from_list(data, features=features)
    new.to_parquet(FOLDER / "datasets.parquet")
    found["datasets.parquet"] = expected(FOLDER / "datasets.parquet", "image", "label")

    # As it wrote with version 2: Snappy, dictionaries, row groups of 100 rows; here 15, as the files are small.
    table = new.data.table.replace_schema_metadata(new.features.arrow_schema.metadata)
    pq.write_table(table, FOLDER / "snappy.parquet", row_group_size=15, compression="snappy")
    found["snappy.parquet"] = expected(FOLDER / "snappy.parquet", "image", "label")

    # Other writers: Zstandard with pages of a few rows in the second version, gzip without dictionaries, and a plain
    # column of bytes beside labels of 32 bits, one of them missing.
    pq.write_table(table, FOLDER / "zstd_v2.parquet", compression="zstd", data_page_version="2.0", data_page_size=400,
                   write_batch_size=3, use_dictionary=["label"])
    found["zstd_v2.parquet"] = expected(FOLDER / "zstd_v2.parquet", "image", "label")
    pq.write_table(table, FOLDER / "gzip.parquet", compression="gzip", use_dictionary=False, row_group_size=25)
    found["gzip.parquet"] = expected(FOLDER / "gzip.parquet", "image", "label")
    plain = pa.table({"name": [f"n{i}" for i in range(9)],
                      "jpeg": pa.array([image(i, "PNG") for i in range(9)], pa.binary()),
                      "target": pa.array([i if i != 5 else None for i in range(9)], pa.int32())})
    pq.write_table(plain, FOLDER / "plain_column.parquet", compression="none", data_page_version="2.0")
    found["plain_column.parquet"] = expected(FOLDER / "plain_column.parquet", "jpeg", "target")
    # Repeated images, which lie once in the file's dictionary.
    twice = pa.table({"image": pa.array([{"bytes": image(i % 4, "PNG"), "path": None} for i in range(20)],
                                        pa.struct([("bytes", pa.binary()), ("path", pa.string())])),
                      "label": pa.array([i % 2 for i in range(20)], pa.int64())})
    pq.write_table(twice, FOLDER / "dictionary.parquet", compression="none")
    found["dictionary.parquet"] = expected(FOLDER / "dictionary.parquet", "image", "label")

    (FOLDER / "expected.json").write_text(json.dumps(found, indent=0, sort_keys=True) + "\n")
    # Hugging Face marks rows without a label with -1; sets may keep their images elsewhere.
    hidden = [{**row, "label": -1} for row in data[:5]]
    datasets.Dataset.from_list(hidden, features=features).to_parquet(FOLDER / "unlabelled.parquet")
    paths = pa.table({"image": pa.array([{"bytes": None, "path": f"/data/{i}.jpg"} for i in range(5)],
                                        pa.struct([("bytes", pa.binary()), ("path", pa.string())])),
                      "label": [0] * 5})
    pq.write_table(paths, FOLDER / "paths.parquet")
    lists = pa.table({"images": pa.array([[{"bytes": b"x", "path": "1"}]],
                                         pa.list_(pa.struct([("bytes", pa.binary()), ("path", pa.string())]))),
                      "label": [0]})
    pq.write_table(lists, FOLDER / "lists.parquet")
    nulls = pa.table({"image": pa.array([{"bytes": b"x", "path": None}, None],
                                        pa.struct([("bytes", pa.binary()), ("path", pa.string())])),
                      "label": [0, 1]})
    pq.write_table(nulls, FOLDER / "nulls.parquet")
    encrypted(twice.slice(0, 3))


class Keys(encryption.KmsClient):
    """Keeps keys as they are."""

    def __init__(self, _):
        encryption.KmsClient.__init__(self)

    def wrap_key(self, key, _):
        return base64.b64encode(key)

    def unwrap_key(self, key, _):
        return base64.b64decode(key)


def encrypted(table):
    """Two files with encrypted columns: one whose footer is encrypted too, one with a plain footer."""
    factory = encryption.CryptoFactory(Keys)
    for name, plain in [("encrypted.parquet", False), ("encrypted_columns.parquet", True)]:
        settings = encryption.EncryptionConfiguration(footer_key="footer", column_keys={"column": ["label"]},
                                                      plaintext_footer=plain)
        properties = factory.file_encryption_properties(encryption.KmsConnectionConfig(), settings)
        with pq.ParquetWriter(FOLDER / name, table.schema, encryption_properties=properties) as writer:
            writer.write_table(table)


main()
