"""Prints which torch this Python has, and whether it has CUDA or ROCm: a line `RESULT {json}`. Fails without torch."""

import json
import sys

import torch

why_no_torchvision = ""
try:
    import torchvision
except Exception as error:  # one that is of another version than torch raises RuntimeError
    vision, why_no_torchvision = None, f"{type(error).__name__}: {error}"
else:
    vision = torchvision.__version__

# ROCm's torch calls its cards cuda, too.
cuda, rocm = torch.cuda.is_available(), getattr(torch.version, "hip", None)
platform = f"ROCm {rocm}" if rocm else f"CUDA {torch.version.cuda}"
if torch.version.cuda is None and rocm is None:
    why = "this build of torch has no CUDA"
else:
    why = "torch.cuda.is_available() is false: no driver, or no card"
facts = {
    "python": list(sys.version_info[:3]),
    "torch": torch.__version__,
    "torchvision": vision,
    "why_no_torchvision": why_no_torchvision,
    "cuda": cuda,
    "why": "" if cuda else why,
    "device": f"{torch.cuda.get_device_name()} ({platform})" if cuda else None,
    "cards": torch.cuda.device_count() if cuda else 0,
}
print(f"RESULT {json.dumps(facts)}")
