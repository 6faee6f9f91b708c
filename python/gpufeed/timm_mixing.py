"""timm's ``Mixup`` and ``FastCollateMixup``, given as ``batch_transforms=``."""

from __future__ import annotations

import sys
from typing import Any

from gpufeed.errors import ArgumentError
from gpufeed.operators import Operator, Refused, numbers

_MODES = ("batch", "pair", "elem")

# What images in 8-bit numbers do to the floats of ``Mixup``.
BYTES = (
    "timm's Mixup mixes floats, and these images are 8-bit numbers: blends are rounded to whole numbers, as "
    "timm's FastCollateMixup rounds them"
)


def name_of(transform: Any) -> str | None:
    """Returns the name of the class, if it is exactly one of timm's that mix batches."""
    module = sys.modules.get("timm.data.mixup")
    name = type(transform).__name__
    known = module is not None and type(transform) in (module.Mixup, module.FastCollateMixup)
    return name if known else None


def convert(transform: Any) -> tuple[Operator, int]:
    """Returns the operator of batches, and the number of classes."""
    # timm takes any other text for the mode as "batch".
    if "half" in transform.mode:
        raise Refused(f"mode={transform.mode!r} returns half of a batch; {', '.join(map(repr, _MODES))} work")
    smoothing = float(transform.label_smoothing)
    if getattr(transform, "multi_label", False) and smoothing > 0:
        raise Refused("multi_label=True with label_smoothing is not supported; label_smoothing=0 works with it")
    made: Operator = {
        "type": "TimmMixup",
        "mixup_alpha": max(float(transform.mixup_alpha), 0.0),
        "cutmix_alpha": max(float(transform.cutmix_alpha), 0.0),
        # A training script switches mixing off for the last epochs; labels stay smooth.
        "prob": float(transform.mix_prob) if transform.mixup_enabled else 0.0,
        "switch_prob": float(transform.switch_prob),
        "mode": transform.mode if transform.mode in _MODES else "batch",
        "correct_lam": bool(transform.correct_lam),
        "label_smoothing": smoothing,
    }
    if transform.cutmix_minmax is not None:
        made["cutmix_minmax"] = numbers(transform.cutmix_minmax)
    return made, int(transform.num_classes)


def check_output(transform: Any, dtype: str) -> tuple[str, ...]:
    """Checks that the transform is for images of this type. Returns sentences for ``explain()`` where its numbers differ."""
    name = name_of(transform)
    if name == "FastCollateMixup" and dtype != "uint8":
        raise ArgumentError(
            f"batch_transforms: FastCollateMixup mixes 8-bit images, and these are {dtype}; timm.data.Mixup mixes them, or "
            "normalize_on_device=True leaves Normalize, if it is last, to the device, and images in 8 bits until then"
        )
    return (BYTES,) if name == "Mixup" and dtype == "uint8" and transform.mixup_alpha > 0 else ()
