"""Lists of published training code: what becomes of each, and whether what converts has the pixels of the original classes.

``LISTS`` is the table: "converts", "runs in Python", or the words of the refusal. A list that converts is compared by the drawn
parameters; ``test_own_code.py`` compares what runs in Python.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch")
v1 = pytest.importorskip("torchvision.transforms")

from PIL import Image  # noqa: E402
from torchvision import models  # noqa: E402
from torchvision.transforms import v2  # noqa: E402

import gpufeed  # noqa: E402
from drawn import through_torchvision  # noqa: E402
from gpufeed.torchvision import UnsupportedTransform, convert  # noqa: E402
from pictures import jpeg  # noqa: E402
from published import self_supervised as own, supervised  # noqa: E402

IMAGES = 4
CONVERTS = "converts"
# Code that no transform is known for.
RUNS = "runs in Python"


def of_timm(**options: Any) -> Callable[[], Any]:
    def make() -> Any:
        pytest.importorskip("timm")
        return supervised.timm(**options)

    return make


def of_albumentations() -> Any:
    return pytest.importorskip("albumentations").Compose([pytest.importorskip("albumentations").RandomCrop(224, 224)])


def preset(*arguments: Any, **more: Any) -> Callable[[], Any]:
    return lambda: supervised.TrainingPreset(*arguments, **more).transforms


CROP = v1.RandomResizedCrop(224)
FLOAT = v2.ToDtype(torch.float32, scale=True)

# The 44 lists of which 21 converted once, in the order of their table. Of the first, the list is a row of its own.
LISTS: dict[str, tuple[Callable[[], Any], str]] = {
    "torchvision training, the object": (lambda: supervised.TrainingPreset(224), CONVERTS),
    "torchvision training, its list": (preset(224), CONVERTS),
    "torchvision training, ra": (preset(176, "ra", 0.1), CONVERTS),
    "torchvision training, ta_wide": (preset(176, "ta_wide", 0.1), CONVERTS),
    "torchvision training, augmix": (preset(176, "augmix", 0.1), CONVERTS),
    "torchvision training, imagenet": (preset(176, "imagenet", 0.1), CONVERTS),
    "torchvision training, bicubic ra": (preset(224, "ra", interpolation=own.BICUBIC), CONVERTS),
    "torchvision evaluation": (lambda: supervised.EvaluationPreset(224, 232).transforms, CONVERTS),
    "timm training": (of_timm(), CONVERTS),
    "timm rand-m9-mstd0.5-inc1": (of_timm(auto_augment="rand-m9-mstd0.5-inc1"), CONVERTS),
    "timm original": (of_timm(auto_augment="original"), CONVERTS),
    "timm 3a": (of_timm(auto_augment="3a"), CONVERTS),
    "timm erasing by pixels": (of_timm(re_prob=0.25, re_mode="pixel"), CONVERTS),
    "timm erasing by rand": (of_timm(re_prob=0.25, re_mode="rand"), CONVERTS),
    "timm erasing thrice": (of_timm(re_prob=0.25, re_mode="pixel", re_count=3), CONVERTS),
    "timm prefetcher": (of_timm(use_prefetcher=True), CONVERTS),
    "timm gray and blur": (of_timm(grayscale_prob=0.1, gaussian_blur_prob=0.1), CONVERTS),
    "timm no augmentation": (of_timm(no_aug=True), CONVERTS),
    "timm rkrr": (of_timm(train_crop_mode="rkrr"), CONVERTS),
    "timm evaluation": (of_timm(training=False), CONVERTS),
    "timm evaluation, bicubic": (of_timm(training=False, interpolation="bicubic", crop_pct=0.95), CONVERTS),
    "timm evaluation, squash": (of_timm(training=False, crop_mode="squash"), CONVERTS),
    "timm evaluation, border": (of_timm(training=False, crop_mode="border"), CONVERTS),
    "timm training, 32": (of_timm(size=32), CONVERTS),
    "DINO, the object": (own.CropsOfDino, "it makes 10 views: 1 by it.global_transfo1, .* pass groups=it in its place"),
    "DINO, its first list": (lambda: own.CropsOfDino().global_transfo1, CONVERTS),
    "DINO, local, by torchvision": (
        lambda: own.dinos(96, (0.05, 0.4), v1.RandomApply([v1.GaussianBlur(23)], 0.5), v1.RandomSolarize(128, 0.0)),
        CONVERTS,
    ),
    "MAE pretraining": (own.mae_pretraining, CONVERTS),
    "MAE linear probing": (supervised.linear_probing, RUNS),
    "MAE finetuning": (of_timm(**supervised.RAND_AUGMENT), CONVERTS),
    "MAE evaluation": (supervised.evaluation, CONVERTS),
    "DeiT training": (of_timm(**supervised.RAND_AUGMENT, scale=(0.08, 1.0)), CONVERTS),
    "DeiT evaluation": (supervised.evaluation, CONVERTS),
    "MoCo v2": (own.moco_v2, CONVERTS),
    "MoCo v2, the object": (lambda: own.TwoCrops(own.moco_v2()), "it makes 2 views by one list; pass transforms=it.base_transform, views=2"),
    "solo-learn": (own.solo_learn, CONVERTS),
    "a scaling behind ToTensor": (lambda: [CROP, v1.ToTensor(), v1.Lambda(supervised.double)], CONVERTS),
    "bfloat16": (lambda: [CROP, v2.ToDtype(torch.bfloat16, scale=True)], CONVERTS),
    "Albumentations": (of_albumentations, CONVERTS),
    "Kornia": (lambda: supervised.OfKornia(v2.RandomResizedCrop(224)), "OfKornia is not supported: it is published.supervised's"),
    "a plain function": (lambda: [supervised.plain, CROP], RUNS),
    "weights' preset": (lambda: models.ResNet50_Weights.IMAGENET1K_V2.transforms(), CONVERTS),
    "weights' preset, not called": (lambda: models.ResNet50_Weights.IMAGENET1K_V2.transforms, "has to be called"),
    "weights' preset, bicubic": (lambda: models.ViT_B_16_Weights.IMAGENET1K_SWAG_E2E_V1.transforms(), CONVERTS),
    # Those that were not tried then.
    "weights": (lambda: models.ResNet50_Weights.IMAGENET1K_V2, r"it is weights, whose list is weights.transforms\(\)"),
    "DINO, its second list": (lambda: own.CropsOfDino().global_transfo2, CONVERTS),
    "iBOT, local": (lambda: own.dinos(96, (0.05, 0.32), own.BlurByChance(0.5)), CONVERTS),
    "DINOv2, the object": (lambda: own.CropsOfDinoV2(2), r"it makes 4 views: 1 by it.cut_global \+ it.first, .*; pass groups=it in its place"),
    "DINOv2, its second list": (lambda: [own.CropsOfDinoV2().cut_global, v2.Identity(), own.CropsOfDinoV2().second], CONVERTS),
    "BYOL, first": (lambda: own.byols(1.0, 0.0), CONVERTS),
    "BYOL, second": (lambda: own.byols(0.1, 0.2), CONVERTS),
    "BYOL, the object": (lambda: own.TwoLists(own.byols(1.0, 0.0), own.byols(0.1, 0.2)), "it makes 2 views: 1 by it.transform, 1 by"),
    "VICReg, first": (lambda: own.byols(1.0, 0.0, of_numpy=True), CONVERTS),
    "VICReg, second": (lambda: own.byols(0.1, 0.2, of_numpy=True), CONVERTS),
    "SwAV, large": (lambda: own.swav()[0], CONVERTS),
    "SwAV, small": (lambda: own.swav()[1], CONVERTS),
    "SwAV, the object": (own.CropsOfSwav, r"it makes 8 views: 2 by it.trans\[0\], 6 by it.trans\[2\]"),
    "SwAV, a blur of arrays": (lambda: [CROP, own.BlurOfArrays(), v1.ToTensor()], RUNS),
    "lightly, SimCLR": (own.ViewOfLightly, CONVERTS),
    "lightly, SimCLR, the object": (own.ViewsOfLightly, r"it makes 2 views by one list; pass transforms=it.transforms\[0\], views=2"),
    "DeiT III": (own.deit_iii, CONVERTS),
}


# Equalizing spreads the level by which a bilinear warp before it may be off.
WIDER = {"torchvision training, imagenet": (0.02, 22.0)}


def files() -> tuple[list[Any], list[Any]]:
    """Images as [channels, height, width], and PNG files of them, which every decoder decodes alike."""
    images, found = [], []
    for number in range(IMAGES):
        picture = Image.open(io.BytesIO(jpeg(number, 260 + 20 * number, 240)))
        out = io.BytesIO()
        picture.save(out, "PNG")
        found.append((out.getvalue(), 0))
        images.append(v2.functional.pil_to_tensor(picture))
    return images, found


def compare(loader: Any, images: list[Any], group: str | None = None, bounds: tuple[float, float] = (1e-3, 2.1)) -> None:
    """The batch is what torchvision and Pillow make of the drawn parameters: 8-bit numbers up to the conversion, floats from it on."""
    batch = next(loader.batches())
    batch = batch if group is None else batch.groups[group]
    found = torch.from_dlpack(batch.images)
    views = len(batch.params) // len(batch.ids)
    params = [json.loads(each) for each in batch.params]
    normalized = [op["slot"] for each in params for op in each["ops"] if "Normalize" in op["op"]]
    last = None if found.dtype == torch.uint8 else min(normalized, default=10**6)
    expected = [through_torchvision(each, images[batch.ids[index // views]], last) for index, each in enumerate(params)]
    difference = (found.float() - torch.stack(expected).to(found.dtype).float()).abs()
    level = {torch.uint8: 1.0}.get(found.dtype, 1 / 255) / (0.224 if normalized else 1)
    share = (difference > level / 250).double().mean()
    print(f"{int((difference > level / 250).sum())} of {difference.numel()} differ, by {float(difference.max() / level):.2f} levels at most")
    # AugMix sums shares that add up to 1 within rounding.
    assert share <= (5e-3 if "Mixture" in str(params) else bounds[0]) and difference.max() <= bounds[1] * level


@pytest.mark.filterwarnings("ignore:.*:UserWarning")
@pytest.mark.parametrize("name", LISTS)
def test_what_becomes_of_it(name: str) -> None:
    make, outcome = LISTS[name]
    given = make()
    if outcome == RUNS:
        loader = gpufeed.DataLoader(files()[1], given, batch_size=IMAGES, seed=5)
        assert sum("runs in Python" in note for note in loader.notes) == 1
        images, _ = next(iter(loader))
        assert images.shape == (IMAGES, 3, 224, 224)
        return
    if outcome != CONVERTS:
        with pytest.raises(UnsupportedTransform, match=outcome) as refused:
            convert(given)
        assert len(str(refused.value)) <= 300
        return
    images, found = files()
    compare(gpufeed.DataLoader(found, given, batch_size=IMAGES, seed=5), images, bounds=WIDER.get(name, (1e-3, 2.1)))


def test_at_least_as_many_convert() -> None:
    """Of the 44 rows of the first table, the two objects that make several views as groups."""
    first = [*LISTS][: [*LISTS].index("weights")]
    counts = [sum(LISTS[name][1] == outcome for name in first) for outcome in (CONVERTS, RUNS)]
    as_groups = sum("it makes" in LISTS[name][1] and "views" in LISTS[name][1] for name in first)
    assert (len(first), *counts, as_groups) == (44, 38, 2, 2)


OBJECTS: dict[str, tuple[Callable[[], Any], dict[str, int]]] = {
    "DINO": (lambda: own.CropsOfDino(2), {"global_transfo1": 1, "global_transfo2": 1, "local_transfo": 2}),
    "DINOv2": (lambda: own.CropsOfDinoV2(2), {"cut_global_first": 1, "cut_global_second": 1, "cut_local_local": 2}),
    "MoCo v2": (lambda: own.TwoCrops(own.moco_v2()), {"base_transform": 2}),
    "BYOL": (lambda: own.TwoLists(own.byols(1.0, 0.0), own.byols(0.1, 0.2)), {"transform": 1, "transform_prime": 1}),
    "lightly": (own.ViewsOfLightly, {"transforms_0": 2}),
    "SwAV": (own.CropsOfSwav, {"trans_0": 2, "trans_2": 6}),
}


@pytest.mark.parametrize("name", OBJECTS)
def test_objects_that_make_views_as_groups(name: str) -> None:
    make, expected = OBJECTS[name]
    images, found = files()
    loader = gpufeed.DataLoader(found, groups=make(), batch_size=IMAGES, seed=2)
    batch = next(iter(loader))
    assert {name: len(batch[name]) // IMAGES for name in batch if name != "label"} == expected
    for group in expected:
        compare(loader, images, group)
