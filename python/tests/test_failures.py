"""What a sample that cannot be used does: an error where every sample has to be seen, else one warning an epoch."""

from __future__ import annotations

import pickle
import warnings
from pathlib import Path
from typing import Any

import pytest

import gpufeed
from pictures import Jpegs, folder

CROP = {"transform": [{"type": "RandomResizedCrop", "size": 16}]}


def broken(path: Path, count: int = 40, bad: int = 3) -> Path:
    """A folder with as many files that are no images."""
    folder(path, count)
    for victim in sorted(path.rglob("*.jpg"))[5::9][:bad]:
        victim.write_bytes(b"no image at all")
    return path


def loader(data: Any, **given: Any) -> gpufeed.DataLoader:
    settings: dict[str, Any] = {"recipe": CROP, "batch_size": 8, "seek_indexes": "memory", "workers": 2}
    return gpufeed.DataLoader(data, **(settings | given))


def warned(run: Any) -> list[str]:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        run()
    return [str(each.message) for each in found]


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"shuffle": False},
        {"shuffle": True, "recipe": CROP | {"name": "pets-eval"}},
        {"shuffle": True, "recipe": "imagenet-eval", "dtype": "float32"},
    ],
)
def test_an_epoch_in_order_and_an_evaluation_fail(given: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(gpufeed.DataError, match="cannot decode") as error:
        [*loader(broken(tmp_path), **given).batches()]
    assert error.value.kind == "Sample"


def test_an_object_in_python_fails_too() -> None:
    data = Jpegs(20)
    data.files[7] = b"no image"
    with pytest.raises(gpufeed.DataError, match="sample 7"):
        [*loader(data).batches()]
    made = loader(data, shuffle=True, on_error="fail")
    with pytest.raises(gpufeed.DataError, match="sample 7"):
        [*made.batches()]


def test_what_is_said_holds(tmp_path: Path) -> None:
    data = broken(tmp_path)
    for given in ({"on_error": "skip"}, {"on_error": 0.5}, {"recipe": CROP | {"name": "x-eval"}, "on_error": "skip"}):
        made = loader(data, **given)
        with pytest.warns(UserWarning, match="stands in for it"):
            assert sum(len(batch) for batch in made.batches()) == 40
        assert made.stats()["failed"] == 3


def test_one_warning_an_epoch(tmp_path: Path) -> None:
    made = loader(broken(tmp_path), shuffle=True, seed=1)
    for epoch in range(3):
        (said,) = warned(lambda: [*made.batches()])
        assert str(tmp_path) in said and ".jpg cannot be used" in said and "cannot decode" in said
        assert f"failed so far in epoch {epoch};" in said and 'on_error="fail" makes that an error' in said
    if torch():
        assert len(warned(lambda: [*made.epochs(range(3, 5))])) == 2
    # A loader without a failure says nothing.
    assert warned(lambda: [*loader(Jpegs(16), shuffle=True).batches()]) == []


def torch() -> bool:
    try:
        import torch  # noqa: F401
    except ImportError:
        return False
    return True


def test_failures_before_the_position_of_a_resumed_epoch_are_not_counted(tmp_path: Path) -> None:
    made = loader(broken(tmp_path), on_error="skip")
    made.skip_first_batches(1)
    (said,) = warned(lambda: [*made.batches()])
    assert "failed so far in epoch 0, from its batch 1 on;" in said
    (said,) = warned(lambda: [*made.batches()])
    assert "failed so far in epoch 1;" in said


def test_the_warning_names_the_line_of_the_loop(tmp_path: Path) -> None:
    made = loader(broken(tmp_path), shuffle=True)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        for _ in made.batches():
            pass
        if torch():
            for _ in made:
                pass
    assert {each.filename for each in found} == {__file__}


def test_a_warning_made_an_error_loses_no_batch(tmp_path: Path) -> None:
    made = loader(broken(tmp_path), shuffle=True)
    batches, images = made.batches(), 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        while True:
            try:
                images += len(next(batches))
            except UserWarning:
                assert len(batches) == 5 - images // 8  # type: ignore[arg-type]
            except StopIteration:
                break
    assert images == 40


def test_a_pickled_loader_does_the_same(tmp_path: Path) -> None:
    data = broken(tmp_path)
    with pytest.raises(gpufeed.DataError):
        [*pickle.loads(pickle.dumps(loader(data))).batches()]
    (said,) = warned(lambda: [*pickle.loads(pickle.dumps(loader(data, shuffle=True))).batches()])
    assert "stands in for it" in said


@pytest.mark.parametrize(
    ("given", "fails"),
    [({}, True), ({"shuffle": True}, False), ({"shuffle": True, "recipe": CROP | {"name": "a-eval"}}, True)],
)
def test_an_actor_of_a_fleet_does_the_same(given: dict[str, Any], fails: bool) -> None:
    """The trainer sends an actor its recipe as a dictionary, which keeps the name."""
    from gpufeed.decoder import Decoder

    data = Jpegs(20)
    data.files[7] = b"no image"
    parcels = Decoder({"data": data, "recipe": CROP, "batch_size": 4, **given}).batches((0, 1), 0, 0, 1, 0)
    if fails:
        with pytest.raises(gpufeed.DataError, match="sample 7"):
            [*parcels]
    else:
        assert [failure.id for parcel in parcels for failure in parcel.failures] == [7]
