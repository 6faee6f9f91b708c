"""Real frameworks' loops, each for two epochs over a gpufeed loader, and what they save. With GPUFEED_FULL=1, where installed."""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from typing import Any

import pytest

if "GPUFEED_FULL" not in os.environ:
    pytest.skip("frameworks: only with GPUFEED_FULL=1", allow_module_level=True)

torch = pytest.importorskip("torch")

import gpufeed  # noqa: E402
from pictures import Jpegs  # noqa: E402

RECIPE = {"transform": [{"type": "RandomResizedCrop", "size": 16}]}
pytestmark = pytest.mark.filterwarnings("ignore")  # the frameworks' own


def loader(**settings: Any) -> gpufeed.DataLoader:
    return gpufeed.DataLoader(Jpegs(40), recipe=RECIPE, **({"batch_size": 8, "shuffle": True, "seed": 1, "workers": 2} | settings))


def model() -> Any:
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(3 * 16 * 16, 5))


def expected(epochs: int) -> list[list[int]]:
    """The labels of each epoch, in order."""
    return [[label for _, labels in loader_at(epoch) for label in labels.tolist()] for epoch in range(epochs)]


def loader_at(epoch: int) -> gpufeed.DataLoader:
    made = loader()
    made.set_epoch(epoch)
    return made


def check(seen: list[int]) -> None:
    """Two epochs, each with its own order."""
    first, second = expected(2)
    assert first != second
    assert seen == [*first, *second]


def test_lightning(tmp_path: Path) -> None:
    lightning = pytest.importorskip("lightning")
    seen: list[int] = []

    class Module(lightning.LightningModule):  # type: ignore[name-defined, misc]
        def __init__(self) -> None:
            super().__init__()
            self.net = model()

        def training_step(self, batch: Any, index: int) -> Any:
            images, labels = batch
            seen.extend(labels.tolist())
            return torch.nn.functional.cross_entropy(self.net(images), labels)

        def configure_optimizers(self) -> Any:
            return torch.optim.SGD(self.parameters(), lr=0.01)

    def trainer(**given: Any) -> Any:
        return lightning.Trainer(
            accelerator="cpu", logger=False, enable_progress_bar=False, default_root_dir=tmp_path, **given
        )

    trainer(max_epochs=2).fit(Module(), loader())
    check(seen)
    # Stopped in mid-epoch and resumed from its checkpoint.
    seen.clear()

    class Stop(lightning.Callback):  # type: ignore[name-defined, misc]
        def on_train_batch_end(self, trainer: Any, *_: Any) -> None:
            if trainer.global_step == 7:
                trainer.save_checkpoint(tmp_path / "at-7.ckpt")
                trainer.should_stop = True
                raise KeyError("stopped")

    with pytest.raises(KeyError):
        trainer(max_epochs=2, callbacks=[Stop()]).fit(Module(), loader())
    assert len(seen) == 56
    trainer(max_epochs=2).fit(Module(), loader(), ckpt_path=tmp_path / "at-7.ckpt")
    check(seen)


def test_accelerate() -> None:
    accelerate = pytest.importorskip("accelerate")
    accelerator = accelerate.Accelerator(cpu=True)
    net = model()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    net, optimizer, train = accelerator.prepare(net, optimizer, loader(device=accelerator.device))
    seen: list[int] = []
    for epoch in range(2):
        train.set_epoch(epoch)
        for images, labels in train:
            seen += labels.tolist()
            optimizer.zero_grad()
            accelerator.backward(torch.nn.functional.cross_entropy(net(images), labels))
            optimizer.step()
    check(seen)


def test_timms_loop() -> None:
    pytest.importorskip("timm")
    # As timm's train.py has it: `loader.sampler.set_epoch`, `len(loader)`, `(input, target)`.
    train, net, seen = loader(), model(), []
    for epoch in range(2):
        if hasattr(train, "sampler") and hasattr(train.sampler, "set_epoch"):
            train.sampler.set_epoch(epoch)
        last = len(train) - 1
        for index, (images, target) in enumerate(train):
            seen += target.tolist()
            torch.nn.functional.cross_entropy(net(images), target).backward()
        assert index == last
    check(seen)


def test_hugging_face_trainer(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    seen: list[int] = []

    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = model()

        def forward(self, images: Any, labels: Any) -> dict[str, Any]:
            seen.extend(labels.tolist())
            return {"loss": torch.nn.functional.cross_entropy(self.net(images), labels)}

    class Named:
        """The Trainer takes dictionaries."""

        def __init__(self, train: gpufeed.DataLoader) -> None:
            self.train, self.batch_size, self.dataset = train, train.batch_size, train.dataset

        def __len__(self) -> int:
            return len(self.train)

        def __iter__(self) -> Any:
            return ({"images": images, "labels": labels} for images, labels in self.train)

        def set_epoch(self, epoch: int) -> None:
            self.train.set_epoch(epoch)

    class Trainer(transformers.Trainer):  # type: ignore[name-defined, misc]
        def get_train_dataloader(self) -> Any:
            return Named(loader())

    given = transformers.TrainingArguments(
        output_dir=str(tmp_path), num_train_epochs=2, per_device_train_batch_size=8, use_cpu=True, report_to=[],
        save_strategy="no", ignore_data_skip=True, disable_tqdm=True,
    )
    Trainer(model=Net(), args=given, train_dataset=Jpegs(40)).train()
    check(seen)


def test_torchdatas_stateful_loader() -> None:
    stateful = pytest.importorskip("torchdata.stateful_dataloader")

    class Inside(torch.utils.data.IterableDataset):  # type: ignore[type-arg]
        def __init__(self) -> None:
            self.train = loader()

        def __iter__(self) -> Any:
            return iter(self.train)

        def state_dict(self) -> dict[str, Any]:
            return self.train.state_dict()

        def load_state_dict(self, state: dict[str, Any]) -> None:
            self.train.load_state_dict(state)

    def outer() -> Any:
        return stateful.StatefulDataLoader(Inside(), batch_size=None, num_workers=0)

    whole = [labels.tolist() for _, labels in outer()]
    first = outer()
    batches = iter(first)
    seen = [next(batches)[1].tolist() for _ in range(2)]
    second = outer()
    second.load_state_dict(first.state_dict())
    assert seen + [labels.tolist() for _, labels in second] == whole


@pytest.mark.parametrize("stop", [0, 2, 5])
def test_torchdatas_stateful_loader_around_the_loader_itself(stop: int) -> None:
    """In mid-epoch, at its beginning and at its end, and on into the next epoch."""
    stateful = pytest.importorskip("torchdata.stateful_dataloader")

    def outer() -> Any:
        return stateful.StatefulDataLoader(loader(), batch_size=None, num_workers=0)

    first = outer()
    assert len(first) == 5
    check([label for _ in range(2) for _, labels in first for label in labels.tolist()])
    first = outer()
    batches = iter(first)
    seen = [label for _ in range(stop) for label in next(batches)[1].tolist()]
    # Pickled, as torch.save does.
    state = pickle.loads(pickle.dumps(first.state_dict()))
    second = outer()
    second.load_state_dict(state)
    while len(seen) < 80:
        seen += [label for _, labels in second for label in labels.tolist()]
    check(seen)


def test_torchs_own_loader_around_the_loader() -> None:
    around = torch.utils.data.DataLoader(loader(), batch_size=None)
    check([label for _ in range(2) for _, labels in around for label in labels.tolist()])
    copied = pickle.loads(pickle.dumps(torch.utils.data.DataLoader(loader(), batch_size=None)))
    check([label for _ in range(2) for _, labels in copied for label in labels.tolist()])
    with pytest.raises(RuntimeError, match="use num_workers=0 there|threads were not copied by the fork"):
        next(iter(torch.utils.data.DataLoader(loader(), batch_size=None, num_workers=1)))


def test_batches_that_accelerate_would_skip() -> None:
    accelerate = pytest.importorskip("accelerate")
    accelerator = accelerate.Accelerator(cpu=True)
    train = accelerator.prepare(loader(device=accelerator.device))
    # It makes another of torch's loaders; gpufeed's has a method instead, and its error names it.
    with pytest.raises(AttributeError, match=r"loader.skip_first_batches\(n\) does what accelerate.skip_first_batches"):
        accelerator.skip_first_batches(train, 2)
    whole = expected(2)
    train.skip_first_batches(2)
    assert [label for _, labels in train for label in labels.tolist()] == whole[0][16:]
    assert [label for _, labels in train for label in labels.tolist()] == whole[1]
