"""`gpufeed.DataLoader(device="cuda")` with both backends: the same pixels, images a second, and beside a training step.

    python torch_loader.py FOLDER [--seconds 4] [--device cuda] [--model resnet50] [--backend gpu]

Without --backend only the CPU's runs, and no pixels are compared. The step is a forward and a backward pass of the model
in bfloat16 by SGD. Its rate on one batch that lies on the card is compared with its rate behind the loader. Prints lines
`RESULT {json}`.
"""

from __future__ import annotations

import argparse
from typing import Callable, Dict, List

import torch
import torchvision

import gpufeed
import torch_rates
from torch_rates import BATCH

# The two executors' floats after Normalize may differ by so much (docs/guide/determinism.md).
ALLOWED = 1e-4


def loader(folder: str, device: str, backend: str, shuffle: bool) -> gpufeed.DataLoader:
    execute = "auto" if backend == "cpu" else "gpu"
    return gpufeed.DataLoader(
        folder, torch_rates.recipe(), batch_size=BATCH, shuffle=shuffle, device=device, backend=backend, execute=execute
    )


def first(folder: str, device: str, backend: str) -> torch.Tensor:
    images, _labels = next(iter(loader(folder, device, backend, shuffle=False)))
    return images.float().cpu()


def training_step(name: str, device: str) -> Callable[[torch.Tensor], object]:
    model = getattr(torchvision.models, name)(weights=None).to(device).train()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)

    def step(images: torch.Tensor) -> None:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(torch.device(device).type, torch.bfloat16):
            labels = torch.zeros(len(images), dtype=torch.long, device=device)
            loss = torch.nn.functional.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()

    return step


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--model", default="resnet50")
    parser.add_argument("--backend", help="gpufeed's backend with shaders")
    asked = parser.parse_args()
    folder, device = asked.folder, asked.device
    says: List[str] = []
    failed: List[str] = []
    data: Dict[str, object] = {}

    if asked.backend:
        apart = (first(folder, device, "cpu") - first(folder, device, asked.backend)).abs().max().item()
        data["apart"] = apart
        said = f"the backends' first batches are {apart:.1e} apart"
        says.append(said if apart <= ALLOWED else f"{said}, more than {ALLOWED:.0e}")
        if not apart <= ALLOWED:
            failed.append("pixels")
        torch_rates.report(says, failed, data)

    running = {
        backend: torch_rates.endless(loader(folder, device, backend, shuffle=True))
        for backend in ("cpu", *([asked.backend] if asked.backend else []))
    }
    for backend, batches in running.items():
        data[f"{backend}, the loop alone"] = alone = torch_rates.rate(batches, asked.seconds, device)
        says.append(f'backend="{backend}": {alone:,.0f} images/s')
        torch_rates.report(says, failed, data)

    step = training_step(asked.model, device)
    batch = torch.randn(BATCH, 3, 224, 224, device=device)
    data["the step alone"] = most = torch_rates.rate(iter(lambda: batch, None), asked.seconds, device, step)
    says.append(f"{asked.model}'s step in bfloat16 alone: {most:,.0f} images/s")
    for backend, batches in running.items():
        data[f"{backend}, with the step"] = fed = torch_rates.rate(batches, asked.seconds, device, step)
        waited = 100 * max(0.0, 1 - fed / most)
        says.append(f'behind backend="{backend}": {fed:,.0f} images/s, {waited:.0f} % of the time waited')
        torch_rates.report(says, failed, data)


if __name__ == "__main__":
    main()
