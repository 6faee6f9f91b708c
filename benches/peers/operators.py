"""torchvision's single operators on one picture of 224×224, on one thread: CPU time a call in microseconds, by tensors
and by PIL. `cargo bench --bench operators` is the same with gpufeed.

    ~/.cache/gpufeed-peers/venv/bin/python benches/peers/operators.py [NAME]...
"""

import sys
import time

import numpy
import torch
from torchvision.transforms import InterpolationMode, v2
from torchvision.transforms.v2 import functional as F

SIDE = 224
NEAREST, BILINEAR = InterpolationMode.NEAREST, InterpolationMode.BILINEAR


def picture(side):
    """The one that benches/operators.rs shows: slopes with some noise."""
    i = numpy.arange(side * side * 3, dtype=numpy.uint64)
    x, y = i % (3 * side) // 3, i // (3 * side)
    noise = (i * 2_654_435_761 % 2**32) // 2**28
    values = (x // 2 + y // 3 + 20 * (i % 3) + noise) % 256
    return torch.from_numpy(values.astype(numpy.uint8).reshape(side, side, 3)).permute(2, 0, 1).contiguous()


def perspective(image):
    start = [[0, 0], [223, 0], [223, 223], [0, 223]]
    end = [[20, 30], [200, 10], [215, 190], [5, 210]]
    return F.perspective(image, start, end, interpolation=BILINEAR, fill=[0.0])


def affine(image):
    return F.affine(image, 15, [10, -7], 0.9, [5.0, 0.0], interpolation=BILINEAR, fill=[0.0])


def lists(pil):
    last = [v2.PILToTensor()] if pil else []
    floats = [*last, v2.ToDtype(torch.float32, scale=True)]
    return {
        "RandAugment": v2.RandAugment(),
        "TrivialAugmentWide": v2.TrivialAugmentWide(),
        "AugMix": v2.AugMix(),
        "elastic": v2.ElasticTransform(),
        "crop, RandAugment, f32": v2.Compose([v2.RandomCrop(SIDE), v2.RandAugment(), *floats]),
        "resize": v2.Resize((SIDE, SIDE)),
        "bicubic resize": v2.Resize((SIDE, SIDE), interpolation=InterpolationMode.BICUBIC),
    }


OPERATORS = {
    "rotate nearest": lambda image: F.rotate(image, 30, interpolation=NEAREST, fill=[0.0]),
    "rotate bilinear": lambda image: F.rotate(image, 30, interpolation=BILINEAR, fill=[0.0]),
    "affine bilinear": affine,
    "perspective": perspective,
    "equalize": F.equalize,
    "autocontrast": F.autocontrast,
    "sharpness": lambda image: F.adjust_sharpness(image, 1.5),
    "blur 23": lambda image: F.gaussian_blur(image, [23, 23], [1.0, 1.0]),
    "brightness": lambda image: F.adjust_brightness(image, 1.3),
    "contrast": lambda image: F.adjust_contrast(image, 1.3),
    "saturation": lambda image: F.adjust_saturation(image, 1.3),
    "hue": lambda image: F.adjust_hue(image, 0.1),
    "gray": lambda image: F.rgb_to_grayscale(image, 3),
    "posterize": lambda image: F.posterize(image, 4),
    "solarize": lambda image: F.solarize(image, 128),
}
SIDES = {"crop, RandAugment, f32": 256, "resize": 320, "bicubic resize": 320}


def micros(call, calls=64, rounds=7):
    """The median of some measurements of CPU time; random operators draw anew in each call."""
    for _ in range(8):
        call()
    times = []
    for _ in range(rounds):
        start = time.thread_time()
        for _ in range(calls):
            call()
        times.append((time.thread_time() - start) * 1e6 / calls)
    return sorted(times)[rounds // 2]


def main():
    torch.set_num_threads(1)
    torch.manual_seed(0)
    wanted = sys.argv[1:]
    chosen = [name for name in {**OPERATORS, **lists(False)} if not wanted or any(part in name for part in wanted)]
    for name in chosen:
        tensor = picture(SIDES.get(name, SIDE))
        image = F.to_pil_image(tensor)
        slow = name in ("elastic", "AugMix")
        calls, rounds = (8, 3) if slow else (64, 7)
        by_tensor = {**OPERATORS, **lists(False)}[name]
        by_pil = {**OPERATORS, **lists(True)}[name]
        row = [micros(lambda: by_tensor(tensor), calls, rounds)]
        try:
            row.append(micros(lambda: by_pil(image), calls, rounds))
        except (TypeError, ValueError, RuntimeError) as error:
            row.append(float("nan"))
            print(f"{name}: PIL: {error}", file=sys.stderr)
        print(f"{name:28} {row[0]:9.1f} µs by tensors {row[1]:9.1f} by PIL", flush=True)
    if not wanted or any(part in "MixUp f32" for part in wanted):
        batch, labels = torch.rand(64, 3, SIDE, SIDE), torch.arange(64)
        mix = v2.MixUp(num_classes=1000)
        print(f"{'MixUp f32':28} {micros(lambda: mix(batch, labels), 4, 7) / 64:9.1f} µs", flush=True)


if __name__ == "__main__":
    main()
