"""gpufeed from Python: the wheel, in a loop over torch tensors on the CPU, as a training script has it.

Variant "data set in Python": recipe A through an object with `__getitem__`, which reads the files in Python.
"""

import os

import numpy

import cells
import data
import gpufeed
import peer
import recipes


class Files:
    """Files as a data set of Python's."""

    def __init__(self, folder):
        self.paths = data.files(folder)
        self.labels = peer.labels(self.paths)

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        with open(self.paths[index], "rb") as file:
            return file.read(), self.labels[index]


def source(arguments, recipe):
    if recipe.source == "files":
        return Files(arguments.data) if arguments.variant == "data set in Python" else arguments.data
    # A .npy of images is a data set of gpufeed's own.
    if recipe.source == "resident":
        return gpufeed.open(arguments.resident).repeat(recipes.RESIDENT_TIMES)
    return arguments.small


def build(arguments, recipe):
    path = os.path.join(cells.HERE, "recipes", f"{recipe.name}.toml")
    classes = 1000 if recipe.mix else None
    loader = gpufeed.DataLoader(
        source(arguments, recipe),
        recipe=path if recipe.file else recipe.name,
        batch_size=arguments.batch,
        shuffle=True,
        workers=arguments.workers,
        num_classes=classes,
    )
    return peer.Peer(lambda: (images for images, _ in loader), lambda images: [numpy.from_dlpack(images)])


if __name__ == "__main__":
    peer.main(build, "gpufeed", ["torch"])
