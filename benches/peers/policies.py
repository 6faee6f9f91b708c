"""RandAugment(2, 9) alone with each library that has it, on one thread: a picture of 256×256 in memory, a random crop of
224×224, the policy, floats in [0, 1]. Prints the CPU time of an image in microseconds, all threads of the process
together. `cargo bench --bench operators -- "crop, RandAugment"` is the same with gpufeed.

    ~/.cache/gpufeed-peers/venv/bin/python benches/peers/policies.py [NAME]...

- Albumentations has no RandAugment: SomeOf takes two of the same fourteen operations with torchvision's magnitudes.
  Its warps are OpenCV's.
- DALI makes batches of 64; its warps are bilinear by default, here they take the nearest pixel.
- Kornia makes batches of 64 of floats; a batch shares the operations that were drawn.
- kornia-rs 0.2.0 has no such policy.
"""

import sys
import time

import cv2
import numpy
import torch

from operators import SIDE, lists, picture

SOURCE, BATCH = 256, 64


def per_image(call, images, rounds=7):
    """The median of some measurements of CPU time; `call` makes so many images."""
    calls = max(1, 128 // images)
    for _ in range(2 * calls):
        call()
    times = []
    for _ in range(rounds):
        start = time.process_time()
        for _ in range(calls):
            call()
        times.append((time.process_time() - start) * 1e6 / (calls * images))
    return sorted(times)[rounds // 2]


def torchvision_tensors():
    image, change = picture(SOURCE), lists(False)["crop, RandAugment, f32"]
    return lambda: change(image), 1


def torchvision_pil():
    from torchvision.transforms.v2 import functional as F

    image, change = F.to_pil_image(picture(SOURCE)), lists(True)["crop, RandAugment, f32"]
    return lambda: change(image), 1


def albumentations():
    import albumentations as A
    from albumentations.pytorch import ToTensorV2

    cv2.setNumThreads(1)
    # torchvision's magnitudes of bin 9 of 31.
    share = 9 / 30
    shear, shift, angle, factor = 17.2 * share, round(150 / 331 * SIDE * share), 30 * share, 0.9 * share
    warp = {"interpolation": cv2.INTER_NEAREST, "fill": 0, "p": 1}
    still = {"brightness": (1, 1), "contrast": (1, 1), "saturation": (1, 1), "hue": (0, 0), "p": 1}
    operations = [
        A.NoOp(),
        A.Affine(shear={"x": (-shear, shear), "y": (0, 0)}, **warp),
        A.Affine(shear={"x": (0, 0), "y": (-shear, shear)}, **warp),
        A.Affine(translate_px={"x": (-shift, shift), "y": (0, 0)}, **warp),
        A.Affine(translate_px={"x": (0, 0), "y": (-shift, shift)}, **warp),
        A.Rotate(limit=(-angle, angle), **warp),
        A.ColorJitter(**{**still, "brightness": (1 - factor, 1 + factor)}),
        A.ColorJitter(**{**still, "saturation": (1 - factor, 1 + factor)}),
        A.ColorJitter(**{**still, "contrast": (1 - factor, 1 + factor)}),
        A.Sharpen(alpha=(0.2, 0.3), p=1),
        A.Posterize(num_bits=7, p=1),
        A.Solarize(threshold_range=(1 - share, 1 - share), p=1),
        A.AutoContrast(p=1),
        A.Equalize(p=1),
    ]
    last = [A.ToFloat(max_value=255), ToTensorV2()]
    change = A.Compose([A.RandomCrop(SIDE, SIDE), A.SomeOf(operations, n=2, replace=True, p=1), *last])
    image = numpy.ascontiguousarray(picture(SOURCE).permute(1, 2, 0).numpy())
    return lambda: change(image=image)["image"], 1


def dali():
    from nvidia.dali import fn, pipeline_def, types
    from nvidia.dali.auto_aug import rand_augment

    image = numpy.ascontiguousarray(picture(SOURCE).permute(1, 2, 0).numpy())
    batch = [image] * BATCH

    @pipeline_def(enable_conditionals=True, batch_size=BATCH, num_threads=1, device_id=None, prefetch_queue_depth=1, seed=1)
    def pipeline():
        images = fn.external_source(source=[batch], batch=True, cycle="quiet", layout="HWC", dtype=types.UINT8, no_copy=True)
        place = {name: fn.random.uniform(range=(0, 1)) for name in ("crop_pos_x", "crop_pos_y")}
        images = fn.crop(images, crop=(SIDE, SIDE), **place)
        images = rand_augment.rand_augment(
            images, n=2, m=9, shape=(SIDE, SIDE), fill_value=0, interp_type=types.INTERP_NN, monotonic_mag=True
        )
        return fn.crop_mirror_normalize(images, dtype=types.FLOAT, output_layout="CHW", mean=[0.0] * 3, std=[255.0] * 3)

    made = pipeline()
    made.build()
    return lambda: made.run(), BATCH


def kornia():
    from kornia import augmentation as K
    from kornia.augmentation.auto import RandAugment

    change = K.AugmentationSequential(K.RandomCrop((SIDE, SIDE)), RandAugment(n=2, m=9))
    images = picture(SOURCE).expand(BATCH, 3, SOURCE, SOURCE).contiguous()
    return lambda: change(images.float() / 255), BATCH


RIVALS = {
    "torchvision, tensors": torchvision_tensors,
    "torchvision, PIL": torchvision_pil,
    "Albumentations": albumentations,
    "DALI CPU": dali,
    "Kornia": kornia,
}


def main():
    torch.set_num_threads(1)
    torch.manual_seed(0)
    wanted = [name.lower() for name in sys.argv[1:]]
    for name, prepare in RIVALS.items():
        if wanted and not any(part in name.lower() for part in wanted):
            continue
        try:
            call, images = prepare()
            print(f"{name:22} {per_image(call, images):9.1f} µs", flush=True)
        except Exception as error:  # a rival that fails is a row, too
            print(f"{name:22} failed: {type(error).__name__}: {error}", flush=True)


if __name__ == "__main__":
    main()
