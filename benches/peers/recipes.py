"""What the recipes A to M are: every rival builds its own operators from these fields.

Lengths are pixels; jitter strengths are torchvision's (brightness, contrast, saturation, hue); p is a probability.
"""

from dataclasses import dataclass
from typing import Optional, Tuple

IMAGENET = ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
CIFAR = ((0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616))


@dataclass(frozen=True)
class Recipe:
    letter: str
    # gpufeed's name for it.
    name: str
    # "files": JPEG files; "bytes": the same, in memory; "resident": 384x384 pixels; "small": 32x32 pixels.
    source: str
    # Width and height of the output; None: pictures of their own sizes, 8 bits a channel.
    side: Optional[int]
    batch: int = 64
    random_resized: bool = False
    resize: Optional[int] = None
    padding: int = 0
    crop: bool = False
    vertical: float = 0.0
    horizontal: float = 0.5
    jitter: Tuple[float, float, float, float] = (0.0, 0.0, 0.0, 0.0)
    jitter_p: float = 1.0
    gray: float = 0.0
    # RandAugment(2, 9), TrivialAugmentWide or AugMix, with the library's defaults.
    policy: Optional[str] = None
    # The crop is resized by a cubic filter.
    cubic: bool = False
    # GaussianBlur of 23 pixels, sigma 0.1 to 2, with p = 0.5.
    blur: bool = False
    # RandomErasing's probability; by noise instead of zeros.
    erasing: float = 0.0
    noise: bool = False
    # MixUp 0.8 or CutMix 1.0, by half, on the batch.
    mix: bool = False
    # Views of each sample, side by side in the batch; each counts as an image.
    views: int = 1
    # True if `recipes/<name>.toml` has gpufeed's list, which is none of the built-in ones.
    file: bool = False
    # Mean and standard deviation of Normalize; None: the output is in [0, 1].
    normalize: Optional[Tuple[Tuple[float, ...], Tuple[float, ...]]] = None

    def range(self):
        """The least and the greatest value that an output may hold."""
        least, greatest = self.picture_range()
        # Normal numbers; a batch has fewer than 10^9 of them.
        return (min(least, -6.5), max(greatest, 6.5)) if self.noise else (least, greatest)

    def picture_range(self):
        """The values of black and white."""
        if self.normalize is None:
            return 0.0, 1.0
        mean, std = self.normalize
        return min(-m / s for m, s in zip(mean, std)), max((1 - m) / s for m, s in zip(mean, std))


ALL = {
    recipe.letter: recipe
    for recipe in (
        Recipe("A", "imagenet-train", "files", 224, random_resized=True, normalize=IMAGENET),
        Recipe("B", "resize-crop-256", "files", 256, resize=384, crop=True, jitter=(0.2, 0.2, 0.0, 0.0), jitter_p=0.2),
        Recipe("C", "resize-crop-224", "files", 224, resize=384, crop=True, jitter=(0.2, 0.2, 0.0, 0.0)),
        Recipe(
            "D",
            "resize-jitter-gray",
            "files",
            224,
            resize=224,
            vertical=0.5,
            jitter=(0.3, 0.3, 0.3, 0.1),
            gray=0.1,
            normalize=IMAGENET,
        ),
        Recipe("E", "augment-only", "resident", 224, crop=True, jitter=(0.2, 0.2, 0.0, 0.0)),
        Recipe("F", "decode-only", "bytes", None, horizontal=0.0),
        Recipe("G", "cifar-train", "small", 32, batch=512, padding=4, crop=True, normalize=CIFAR),
        Recipe(
            "H",
            "randaugment-224",
            "files",
            224,
            random_resized=True,
            policy="RandAugment",
            normalize=IMAGENET,
            erasing=0.1,
            file=True,
        ),
        Recipe(
            "I",
            "trivialaugment-224",
            "files",
            224,
            random_resized=True,
            policy="TrivialAugmentWide",
            normalize=IMAGENET,
            erasing=0.1,
            file=True,
        ),
        Recipe(
            "K",
            "simclr-224",
            "files",
            224,
            random_resized=True,
            jitter=(0.8, 0.8, 0.8, 0.2),
            jitter_p=0.8,
            gray=0.2,
            blur=True,
            views=2,
            file=True,
        ),
        Recipe(
            "L",
            "deit-224",
            "files",
            224,
            random_resized=True,
            cubic=True,
            policy="RandAugment",
            normalize=IMAGENET,
            erasing=0.25,
            noise=True,
            mix=True,
            file=True,
        ),
        Recipe(
            "M",
            "augmix-224",
            "files",
            224,
            random_resized=True,
            policy="AugMix",
            normalize=IMAGENET,
            file=True,
        ),
    )
}

# Sizes of the sets that are not files.
RESIDENT_IMAGES, RESIDENT_SIDE, RESIDENT_TIMES = 64, 384, 16
SMALL_IMAGES, SMALL_SIDE = 50_000, 32


def wrong(recipe, shape, dtype, contiguous, low, high, mean):
    """Why a batch is not what the recipe makes, or None; `shape` is that of the whole batch."""
    if recipe.side is None:
        return None if dtype == "uint8" and 3 in (shape[0], shape[-1]) and len(shape) == 3 else f"{dtype} {shape}"
    if tuple(shape[1:]) != (3, recipe.side, recipe.side):
        return f"shape {tuple(shape)}, expected (n, 3, {recipe.side}, {recipe.side})"
    if dtype != "float32" or not contiguous:
        return f"{dtype}, contiguous: {contiguous}; expected contiguous float32"
    least, greatest = recipe.range()
    # A linear filter does not overshoot: only rounding may leave the range.
    if not (least - 1e-3 <= low and high <= greatest + 1e-3):
        return f"values {low:.4f} to {high:.4f}, expected {least:.4f} to {greatest:.4f}"
    least, greatest = recipe.picture_range()
    middle = 0.1 * (greatest - least)
    if not (high - low > 5 * middle and least + middle < mean < greatest - middle):
        return f"values {low:.4f} to {high:.4f} around {mean:.4f} are no photographs"
    return None
