"""Lists as training scripts have them, and their recipes: torchvision's references, SimCLR, DINO, timm, presets."""

from __future__ import annotations

import json
import sys
import warnings
from typing import Any

import pytest

torch = pytest.importorskip("torch")
v1 = pytest.importorskip("torchvision.transforms")

from PIL import Image  # noqa: E402
from torchvision import models  # noqa: E402
from torchvision.transforms import v2  # noqa: E402

import gpufeed  # noqa: E402
from gpufeed import _gpufeed  # noqa: E402
from gpufeed.torchvision import Converted, UnsupportedTransform, convert  # noqa: E402
from pictures import Jpegs  # noqa: E402

MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
NORMALIZE = {"type": "Normalize", "mean": MEAN, "std": STD}
FLOAT = {"type": "ToDtype"}
FLIP = {"type": "RandomHorizontalFlip", "p": 0.5}


def crop(size: int = 224, interpolation: str = "Bilinear", scale: tuple[float, float] = (0.08, 1.0)) -> dict[str, Any]:
    made = {"type": "RandomResizedCrop", "size": size, "scale": [*scale], "ratio": [3 / 4, 4 / 3]}
    return made | {"interpolation": interpolation, "antialias": True}


def expect(converted: Converted, transforms: list[dict[str, Any]], dtype: str = "F32") -> None:
    """The recipe is this one, in 8-bit numbers up to ToDtype, and gpufeed reads it."""
    made = json.loads(json.dumps(converted.recipe), parse_float=lambda number: float(f"{float(number):.9g}"))
    wanted = {"semantics": "Uint8", "output": {"layout": "Nchw", "dtype": dtype}, "transform": transforms}
    assert made == json.loads(json.dumps(wanted), parse_float=lambda number: float(f"{float(number):.9g}"))
    _gpufeed.recipe_toml(json.dumps(converted.recipe))


def reference(module: Any, policy: Any, backend: str) -> Any:
    """references/classification/presets.py of torchvision, ClassificationPresetTrain: its steps in their order."""
    steps: list[Any] = []
    if backend == "tensor":
        steps.append(v2.PILToTensor() if module is v1 else v2.ToImage())
    steps.append(module.RandomResizedCrop(224, interpolation=v1.InterpolationMode.BILINEAR, antialias=True))
    steps += [module.RandomHorizontalFlip(0.5), policy]
    if backend == "pil":
        steps.append(module.PILToTensor())
    steps.append(v2.ToDtype(torch.float, scale=True) if module is v2 else v1.ConvertImageDtype(torch.float))
    steps += [module.Normalize(mean=tuple(MEAN), std=tuple(STD)), module.RandomErasing(p=0.1)]
    if module is v2:
        steps.append(v2.ToPureTensor())
    return module.Compose(steps)


@pytest.mark.parametrize("backend", ["tensor", "pil"])
@pytest.mark.parametrize("module", [v1, v2], ids=["v1", "v2"])
def test_torchvisions_references(module: Any, backend: str) -> None:
    bilinear = v1.InterpolationMode.BILINEAR
    rand = module.RandAugment(interpolation=bilinear, magnitude=9)
    wide = module.TrivialAugmentWide(interpolation=bilinear)
    warped = {"interpolation": "Bilinear", "fill": "None", "num_magnitude_bins": 31}
    erasing = {"type": "RandomErasing", "p": 0.1, "scale": [0.02, 0.33], "ratio": [0.3, 3.3], "value": 0.0}
    for policy, expected in [
        (rand, {"type": "RandAugment", **warped, "num_ops": 2, "magnitude": 9}),
        (wide, {"type": "TrivialAugmentWide", **warped}),
    ]:
        converted = convert(reference(module, policy, backend))
        expect(converted, [crop(), FLIP, expected, FLOAT, NORMALIZE, erasing])
        assert [note[:21] for note in converted.notes] == (["a list for PIL images"] if backend == "pil" else [])


@pytest.mark.parametrize("module", [v1, v2], ids=["v1", "v2"])
def test_simclr(module: Any) -> None:
    jitter = module.ColorJitter(0.8, 0.8, 0.8, 0.2)
    steps = [module.RandomResizedCrop(size=224), module.RandomHorizontalFlip(), module.RandomApply([jitter], p=0.8)]
    steps += [
        module.RandomGrayscale(p=0.2),
        module.RandomApply([module.GaussianBlur(kernel_size=int(0.1 * 224) | 1)]),
        v1.ToTensor(),
    ]
    ranges = {"brightness": [0.2, 1.8], "contrast": [0.2, 1.8], "saturation": [0.2, 1.8], "hue": [-0.2, 0.2]}
    blur = {"type": "GaussianBlur", "kernel_size": [23, 23], "sigma": [0.1, 2.0]}
    expected = [
        crop(),
        FLIP,
        {"type": "RandomApply", "p": 0.8, "transforms": [{"type": "ColorJitter", **ranges}]},
        {"type": "RandomGrayscale", "p": 0.2},
        {"type": "RandomApply", "p": 0.5, "transforms": [blur]},
        FLOAT,
    ]
    expect(convert(module.Compose(steps)), expected)
    loader = gpufeed.DataLoader(Jpegs(4), module.Compose(steps), views=2, batch_size=2)
    assert next(iter(loader))[0].shape == (4, 3, 224, 224)  # two views of two samples


def test_dinos_global_crops() -> None:
    """main_dino.py of facebookresearch/dino, its blur and solarization being torchvision's."""
    jitter = v1.RandomApply([v1.ColorJitter(brightness=0.4, contrast=0.4, saturation=0.2, hue=0.1)], p=0.8)
    flip_and_jitter = v1.Compose([v1.RandomHorizontalFlip(p=0.5), jitter, v1.RandomGrayscale(p=0.2)])
    normalize = v1.Compose([v1.ToTensor(), v1.Normalize(tuple(MEAN), tuple(STD))])
    begins = [v1.RandomResizedCrop(224, scale=(0.4, 1.0), interpolation=Image.Resampling.BICUBIC), flip_and_jitter]
    blur = v1.GaussianBlur(23)
    ranges = {"brightness": [0.6, 1.4], "contrast": [0.6, 1.4], "saturation": [0.8, 1.2], "hue": [-0.1, 0.1]}
    expected = [
        crop(interpolation="Bicubic", scale=(0.4, 1.0)),
        FLIP,
        {"type": "RandomApply", "p": 0.8, "transforms": [{"type": "ColorJitter", **ranges}]},
        {"type": "RandomGrayscale", "p": 0.2},
    ]
    blurred = {"type": "GaussianBlur", "kernel_size": [23, 23], "sigma": [0.1, 2.0]}
    expect(convert(v1.Compose([*begins, blur, normalize])), [*expected, blurred, FLOAT, NORMALIZE])
    second = v1.Compose([*begins, v1.RandomApply([blur], p=0.1), v1.RandomSolarize(128, p=0.2), normalize])
    sometimes = {"type": "RandomApply", "p": 0.1, "transforms": [blurred]}
    solarize = {"type": "RandomSolarize", "threshold": 128, "p": 0.2}
    expect(convert(second), [*expected, sometimes, solarize, FLOAT, NORMALIZE])

    class GaussianBlur:
        """DINO's own, of Pillow."""

    with pytest.raises(
        UnsupportedTransform, match=r"^transforms\[2\]: GaussianBlur is not supported: it is .*, not torchvision's"
    ):
        convert(v1.Compose([*begins, GaussianBlur(), normalize]))


def test_presets_of_weights() -> None:
    preset = models.ResNet50_Weights.IMAGENET1K_V2.transforms()
    resize = {"type": "Resize", "size": 232, "interpolation": "Bilinear", "antialias": True}
    center = {"type": "CenterCrop", "size": 224}
    expect(convert(preset), [resize, center, FLOAT, NORMALIZE])
    expect(convert([v2.RandomHorizontalFlip(), preset]), [FLIP, resize, center, FLOAT, NORMALIZE])
    bicubic = models.EfficientNet_B0_Weights.IMAGENET1K_V1.transforms()
    made = convert(bicubic).recipe["transform"]
    assert made[0] == {"type": "Resize", "size": 256, "interpolation": "Bicubic", "antialias": True}
    with pytest.raises(UnsupportedTransform, match="^transforms: SemanticSegmentation is not supported; .* has the table$"):
        convert(models.segmentation.FCN_ResNet50_Weights.DEFAULT.transforms())


JITTER = {"type": "ColorJitter", "brightness": [0.6, 1.4], "contrast": [0.6, 1.4], "saturation": [0.6, 1.4], "hue": 0.0}
CENTER = {"type": "CenterCrop", "size": 224}


def test_timms_train_list() -> None:
    timm = pytest.importorskip("timm.data")
    converted = convert(timm.create_transform(224, is_training=True))
    expect(converted, [crop(), FLIP, JITTER, FLOAT, NORMALIZE])
    assert len(converted.notes) == 1
    erasing = {"type": "RandomErasing", "p": 0.25, "scale": [0.02, 1 / 3], "ratio": [0.3, 1 / 0.3]}
    options = {"interpolation": "bicubic", "color_jitter": None, "vflip": 0.1, "hflip": 0.0, "re_prob": 0.25}
    begins = [crop(interpolation="Bicubic"), {"type": "RandomVerticalFlip", "p": 0.1}, FLOAT, NORMALIZE]
    for mode, value in [("pixel", "random"), ("const", 0.0)]:
        made = convert(timm.create_transform((3, 224, 224), is_training=True, re_mode=mode, **options))
        expect(made, [*begins, erasing | {"value": value}])
    # Its training script draws one of two interpolations.
    several = convert(timm.create_transform(224, is_training=True, interpolation="random", color_jitter=None))
    choice = {"type": "RandomChoice", "transforms": [crop(), crop(interpolation="Bicubic")]}
    expect(several, [choice, FLIP, FLOAT, NORMALIZE])
    bytes_ = convert(timm.create_transform(224, is_training=True, use_prefetcher=True, color_jitter=None))
    expect(bytes_, [crop(), FLIP], "U8")
    separate = timm.create_transform(224, is_training=True, separate=True, color_jitter=None)
    expect(convert(separate), [crop(), FLIP, FLOAT, NORMALIZE])
    loader = gpufeed.DataLoader(
        Jpegs(4), timm.create_transform(32, is_training=True, interpolation="random"), batch_size=4
    )
    assert next(iter(loader))[0].shape == (4, 3, 32, 32)


def test_timms_eval_list() -> None:
    timm = pytest.importorskip("timm.data")
    resize = {"type": "Resize", "size": 256, "interpolation": "Bilinear", "antialias": True}
    expect(convert(timm.create_transform(224)), [resize, CENTER, FLOAT, NORMALIZE])
    squash = convert(timm.create_transform(224, crop_pct=0.9, crop_mode="squash", interpolation="bicubic"))
    expect(squash, [resize | {"size": [248, 248], "interpolation": "Bicubic"}, CENTER, FLOAT, NORMALIZE])
    expect(convert(timm.create_transform(224, use_prefetcher=True)), [resize, CENTER], "U8")


def test_what_is_refused_of_timm() -> None:
    timm = pytest.importorskip("timm.data")
    for options, words in [
    ]:
        with pytest.raises(UnsupportedTransform, match=rf"^{words}"):
            convert(timm.create_transform(224, is_training=True, **options))
    crops = sys.modules["timm.data.transforms"]
    with pytest.raises(
        UnsupportedTransform, match="^transforms: RandomResizedCropAndInterpolation cannot be .* 'lanczos'"
    ):
        convert(crops.RandomResizedCropAndInterpolation(224, interpolation="lanczos"))


TWO = [v2.Compose([v2.RandomResizedCrop(8)]), v2.Compose([v2.CenterCrop(8)])]


@pytest.mark.parametrize(
    "given",
    [
        TWO,
        tuple(TWO),
        [*TWO, v2.Compose([v2.Resize(8)])],
        [v1.Compose([v1.CenterCrop(8)]), TWO[0]],
        [[v2.CenterCrop(8)], [v2.RandomResizedCrop(8)]],
        [torch.nn.Sequential(v2.CenterCrop(8)), TWO[0]],
        [models.ResNet18_Weights.DEFAULT.transforms()] * 2,
        v2.Compose([[v2.CenterCrop(8)], [v2.RandomResizedCrop(8)]]),
    ],
    ids=["list", "tuple", "three", "v1", "lists", "sequential", "presets", "lists in a Compose"],
)
def test_a_list_of_lists_is_not_one_list(given: Any) -> None:
    """As a script has it that makes two views of each sample, one by each list."""
    count = len(given.transforms if isinstance(given, v2.Compose) else given)
    with pytest.raises(gpufeed.ArgumentError, match=f"^transforms: a list of {count} lists .* and views={count}; .* by several lists, groups="):
        gpufeed.DataLoader(Jpegs(4), given)


def test_lists_that_say_that_they_run_one_after_the_other() -> None:
    crop, flip = v2.Compose([v2.CenterCrop(8)]), v2.Compose([v2.RandomHorizontalFlip()])
    made = [convert(given).recipe["transform"] for given in ([crop, v2.RandomHorizontalFlip()], v2.Compose([crop, flip]), [crop])]
    assert made[0] == made[1] and made[2] == made[0][:1]


def two(given: Any = None, **settings: Any) -> list[str]:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        gpufeed.DataLoader(Jpegs(4), given, **settings)
    assert {each.filename for each in found} <= {__file__}
    return [str(each.message) for each in found]


def test_two_normalize_are_a_warning_with_both_places() -> None:
    crop, to_float, normalize = v2.CenterCrop(8), v2.ToDtype(torch.float32, scale=True), v2.Normalize(MEAN, STD)
    (said,) = two([crop, v2.Compose([to_float, normalize]), normalize])
    assert "Normalize at transforms[1].transforms[1] and at transforms[2]: images are normalised by both" in said
    (said,) = two([crop, to_float, normalize, v2.RandomApply([normalize])])
    assert "at transforms[2] and at transforms[3].transforms[0]" in said
    (said,) = two(recipe={"transform": [{"type": "CenterCrop", "size": 8}, NORMALIZE, NORMALIZE]})
    assert "at transform 2 and at transform 3" in said
    # One at most works on an image.
    assert two([crop, to_float, v2.RandomChoice([normalize, normalize])]) == []
    assert two([crop, to_float, normalize]) == two(recipe="imagenet-train") == []


GRAY = [v2.CenterCrop(8), v2.Grayscale(1)]
TO_FLOAT = v2.ToDtype(torch.float32, scale=True)


@pytest.mark.parametrize(
    ("after", "name", "argument"),
    [
        ([TO_FLOAT, v2.Normalize(MEAN, STD)], "Normalize", "mean"),
        ([TO_FLOAT, v2.Normalize([0.5], STD)], "Normalize", "std"),
        ([v2.Pad(2, fill=(1, 2, 3)), v2.CenterCrop(8)], "Pad", "fill"),
        ([v2.RandomCrop(8, padding=2, fill=(1, 2, 3))], "RandomCrop", "fill"),
        ([v2.RandomRotation(10, fill=(1, 2, 3))], "RandomRotation", "fill"),
        ([v2.RandomAffine(10, fill=(1, 2, 3))], "RandomAffine", "fill"),
        ([v2.RandomPerspective(fill=(1, 2, 3))], "RandomPerspective", "fill"),
        ([v2.ElasticTransform(fill=(1, 2, 3))], "ElasticTransform", "fill"),
        ([v2.RandomZoomOut(fill=(1, 2, 3)), v2.CenterCrop(8)], "RandomZoomOut", "fill"),
        ([v2.RandomErasing(value=(1, 2, 3))], "RandomErasing", "value"),
        ([v2.TrivialAugmentWide(fill=(1, 2, 3))], "TrivialAugmentWide", "fill"),
        ([v2.RandomApply([v2.RandomRotation(10, fill=(1, 2, 3))])], "RandomRotation", "fill"),
    ],
)
def test_three_numbers_on_one_channel(after: list[Any], name: str, argument: str) -> None:
    words = rf"^transforms: {name} \(transform .*\) has the {argument} .* but the images have one channel"
    with pytest.raises(gpufeed.ArgumentError, match=words):
        gpufeed.DataLoader(Jpegs(4), [*GRAY, *after])
    colour = [*GRAY, v2.Grayscale(3), *after]
    assert next(gpufeed.DataLoader(Jpegs(4), colour, batch_size=4).batches()).images.shape == (4, 3, 8, 8)


def test_a_normalize_on_the_device_is_checked_as_well() -> None:
    with pytest.raises(gpufeed.ArgumentError, match=r"^transforms: Normalize \(transform \d\) has the mean"):
        gpufeed.DataLoader(Jpegs(4), [*GRAY, TO_FLOAT, v2.Normalize(MEAN, STD)], normalize_on_device=True)
    lists = [[*GRAY, TO_FLOAT, v2.Normalize([0.25], [0.5])], [*GRAY, TO_FLOAT, v2.Normalize([0.25] * 3, [0.5] * 3)]]
    for given in lists:
        plain, there = (next(iter(gpufeed.DataLoader(Jpegs(4), given, batch_size=4, normalize_on_device=on))) for on in (False, True))
        assert plain[0].shape == (4, 1, 8, 8) and torch.equal(plain[0], there[0])


def test_the_list_says_its_semantics() -> None:
    with pytest.raises(gpufeed.ArgumentError, match="^semantics: the list of transforms says it"):
        gpufeed.DataLoader(Jpegs(4), [v2.Pad(2, fill=128), v2.CenterCrop(8)], semantics="float")


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_a_normalize_on_the_device_keeps_the_lists_type(dtype: Any) -> None:
    given = [v2.CenterCrop(8), TO_FLOAT, v2.Normalize(MEAN, STD), v2.ToDtype(dtype)]
    plain, there = (next(iter(gpufeed.DataLoader(Jpegs(4), given, batch_size=4, normalize_on_device=on))) for on in (False, True))
    assert plain[0].dtype == there[0].dtype == dtype


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_halves_are_the_floats_as_torch_rounds_them(dtype: Any) -> None:
    given = [v2.CenterCrop(8), TO_FLOAT, v2.Normalize(MEAN, STD)]
    floats, halves = (next(iter(gpufeed.DataLoader(Jpegs(4), given, batch_size=4, dtype=each))) for each in (None, dtype))
    assert halves[0].dtype == dtype and torch.equal(halves[0], floats[0].to(dtype))
    # A loop may work in place: the tensor is the batch's memory.
    assert torch.equal(halves[0].mul_(2), floats[0].to(dtype) * 2)
