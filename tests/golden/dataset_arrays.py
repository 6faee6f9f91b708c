#!/usr/bin/env python3
"""Small files in the formats of MNIST, CIFAR and numpy, and hashes of what torchvision's own readers (numpy's for .npy and .npz)
make of them.

    python tests/golden/dataset_arrays.py [FOLDER OF MNIST'S FOUR .gz FILES]

Needs torch, torchvision and numpy, as generate.py. Writes dataset_arrays.zip and dataset_arrays.json beside this script. Without the
folder, the entries "mnist/..." of the JSON, which are of the real files, stay as they are.
"""
import gzip
import hashlib
import io
import json
import os
import pickle
import shutil
import struct
import sys
import tempfile
import zipfile

import numpy as np
import torchvision
from torchvision import datasets

HERE = os.path.dirname(os.path.abspath(__file__))
OUT = tempfile.mkdtemp()
FOUND = {}


def images(seed, count, side, channels):
    """Smooth, so that the archive is small; every image another; NHWC."""
    n, y, x, c = np.ogrid[:count, :side, :side, :channels]
    return ((x * (n + seed + 1) + y * (seed + 3) + c * 70 + n * 31) % 256).astype(np.uint8)


def put(path, content):
    path = os.path.join(OUT, path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(content)


def remember(name, data, targets, classes):
    data, targets = np.ascontiguousarray(np.asarray(data)), np.asarray(targets)
    FOUND[name] = {
        "shape": list(data.shape),
        "images": hashlib.sha256(data.tobytes()).hexdigest(),
        "labels": hashlib.sha256(targets.astype("<u4").tobytes()).hexdigest(),
        "classes": list(classes),
    }


def idx(array):
    return struct.pack(">BBBB", 0, 0, 8, array.ndim) + struct.pack(f">{array.ndim}I", *array.shape) + array.tobytes()


def idx_files():
    def pair(folder, stem, seed, count, classes, side=28):
        labels = ((np.arange(count) * 7 + seed) % classes).astype(np.uint8)
        put(f"{folder}/raw/{stem}-images-idx3-ubyte", idx(images(seed, count, side, 1)[..., 0]))
        put(f"{folder}/raw/{stem}-labels-idx1-ubyte", idx(labels))

    for seed, (folder, reader) in enumerate([("MNIST", datasets.MNIST), ("FashionMNIST", datasets.FashionMNIST), ("KMNIST", datasets.KMNIST)]):
        pair(folder, "train", seed, 9, 10)
        pair(folder, "t10k", seed + 20, 4, 10)
        for train in (True, False):
            data = reader(OUT, train=train)
            remember(f"{folder}/{'train' if train else 'test'}", data.data, data.targets, data.classes)
    for part, classes in [("letters", 27), ("balanced", 47), ("byclass", 62), ("bymerge", 47), ("digits", 10), ("mnist", 10)]:
        pair("EMNIST", f"emnist-{part}-train", classes, 3, classes)
        pair("EMNIST", f"emnist-{part}-test", classes + 1, 2, classes)
        data = datasets.EMNIST(OUT, part, train=True)
        remember(f"EMNIST/{part}", data.data, data.targets, data.classes)
    # One set packed, as it is downloaded.
    raw = os.path.join(OUT, "FashionMNIST/raw")
    for name in os.listdir(raw):
        with open(os.path.join(raw, name), "rb") as file:
            put(f"FashionMNIST/raw/{name}.gz", gzip.compress(file.read(), mtime=0))
        os.remove(os.path.join(raw, name))


def python2(entries):
    """The opcodes that Python 2's cPickle wrote, of which CIFAR's files are."""
    out, memo = io.BytesIO(), iter(range(1000000))

    def remembered():
        number = next(memo)
        out.write(b"q" + bytes([number]) if number < 256 else b"r" + struct.pack("<I", number))

    def string(value):
        out.write(b"U" + bytes([len(value)]) + value if len(value) < 256 else b"T" + struct.pack("<i", len(value)) + value)
        remembered()

    def integer(value):
        out.write(b"K" + bytes([value]) if value < 256 else b"M" + struct.pack("<H", value))

    out.write(b"\x80\x02}")
    remembered()
    out.write(b"(")
    for key, value in entries.items():
        string(key.encode())
        if isinstance(value, np.ndarray):
            out.write(b"cnumpy.core.multiarray\n_reconstruct\n")
            remembered()
            out.write(b"cnumpy\nndarray\n")
            remembered()
            out.write(b"K\x00\x85U\x01b\x87R(K\x01")
            integer(value.shape[0])
            integer(value.shape[1])
            out.write(b"\x86cnumpy\ndtype\n")
            remembered()
            out.write(b"U\x02u1K\x00K\x01\x87R(K\x03U\x01|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb\x89")
            string(value.tobytes())
            out.write(b"tb")
        elif isinstance(value, list):
            out.write(b"]")
            remembered()
            out.write(b"(")
            for item in value:
                integer(item) if isinstance(item, int) else string(item.encode())
            out.write(b"e")
        else:
            string(value.encode())
    out.write(b"u.")
    return out.getvalue()


def cifar_files():
    datasets.cifar.check_integrity = lambda *_: True  # The files are not the real ones.

    def planes(pixels):
        return pixels.transpose(0, 3, 1, 2).reshape(len(pixels), -1)

    writers = [python2] + [lambda entries, protocol=protocol: pickle.dumps(entries, protocol) for protocol in (2, 3, 4, 5)]
    names = [f"name {number}" for number in range(10)]
    put("cifar-10-batches-py/batches.meta", python2({"num_cases_per_batch": [2], "label_names": names}))
    put("cifar-10-batches-bin/batches.meta.txt", "\n".join(names).encode() + b"\n\n")
    for number, (file, write) in enumerate(zip([f"data_batch_{n}" for n in range(1, 6)] + ["test_batch"], writers + [python2])):
        pixels = planes(images(number + 40, 2, 32, 3))
        labels = [number, 9 - number]
        entries = {"batch_label": f"part {number}", "labels": labels, "data": pixels, "filenames": [f"{number}_{n}.png" for n in range(2)]}
        put(f"cifar-10-batches-py/{file}", write(entries))
        records = b"".join(bytes([label]) + image.tobytes() for label, image in zip(labels, pixels))
        put(f"cifar-10-batches-bin/{file}.bin", records)
    fine, coarse = [f"fine {number}" for number in range(100)], [f"coarse {number}" for number in range(20)]
    put("cifar-100-python/meta", python2({"fine_label_names": fine, "coarse_label_names": coarse}))
    put("cifar-100-binary/fine_label_names.txt", "\n".join(fine).encode())
    put("cifar-100-binary/coarse_label_names.txt", "\n".join(coarse).encode())
    for number, (file, write) in enumerate([("train", python2), ("test", writers[4])]):
        pixels = planes(images(number + 60, 3, 32, 3))
        entries = {"fine_labels": [99, 0, 5 + number], "coarse_labels": [19, 0, number], "data": pixels}
        put(f"cifar-100-python/{file}", write(entries))
        labels = zip(entries["coarse_labels"], entries["fine_labels"], pixels)
        put(f"cifar-100-binary/{file}.bin", b"".join(bytes([c, f]) + image.tobytes() for c, f, image in labels))
    for name, reader in [("cifar-10", datasets.CIFAR10), ("cifar-100", datasets.CIFAR100)]:
        for train in (True, False):
            data = reader(OUT, train=train)
            remember(f"{name}/{'train' if train else 'test'}", data.data, data.targets, data.classes)


def numpy_files():
    pixels, labels = images(80, 4, 12, 3), np.array([3, 1, 0, 2])
    floats = (images(81, 4, 12, 3) / np.float32(255)).astype(np.float32)
    os.makedirs(os.path.join(OUT, "numpy"))
    at = lambda name: os.path.join(OUT, "numpy", name)
    np.savez_compressed(at("packed.npz"), x_train=pixels, y_train=labels)
    np.savez(at("plain.npz"), pixels, labels.astype(np.uint8))
    np.save(at("floats.npy"), floats.transpose(0, 3, 1, 2).copy())
    np.save(at("labels.npy"), labels.astype(">i2"))
    np.save(at("fortran.npy"), np.asfortranarray(pixels))
    np.save(at("double.npy"), floats.astype(np.float64))
    for name, x, y in [("packed.npz", "x_train", "y_train"), ("plain.npz", "arr_0", "arr_1")]:
        with np.load(at(name)) as data:
            remember(f"numpy/{name}", data[x], data[y], [])
    remember("numpy/floats.npy", np.load(at("floats.npy")).transpose(0, 2, 3, 1), np.load(at("labels.npy")), [])


def real_mnist(folder):
    raw = os.path.join(tempfile.mkdtemp(), "MNIST/raw")
    os.makedirs(raw)
    for name in os.listdir(folder):
        with gzip.open(os.path.join(folder, name)) as packed, open(os.path.join(raw, name.removesuffix(".gz")), "wb") as file:
            shutil.copyfileobj(packed, file)
    for train in (True, False):
        data = datasets.MNIST(os.path.dirname(os.path.dirname(raw)), train=train)
        remember(f"mnist/{'train' if train else 'test'}", data.data, data.targets, data.classes)


def main():
    idx_files()
    cifar_files()
    numpy_files()
    path = os.path.join(HERE, "dataset_arrays.json")
    if len(sys.argv) > 1:
        real_mnist(sys.argv[1])
    elif os.path.exists(path):
        with open(path) as file:
            FOUND.update({name: value for name, value in json.load(file)["sets"].items() if name.startswith("mnist/")})
    with open(path, "w") as file:
        versions = {"torchvision": torchvision.__version__, "numpy": np.__version__}
        json.dump({"versions": versions, "sets": FOUND}, file, indent=1)
        file.write("\n")
    with zipfile.ZipFile(os.path.join(HERE, "dataset_arrays.zip"), "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for folder, _, names in sorted(os.walk(OUT)):
            for name in sorted(names):
                whole = os.path.join(folder, name)
                archive.write(whole, os.path.relpath(whole, OUT))


main()
