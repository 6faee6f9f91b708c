"""``__getitems__``: samples of several indices by one call."""

from __future__ import annotations

import collections
import threading
import warnings
from typing import Any

import numpy
import pytest

import gpufeed
from pictures import NUMBERED, Numbered, numbers


class Several(Numbered):
    """Remembers how many indices each call had."""

    def __init__(self, count: int, answer: Any = list) -> None:
        super().__init__(count)
        self.answer = answer
        self.asked: list[int] = []
        self.singles = 0
        self.lock = threading.Lock()

    def __getitem__(self, index: int) -> tuple[Any, int]:
        self.singles += 1
        return super().__getitem__(index)

    def __getitems__(self, indices: list[int]) -> Any:
        with self.lock:
            self.asked.append(len(indices))
        return self.answer([super(Several, self).__getitem__(index) for index in indices])


def loader(data: Any, **settings: Any) -> gpufeed.DataLoader:
    return gpufeed.DataLoader(data, recipe=NUMBERED, **({"batch_size": 8, "workers": 4} | settings))


WRONG = {
    "None": (lambda found: None, "None"),
    "too few": (lambda found: found[:-1], "a list of 3"),
    "too many": (lambda found: [*found, found[0]], "a list of 5"),
    "none at all": (lambda found: [], "a list of 0"),
    "a generator": (lambda found: (each for each in found), "a generator"),
    "an iterator": (iter, "a list_iterator"),
    "a text": (lambda found: "four", "a str of 4"),
    "bytes": (lambda found: b"four", "a bytes of 4"),
    "a dictionary": (lambda found: dict(enumerate(found)), "a dict of 4"),
    "a number": (lambda found: 4, "a int"),
    "a set": (lambda found: {1, 2, 3, 4}, "a set of 4"),
    "an array": (lambda found: numpy.stack([image for image, _ in found]), "a ndarray of 4"),
    "two lists": (lambda found: tuple(zip(*found)), "a tuple of 2"),
    "a range": (lambda found: range(4), "a range of 4"),
}


@pytest.mark.parametrize("on_error", ["skip", "fail", 1.0])
@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_answer_is_an_error(wrong: str, on_error: Any) -> None:
    answer, what = WRONG[wrong]
    data = Several(64, answer)
    with pytest.raises(gpufeed.DataError, match=f"__getitems__ of Several returned {what} for 4 indices; it returns a list"):
        list(loader(data, on_error=on_error).batches())
    assert data.singles == 0, "no sample is read again"


@pytest.mark.parametrize("right", [list, tuple, collections.deque, collections.UserList])
def test_sequences_of_as_many_are_right(right: Any) -> None:
    data = Several(64, right)
    assert [each for batch in loader(data).batches() for each in numbers(batch.images)] == [*range(64)]


@pytest.mark.parametrize("workers", [1, 2, 4, 16])
@pytest.mark.parametrize("batch_size", [1, 2, 3, 4, 7, 8, 9, 32, 100])
def test_calls_carry_several_indices(batch_size: int, workers: int) -> None:
    data = Several(2 * batch_size)
    made = loader(data, batch_size=batch_size, workers=workers)
    assert [each for batch in made.batches() for each in numbers(batch.images)] == [*range(2 * batch_size)]
    assert sum(data.asked) == 2 * batch_size and data.singles == 0
    assert min(data.asked) >= min(batch_size, 4) and max(data.asked) <= max(7, batch_size // (4 * workers) + 1)


def test_a_class_without_getitem_or_that_says_no() -> None:
    class Only:
        """`__getitems__` alone."""

        def __len__(self) -> int:
            return 12

        def __getitems__(self, indices: list[int]) -> Any:
            return [Numbered(12)[index] for index in indices]

    made = loader(Only())
    assert [each for batch in made.batches() for each in numbers(batch.images)] == [*range(12)]
    assert len(made._native_data[3]) == 2
    made.replay(3, next(made.batches()).params[0])

    class No(Several):
        __getitems__ = None  # type: ignore[assignment]

    data = No(12)
    assert sum(len(batch) for batch in loader(data).batches()) == 12 and data.singles == 12


def test_one_that_fails_is_found_among_those_of_its_call() -> None:
    class Broken(Several):
        def __getitems__(self, indices: list[int]) -> Any:
            if 5 in indices:
                raise KeyError("lost")
            return super().__getitems__(indices)

    data = Broken(64)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        batches = [*loader(data, on_error=0.5, shuffle=True).batches()]
    (failure,) = [failure for batch in batches for failure in batch.failures]
    assert failure.id == 5 and isinstance(failure.error.__cause__, KeyError)
    with pytest.raises(gpufeed.DataError, match="sample 5.*KeyError"):
        list(loader(Broken(64), on_error="fail").batches())


def test_a_call_that_fails_for_several_alone_is_said() -> None:
    class Shy(Several):
        def __getitems__(self, indices: list[int]) -> Any:
            if len(indices) > 1:
                raise KeyError("several")
            return super().__getitems__(indices)

    made = loader(Shy(64))
    words = r"__getitems__ of Shy raised KeyError: 'several' for 4 indices, but none of them fails by itself"
    with pytest.warns(RuntimeWarning, match=words) as said:
        assert sum(len(batch) for batch in made.batches()) == 64
    assert len(said) == 1
    # Where warnings are errors, as in these tests.
    with pytest.raises(gpufeed.DataError, match="RuntimeWarning"):
        list(loader(Shy(64)).batches())


UNUSABLE = {
    "images without labels": lambda found: [image for image, _ in found],
    "dictionaries without images": lambda found: [{"label": label} for _, label in found],
    "a collated batch of as many parts as indices": lambda found: [numpy.stack([image for image, _ in found[:2]]) for _ in found],
}


@pytest.mark.parametrize("on_error", ["skip", "fail", 1.0])
@pytest.mark.parametrize("answer", UNUSABLE)
def test_items_that_are_no_samples_end_the_run(answer: str, on_error: Any) -> None:
    data = Several(32, UNUSABLE[answer])
    with pytest.raises(gpufeed.DataError, match="no item that __getitems__ of Several returned for 2 indices is a sample"):
        list(loader(data, on_error=on_error, batch_size=2, workers=2, shuffle=True).batches())
    assert data.singles == 0


def test_items_that_fail_later_are_failures_of_their_samples() -> None:
    class Fails(Several):
        def __getitems__(self, indices: list[int]) -> Any:
            found = super().__getitems__(indices)
            return [None if label >= 16 else (image, label) for image, label in found]

    made = loader(Fails(40), on_error=1.0, batch_size=4, workers=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        failed = {failure.id for batch in made.batches() for failure in batch.failures}
    assert failed == set(range(16, 40))


class Raises(Several):
    """`__getitems__` fails in each of its first calls, for ever by default."""

    def __init__(self, count: int, calls: float = float("inf")) -> None:
        super().__init__(count)
        self.left = calls

    def __getitems__(self, indices: list[int]) -> Any:
        self.left -= 1
        if self.left >= 0:
            raise KeyError("no such column")
        return super().__getitems__(indices)


def quiet(made: gpufeed.DataLoader) -> list[Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [*made.batches()]


@pytest.mark.parametrize("on_error", ["skip", 1.0])
@pytest.mark.parametrize(("count", "batch_size"), [(40, 1), (40, 2), (40, 8), (12, 8), (4, 4), (2, 1)])
def test_one_that_raises_for_every_index_ends_the_run(count: int, batch_size: int, on_error: Any) -> None:
    """Fewer than 100 samples are too few for a share of failures: all would be replaced, by `__getitem__`."""
    words = r"__getitems__ of Raises has raised KeyError: 'no such column' for each of \d+ indices, while __getitem__ gives sample"
    with pytest.raises(gpufeed.DataError, match=words):
        quiet(loader(Raises(count), on_error=on_error, shuffle=True, batch_size=batch_size))


def test_a_few_calls_that_raise_are_failures_of_their_samples() -> None:
    # A connection that fails for a while: five jobs of one sample, or one job and each of its samples.
    for batch_size, calls, failed in ((1, 5, 5), (8, 9, 8)):
        made = loader(Raises(40, calls), on_error=1.0, batch_size=batch_size, workers=1)
        batches = quiet(made)
        assert sum(len(batch.failures) for batch in batches) <= failed and sum(len(batch) for batch in batches) == 40
        assert any(batch.failures for batch in batches)


@pytest.mark.parametrize("error", [KeyboardInterrupt("mine"), SystemExit(3)])
def test_what_ends_a_run_ends_it_where_both_methods_raise(error: BaseException) -> None:
    class Ends(Raises):
        def __getitem__(self, index: int) -> Any:
            raise error

    for settings in ({"on_error": "fail", "batch_size": 4, "workers": 1}, {"on_error": 1.0}):
        with pytest.raises(type(error)) as raised:
            quiet(loader(Ends(4), **settings))
        assert raised.value is error


def test_samples_that_fail_by_both_methods_are_failures() -> None:
    class Fails(Several):
        def __getitem__(self, index: int) -> Any:
            if index < 8:
                raise KeyError("lost")
            return super().__getitem__(index)

        def __getitems__(self, indices: list[int]) -> Any:
            return [self[index] for index in indices]

    with pytest.warns(UserWarning, match="stands in for it"):
        batches = [*loader(Fails(40), on_error=1.0, batch_size=8, workers=1).batches()]
    assert sum(len(batch.failures) for batch in batches) >= 8 and sum(len(batch) for batch in batches) == 40
