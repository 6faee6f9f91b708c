"""Writes the Parquet files of this folder, as Hugging Face's `datasets` and pyarrow write them, and expected.json and
fields.json with the rows and fields that `datasets` reads from them. `scripts/test-parquet.sh` makes its environment.

    python generate.py [FOLDER]
"""

import base64
import datetime
import decimal
import hashlib
import io
import json
import sys
from pathlib import Path

import datasets
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.parquet.encryption as encryption
from PIL import Image

FOLDER = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent
NAMES = ["cat", "dog", "wug"]
STRUCT = pa.struct([("bytes", pa.binary()), ("path", pa.string())])


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


def fields_table(count: int):
    """Columns of every kind that is read as a field, with nulls."""
    captions = [["one", "zw\u00f6lf \"b\"\n"], [], None, [None, "x"]]
    return pa.table({
        "image": pa.array([{"bytes": image(i, "PNG"), "path": None} for i in range(count)], STRUCT),
        "caption": pa.array([None if i % 5 == 4 else f"caption {i} \u732b" for i in range(count)], pa.string()),
        "title": pa.array([f"t{i % 3}" for i in range(count)], pa.large_string()),
        "captions": pa.array([captions[i % 4] for i in range(count)], pa.list_(pa.string())),
        "edited": pa.array([{"bytes": image(i + 50, "PNG"), "path": f"{i}.png"} if i % 3 else None for i in range(count)],
                           STRUCT),
        "frames": pa.array([[{"bytes": image(i + n, "PNG"), "path": None} for n in range(i % 3)] for i in range(count)],
                           pa.list_(STRUCT)),
        "kind": pa.array([i % 3 for i in range(count)], pa.int64()),
        "meta": pa.array([{"author": f"a{i}" if i % 2 else None, "score": i / 3, "tags": ["t"] * (i % 3)}
                          if i % 7 else None for i in range(count)],
                         pa.struct([("author", pa.string()), ("score", pa.float64()), ("tags", pa.list_(pa.string()))])),
        "objects": pa.array([[{"bbox": [0.5, i, n, 1.0], "id": n} for n in range(i % 4)] for i in range(count)],
                            pa.list_(pa.struct([("bbox", pa.list_(pa.float32())), ("id", pa.int32())]))),
        "embedding": pa.array([[i + n / 8 for n in range(4)] for i in range(count)], pa.list_(pa.float32())),
        "fixed": pa.array([[i, i + 1] for i in range(count)], pa.list_(pa.int16(), 2)),
        "matrix": pa.array([[[i, n] for n in range(i % 3)] for i in range(count)], pa.list_(pa.list_(pa.int32()))),
        "good": pa.array([i % 3 == 0 if i % 4 else None for i in range(count)], pa.bool_()),
        "blob": pa.array([bytes([i, 255, 0]) for i in range(count)], pa.binary()),
        **{f"n_{kind}": pa.array([i * 3 % 128 for i in range(count)], kind)
           for kind in [pa.int8(), pa.uint8(), pa.int16(), pa.uint16(), pa.int32(), pa.uint32(), pa.int64(), pa.uint64()]},
        "n_half": pa.array([np.float16(i / 4) for i in range(count)], pa.float16()),
        "n_float": pa.array([i / 3 for i in range(count)], pa.float32()),
        "n_double": pa.array([i / 3 if i % 6 else None for i in range(count)], pa.float64()),
        "day": pa.array([datetime.date(2024, 1, 1 + i % 28) for i in range(count)], pa.date32()),
        "moment": pa.array([datetime.datetime(2024, 1, 1, 0, 0, i % 60) for i in range(count)], pa.timestamp("us")),
        "price": pa.array([decimal.Decimal(i) / 4 for i in range(count)], pa.decimal128(9, 2)),
    })


def expected_fields(path: Path):
    """What `datasets` reads of each column: values as JSON has them; of bytes and images the hash of their file."""
    read = datasets.load_dataset("parquet", data_files=str(path), split="train", cache_dir=str(FOLDER / ".cache"))
    for name, feature in list(read.features.items()):
        if isinstance(feature, datasets.Image):
            read = read.cast_column(name, datasets.Image(decode=False))

    def plain(value):
        if isinstance(value, bytes):
            return hashlib.sha256(value).hexdigest()
        if isinstance(value, dict) and set(value) == {"bytes", "path"}:
            return plain(value["bytes"])
        if isinstance(value, datetime.datetime):
            return round((value - datetime.datetime(1970, 1, 1)).total_seconds() * 1e6)
        if isinstance(value, datetime.date):
            return (value - datetime.date(1970, 1, 1)).days
        if isinstance(value, dict):
            return {key: plain(inner) for key, inner in value.items()}
        return [plain(inner) for inner in value] if isinstance(value, list) else value

    columns = [name for name in read.column_names if name != "price"]
    return {name: [plain(row[name]) for row in read] for name in columns}


def write_fields():
    """The same columns by `datasets` and by pyarrow in other ways, and what `datasets` reads of them."""
    table = fields_table(24)
    found = {}
    features = datasets.Features({
        **datasets.Features.from_arrow_schema(table.schema), "image": datasets.Image(), "edited": datasets.Image(),
        "kind": datasets.ClassLabel(names=NAMES)})
    by_datasets = datasets.Dataset(table).cast(features)
    by_datasets.to_parquet(FOLDER / "fields.parquet", batch_size=10)
    pq.write_table(table, FOLDER / "fields_v2.parquet", compression="zstd", data_page_version="2.0", data_page_size=200,
                   write_batch_size=3, row_group_size=11)
    pq.write_table(table, FOLDER / "fields_snappy.parquet", compression="snappy", use_dictionary=False, row_group_size=9)
    for name in ["fields.parquet", "fields_v2.parquet", "fields_snappy.parquet"]:
        found[name] = expected_fields(FOLDER / name)
    (FOLDER / "fields.json").write_text(json.dumps(found, indent=0, sort_keys=True) + "\n")


def write_objects():
    """Boxes as sets of objects have them: a struct of lists, as `datasets` made of a `Sequence`, and a list of structs."""
    count = 4
    rows = [[{"id": (1 << 53) + 1 + n, "area": 3 * i + n, "bbox": [i + 0.1, 2.0, 3.3 + n, 4], "category": (i + n) % 3, "note": f"n{n}"}
             for n in range((i + 2) % count)] for i in range(count)]
    by_names = [{name: [row[name] for row in of] for name in ["id", "area", "bbox", "category", "note"]} for of in rows]
    images = [{"bytes": image(i, "PNG"), "path": None} for i in range(count)]
    value, of = datasets.Value, datasets.List
    parts = {"id": value("int64"), "area": value("int64"), "bbox": of(value("float32"), length=4),
             "category": datasets.ClassLabel(names=NAMES), "note": value("string")}
    found = {}
    for name, objects, feature in [("objects.parquet", by_names, {name: of(part) for name, part in parts.items()}),
                                   ("objects_listed.parquet", rows, of(parts))]:
        features = datasets.Features({"image": datasets.Image(), "objects": feature})
        datasets.Dataset.from_dict({"image": images, "objects": objects}, features=features).to_parquet(FOLDER / name)
        read = datasets.load_dataset("parquet", data_files=str(FOLDER / name), split="train", cache_dir=str(FOLDER / ".cache"))
        found[name] = [row["objects"] for row in read]
    (FOLDER / "objects.json").write_text(json.dumps(found, indent=0, sort_keys=True) + "\n")


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

    write_fields()
    write_objects()
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
