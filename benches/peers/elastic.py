"""ElasticTransform with alpha 50 and sigma 5, torchvision's defaults, with each other library that has it: a picture of
224×224 bytes, on one thread. Prints the CPU time of an image in microseconds, all threads of the process together.
`operators.py elastic` is the same with torchvision.

    ~/.cache/gpufeed-peers/venv/bin/python benches/peers/elastic.py

- Albumentations makes its two fields of uniform numbers, as torchvision, with OpenCV's blur.
- Kornia works on batches of 64 of floats, into which the bytes are turned here. Its coordinates go from -1 to 1, whence
  its alpha; its kernel is as wide as torchvision's.
- DALI 2.4 and kornia-rs 0.2.0 have none.
"""

import numpy
import torch

from operators import SIDE, picture
from policies import BATCH, per_image

ALPHA, SIGMA, KERNEL = 50, 5, 41


def albumentations():
    import albumentations as A
    import cv2

    cv2.setNumThreads(1)
    change = A.Compose([A.ElasticTransform(alpha=ALPHA, sigma=SIGMA, noise_distribution="uniform", p=1)])
    image = numpy.ascontiguousarray(picture(SIDE).permute(1, 2, 0).numpy())
    return lambda: change(image=image)["image"], 1


def kornia():
    from kornia import augmentation as K

    change = K.RandomElasticTransform((KERNEL, KERNEL), (SIGMA, SIGMA), (ALPHA / SIDE, ALPHA / SIDE), p=1.0)
    images = picture(SIDE).expand(BATCH, 3, SIDE, SIDE).contiguous()
    return torch.inference_mode()(lambda: change(images.float() / 255)), BATCH


def main():
    torch.set_num_threads(1)
    for name, prepare in {"Albumentations": albumentations, "Kornia": kornia}.items():
        try:
            call, images = prepare()
            print(f"{name:22} {per_image(call, images, 3):9.1f} µs", flush=True)
        except Exception as error:  # a rival that fails is a row, too
            print(f"{name:22} failed: {type(error).__name__}: {error}", flush=True)


if __name__ == "__main__":
    main()
