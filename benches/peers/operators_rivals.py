"""The rivals of `operators.py`: the cases that a library beside torchvision has, on one thread each.

A function for each library and case takes `operators.picture`'s array (height, width, 3) and returns a call and how
many images it makes. Libraries are imported in them, so what is not installed becomes a row that says so. kornia-rs has
neither case.
"""

import math

import numpy

CROP = 224
BATCH = 64
# Magnitude 9 of 31, as torchvision computes each operation's.
SHARE = 9 / 30
SHEAR = math.degrees(math.atan(0.3 * SHARE))
SHIFT = int(150 / 331 * CROP * SHARE)
FACTOR = 1 + 0.9 * SHARE
BITS = 8 - round(4 * SHARE)


def planes(batch):
    """Images with interleaved channels as f32 planes in [0, 1]."""
    import torch

    return torch.from_numpy(batch).movedim(-1, -3).contiguous().to(torch.float32).div_(255)


def operations():
    """RandAugment's fourteen with Albumentations; the sign of a magnitude is always the same."""
    import albumentations as A
    import cv2

    warp = {"border_mode": cv2.BORDER_CONSTANT, "fill": 0, "interpolation": cv2.INTER_NEAREST, "p": 1}

    def affine(axis, shear=0.0, shift=0):
        other = "y" if axis == "x" else "x"
        shears = {axis: (shear, shear), other: (0.0, 0.0)}
        return A.Affine(shear=shears, translate_px={axis: (shift, shift), other: (0, 0)}, **warp)

    def jitter(**changed):
        kept = {"brightness": (1, 1), "contrast": (1, 1), "saturation": (1, 1), "hue": (0, 0)}
        return A.ColorJitter(**{**kept, **changed}, p=1)

    strength = (FACTOR, FACTOR)
    return [
        A.NoOp(p=1),
        affine("x", shear=SHEAR),
        affine("y", shear=SHEAR),
        affine("x", shift=SHIFT),
        affine("y", shift=SHIFT),
        A.Rotate(limit=(30 * SHARE, 30 * SHARE), **warp),
        jitter(brightness=strength),
        jitter(saturation=strength),
        jitter(contrast=strength),
        A.Sharpen(alpha=(FACTOR - 1, FACTOR - 1), lightness=(1, 1), p=1),
        A.Posterize(num_bits=BITS, p=1),
        A.Solarize(threshold_range=(1 - SHARE, 1 - SHARE), p=1),
        A.AutoContrast(p=1),
        A.Equalize(p=1),
    ]


def rand_augment_albumentations(picture):
    """It has no class for it: two of the operations, in any order."""
    import albumentations as A
    import cv2

    cv2.setNumThreads(1)
    steps = A.Compose([A.RandomCrop(CROP, CROP, p=1), A.RandomOrder(operations(), n=2, replace=True, p=1)])
    return (lambda: planes(steps(image=picture)["image"])), 1


def rand_augment_dali(picture):
    """torchvision's fourteen operations, their ranges and nearest warps; a sample draws its own."""
    from nvidia.dali import fn, pipeline_def, types
    from nvidia.dali.auto_aug import rand_augment

    batch = [numpy.ascontiguousarray(picture)] * BATCH

    @pipeline_def(batch_size=BATCH, num_threads=1, device_id=None, prefetch_queue_depth=1, enable_conditionals=True)
    def graph():
        source = {"batch": True, "cycle": "quiet", "layout": "HWC", "dtype": types.UINT8, "no_copy": True}
        images = fn.external_source(source=[batch], **source)
        place = {f"crop_pos_{axis}": fn.random.uniform(range=(0.0, 1.0)) for axis in "xy"}
        images = fn.crop(images, crop=(CROP, CROP), **place)
        how = {"shape": (CROP, CROP), "max_translate_rel": 150 / 331, "fill_value": 0, "interp_type": types.INTERP_NN}
        images = rand_augment.rand_augment(images, n=2, m=9, **how)
        floats = {"dtype": types.FLOAT, "output_layout": "CHW", "mean": [0.0] * 3, "std": [255.0] * 3}
        return fn.crop_mirror_normalize(images, **floats)

    # It warns of deprecated functions, which its own `rand_augment` uses.
    pipeline = graph()
    pipeline.build()
    return (lambda: pipeline.run()[0]), BATCH


def kornia_batch(steps, picture):
    import torch

    batch = torch.from_numpy(numpy.stack([picture] * BATCH)).movedim(-1, -3).contiguous()
    # The operations' magnitudes are parameters, whose gradients nobody wants.
    return torch.inference_mode()(lambda: steps(batch.to(torch.float32).div_(255)).contiguous()), BATCH


def rand_augment_kornia(picture):
    """Its own ranges; all images of a batch share the two operations."""
    import kornia.augmentation as K
    from kornia.augmentation.auto import RandAugment

    crop = K.RandomCrop((CROP, CROP), cropping_mode="slice", p=1.0)
    return kornia_batch(K.AugmentationSequential(crop, RandAugment(n=2, m=9), data_keys=["input"]), picture)


def elastic_albumentations(picture):
    import albumentations as A
    import cv2

    cv2.setNumThreads(1)
    steps = A.Compose([A.ElasticTransform(alpha=50, sigma=5, noise_distribution="uniform", p=1)])
    return (lambda: steps(image=picture)["image"]), 1


def elastic_kornia(picture):
    """Its grid is 2 wide, whence alpha; torchvision's kernel for sigma 5 has 41 numbers."""
    import kornia.augmentation as K

    alpha = (50 / picture.shape[0], 50 / picture.shape[1])
    return kornia_batch(K.RandomElasticTransform((41, 41), (5.0, 5.0), alpha, p=1.0), picture)


RIVALS = {
    "crop, RandAugment, f32": {
        "Albumentations": rand_augment_albumentations,
        "DALI CPU": rand_augment_dali,
        "Kornia": rand_augment_kornia,
    },
    "elastic": {"Albumentations": elastic_albumentations, "Kornia": elastic_kornia},
}
