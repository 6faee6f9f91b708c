"""timm's ``Mixup`` and ``FastCollateMixup``, converted: timm's own code makes the same batches and labels where it draws what
gpufeed drew, and both draw alike. torchvision's references have classes of their own."""

from __future__ import annotations

import json
import random
import sys
from typing import Any

import numpy
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torchvision")
timm = pytest.importorskip("timm.data")

import torchvision.transforms as v1  # noqa: E402
from torchvision.transforms import v2  # noqa: E402

import gpufeed  # noqa: E402
from gpufeed.torchvision import UnsupportedTransform, convert  # noqa: E402
from pictures import Jpegs  # noqa: E402
from test_pages import program  # noqa: E402
from two_samples import check, differ  # noqa: E402

CODE = sys.modules["timm.data.mixup"]
CLASSES = 7
BYTES = [v2.RandomResizedCrop((20, 28))]
FLOATS = [*BYTES, v2.ToDtype(torch.float32, scale=True), v2.Normalize([0.4], [0.2])]
MODES = ("batch", "pair", "elem")
# Both kinds, and batches, pairs or samples that stay as they are.
BOTH = {"mixup_alpha": 0.8, "cutmix_alpha": 1.0, "prob": 0.8}
KINDS: dict[str, dict[str, Any]] = {
    "both": BOTH,
    "minmax": {**BOTH, "cutmix_minmax": (0.2, 0.8)},
    "uncorrected": {**BOTH, "correct_lam": False, "label_smoothing": 0.0},
    "blends": {"mixup_alpha": 0.2, "label_smoothing": 0.2},
    "cuts": {"mixup_alpha": 0.0, "cutmix_alpha": 0.7},
}


def batches(steps: list[Any], mixup: Any) -> list[Any]:
    loader = gpufeed.DataLoader(
        Jpegs(24, CLASSES), steps, batch_transforms=mixup, batch_size=8, shuffle=True, seed=6, drop_last=True
    )
    # Each call is the next epoch.
    return [batch for _ in range(8) for batch in loader.batches()]


def mixes(batch: Any) -> list[Any]:
    """How each sample was mixed: its λ, and the rectangle of CutMix or None."""
    found = []
    for text in batch.params:
        mixed = json.loads(text).get("mixed")
        ((name, given),) = mixed["mix"].items() if mixed else [("MixUp", {"lambda": 1.0})]
        cut = name == "CutMix"
        box = (given["top"], given["top"] + given["height"], given["left"], given["left"] + given["width"]) if cut else None
        found.append((given["lambda"], box))
    return found


def script(mixup: Any, drawn: list[Any], monkeypatch: Any) -> None:
    """Has timm's code draw these λ and rectangles."""
    count = {"batch": 1, "pair": len(drawn) // 2, "elem": len(drawn)}[mixup.mode]
    shares = [share for share, _ in drawn[:count]]
    boxes = [each for each in drawn[:count] if each[1] is not None]
    cuts = [box is not None for _, box in drawn[:count]]
    # A rectangle may be empty, and timm asks for none where λ is 1.
    shares = [0.5 if cut else share for share, cut in zip(shares, cuts, strict=True)]
    monkeypatch.setattr(mixup, "_params_per_batch", lambda: (shares[0], cuts[0]))
    monkeypatch.setattr(mixup, "_params_per_elem", lambda _: (numpy.array(shares, numpy.float32), numpy.array(cuts)))

    def box(*_: Any, **__: Any) -> Any:
        share, rectangle = boxes.pop(0)
        return rectangle, share

    monkeypatch.setattr(CODE, "cutmix_bbox_and_lam", box)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", KINDS)
def test_batches_of_floats_are_timms(kind: str, mode: str, monkeypatch: Any) -> None:
    mixup = CODE.Mixup(**KINDS[kind], mode=mode, num_classes=CLASSES)
    seen = set()
    for found, plain in zip(batches(FLOATS, mixup), batches(FLOATS, None), strict=True):
        drawn = mixes(found)
        seen |= {"cut" if box else "as it is" if share == 1 else "blend" for share, box in drawn}
        script(mixup, drawn, monkeypatch)
        images, labels = mixup(torch.from_dlpack(plain.images).clone(), torch.from_dlpack(plain.labels))
        assert torch.equal(torch.from_dlpack(found.images), images)
        assert (torch.from_dlpack(found.labels) - labels).abs().max() < 1e-6
    wanted = {"blends": {"blend"}, "cuts": {"cut"}}.get(kind, {"cut", "blend", "as it is"})
    assert seen == wanted


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", ["both", "blends"])
def test_batches_of_bytes_are_those_of_its_collate_function(kind: str, mode: str, monkeypatch: Any) -> None:
    mixup = CODE.FastCollateMixup(**KINDS[kind], mode=mode, num_classes=CLASSES)
    for found, plain in zip(batches(BYTES, mixup), batches(BYTES, None), strict=True):
        samples = list(zip(numpy.from_dlpack(plain.images).copy(), numpy.from_dlpack(plain.labels).tolist(), strict=True))
        script(mixup, mixes(found), monkeypatch)
        images, labels = mixup(samples)
        assert torch.equal(torch.from_dlpack(found.images), images)
        assert (torch.from_dlpack(found.labels) - labels).abs().max() < 1e-6


class Same:
    """The same image as often as it is asked for."""

    def __init__(self, count: int) -> None:
        self.count = count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> tuple[Any, int]:
        return numpy.zeros((14, 20, 3), numpy.uint8), index % 2


DRAWS = 20_000


def statistics(draws: list[Any]) -> dict[str, Any]:
    named = {"kind": [0 if box else 1 if share == 1 else 2 for share, box in draws]}
    named["lambda of blends"] = [share for share, box in draws if share != 1 and not box]
    named["lambda of cuts"] = [share for share, box in draws if box]
    for axis, name in enumerate(("top", "bottom", "left", "right")):
        named[name] = [box[axis] for _, box in draws if box]
    return named


def ours(mixup: Any) -> dict[str, Any]:
    """Of each batch of two the first sample's, as one is drawn for a batch, and samples of "elem" draw alike."""
    loader = gpufeed.DataLoader(Same(2 * DRAWS), [v2.CenterCrop((14, 20))], batch_transforms=mixup, batch_size=2, seed=3)
    found = [mixes(batch)[0] for batch in loader.batches()]
    assert len(found) == DRAWS
    return statistics(found)


def theirs(mixup: Any) -> dict[str, Any]:
    numpy.random.seed(5)
    found = []
    for _ in range(DRAWS):
        share, cut = mixup._params_per_batch()
        box = None
        if cut and share != 1:
            box, share = CODE.cutmix_bbox_and_lam((3, 14, 20), share, mixup.cutmix_minmax, mixup.correct_lam)
            box = tuple(map(int, box))
        found.append((float(share), box))
    return statistics(found)


@pytest.mark.parametrize("given", [BOTH | {"switch_prob": 0.3}, KINDS["minmax"], KINDS["uncorrected"]], ids=str)
def test_mixes_are_drawn_as_timm_draws_them(given: dict[str, Any]) -> None:
    mixup = CODE.Mixup(**given, num_classes=2, mode="elem" if "switch_prob" in given else "batch")
    check(ours(mixup), theirs(mixup))


def test_a_little_other_draws_are_rejected() -> None:
    wanted = theirs(CODE.Mixup(**BOTH, num_classes=2))
    for changed in ({"mixup_alpha": 1.0}, {"prob": 0.86}, {"switch_prob": 0.55}, {"cutmix_minmax": (0.1, 0.9)}):
        found = ours(CODE.Mixup(**{**BOTH, **changed}, num_classes=2))
        assert any(differ(found[name], wanted[name]) for name in wanted), changed


def test_workers_change_nothing() -> None:
    mixup = CODE.FastCollateMixup(**BOTH, mode="elem", num_classes=CLASSES)
    given = {"transforms": BYTES, "batch_transforms": mixup, "batch_size": 8, "shuffle": True, "seed": 6}
    loaders = [gpufeed.DataLoader(Jpegs(24, CLASSES), **given, workers=workers) for workers in (1, 4)]
    first, second = (list(loader) for loader in loaders)
    for one, other in zip(first, second, strict=True):
        assert torch.equal(one[0], other[0]) and torch.equal(one[1], other[1])


def test_a_script_that_switches_mixing_off_has_smooth_labels() -> None:
    mixup = CODE.Mixup(**BOTH, num_classes=CLASSES)
    mixup.mixup_enabled = False
    for found, plain in zip(batches(FLOATS, mixup), batches(FLOATS, None), strict=True):
        images, labels = mixup(torch.from_dlpack(plain.images).clone(), torch.from_dlpack(plain.labels))
        assert torch.equal(torch.from_dlpack(found.images), images)
        assert (torch.from_dlpack(found.labels) - labels).abs().max() < 1e-6


def test_what_is_refused_and_what_is_said() -> None:
    for transform, steps, words in [
        (CODE.FastCollateMixup(mode="half"), BYTES, "mode='half' returns half of a batch"),
        (CODE.Mixup(multi_label=True), FLOATS, "multi_label=True with label_smoothing"),
    ]:
        with pytest.raises(UnsupportedTransform, match=rf"^batch_transforms: \w+ cannot be converted: {words}"):
            convert(steps, transform)

    class Mixup(CODE.Mixup):  # type: ignore[misc,name-defined]
        """A subclass may do anything."""

    with pytest.raises(UnsupportedTransform, match="^batch_transforms: Mixup is not supported"):
        convert(FLOATS, Mixup())
    given = {"batch_size": 2, "num_classes": 9}
    with pytest.raises(gpufeed.ArgumentError, match="^batch_transforms: FastCollateMixup mixes 8-bit images, and these are float32"):
        gpufeed.DataLoader(Jpegs(4), FLOATS, batch_transforms=CODE.FastCollateMixup(num_classes=9), **given)
    for name, steps, on_device in [("Mixup", BYTES, False), ("Mixup", FLOATS, True), ("Mixup", FLOATS, False), ("FastCollateMixup", FLOATS, True)]:
        mixup = getattr(CODE, name)(num_classes=9)
        loader = gpufeed.DataLoader(Jpegs(4), steps, batch_transforms=mixup, normalize_on_device=on_device, **given)
        rounds = name == "Mixup" and (on_device or steps is BYTES)
        assert ("blends are rounded" in loader.explain()) == rounds, (name, on_device)
    assert convert(FLOATS, CODE.Mixup(num_classes=12)).num_classes == 12
    with pytest.raises(gpufeed.ArgumentError, match="mixup_alpha: 0, and so is cutmix_alpha"):
        gpufeed.DataLoader(Jpegs(4), FLOATS, batch_transforms=CODE.Mixup(mixup_alpha=0.0), batch_size=2)


class RandomMixUp(torch.nn.Module):
    """As the references describe it: with probability p, shares of λ and 1 - λ of a batch and the one rolled by one."""

    def __init__(self, num_classes: int, p: float = 1.0, alpha: float = 1.0, by: int = 1) -> None:
        super().__init__()
        self.num_classes, self.p, self.alpha, self.by = num_classes, p, alpha, by

    def forward(self, batch: Any, target: Any) -> Any:
        labels = torch.nn.functional.one_hot(target, self.num_classes).float()
        if torch.rand(1).item() >= self.p:
            return batch, labels
        share = self.drawn()
        return self.mixed(batch, share), labels * share + labels.roll(self.by, 0) * (1 - share)

    def drawn(self) -> float:
        return float(torch.distributions.Beta(self.alpha, self.alpha).sample())

    def mixed(self, batch: Any, share: float) -> Any:
        return batch * share + batch.roll(self.by, 0) * (1 - share)


class RandomCutMix(RandomMixUp):
    """The same with a rectangle."""

    def forward(self, batch: Any, target: Any) -> Any:
        labels = torch.nn.functional.one_hot(target, self.num_classes).float()
        if torch.rand(1).item() >= self.p:
            return batch, labels
        height, width = batch.shape[-2:]
        half, middle = 0.5 * (1 - self.drawn()) ** 0.5, (int(torch.randint(height, (1,))), int(torch.randint(width, (1,))))
        top, left = (max(at - int(half * side), 0) for at, side in zip(middle, (height, width), strict=True))
        bottom, right = (min(at + int(half * side), side) for at, side in zip(middle, (height, width), strict=True))
        made = batch.clone()
        made[..., top:bottom, left:right] = batch.roll(self.by, 0)[..., top:bottom, left:right]
        share = 1 - (bottom - top) * (right - left) / (height * width)
        return made, labels * share + labels.roll(self.by, 0) * (1 - share)


def other_chance(base: Any) -> Any:
    """``p`` is the chance of a batch that stays as it is."""

    class Other(base):  # type: ignore[misc]
        def forward(self, batch: Any, target: Any) -> Any:
            kept, self.p = self.p, 1 - self.p
            made = super().forward(batch, target)
            self.p = kept
            return made

    Other.__name__ = base.__name__
    return Other


def other_share(base: Any, change: Any) -> Any:
    class Other(base):  # type: ignore[misc]
        def drawn(self) -> float:
            return float(change(super().drawn()))

    Other.__name__ = base.__name__
    return Other


@pytest.mark.parametrize("base", [RandomMixUp, RandomCutMix])
def test_classes_with_other_chances_or_shares_are_refused(base: Any) -> None:
    greater = other_share(base, lambda share: max(share, 1 - share))
    # Of two draws, which Beta(2, 1) has.
    wider = other_share(base, lambda share: max(share, random.random()))
    others = [other_chance(base)(9, p=0.8), other_chance(base)(9, p=0.4), greater(9), wider(9), other_share(base, lambda _: 0.5)(9, alpha=0.2)]
    for other in others:
        with pytest.raises(UnsupportedTransform, match="^batch_transforms: Random(MixUp|CutMix) is not supported"):
            convert(FLOATS, other)


def test_the_references_classes_are_taken_by_what_they_do() -> None:
    both = v1.RandomChoice([RandomMixUp(9, 1.0, 0.2), RandomCutMix(9, 0.5)])
    made = convert(FLOATS, both)
    cut = {"type": "RandomChoice", "p": [0.5, 0.5], "transforms": [{"type": "CutMix", "alpha": 1.0}, {"type": "Identity"}]}
    wanted = {"type": "RandomChoice", "transforms": [{"type": "MixUp", "alpha": 0.2}, cut]}
    assert made.recipe["batch_transform"] == [wanted] and made.num_classes == 9
    images, labels = next(iter(gpufeed.DataLoader(Jpegs(8), FLOATS, batch_transforms=both, batch_size=8)))
    assert images.shape == (8, 3, 20, 28) and labels.shape == (8, 9)
    for other in (RandomMixUp(9, by=2), RandomCutMix(9, by=3), RandomMixUp(9, p=2.0)):
        with pytest.raises(UnsupportedTransform, match="^batch_transforms: Random(MixUp|CutMix) is not supported"):
            convert(FLOATS, other)


def test_shaders_mix_as_the_cpu_does() -> None:
    """Bytes are the same on every adapter; of floats the last bits may differ."""
    if not gpufeed.adapters():
        pytest.skip("no adapter here")
    shaders = {"backend": str(gpufeed.adapters()[0].number), "execute": "gpu"}
    for steps, name in ((BYTES, "FastCollateMixup"), (FLOATS, "Mixup")):
        for mode in MODES:
            mixup = getattr(CODE, name)(**BOTH, mode=mode, num_classes=CLASSES)
            given = {"transforms": steps, "batch_transforms": mixup, "batch_size": 7, "seed": 6, "drop_last": True}
            cpu = list(gpufeed.DataLoader(Jpegs(24, CLASSES), **given))
            gpu = list(gpufeed.DataLoader(Jpegs(24, CLASSES), **given, **shaders))
            for (one, labels), (other, others) in zip(cpu, gpu, strict=True):
                assert torch.equal(labels, others)
                if steps is BYTES:
                    assert torch.equal(one, other)
                else:
                    assert (one - other).abs().max() < 1e-4


def test_the_lines_of_the_page(tmp_path: Any) -> None:
    """What docs/guide/pytorch/timm.md shows of Mixup runs as it stands there."""
    exec(program("timm", tmp_path, 1).read_text(), {})
