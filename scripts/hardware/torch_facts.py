"""Prints which torch this Python has, and whether it has CUDA: a line `RESULT {json}`. Fails without torch."""

import json
import sys

import torch

try:
    import torchvision
except ImportError as error:
    vision = f"none ({error})"
else:
    vision = torchvision.__version__

cuda = torch.cuda.is_available()
if torch.version.cuda is None:
    why = "this build of torch has no CUDA"
else:
    why = "torch.cuda.is_available() is false: no driver, or no card"
facts = {
    "python": list(sys.version_info[:3]),
    "torch": torch.__version__,
    "torchvision": vision,
    "cuda": cuda,
    "why": "" if cuda else why,
    "device": f"{torch.cuda.get_device_name()} (CUDA {torch.version.cuda})" if cuda else None,
    "cards": torch.cuda.device_count() if cuda else 0,
}
print(f"RESULT {json.dumps(facts)}")
