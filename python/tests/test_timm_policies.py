"""timm's augmentation policies, converted from its objects: pixels by drawn parameters, distributions, strings, refusals."""

from __future__ import annotations

import functools
import json
import math
from collections import Counter
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torchvision")
pytest.importorskip("timm")

import timm.data.auto_augment as timms  # noqa: E402
from timm.data import create_transform  # noqa: E402
from torchvision.transforms import v2  # noqa: E402

from gpufeed.torchvision import UnsupportedTransform, convert  # noqa: E402
from test_drawn import CROP, both  # noqa: E402
from timm_draws import by_gpufeed, by_timm, emitted, parameters  # noqa: E402

DRAWS = 20_000
ALL = sorted(timms.NAME_TO_OP)


def policy(string: str, **options: Any) -> Any:
    """The policy that a string makes in timm's ``create_transform``."""
    made = create_transform(32, is_training=True, auto_augment=string, **options).transforms
    return next(each for each in made if type(each).__module__ == "timm.data.auto_augment")


def any_operation() -> Any:
    """Every operation of timm, also those that no string has, at all levels."""
    hparams = {"translate_const": 9, "img_mean": (12, 250, 99), "magnitude_std": math.inf}
    return timms.RandAugment([timms.AugmentOp(name, 1.0, 10, hparams) for name in ALL], 3)


POLICIES = {
    string: functools.partial(policy, string)
    for string in (
        *("rand-m9-mstd0.5-inc1", "rand-m9-n3-mstd0.5", "rand-m20-mmax30-p1", "rand-m9-mstd101-inc1-tweights", "rand-t3a"),
        *("rand-t3aw-n4-inc1", "original", "originalr-mstd0.5", "v0", "v0r", "3a", "augmix-m5-w4-d2", "augmix-b1", "augmix-m8-a0.4"),
    )
} | {
    "bilinear": functools.partial(policy, "rand-m9-mstd0.5-inc1", interpolation="bilinear"),
    "nearest": functools.partial(policy, "rand-m9-mstd0.5-inc1", interpolation="nearest", mean=(0.1, 0.5, 0.9)),
    "every operation": any_operation,
}


@pytest.mark.parametrize("name", POLICIES)
def test_pixels_are_those_of_timms_functions(name: str) -> None:
    found, expected, params = both([CROP, POLICIES[name]()], None)
    assert found.dtype == expected.dtype == torch.uint8
    assert len({json.dumps(each["ops"]) for each in params}) > 5, "nothing was drawn"
    assert torch.equal(found, expected), [
        (each["ops"], int((one.int() - other.int()).abs().max()))
        for each, one, other in zip(params, found, expected, strict=True)
        if not torch.equal(one, other)
    ]


@pytest.mark.parametrize("name", ALL)
def test_each_operation_has_the_pixels_of_timm(name: str) -> None:
    hparams = {"translate_const": 9, "img_mean": (12, 250, 99), "magnitude_std": math.inf, "magnitude_max": 20}
    op = timms.AugmentOp(name, 1.0, 20, hparams)
    found, expected, params = both([v2.CenterCrop((37, 31)), op], None)
    assert all([set(each["op"]) for each in image["ops"]][-1:] == [{"Timm"}] for image in params)
    assert torch.equal(found, expected)


def test_ends_of_a_level_and_small_images() -> None:
    hparams = {"translate_const": 9, "img_mean": (12, 250, 99)}
    for size in (1, 2, 3):
        ops = [timms.AugmentOp(name, 1.0, level, hparams) for name in ALL for level in (0, 10)]
        found, expected, _ = both([v2.CenterCrop(size), timms.RandAugment(ops, 2)], None)
        assert torch.equal(found, expected), size


def p_of_chi2(statistic: float, degrees: int) -> float:
    return float(torch.special.gammaincc(torch.tensor(degrees / 2.0).double(), torch.tensor(statistic / 2.0).double()))


def same_counts(one: Counter[Any], other: Counter[Any]) -> float:
    """The p-value of the chi-squared test that two counts are of one distribution; rare ones are put together."""
    sums = [sum(one.values()), sum(other.values())]
    rare = [key for key in one | other if one[key] + other[key] < 20]
    cells = [(one[key], other[key]) for key in one | other if key not in rare]
    if rare:
        cells.append((sum(one[key] for key in rare), sum(other[key] for key in rare)))
    statistic = 0.0
    for cell in cells:
        for seen, whole in zip(cell, sums, strict=True):
            expected = sum(cell) * whole / sum(sums)
            statistic += (seen - expected) ** 2 / expected if expected else 0.0
    return p_of_chi2(statistic, len(cells) - 1) if len(cells) > 1 else 1.0


def same_numbers(one: list[float], other: list[float]) -> float:
    """The p-value of the test of Kolmogorov and Smirnov that two lists are of one distribution. Levels that are cut to the
    greatest one are ties, which make it a careful one."""
    whole = torch.tensor(sorted({*one, *other})).double()
    shares = [
        torch.searchsorted(torch.tensor(sorted(each)).double(), whole, right=True) / len(each) for each in (one, other)
    ]
    distance = float((shares[0] - shares[1]).abs().max())
    size = math.sqrt(len(one) * len(other) / (len(one) + len(other)))
    scaled = (size + 0.12 + 0.11 / size) * distance
    return min(1.0, 2 * sum((-1) ** (k - 1) * math.exp(-2 * (k * scaled) ** 2) for k in range(1, 101))) if scaled > 0.2 else 1.0


# Of about 400 tests with fixed seeds; each fails by chance with this probability.
LEAST = 1e-5
TO_DRAW = ("rand-m9-mstd0.5-inc1", "rand-m9-mstd101-inc1-tweights", "rand-t3aw-n4-inc1", "original", "v0r", "3a", "augmix-m5-w4")


@pytest.mark.parametrize("name", [*TO_DRAW, "nearest", "every operation"])
def test_draws_are_distributed_as_timms(name: str) -> None:
    make = POLICIES.get(name, functools.partial(policy, name))
    ours, theirs = list(by_gpufeed(make(), DRAWS, 3)), list(by_timm(make(), DRAWS, 4))
    p = {
        "operations of an image": same_counts(*(Counter(len(each) for each in drawn) for drawn in (ours, theirs))),
        "pairs": same_counts(*(Counter(tuple(op[0] for op in each[:2]) for each in drawn) for drawn in (ours, theirs))),
    }
    for place in range(2):
        at = [Counter(each[place][0] if len(each) > place else None for each in drawn) for drawn in (ours, theirs)]
        p[f"names at {place}"] = same_counts(*at)
    flat = [[op for each in drawn for op in each] for drawn in (ours, theirs)]
    names = {op[0] for op in flat[1]}
    assert names == {op[0] for op in flat[0]}
    for operation in sorted(names):
        of_it = [[op for op in drawn if op[0] == operation] for drawn in flat]
        numbers = [[op[1] for op in drawn] for drawn in of_it]
        p[f"{operation}'s sign"] = same_counts(*(Counter(number < 0 for number in drawn) for drawn in numbers))
        if len({*numbers[1]}) > 40:
            p[f"{operation}'s numbers"] = same_numbers(*numbers)
        else:
            p[f"{operation}'s numbers"] = same_counts(*(Counter(round(number, 9) for number in drawn) for drawn in numbers))
        if operation.startswith(("Shear", "Translate", "Rotate")):
            p[f"{operation}'s interpolation"] = same_counts(*(Counter(op[2] for op in drawn) for drawn in of_it))
    print({what: f"{value:.2g}" for what, value in p.items() if value < 0.05})
    assert min(p.values()) > LEAST, {what: value for what, value in p.items() if value <= LEAST}


def test_the_test_of_distributions_tells_them_apart() -> None:
    draws = {name: list(by_gpufeed(policy(name), DRAWS, 5)) for name in ("rand-m9-mstd0.5-inc1", "rand-m9-mstd1-inc1")}
    flat = [[op for each in drawn for op in each] for drawn in draws.values()]
    numbers = [[abs(op[1]) for op in drawn if op[0] == "Rotate"] for drawn in flat]
    assert same_numbers(*numbers) < LEAST
    fewer = [list(by_timm(policy(f"rand-m9-p{p}"), DRAWS, 6)) for p in (0.5, 0.53)]
    assert same_counts(*(Counter(len(each) for each in drawn) for drawn in fewer)) < LEAST


@pytest.mark.parametrize("blended", [False, True])
def test_weights_of_a_mixture_are_distributed_as_numpys(blended: bool) -> None:
    import numpy

    mixer = policy(f"augmix-a0.6-w3-b{int(blended)}")
    ours = [ops[0]["TimmMixture"] for ops in emitted(mixer, DRAWS, 8)]
    assert {op["blended"] for op in ours} == {blended}
    rng = numpy.random.default_rng(9)
    assert same_numbers([op["m"] for op in ours], rng.beta(0.6, 0.6, DRAWS).tolist()) > LEAST
    weights = rng.dirichlet([0.6] * 3, DRAWS)
    for number in range(3):
        assert same_numbers([op["weights"][number] for op in ours], weights[:, number].tolist()) > LEAST
    depths = Counter(len(chain) for op in ours for chain in op["chains"])
    assert same_counts(depths, Counter(rng.integers(1, 4, 3 * DRAWS).tolist())) > LEAST


INCREASING = {name: f"{name}Increasing" for name in ("Posterize", "Solarize", "Color", "Contrast", "Brightness", "Sharpness")}
PLAIN = list(timms._RAND_TRANSFORMS)
MORE = [INCREASING.get(name, name) for name in PLAIN]
WEIGHTED, WEIGHTED_3A = timms._RAND_WEIGHTED_0, timms._RAND_WEIGHTED_3A
THREE = ["SolarizeIncreasing", "Desaturate", "GaussianBlur"]

# What each string makes: arguments of the policy, its names, those of each operation.
RAND: dict[str, tuple[int, list[str], dict[str, Any]]] = {
    "rand": (2, PLAIN, {}),
    "rand-m9": (2, PLAIN, {"magnitude": 9}),
    "rand-m0": (2, PLAIN, {"magnitude": 0}),
    "rand-n1": (1, PLAIN, {}),
    "rand-n4-m7": (4, PLAIN, {"magnitude": 7}),
    "rand-m9-mstd0.5": (2, PLAIN, {"magnitude": 9, "magnitude_std": 0.5}),
    "rand-m9-mstd0.5-inc1": (2, MORE, {"magnitude": 9, "magnitude_std": 0.5}),
    "rand-m9-mstd0.5-inc0": (2, PLAIN, {"magnitude": 9, "magnitude_std": 0.5}),
    "rand-inc1-mstd0.5-m9": (2, MORE, {"magnitude": 9, "magnitude_std": 0.5}),
    "rand-m9-mstd100": (2, PLAIN, {"magnitude": 9, "magnitude_std": 100}),
    "rand-m9-mstd101": (2, PLAIN, {"magnitude": 9, "uniform": True}),
    "rand-m9-mstd0": (2, PLAIN, {"magnitude": 9}),
    "rand-m15-mmax20": (2, PLAIN, {"magnitude": 15, "magnitude_max": 20}),
    "rand-m15-mmax0": (2, PLAIN, {"magnitude": 15}),
    "rand-m9-p0.8": (2, PLAIN, {"magnitude": 9, "prob": 0.8}),
    "rand-m9-p1": (2, PLAIN, {"magnitude": 9, "prob": 1}),
    "rand-m9-p0": (2, PLAIN, {"magnitude": 9, "prob": 0}),
    "rand-tweights": (2, list(WEIGHTED), {}),
    "rand-mstd1-tweights": (2, list(WEIGHTED), {"magnitude_std": 1}),
    "rand-t3a": (2, THREE, {}),
    "rand-t3a-n1-p1": (1, THREE, {"prob": 1}),
    "rand-t3aw-m6": (2, list(WEIGHTED_3A), {"magnitude": 6}),
    "rand-tother-inc1": (2, MORE, {}),
    "rand-m9-n2-mstd0.5-mmax12-inc1-p0.7": (2, MORE, {"magnitude": 9, "magnitude_std": 0.5, "magnitude_max": 12, "prob": 0.7}),
}
MIXED: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "augmix": ({}, {"magnitude": 3, "uniform": True}),
    "augmix-m5-w4-d2": ({"width": 4, "depth": 2}, {"magnitude": 5, "uniform": True}),
    "augmix-m8-mstd0.5": ({}, {"magnitude": 8, "magnitude_std": 0.5}),
    "augmix-mstd0": ({}, {"magnitude": 3}),
    "augmix-a0.3": ({"alpha": 0.3}, {"magnitude": 3, "uniform": True}),
    "augmix-b1": ({"blended": True}, {"magnitude": 3, "uniform": True}),
    "augmix-b0-w1": ({"width": 1}, {"magnitude": 3, "uniform": True}),
    "augmix-d0": ({}, {"magnitude": 3, "uniform": True}),
    "augmix-d3-w2-m1-a2-b1": ({"depth": 3, "width": 2, "alpha": 2, "blended": True}, {"magnitude": 1, "uniform": True}),
}
AUTO = {
    **{f"{name}{mstd}": len(timms.auto_augment_policy(name)) for name in ("original", "originalr", "v0", "v0r", "3a") for mstd in ("", "-mstd0.5")},
}


def made(string: str, **options: Any) -> dict[str, Any]:
    """The operator that a string becomes."""
    transforms = create_transform(100, is_training=True, auto_augment=string, **options)
    (operator,) = [each for each in convert(transforms).recipe["transform"] if each["type"].startswith("Timm")]
    return operator


def operation(name: str, **given: Any) -> dict[str, Any]:
    """An operation of a list for images of 100 pixels a side and ImageNet's mean."""
    numbers = {"magnitude": 10, "prob": 0.5, "magnitude_std": 0, "magnitude_max": 10, "translate_const": 45, "translate_pct": 0.45}
    others = {"name": name, "uniform": False, "fill": [124.0, 116.0, 104.0], "interpolation": ["Bilinear", "Bicubic"]}
    return numbers | others | given


@pytest.mark.parametrize("string", RAND)
def test_strings_of_rand_augment(string: str) -> None:
    layers, names, given = RAND[string]
    expected: dict[str, Any] = {"type": "TimmRandAugment", "num_layers": layers, "ops": [operation(name, **given) for name in names]}
    found = made(string, interpolation="random")
    weights = {"tweights": WEIGHTED, "t3aw": WEIGHTED_3A}.get(next((part for part in string.split("-") if part[0] == "t"), ""))
    if weights:
        shares = [weight / sum(weights.values()) for weight in weights.values()]
        assert found.pop("choice_weights") == pytest.approx(shares, rel=1e-12)
    assert found == expected


@pytest.mark.parametrize("string", MIXED)
def test_strings_of_augmix(string: str) -> None:
    given, of_ops = MIXED[string]
    names = [INCREASING.get(name, name) for name in timms._AUGMIX_TRANSFORMS]
    ops = [operation(name, prob=1, translate_pct=0.3, **of_ops) for name in names]
    expected = {"type": "TimmAugMix", "alpha": 1, "width": 3, "depth": -1, "blended": False, "ops": ops} | given
    assert made(string, interpolation="random") == expected


@pytest.mark.parametrize("string", AUTO)
def test_strings_of_auto_augment(string: str) -> None:
    name, _, mstd = string.partition("-mstd")
    found = made(string, interpolation="bicubic", mean=(0.5, 0.0, 1.0))
    lists = timms.auto_augment_policy(name)
    assert len(lists) == AUTO[string] and found["type"] == "TimmAutoAugment"
    given = {"magnitude_std": float(mstd or 0), "interpolation": ["Bicubic"], "fill": [128.0, 0.0, 255.0]}
    expected = [[operation(op.name, prob=op.prob, magnitude=op.magnitude, **given) for op in ops] for ops in lists]
    assert found["policy"] == expected


def test_there_are_forty_strings() -> None:
    assert len(RAND) + len(MIXED) + len(AUTO) >= 40


def test_policies_stand_wherever_transforms_do() -> None:
    op = timms.AugmentOp("Rotate", 0.3, 4)
    one = operation("Rotate", prob=0.3, magnitude=4, fill=[128.0] * 3, translate_const=250) | {"type": "TimmAugmentOp"}
    assert convert([CROP, op]).recipe["transform"][1] == one
    nested = convert([CROP, v2.RandomChoice([op, v2.RandomApply([policy("3a")], 0.2)])]).recipe["transform"][1]
    assert nested["transforms"][0] == one and nested["transforms"][1]["transforms"][0]["type"] == "TimmAutoAugment"
    both_ways = create_transform(64, is_training=True, auto_augment="3a", grayscale_prob=0.2, gaussian_blur_prob=0.5)
    names = ["RandomResizedCrop", "RandomHorizontalFlip", "TimmAutoAugment", "ColorJitter", "RandomGrayscale", "RandomApply"]
    assert [each["type"] for each in convert(both_ways).recipe["transform"]][:6] == names
    separate = create_transform(64, is_training=True, auto_augment="augmix", separate=True)
    assert any("separate=True" in note and "AugMixDataset" in note for note in convert(separate).notes)


def altered(attribute: str, value: Any) -> Any:
    op = timms.AugmentOp("Rotate", 0.3, 4)
    setattr(op, attribute, value)
    return op


class OwnOp(timms.AugmentOp):  # type: ignore[misc]
    pass


class OwnPolicy(timms.RandAugment):  # type: ignore[misc]
    pass


REFUSED = {
    "own function": (lambda: altered("aug_fn", lambda image, *_, **__: image), "aug_fn is test_timm_policies.*not timm's rotate"),
    "other function": (lambda: altered("aug_fn", timms.shear_x), "aug_fn is shear_x.., not timm's rotate"),
    "own level": (lambda: altered("level_fn", lambda level, _: (level,)), "level_fn is test_timm_policies"),
    "other numbers": (
        lambda: altered("level_fn", functools.partial(timms._minmax_level_to_arg, min_val=0.2)),
        r"level_fn is _minmax_level_to_arg\(min_val=0.2\), not timm's _rotate",
    ),
    "no level": (lambda: altered("level_fn", None), "level_fn is None, not timm's _rotate"),
    "unknown name": (lambda: altered("name", "Twirl"), "there is no operation 'Twirl'"),
    "own op": (lambda: timms.RandAugment([OwnOp("Rotate")]), r"ops\[0\] is a OwnOp; timm's AugmentOp"),
    "function among ops": (lambda: timms.AutoAugment([[timms.AugmentOp("Rotate"), len]]), r"policy\[0\]\[1\] is a builtin"),
    "interpolation": (lambda: altered("kwargs", {"resample": 1}), "interpolation 'lanczos' is not supported there"),
    "fill": (lambda: altered("kwargs", {"fillcolor": (1, 2)}), r"fillcolor \(1, 2\); three whole numbers"),
    "keyword": (lambda: altered("kwargs", {"expand": True}), "kwargs has 'expand', too"),
    "probability": (lambda: altered("prob", math.nan), "prob is nan; a finite number works"),
    "too many without repetition": (
        lambda: timms.RandAugment([timms.AugmentOp("Rotate")] * 2, 3, [0.5, 0.5]),
        "choice_weights: 2 of them are more than 0; num_layers = 3 needs as many",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name: str) -> None:
    make, words = REFUSED[name]
    with pytest.raises(UnsupportedTransform, match=rf"^transforms\[1\]: \w+ cannot be converted: .*({words})") as refused:
        convert([CROP, make()])
    assert len(str(refused.value)) <= 300


def test_subclasses_and_floats_are_refused() -> None:
    with pytest.raises(UnsupportedTransform, match=r"^transforms\[0\]: OwnPolicy is not supported"):
        convert([OwnPolicy([timms.AugmentOp("Rotate")])])
    for each in ("rand", "3a", "augmix"):
        with pytest.raises(UnsupportedTransform, match=r"^transforms\[2\]: \w+ cannot be converted: it needs 8-bit images"):
            convert([v2.ToImage(), v2.ToDtype(torch.float32, scale=True), policy(each)])


def test_bits_of_zero_are_black() -> None:
    """Pillow 13 refuses what Pillow 12 made black."""
    op = timms.AugmentOp("PosterizeIncreasing", 1.0, 10)
    assert {each["argument"] for ops in parameters(op, 10, 1) for each in ops} == {0.0}
    found, _, _ = both([CROP, op], None)
    assert not found.any()
