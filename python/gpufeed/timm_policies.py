"""Converts timm's augmentation policies, as the strings of ``auto_augment=`` make them: ``RandAugment``, ``AutoAugment``,
``AugMixAugment`` and the ``AugmentOp`` of which they consist.

The objects are read, not the strings, so a policy that was put together by hand converts, too. An operation counts only if its
functions are timm's own.
"""

from __future__ import annotations

import functools
import math
import sys
from collections.abc import Iterable
from typing import Any

from gpufeed.operators import Operator, Refused, interpolation_mode, numbers

MODULE = "timm.data.auto_augment"
# gpufeed's names of timm's classes.
NAMES = {
    "AugMixAugment": "TimmAugMix",
    "AugmentOp": "TimmAugmentOp",
    "AutoAugment": "TimmAutoAugment",
    "RandAugment": "TimmRandAugment",
}

# The functions of each operation: what changes an image, and what turns a level into its number. A partial is written with its
# numbers.
_ENHANCE, _ENHANCE_MORE = "_enhance_level_to_arg()", "_enhance_increasing_level_to_arg()"
_PIXELS, _SHARE = "_translate_abs_level_to_arg()", "_translate_rel_level_to_arg()"
_FUNCTIONS: dict[str, tuple[str, str | None]] = {
    "AutoContrast": ("auto_contrast()", None),
    "Equalize": ("equalize()", None),
    "Invert": ("invert()", None),
    "Rotate": ("rotate()", "_rotate_level_to_arg()"),
    "Posterize": ("posterize()", "_posterize_level_to_arg()"),
    "PosterizeIncreasing": ("posterize()", "_posterize_increasing_level_to_arg()"),
    "PosterizeOriginal": ("posterize()", "_posterize_original_level_to_arg()"),
    "Solarize": ("solarize()", "_solarize_level_to_arg()"),
    "SolarizeIncreasing": ("solarize()", "_solarize_increasing_level_to_arg()"),
    "SolarizeAdd": ("solarize_add()", "_solarize_add_level_to_arg()"),
    "Color": ("color()", _ENHANCE),
    "ColorIncreasing": ("color()", _ENHANCE_MORE),
    "Contrast": ("contrast()", _ENHANCE),
    "ContrastIncreasing": ("contrast()", _ENHANCE_MORE),
    "Brightness": ("brightness()", _ENHANCE),
    "BrightnessIncreasing": ("brightness()", _ENHANCE_MORE),
    "Sharpness": ("sharpness()", _ENHANCE),
    "SharpnessIncreasing": ("sharpness()", _ENHANCE_MORE),
    "ShearX": ("shear_x()", "_shear_level_to_arg()"),
    "ShearY": ("shear_y()", "_shear_level_to_arg()"),
    "TranslateX": ("translate_x_abs()", _PIXELS),
    "TranslateY": ("translate_y_abs()", _PIXELS),
    "TranslateXRel": ("translate_x_rel()", _SHARE),
    "TranslateYRel": ("translate_y_rel()", _SHARE),
    "Desaturate": ("desaturate()", "_minmax_level_to_arg(max_val=1.0, min_val=0.5)"),
    "GaussianBlur": ("gaussian_blur()", "_minmax_level_to_arg(max_val=2.0, min_val=0.1)"),
    "GaussianBlurRand": ("gaussian_blur_rand()", "_minmax_level_to_arg()"),
}

_OF_WARPS = ("nearest", "bilinear", "bicubic")
# What timm takes where hparams has no number.
_TRANSLATE_CONST, _TRANSLATE_PCT = 250, 0.45
# The level that is a whole operation, timm's ``_LEVEL_DENOM``.
_WHOLE = 10.0


def convert(policy: Any) -> Operator:
    """Converts a policy, or one operation, to an operator of a recipe."""
    name = type(policy).__name__
    made: Operator = {"type": NAMES[name]}
    if name == "AugmentOp":
        return made | _op(policy, "it")
    if name == "AutoAugment":
        lists = [_ops(each, f"policy[{number}]") for number, each in enumerate(policy.policy)]
        return made | {"policy": lists}
    made["ops"] = _ops(policy.ops, "ops")
    if name == "RandAugment":
        made["num_layers"] = int(policy.num_layers)
        if policy.choice_weights is not None:
            made["choice_weights"] = [float(weight) for weight in policy.choice_weights]
        return made
    # A depth of 0 and less is a random one.
    depth = int(policy.depth) if policy.depth > 0 else -1
    return made | {
        "alpha": float(policy.alpha),
        "width": int(policy.width),
        "depth": depth,
        "blended": bool(policy.blended),
    }


def _ops(ops: Iterable[Any], place: str) -> list[Operator]:
    return [_op(op, f"{place}[{number}]") for number, op in enumerate(ops)]


def _op(op: Any, place: str) -> Operator:
    timms = sys.modules[MODULE]
    if type(op) is not getattr(timms, "AugmentOp", None):
        raise Refused(f"{place} is a {type(op).__name__[:40]}; timm's AugmentOp is supported there")
    _check_functions(op, place)
    for attribute in ("prob", "magnitude"):
        if not math.isfinite(getattr(op, attribute)):
            raise Refused(f"{place}, {op.name}: {attribute} is {getattr(op, attribute)}; a finite number works")
    std = float(op.magnitude_std)
    hparams, kwargs = op.hparams, op.kwargs
    unknown = sorted(set(kwargs) - {"fillcolor", "resample"})
    if unknown:
        raise Refused(f"{place}, {op.name}: kwargs has {unknown[0]!r}, too; fillcolor and resample are supported")
    modes = kwargs.get("resample", timms._DEFAULT_INTERPOLATION)
    modes = modes if isinstance(modes, (tuple, list)) else [modes]
    return {
        "name": op.name,
        "prob": min(max(float(op.prob), 0.0), 1.0),
        "magnitude": float(op.magnitude),
        "magnitude_std": 0.0 if math.isinf(std) else max(std, 0.0),
        "uniform": std == math.inf,
        "magnitude_max": float(op.magnitude_max or _WHOLE),
        "interpolation": [interpolation_mode(mode, _OF_WARPS) for mode in modes],
        "fill": _fill(kwargs.get("fillcolor"), place),
        "translate_const": float(hparams.get("translate_const", _TRANSLATE_CONST)),
        "translate_pct": float(hparams.get("translate_pct", _TRANSLATE_PCT)),
    }


def _fill(given: Any, place: str) -> list[float]:
    """Returns the colour that warps leave. Without one Pillow leaves black."""
    found = numbers(0 if given is None else given)
    if given is None:
        return found * 3
    if len(found) != 3 or not all(0 <= number <= 255 and number == int(number) for number in found):
        raise Refused(f"{place}: fillcolor {str(given)[:40]}; three whole numbers from 0 to 255 work, as img_mean has them")
    return found


def _check_functions(op: Any, place: str) -> None:
    """Refuses an operation whose functions are not timm's own of its name."""
    timms = sys.modules[MODULE]
    if getattr(timms, "_LEVEL_DENOM", None) != _WHOLE:
        raise Refused("timm's _LEVEL_DENOM is not 10, which levels are counted in")
    expected = _FUNCTIONS.get(op.name)
    if expected is None:
        raise Refused(f"{place}: there is no operation {str(op.name)[:40]!r}")
    for attribute, known in zip(("aug_fn", "level_fn"), expected, strict=True):
        found = _called(getattr(op, attribute))
        if found != known:
            raise Refused(
                f"{place}, {op.name}: {attribute} is {str(found)[:60]}, not timm's {known}; "
                "an operation with functions of your own is not supported"
            )


def _called(function: Any) -> str | None:
    """Returns the name of a function of timm's module, with the numbers of a partial; that of any other one with its
    module."""
    if function is None:
        return None
    bound = {}
    if type(function) is functools.partial and not function.args:
        function, bound = function.func, function.keywords
    name = str(getattr(function, "__qualname__", type(function).__name__))
    own = getattr(function, "__module__", None) == MODULE and getattr(sys.modules[MODULE], name, None) is function
    arguments = ", ".join(f"{key}={value}" for key, value in sorted(bound.items()))
    return f"{name}({arguments})" if own else f"{getattr(function, '__module__', '?')}.{name}"
