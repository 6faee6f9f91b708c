"""NVIDIA DALI: pipelines on the CPU (`workers` threads), or on an NVIDIA GPU (`--device gpu`), which decodes, too.

Outputs are taken as DALI gives them, without the copy into torch's tensors that its PyTorch iterator makes. The reader
goes on from one epoch to the next in whole batches, its queues full; what it has delivered is what counts.

Variant "plain": recipes B and C resize the whole picture, then crop. Otherwise only the window that the crop leaves is
resized, which gives the same picture for less work.
"""

import numpy
from nvidia.dali import fn, pipeline_def, types

import data
import peer
import recipes

uniform = fn.random.uniform


def coin(probability):
    return fn.random.coin_flip(probability=probability)


def factor(strength, chosen=None):
    """Around 1; where `chosen` is given, only for samples where it is 1."""
    drawn = uniform(range=(1 - strength, 1 + strength))
    return drawn if chosen is None else 1 + (drawn - 1) * chosen


def source(batches, layout=None, **options):
    """Pictures that lie in memory: a list of batches, over and over, or batches without end."""
    cycle = "quiet" if isinstance(batches, list) else None
    return fn.external_source(source=batches, batch=True, cycle=cycle, layout=layout, dtype=types.UINT8, **options)


def in_batches(items, size):
    return [items[i : i + size] for i in range(0, len(items), size)]


def shuffled(pixels, size):
    """Recipe G's batches without end, each an epoch's share of a random order."""
    numbers = numpy.random.default_rng(1)
    while True:
        for order in in_batches(numbers.permutation(len(pixels)), size):
            yield pixels[order]


def pictures(recipe, arguments):
    """The decoded pictures; recipe A's are cropped already."""
    if recipe.source == "resident":
        return source([list(peer.resident(arguments))], "HWC", no_copy=True)
    if recipe.source == "small":
        return source(shuffled(peer.small(arguments), arguments.batch), "HWC")
    decoder = {"device": "mixed" if arguments.device == "gpu" else "cpu", "output_type": types.RGB}
    if recipe.source == "bytes":
        files = [numpy.frombuffer(file, numpy.uint8) for file in peer.encoded(arguments)]
        return fn.decoders.image(source(in_batches(files, arguments.batch), no_copy=True), **decoder)
    paths = data.files(arguments.data)
    encoded, _labels = fn.readers.file(
        files=paths, labels=peer.labels(paths), random_shuffle=True, initial_fill=1024, name="reader"
    )
    if recipe.random_resized:
        shape = {"random_area": [0.08, 1.0], "random_aspect_ratio": [3 / 4, 4 / 3]}
        return fn.decoders.image_random_crop(encoded, **shape, **decoder)
    return fn.decoders.image(encoded, **decoder)


def window(images, recipe, variant):
    """Resize and crop, or crop with padding."""
    side, full = recipe.side, recipe.resize
    how = {"interp_type": types.INTERP_LINEAR, "antialias": True}
    if recipe.padding:
        places = list(range(-recipe.padding, recipe.padding + 1))
        start = fn.cast(fn.stack(uniform(values=places), uniform(values=places)), dtype=types.INT32)
        inside = {"axis_names": "HW", "out_of_bounds_policy": "pad", "fill_values": 0}
        return fn.slice(images, start=start, shape=[side, side], **inside)
    if not recipe.crop:
        return fn.resize(images, size=(side, side), **how)
    if full and variant != "plain":
        # Whole pixels of the resized picture, as RandomCrop draws them.
        places = [place / full for place in range(full - side + 1)]
        start = fn.stack(uniform(values=places), uniform(values=places))
        region = {"roi_start": start, "roi_end": start + side / full, "roi_relative": True}
        return fn.resize(images, size=(side, side), **region, **how)
    if full:
        images = fn.resize(images, size=(full, full), **how)
    return fn.crop(
        images, crop=(side, side), crop_pos_x=uniform(range=(0.0, 1.0)), crop_pos_y=uniform(range=(0.0, 1.0))
    )


def colour(images, recipe):
    brightness, contrast, saturation, hue = recipe.jitter
    if not saturation and not hue:
        chosen = None if recipe.jitter_p == 1 else fn.cast(coin(recipe.jitter_p), dtype=types.FLOAT)
        drawn = {"brightness": factor(brightness, chosen), "contrast": factor(contrast, chosen)}
        return fn.brightness_contrast(images, **drawn)
    # RandomGrayscale is a saturation of 0.
    coloured = 1 - fn.cast(coin(recipe.gray), dtype=types.FLOAT)
    return fn.color_twist(
        images,
        brightness=factor(brightness),
        contrast=factor(contrast),
        saturation=factor(saturation) * coloured,
        hue=uniform(range=(-360 * hue, 360 * hue)),
    )


def graph(recipe, arguments):
    images = pictures(recipe, arguments)
    if recipe.source == "bytes":
        return images
    if arguments.device == "gpu" and recipe.source != "files":
        images = images.gpu()
    images = window(images, recipe, arguments.variant)
    if recipe.vertical:
        images = fn.flip(images, vertical=coin(recipe.vertical), horizontal=0)
    if any(recipe.jitter):
        images = colour(images, recipe)
    mean, std = recipe.normalize or ((0.0,) * 3, (1.0,) * 3)
    return fn.crop_mirror_normalize(
        images,
        mirror=coin(recipe.horizontal),
        dtype=types.FLOAT,
        output_layout="CHW",
        mean=[255 * value for value in mean],
        std=[255 * value for value in std],
    )


def build(arguments, recipe):
    device = 0 if arguments.device == "gpu" else None
    pipeline = pipeline_def(graph)(
        recipe, arguments, batch_size=arguments.batch, num_threads=arguments.workers, device_id=device, seed=1
    )
    if recipe.source == "resident":
        batches = recipes.RESIDENT_TIMES
    else:
        images = recipes.SMALL_IMAGES if recipe.source == "small" else len(data.files(arguments.data))
        batches = -(-images // arguments.batch)

    def epoch():
        for _ in range(batches):
            # Without a stream given, the batch is complete when `run` returns.
            yield pipeline.run()[0]

    def arrays(batch):
        batch = batch.as_cpu() if device is not None else batch
        if recipe.side is None:
            return [numpy.array(batch.at(i)) for i in range(len(batch))]
        return [numpy.array(batch.as_tensor())]

    return peer.Peer(epoch, arrays)


if __name__ == "__main__":
    peer.main(build, "nvidia-dali-cuda130")
