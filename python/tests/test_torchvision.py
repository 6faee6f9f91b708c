"""torchvision's transforms: the recipes that are made of them, what is refused, and the pixels."""

from __future__ import annotations

import inspect
import io
import json
from typing import Any

import numpy
import pytest

torch = pytest.importorskip("torch")
v1 = pytest.importorskip("torchvision.transforms")

from PIL import Image  # noqa: E402
from torchvision.transforms import v2  # noqa: E402

import gpufeed  # noqa: E402
from gpufeed import _gpufeed  # noqa: E402
from gpufeed.torchvision import UnsupportedTransform, convert  # noqa: E402
from pictures import Jpegs  # noqa: E402

MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
FLOAT = v2.ToDtype(torch.float32, scale=True)


def recipe(transforms: Any, **batch: Any) -> dict[str, Any]:
    """The recipe of a list, which gpufeed itself has read."""
    made = convert(transforms, **batch).recipe
    _gpufeed.recipe_toml(json.dumps(made))
    return made


# A transform, and the operator that is expected of it.
CASES: list[tuple[Any, dict[str, Any]]] = [
    (v2.Resize(32), {"type": "Resize", "size": 32, "interpolation": "Bilinear", "antialias": True}),
    (
        v2.Resize((30, 40), interpolation=v2.InterpolationMode.BICUBIC, antialias=False),
        {"type": "Resize", "size": [30, 40], "interpolation": "Bicubic", "antialias": False},
    ),
    (
        v1.Resize(32, max_size=60, interpolation=v1.InterpolationMode.NEAREST),
        {"type": "Resize", "size": 32, "interpolation": "Nearest", "max_size": 60, "antialias": True},
    ),
    (v2.CenterCrop((20, 30)), {"type": "CenterCrop", "size": [20, 30]}),
    (v1.CenterCrop(20), {"type": "CenterCrop", "size": 20}),
    (
        v2.RandomResizedCrop(24, scale=(0.5, 0.9), ratio=(0.8, 1.2), interpolation=3),
        {
            "type": "RandomResizedCrop",
            "size": 24,
            "scale": [0.5, 0.9],
            "ratio": [0.8, 1.2],
            "interpolation": "Bicubic",
            "antialias": True,
        },
    ),
    # v2 keeps left, right, top, bottom; v1 what it was given.
    *[
        (
            module.RandomCrop(32, padding=(1, 2, 3, 4), fill=9, padding_mode="edge", pad_if_needed=True),
            {
                "type": "RandomCrop",
                "size": 32,
                "padding": [1, 2, 3, 4],
                "pad_if_needed": True,
                "fill": [9.0, 9.0, 9.0],
                "padding_mode": "Edge",
            },
        )
        for module in (v1, v2)
    ],
    (
        v2.Pad([2, 3], fill={torch.Tensor: (1, 2, 3), "others": 0}),
        {"type": "Pad", "padding": [2, 3], "fill": [1.0, 2.0, 3.0], "padding_mode": "Constant"},
    ),
    (
        v2.RandomAffine(10, translate=(0.1, 0.2), scale=(0.8, 1.2), shear=(1, 2, 3, 4), fill=None, center=[5, 6]),
        {
            "type": "RandomAffine",
            "degrees": [-10.0, 10.0],
            "translate": [0.1, 0.2],
            "scale": [0.8, 1.2],
            "shear": [1.0, 2.0],
            "shear_y": [3.0, 4.0],
            "center": [5.0, 6.0],
            "interpolation": "Nearest",
            "fill": "None",
        },
    ),
    (
        v1.RandomRotation((10, 20), interpolation=v1.InterpolationMode.BILINEAR, fill=(1, 2, 3)),
        {
            "type": "RandomRotation",
            "degrees": [10.0, 20.0],
            "expand": False,
            "interpolation": "Bilinear",
            "fill": [1.0, 2.0, 3.0],
        },
    ),
    (
        v2.ColorJitter(0.4, (0.5, 1.5), hue=0.1),
        {
            "type": "ColorJitter",
            "brightness": [0.6, 1.4],
            "contrast": [0.5, 1.5],
            "saturation": 0.0,
            "hue": [-0.1, 0.1],
        },
    ),
    (v2.GaussianBlur((3, 5), 1.5), {"type": "GaussianBlur", "kernel_size": [3, 5], "sigma": [1.5, 1.5]}),
    (v1.GaussianBlur(23), {"type": "GaussianBlur", "kernel_size": [23, 23], "sigma": [0.1, 2.0]}),
    (v2.RandomSolarize(128, p=0.2), {"type": "RandomSolarize", "threshold": 128, "p": 0.2}),
    (v1.RandomPosterize(3), {"type": "RandomPosterize", "bits": 3, "p": 0.5}),
    (v2.JPEG((5, 50)), {"type": "JPEG", "quality": [5, 50]}),
    (
        v2.RandomApply([v2.Grayscale(3)], p=0.3),
        {"type": "RandomApply", "p": 0.3, "transforms": [{"type": "Grayscale", "num_output_channels": 3}]},
    ),
    (
        v2.RandomChoice([v2.RandomInvert(1.0), v2.RandomEqualize(1.0)], p=[1, 3]),
        {
            "type": "RandomChoice",
            "p": [0.25, 0.75],
            "transforms": [{"type": "RandomInvert", "p": 1.0}, {"type": "RandomEqualize", "p": 1.0}],
        },
    ),
    (
        v2.RandAugment(3, 5, interpolation=v2.InterpolationMode.BILINEAR, fill=7),
        {
            "type": "RandAugment",
            "interpolation": "Bilinear",
            "fill": 7.0,
            "num_ops": 3,
            "magnitude": 5,
            "num_magnitude_bins": 31,
        },
    ),
    (
        v1.AutoAugment(v1.AutoAugmentPolicy.SVHN),
        {"type": "AutoAugment", "interpolation": "Nearest", "fill": "None", "policy": "Svhn"},
    ),
]


@pytest.mark.parametrize(("transform", "expected"), CASES, ids=[repr(case[0])[:60] for case in CASES])
def test_operators(transform: Any, expected: dict[str, Any]) -> None:
    made = recipe(transform)
    assert [made["semantics"], made["output"]["dtype"]] == ["Uint8", "U8"]
    (found,) = made["transform"]
    assert found.keys() == expected.keys()
    for key, value in expected.items():
        assert found[key] == (pytest.approx(value) if isinstance(value, (float, list)) and key != "transforms" else value), key


ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "CenterCrop": (8,),
    "Compose": ([v2.CenterCrop(3)],),
    "ConvertBoundingBoxFormat": ("XYXY",),
    "FiveCrop": (8,),
    "GaussianBlur": (5,),
    "JPEG": (50,),
    "Lambda": (abs,),
    "LinearTransformation": (torch.eye(12), torch.zeros(12)),
    "Normalize": (MEAN, STD),
    "Pad": (4,),
    "RandomAdjustSharpness": (2.0,),
    "RandomAffine": (10,),
    "RandomApply": ([v2.RandomInvert()],),
    "RandomChoice": ([v2.RandomInvert()],),
    "RandomCrop": (8,),
    "RandomOrder": ([v2.RandomInvert()],),
    "RandomPosterize": (4,),
    "RandomResize": (20, 40),
    "RandomResizedCrop": (8,),
    "RandomRotation": (20,),
    "RandomShortestSize": ([20, 30],),
    "RandomSolarize": (128,),
    "Resize": (32,),
    "ScaleJitter": ((40, 40),),
    "SetClampingMode": ("hard",),
    "TenCrop": (8,),
    "ToDtype": (torch.float32, True),
    "UniformTemporalSubsample": (2,),
}
REFUSED = {
    "ClampBoundingBoxes",
    "ClampKeyPoints",
    "ConvertBoundingBoxFormat",
    "CutMix",  # a transform of batches: batch_transforms= takes it
    "Lambda",
    "LinearTransformation",
    "MixUp",
    "RandomIoUCrop",
    "SanitizeBoundingBoxes",
    "SanitizeKeyPoints",
    "SetClampingMode",
    "ToPILImage",
    "Transform",
    "UniformTemporalSubsample",
}


@pytest.mark.filterwarnings("ignore")
def test_every_class_of_v2_is_converted_or_refused_by_name() -> None:
    classes = {name: kind for name, kind in vars(v2).items() if inspect.isclass(kind) and issubclass(kind, torch.nn.Module)}
    assert len(classes) > 50
    for name, kind in classes.items():
        transform = kind(*ARGUMENTS.get(name, ()))
        if name in REFUSED:
            with pytest.raises(UnsupportedTransform, match=rf"^transforms\[1\]: {name} is not supported; supported are AugMix"):
                convert([v2.CenterCrop(8), transform])
        else:
            recipe([v2.CenterCrop(8), transform])


def reference(policy: Any, backend: str) -> Any:
    """torchvision's references/classification/presets.py, ClassificationPresetTrain."""
    steps: list[Any] = [v2.ToImage()] if backend == "tensor" else []
    steps += [v2.RandomResizedCrop(224, interpolation=v2.InterpolationMode.BILINEAR, antialias=True)]
    steps += [v2.RandomHorizontalFlip(0.5), policy]
    steps += [v2.PILToTensor()] if backend == "pil" else []
    steps += [v2.ToDtype(torch.float, scale=True), v2.Normalize(mean=MEAN, std=STD), v2.RandomErasing(p=0.1), v2.ToPureTensor()]
    return v2.Compose(steps)


@pytest.mark.parametrize("policy", [v2.RandAugment(), v2.TrivialAugmentWide()])
def test_torchvisions_references(policy: Any) -> None:
    tensor, pil = (convert(reference(policy, backend)) for backend in ("tensor", "pil"))
    assert tensor.recipe == pil.recipe
    assert (tensor.notes, len(pil.notes)) == ((), 1) and "PIL" in pil.notes[0]
    names = [step["type"] for step in tensor.recipe["transform"]]
    policy_name = type(policy).__name__
    assert names == ["RandomResizedCrop", "RandomHorizontalFlip", policy_name, "ToDtype", "Normalize", "RandomErasing"]
    assert tensor.recipe["output"]["dtype"] == "F32" and tensor.recipe["semantics"] == "Uint8"


def test_simclr_dino_and_timm() -> None:
    jitter = v1.ColorJitter(0.8, 0.8, 0.8, 0.2)
    simclr = [v1.RandomResizedCrop(224), v1.RandomHorizontalFlip(), v1.RandomApply([jitter], p=0.8)]
    simclr += [v1.RandomGrayscale(p=0.2), v1.RandomApply([v1.GaussianBlur(23)], p=0.5), v1.ToTensor()]
    names = [step["type"] for step in recipe(v1.Compose(simclr))["transform"]]
    assert names == ["RandomResizedCrop", "RandomHorizontalFlip", "RandomApply", "RandomGrayscale", "RandomApply", "ToDtype"]
    dino = v2.Compose([v2.RandomResizedCrop(224, (0.4, 1.0), interpolation=3), v2.GaussianBlur(23), v1.ToTensor()])
    assert recipe(dino)["transform"][0]["interpolation"] == "Bicubic"
    data = pytest.importorskip("timm.data")
    made = recipe(data.create_transform(32, is_training=False))["transform"]
    assert [step["type"] for step in made] == ["Resize", "CenterCrop", "ToDtype", "Normalize"]
    assert made[-1]["mean"] == MEAN
    made = recipe(data.create_transform(32, is_training=True, interpolation="bicubic"))["transform"]
    assert made[0]["type"] == "RandomResizedCrop" and made[0]["interpolation"] == "Bicubic"
    with pytest.raises(UnsupportedTransform, match='RandomResizedCropAndInterpolation has interpolation="random"'):
        convert(data.create_transform(32, is_training=True, interpolation="random"))


def test_presets_of_weights() -> None:
    models = pytest.importorskip("torchvision.models")
    made = recipe(models.ResNet50_Weights.IMAGENET1K_V2.transforms())["transform"]
    assert [step["type"] for step in made] == ["Resize", "CenterCrop", "ToDtype", "Normalize"]
    assert [made[0]["size"], made[1]["size"]] == [232, 224]


def test_places_and_types() -> None:
    class Own(v2.Resize):
        pass

    nested = [v2.CenterCrop(4), v2.Compose([v2.RandomApply([v2.RandomInvert(), Own(3)])])]
    with pytest.raises(UnsupportedTransform) as refused:
        convert(nested)
    assert refused.value.place == "transforms[1].transforms[0].transforms[1]" and refused.value.name == "Own"
    assert isinstance(refused.value, gpufeed.Error) and isinstance(refused.value, ValueError)
    for transforms, words in [
        ([v2.ToDtype(torch.bfloat16, scale=True)], "makes torch.bfloat16; torch.float32 and torch.float16 are supported; float16"),
        ([v2.ToDtype(torch.float32, scale=False)], "scale=False"),
        ([v2.ToDtype(torch.float16, scale=True), v2.Normalize(MEAN, STD)], "is not the last transform: Normalize follows"),
        ([v2.RandomRotation(3, interpolation=v2.InterpolationMode.BICUBIC)], "interpolation 'bicubic' is not supported there"),
        ([v2.Resize(None, max_size=9)], "size=None is not supported"),
    ]:
        with pytest.raises(UnsupportedTransform, match=words):
            convert(transforms)
    assert recipe([v2.CenterCrop(4), FLOAT, v2.ToDtype(torch.float16)])["output"]["dtype"] == "F16"
    # Floats from the beginning: no 8-bit arithmetic anywhere.
    assert "semantics" not in recipe([v2.ToImage(), FLOAT, v2.Resize(8), v2.CenterCrop(8)])


def test_batch_transforms() -> None:
    mix = v2.RandomChoice([v2.MixUp(alpha=0.2, num_classes=10), v2.CutMix(alpha=1.0, num_classes=10)], p=[1, 3])
    converted = convert([v2.CenterCrop(4), FLOAT], mix)
    expected = [{"type": "MixUp", "alpha": 0.2}, {"type": "CutMix", "alpha": 1.0}]
    assert converted.recipe["batch_transform"] == [{"type": "RandomChoice", "p": [0.25, 0.75], "transforms": expected}]
    assert converted.num_classes == 10
    loader = gpufeed.DataLoader(Jpegs(8), [v2.CenterCrop(8), FLOAT], batch_transforms=v2.MixUp(num_classes=5), batch_size=4)
    images, labels = next(iter(loader))
    assert images.shape == (4, 3, 8, 8) and labels.shape == (4, 5) and labels.dtype == torch.float32
    assert torch.allclose(labels.sum(1), torch.ones(4))
    with pytest.raises(UnsupportedTransform, match=r"^batch_transforms: CenterCrop is not supported"):
        convert([v2.CenterCrop(4)], v2.CenterCrop(4))


FIXED: list[list[Any]] = [
    [v2.Resize(30), v2.CenterCrop(24)],
    [v2.Resize((20, 33), interpolation=v2.InterpolationMode.BICUBIC)],
    [v2.Pad(3, fill=40), v2.Resize((25, 25), antialias=False)],
    [v2.CenterCrop(32), v2.RandomEqualize(1.0), v2.RandomAdjustSharpness(2.0, 1.0)],
    [v2.CenterCrop(32), v2.RandomAutocontrast(1.0), v2.RandomPosterize(3, 1.0), v2.RandomSolarize(100, 1.0)],
    [v2.RandomHorizontalFlip(1.0), v2.Resize(32), v2.CenterCrop(30), v2.Grayscale(3), v2.RandomInvert(1.0)],
    [v2.CenterCrop(30), v2.JPEG((40, 40))],
    [v2.CenterCrop(30), v2.GaussianBlur(5, (1.0, 1.0))],
    [v2.CenterCrop(30), v2.RandomRotation((15, 15), fill=20), v2.RandomAffine((5, 5), shear=(3, 3))],
]


@pytest.mark.filterwarnings("ignore:The image decoding and encoding:DeprecationWarning")  # of torchvision's JPEG
@pytest.mark.parametrize("ends", [[], [FLOAT, v2.Normalize(MEAN, STD)]], ids=["uint8", "floats"])
@pytest.mark.parametrize("steps", FIXED, ids=[" ".join(type(step).__name__ for step in steps) for steps in FIXED])
def test_pixels_are_torchvisions(steps: list[Any], ends: list[Any]) -> None:
    """Lists without chance, on the pixels that both decode from PNG files."""
    data = Jpegs(6)
    decoded = [numpy.asarray(Image.open(io.BytesIO(file))) for file in data.files]
    files = []
    for pixels in decoded:
        out = io.BytesIO()
        Image.fromarray(pixels).save(out, "PNG")
        files.append((out.getvalue(), 0))
    loader = gpufeed.DataLoader(files, [*steps, *ends], batch_size=6)
    images, _ = next(iter(loader))
    transform = v2.Compose([*steps, *ends])
    expected = torch.stack([transform(torch.from_numpy(pixels.copy()).permute(2, 0, 1)) for pixels in decoded])
    assert images.dtype == expected.dtype and images.shape == expected.shape
    difference = (images.to(torch.float64) - expected.to(torch.float64)).abs()
    # Of 8-bit numbers a share of a thousandth may differ by a level: half-way sums of warps, see TRANSFORMS.md 11.
    if not ends:
        assert difference.max() <= 1 and (difference > 0).double().mean() <= 1e-3
    else:
        assert (difference > 1e-4).double().mean() <= 1e-3
