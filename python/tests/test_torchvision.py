"""Lists of torchvision's transforms: places of what is refused, types, notes, nested lists, transforms of batches."""

from __future__ import annotations

import functools
import inspect
import json
import pickle
from typing import Any

import pytest

torch = pytest.importorskip("torch")
v1 = pytest.importorskip("torchvision.transforms")

from torchvision import tv_tensors  # noqa: E402
from torchvision.transforms import _presets, v2  # noqa: E402

import gpufeed  # noqa: E402
from gpufeed import _gpufeed  # noqa: E402
from gpufeed.torchvision import SUPPORTED, UnsupportedTransform, convert  # noqa: E402
from pictures import Jpegs  # noqa: E402

MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
FLOAT = v2.ToDtype(torch.float32, scale=True)
CROP = {"type": "CenterCrop", "size": 8}
INVERT = {"type": "RandomInvert", "p": 0.5}
GRAY = {"type": "RandomGrayscale", "p": 0.1}
TABLE = "docs/guide/pytorch/transforms.md has the table"


def valid(recipe: dict[str, Any]) -> dict[str, Any]:
    """The recipe, if gpufeed itself reads it."""
    _gpufeed.recipe_toml(json.dumps(recipe))
    return recipe


def found(transforms: Any) -> list[dict[str, Any]]:
    operators: list[dict[str, Any]] = valid(convert(transforms).recipe)["transform"]
    return operators


ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "CenterCrop": (8,),
    "Compose": ([v2.CenterCrop(3)],),
    "ConvertBoundingBoxFormat": ("XYXY",),
    "ConvertImageDtype": (torch.float32,),
    "FiveCrop": (8,),
    "GaussianBlur": (5,),
    "JPEG": (50,),
    "Lambda": (len,),
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
    "RandomTransforms": ([v2.RandomInvert()],),
    "Resize": (32,),
    "ScaleJitter": ((40, 40),),
    "SetClampingMode": ("hard",),
    "TenCrop": (8,),
    "ToDtype": (torch.float32, True),
    "UniformTemporalSubsample": (2,),
}
REFUSED = {
    "CutMix",
    "Lambda",
    "LinearTransformation",
    "MixUp",
    "RandomTransforms",  # v1's base class
    "Transform",
    "UniformTemporalSubsample",
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("module", "least"), [(v2, 60), (v1, 35)], ids=["v2", "v1"])
def test_every_class_is_converted_or_refused_by_name(module: Any, least: int) -> None:
    not_transforms = {"AutoAugmentPolicy", "InterpolationMode"}
    classes = {
        name: kind for name, kind in vars(module).items() if inspect.isclass(kind) and name not in not_transforms
    }
    assert len(classes) >= least
    converted = set()
    for name, kind in classes.items():
        transform = kind(*ARGUMENTS.get(name, ()))
        before = [FLOAT] if name == "Normalize" else [v2.CenterCrop(8)]
        if name in REFUSED:
            words = rf"^transforms\[1\]: {name} is not supported.*({TABLE}|batch_transforms=)$"
            with pytest.raises(UnsupportedTransform, match=words) as refused:
                convert([*before, transform])
            assert len(str(refused.value)) <= 300
            assert (refused.value.place, refused.value.name) == ("transforms[1]", name)
        else:
            valid(convert([*before, transform]).recipe)
            converted.add(name)
    assert converted <= set(SUPPORTED)


def test_types() -> None:
    half, double = v2.ToDtype(torch.float16, scale=True), v2.ToDtype(torch.float64, scale=True)
    crop = v2.CenterCrop(8)
    to_float = {"type": "ToDtype"}
    eight_bit: dict[str, Any] = {"semantics": "Uint8", "transform": [CROP], "output": {"layout": "Nchw", "dtype": "U8"}}
    assert valid(convert([crop]).recipe) == eight_bit
    assert valid(convert([crop, v2.ToDtype(torch.uint8, scale=True)]).recipe) == eight_bit
    floats = eight_bit | {"transform": [CROP, to_float], "output": {"layout": "Nchw", "dtype": "F32"}}
    kinds = {tv_tensors.Image: torch.float32, tv_tensors.Mask: torch.int64, "others": None}
    per_type = v2.ToDtype(kinds, scale=True)
    with pytest.warns(UserWarning, match="deprecated"):
        to_tensor = v2.ToTensor()
    for ends in [
        FLOAT,
        to_tensor,
        v1.ToTensor(),
        v1.ConvertImageDtype(torch.float32),
        v2.ConvertImageDtype(),
        per_type,
    ]:
        assert valid(convert([crop, ends]).recipe) == floats
    # What is a float already stays one, whatever the scale.
    assert valid(convert([crop, v1.ToTensor(), v2.ToDtype(torch.float32)]).recipe) == floats
    halves = floats | {"output": {"layout": "Nchw", "dtype": "F16"}}
    of_v1 = v1.ConvertImageDtype(torch.float16)
    for ends in [[half], [FLOAT, half], [FLOAT, v2.ToDtype(torch.float16)], [half, v2.ToPureTensor()], [of_v1]]:
        assert valid(convert([crop, *ends]).recipe) == halves
    bfloats = floats | {"output": {"layout": "Nchw", "dtype": "BF16"}}
    for last in (v2.ToDtype(torch.bfloat16, scale=True), v1.ConvertImageDtype(torch.bfloat16)):
        assert valid(convert([crop, last]).recipe) == valid(convert([crop, FLOAT, last]).recipe) == bfloats
    # Floats from the beginning: no 8-bit arithmetic anywhere.
    from_floats = {"transform": [CROP], "output": {"layout": "Nchw", "dtype": "F32"}}
    assert valid(convert([v2.ToImage(), FLOAT, crop]).recipe) == from_floats
    for transforms, place, words in [
        ([crop, double], "transforms[1]", "makes torch.float64; torch.float32, torch.float16 and torch.bfloat16 are"),
        ([crop, FLOAT, v2.ToDtype(torch.uint8, scale=True)], "transforms[2]", "makes torch.uint8; "),
        ([crop, v2.ToDtype(torch.float32)], "transforms[1]", "has scale=False, which leaves floats from 0 to 255"),
        ([half, v2.Normalize(MEAN, STD)], "transforms[0]", "is not the last transform: Normalize follows"),
        ([half, FLOAT], "transforms[0]", "is not the last transform: ToDtype follows"),
        ([crop, v2.ToDtype({tv_tensors.Mask: torch.int64})], "transforms[1]", "dtype is a dictionary without an entry"),
        ([v2.RandomApply([FLOAT])], "transforms[0].transforms[0]", "stands in a nested transform"),
        ([FLOAT, v2.ToPILImage()], "transforms[1]", "would change the images' numbers"),
        ([v1.ToPILImage("L")], "transforms[0]", "would change the images' numbers"),
    ]:
        with pytest.raises(UnsupportedTransform, match=words) as refused:
            convert(transforms)
        assert refused.value.place == place


@pytest.mark.parametrize("module", [v1, v2])
def test_nested_lists(module: Any) -> None:
    crop, invert, gray = module.CenterCrop(8), module.RandomInvert(), module.RandomGrayscale()
    wanted = [CROP, INVERT, GRAY]
    assert found(module.Compose([crop, module.Compose([invert, module.Compose([gray])])])) == wanted
    assert found([crop, (invert, [gray])]) == wanted
    assert found(torch.nn.Sequential(crop, torch.nn.Sequential(invert, gray), torch.nn.Identity())) == wanted
    assert found(crop) == [CROP] and found([]) == []
    together = {"type": "RandomApply", "p": 1.0, "transforms": [INVERT, GRAY]}
    both = module.Compose([invert, gray])
    assert found(module.RandomApply([both], p=0.3)) == [{"type": "RandomApply", "p": 0.3, "transforms": [INVERT, GRAY]}]
    modules = torch.nn.ModuleList([v2.RandomInvert()])
    assert found(module.RandomApply(modules)) == [{"type": "RandomApply", "p": 0.5, "transforms": [INVERT]}]
    assert found(module.RandomOrder([both, gray])) == [{"type": "RandomOrder", "transforms": [together, GRAY]}]
    choice = module.RandomChoice([both, gray, v2.Identity()], p=[1, 2, 1])
    nothing = {"type": "RandomHorizontalFlip", "p": 0.0}
    weights = [1.0, 2.0, 1.0] if module is v1 else [0.25, 0.5, 0.25]
    assert found(choice) == [{"type": "RandomChoice", "p": weights, "transforms": [together, GRAY, nothing]}]
    equal = {"p": [0.5, 0.5]} if module is v2 else {}
    assert found(module.RandomChoice([invert, gray])) == [
        {"type": "RandomChoice", **equal, "transforms": [INVERT, GRAY]}
    ]
    # Lists of nothing.
    assert found([crop, module.RandomApply([v2.Identity()]), module.RandomOrder([v2.Identity()])]) == [CROP]


def own(image: Any) -> Any:
    return image.flip(-1)


def test_places_and_hints() -> None:
    class Own(v2.Resize):
        def forward(self, *inputs: Any) -> Any:
            return inputs[0].flip(-1)

    class RandAugment:  # timm has one, too
        pass

    class RandomInvert(v2.RandomInvert):  # of the same name as its base
        def forward(self, *inputs: Any) -> Any:
            return inputs[0].flip(-1)

    compose = v2.Compose([v2.CenterCrop(4), v2.Compose([v2.RandomApply([v2.RandomInvert(), Own(3)])])])
    models = pytest.importorskip("torchvision.models")
    code = " (own): own code, and no scaling that is known; put its work into the data set's __getitem__, or into the loop"
    of_base = ": it is a subclass of {} with a forward of its own, which may do anything; v2.{}(...) itself is torchvision's"
    for transforms, place, name, why in [
        (v2.Lambda(own), "transforms", "Lambda", code),
        ([v2.Lambda(own)], "transforms[0]", "Lambda", code),
        (v2.Compose([v2.CenterCrop(4), v2.RandomApply([v1.Lambda(own)])]), "transforms[1].transforms[0]", "Lambda", code),
        (compose, "transforms[1].transforms[0].transforms[1]", "Own", of_base.format("Resize", "Resize")),
        ([v2.CenterCrop(4), [v2.CenterCrop(4), own]], "transforms[1][1]", "function", code),
        ([RandomInvert()], "transforms[0]", "RandomInvert", of_base.format("RandomInvert", "RandomInvert")),
        ([RandAugment()], "transforms[0]", "RandAugment", f": it is {__name__}'s, not torchvision's; v2.RandAugment("),
        ([None], "transforms[0]", "NoneType", ": it is builtins's, not torchvision's; put its work into the data set's"),
        ([v2.MixUp(num_classes=3)], "transforms[0]", "MixUp", " there: it mixes a batch, and is given as batch_transforms="),
        (
            models.ResNet18_Weights.DEFAULT.transforms,
            "transforms",
            "partial",
            ": it makes transforms and has to be called: weights.transforms()",
        ),
    ]:
        with pytest.raises(UnsupportedTransform) as refused:
            convert(transforms)
        error = refused.value
        assert (error.place, error.name) == (place, name)
        assert str(error).startswith(f"{place}: {name} is not supported{why}") and len(str(error)) <= 300
        assert isinstance(error, gpufeed.Error) and isinstance(error, ValueError)
        copy = pickle.loads(pickle.dumps(error))
        assert (type(copy), copy.place, copy.name, str(copy)) == (UnsupportedTransform, place, name, str(error))
    assert isinstance(models.ResNet18_Weights.DEFAULT.transforms, functools.partial)


def test_notes_about_pil() -> None:
    crop = v2.Resize((8, 8), antialias=False)
    for tensors in ([v2.ToImage(), crop, FLOAT], [v2.PILToTensor(), FLOAT, crop], [v1.ToTensor(), crop], [crop]):
        assert convert(tensors).notes == ()
    from_arrays = [v1.ToPILImage(), crop, v1.ToTensor()]
    for pil in ([crop, v2.PILToTensor(), FLOAT], [crop, v1.ToTensor()], [crop, v2.ToImage(), FLOAT], from_arrays):
        first, second = convert(pil).notes
        assert first.startswith("a list for PIL images is taken as the same list on tensors: pixels are those of torchvision's tensors.")
        assert second == f"transforms[{pil.index(crop)}]: antialias=False works, which Pillow ignores"
    loader = gpufeed.DataLoader(Jpegs(4), [v2.CenterCrop(8), v1.ToTensor()], batch_size=4)
    assert "a list for PIL images is taken as the same list on tensors" in loader.explain()


def test_notes_about_v1() -> None:
    bicubic = v1.InterpolationMode.BICUBIC
    said = "a bicubic resize of v1, or of weights' presets, is taken as v2's"
    crop = v1.RandomResizedCrop(8, interpolation=bicubic)
    preset = _presets.ImageClassification(crop_size=8, interpolation=bicubic)
    for bytes in ([v1.Resize(8, bicubic)], [crop, crop, FLOAT], [v1.RandomApply([crop])], preset):
        (note,) = convert(bytes).notes
        assert note.startswith(said) and "up to 20 levels" in note
    plain = _presets.ImageClassification(crop_size=8)
    for same in ([v2.Resize(8, bicubic)], [v1.Resize(8)], [FLOAT, v1.Resize(8, bicubic)], plain):
        assert convert(same).notes == ()
    assert said in gpufeed.DataLoader(Jpegs(4), [v1.Resize((8, 8), bicubic)], batch_size=4).explain()


def test_batch_transforms() -> None:
    mixup, cutmix = v2.MixUp(alpha=0.2, num_classes=10), v2.CutMix(num_classes=10)
    mixed, cut = {"type": "MixUp", "alpha": 0.2}, {"type": "CutMix", "alpha": 1.0}
    identity = {"type": "Identity"}
    for transform, expected, classes in [
        (mixup, mixed, 10),
        (cutmix, cut, 10),
        (v2.MixUp(), {"type": "MixUp", "alpha": 1.0}, None),
        (v2.RandomChoice([mixup, cutmix]), {"type": "RandomChoice", "p": [0.5, 0.5], "transforms": [mixed, cut]}, 10),
        (
            v2.RandomChoice([mixup, v2.CutMix(), v2.Identity()], p=[1, 2, 1]),
            {"type": "RandomChoice", "p": [0.25, 0.5, 0.25], "transforms": [mixed, cut, identity]},
            10,
        ),
        (
            v2.RandomApply([mixup], p=0.75),
            {"type": "RandomChoice", "p": [0.75, 0.25], "transforms": [mixed, identity]},
            10,
        ),
    ]:
        converted = convert([v2.CenterCrop(8), FLOAT], transform)
        assert valid(converted.recipe)["batch_transform"] == [expected]
        assert converted.num_classes == classes
    assert "batch_transform" not in convert([v2.CenterCrop(8)]).recipe
    for refused, place in [
        (v2.CenterCrop(4), "batch_transforms"),
        (v2.RandomChoice([mixup, v2.CenterCrop(4)]), r"batch_transforms\.transforms\[1\]"),
        (own, "batch_transforms"),
    ]:
        with pytest.raises(
            UnsupportedTransform, match=rf"^{place}: (CenterCrop|function) is not supported; of v2, MixUp, CutMix"
        ):
            convert([v2.CenterCrop(4)], refused)
    with pytest.raises(gpufeed.ArgumentError, match="^batch_transforms: num_classes differ: 3, 10"):
        convert([v2.CenterCrop(4)], v2.RandomChoice([mixup, v2.CutMix(num_classes=3)]))


@pytest.mark.parametrize("kind", [v2.MixUp, v2.CutMix])
def test_batch_transforms_in_a_loader(kind: Any) -> None:
    loader = gpufeed.DataLoader(Jpegs(8), [v2.CenterCrop(8), FLOAT], batch_transforms=kind(num_classes=5), batch_size=4)
    images, labels = next(iter(loader))
    assert images.shape == (4, 3, 8, 8) and labels.shape == (4, 5) and labels.dtype == torch.float32
    assert torch.allclose(labels.sum(1), torch.ones(4))
