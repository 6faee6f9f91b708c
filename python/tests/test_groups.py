"""Groups of views: what their lists make, by name, in Python's batches."""

from __future__ import annotations

import json
import pickle
from typing import Any

import numpy
import pytest

import gpufeed
from gpufeed.views import groups_of
from pictures import Jpegs

GLOBAL = {"transform": [{"type": "RandomResizedCrop", "size": 16}, {"type": "RandomHorizontalFlip"}]}
LOCAL = {"transform": [{"type": "RandomResizedCrop", "size": 8, "scale": [0.05, 0.4]}], "semantics": "Uint8"}
NORMALIZE = {"type": "Normalize", "mean": [0.4, 0.5, 0.6], "std": [0.2, 0.25, 0.5]}
DEFAULTS = {"layout": None, "dtype": None, "semantics": None, "normalize_on_device": False, "channels_last": False}
DINO = {"global": (GLOBAL, 2), "local": gpufeed.Views(recipe=LOCAL, views=3, dtype="uint8", channels_last=True)}


def loader(groups: Any = None, data: Any = None, **given: Any) -> gpufeed.DataLoader:
    settings: dict[str, Any] = {"batch_size": 4, "shuffle": True, "seed": 3, "workers": 2, "seek_indexes": "memory"}
    return gpufeed.DataLoader(Jpegs(10) if data is None else data, groups=groups or DINO, **(settings | given))


def test_each_group_has_its_list_size_type_and_layout() -> None:
    for batch in loader(last_batch="drop").batches():
        assert [*batch.groups] == ["global", "local"]
        first, second = batch.groups.values()
        assert (first.images.shape, first.images.dtype, first.views) == ((8, 3, 16, 16), "float32", 2)
        assert (second.images.shape, second.images.dtype, second.views) == ((12, 8, 8, 3), "uint8", 3)
        assert first.ids == [each for each in first.ids[::2] for _ in range(2)] and second.ids[::3] == first.ids[::2]
        assert batch.images.shape == first.images.shape and len(second) == second.valid == 12
        assert batch.labels.shape == (8,), "one for each image of the first group"


def test_every_image_of_every_group_is_made_again() -> None:
    made = loader()
    batch = next(made.batches())
    for name, group in batch.groups.items():
        images = numpy.from_dlpack(group.images)
        for image, (sample, params) in enumerate(zip(group.ids, group.params)):
            assert images[image].tobytes() == made.replay(sample, params, name)
    assert made.replay(batch.ids[0], batch.params[0]) == made.replay(batch.ids[0], batch.params[0], "global")
    with pytest.raises(gpufeed.ArgumentError, match='no group "loco"'):
        made.replay(0, batch.params[0], "loco")


def test_the_first_group_is_what_its_list_alone_gives() -> None:
    alone = gpufeed.DataLoader(Jpegs(10), recipe=GLOBAL, views=2, batch_size=4, shuffle=True, seed=3)
    for batch, single in zip(loader().batches(), alone.batches()):
        assert batch.params == single.params
        assert numpy.array_equal(numpy.from_dlpack(batch.images), numpy.from_dlpack(single.images))


def test_states_and_pickles_go_on_with_the_same_groups() -> None:
    def seen(batches: Any) -> list[Any]:
        return [[(group.ids, group.params) for group in batch.groups.values()] for batch in batches]

    expected = seen(loader().batches())
    made = loader()
    next(made.batches())
    state = json.loads(json.dumps(made.state_dict()))
    again = pickle.loads(pickle.dumps(loader(workers=1)))
    again.load_state_dict(state)
    assert seen(again.batches()) == expected[1:]


def test_recipes_and_explain_name_the_groups() -> None:
    made = loader()
    assert [*made.recipes] == ["global", "local"] and "RandomResizedCrop" in made.recipes["local"]
    assert made.recipe.count("[[group]]") == 2 and '"RandomResizedCrop"' in made.recipes["global"]
    assert "group local: 3 views of 8x8" in made.explain()


def test_batches_are_dictionaries_by_the_groups_names() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    batch = next(iter(loader()))
    assert [*batch] == ["global", "local", "label"]
    assert batch["global"].shape == (8, 3, 16, 16) and batch["label"].shape == (4,)
    # torch's channels_last has the shape of NCHW.
    assert batch["local"].shape == (12, 3, 8, 8) and batch["local"].dtype == torch.uint8
    assert batch["local"].is_contiguous(memory_format=torch.channels_last)
    crops = batch["global"].unflatten(0, (-1, 2)).transpose(0, 1)
    assert crops.shape == (2, 4, 3, 16, 16) and crops.data_ptr() == batch["global"].data_ptr()


def test_fields_stand_beside_groups() -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    files = Jpegs(4)
    samples = [{"image": files[index][0], "caption": f"photograph {index}", "label": index} for index in range(4)]
    batch = next(iter(loader(data=samples)))
    assert [*batch] == ["global", "local", "caption", "label"]
    assert batch["caption"] == [f"photograph {number}" for number in batch["label"].tolist()]
    with pytest.raises(gpufeed.ArgumentError, match="^groups: 'caption' is the name of a field"):
        next(iter(loader({"caption": (GLOBAL, 1)}, data=samples)))


def test_normalize_on_device_is_each_groups_own() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    lists = {"transform": [{"type": "CenterCrop", "size": 8}, NORMALIZE]}
    groups = {"a": (lists, 1), "b": gpufeed.Views(recipe=lists, normalize_on_device=False)}
    made = loader(groups, normalize_on_device=True, shuffle=False)
    assert [group.images.dtype for group in next(made.batches()).groups.values()] == ["uint8", "float32"]
    made.set_epoch(0)
    batch = next(iter(made))
    assert batch["a"].dtype == batch["b"].dtype == torch.float32
    # The loader rounds to 8 bits before, which are at most a half of 255 by a deviation of 0.2.
    assert (batch["a"] - batch["b"]).abs().max() <= 0.51 / 255 / 0.2


def test_a_recipe_may_have_groups() -> None:
    recipe = {
        "group": [{"name": "a", "views": 2, **GLOBAL}, {"name": "b", "views": 2, "follows": "a", "transform": []}],
        "output": {"layout": "Nchw", "dtype": "F16"},
    }
    made = gpufeed.DataLoader(Jpegs(4), recipe=recipe, batch_size=4)
    shapes = {name: (group.images.shape, group.images.dtype) for name, group in next(made.batches()).groups.items()}
    assert shapes == {"a": ((8, 3, 16, 16), "float16"), "b": ((8, 3, 16, 16), "float16")}
    dino = gpufeed.DataLoader(Jpegs(2), recipe="dino", batch_size=2)
    assert len(dino.recipes) > 1 and [*next(dino.batches()).groups] == [*dino.recipes]
    with pytest.raises(gpufeed.ArgumentError, match="^views: given beside groups"):
        gpufeed.DataLoader(Jpegs(2), recipe="dino", views=2)


def test_torchvisions_lists() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    v2 = pytest.importorskip("torchvision.transforms.v2", reason="torchvision is not installed")
    floats = [v2.ToDtype(torch.float32, scale=True), v2.Normalize([0.5] * 3, [0.5] * 3)]
    first = v2.Compose([v2.RandomResizedCrop(16), v2.GaussianBlur(3), *floats])
    second = v2.Compose([v2.RandomResizedCrop(16), v2.RandomSolarize(128, 0.2), *floats])
    batch = next(iter(loader({"first": first, "second": (second, 1)})))
    assert batch["first"].shape == batch["second"].shape == (4, 3, 16, 16) and not torch.equal(batch["first"], batch["second"])
    with pytest.raises(gpufeed.ArgumentError, match='^transforms: a list of 2 lists .* groups={"first": '):
        gpufeed.DataLoader(Jpegs(4), [first, second])
    with pytest.raises(gpufeed.ArgumentError, match="^groups: 'a': transforms: a list of 2 lists"):
        loader({"a": ([first, second], 1)})
    with pytest.raises(gpufeed.ArgumentError, match=r"^groups: 'a': transforms\[0\]: MixUp is not supported"):
        loader({"a": ([v2.MixUp(num_classes=3)], 1)})


def test_other_images_of_a_sample_follow_the_first() -> None:
    files = Jpegs(4)
    pairs = [{"left": files[index][0], "right": files[index][0], "name": str(index)} for index in range(4)]
    mask = gpufeed.Views(source="right", follows="left", interpolation="bilinear")
    groups = {"left": gpufeed.Views(recipe=GLOBAL), "right": mask, "free": gpufeed.Views(recipe=GLOBAL, source="right")}
    made = loader(groups, pairs, fields={"left": "image", "right": "right", "name": "name"})
    again = pickle.loads(pickle.dumps(made))
    batch = next(made.batches())
    left, right, free = (numpy.from_dlpack(group.images) for group in batch.groups.values())
    assert numpy.abs(left - right).max() < 1e-3 and numpy.abs(left - free).max() > 0.1
    assert sorted(batch.columns["name"]) == ["0", "1", "2", "3"] and [*batch.columns] == ["name"]
    assert next(again.batches()).params == batch.params
    with pytest.raises(gpufeed.DataError, match="sample . has no image 'depth'; it has "):
        next(loader({"a": gpufeed.Views(recipe=GLOBAL, source="depth")}, pairs, on_error="fail").batches())
    with pytest.raises(gpufeed.ArgumentError, match='^interpolation: \'cubic\'; "nearest", '):
        gpufeed.Views(recipe=GLOBAL, interpolation="cubic")


def test_what_groups_take() -> None:
    written = json.loads(groups_of({"a": (GLOBAL, 2), "b": gpufeed.Views(recipe=GLOBAL | {"views": 4})}, DEFAULTS).written())
    assert [(group["name"], group["views"]) for group in written] == [("a", 2), ("b", 4)]
    written = json.loads(groups_of({"a": (GLOBAL, 2)}, DEFAULTS | {"dtype": "float16", "layout": "nhwc"}).written())
    assert written[0]["recipe"]["output"] == {"layout": "Nhwc", "dtype": "F16"}
    assert repr(gpufeed.Views(recipe=GLOBAL, views=2)) == "gpufeed.Views(recipe, views=2)"


def test_what_cannot_be_is_refused_by_name() -> None:
    for groups, words in [
        ([GLOBAL, LOCAL], '^groups: a list; names with transforms and a number of views work: {"global": '),
        ({1: (GLOBAL, 1)}, "^groups: the name 1 is a int"),
        ({"a": (GLOBAL, 0)}, "^groups: 'a' has 0 views; 1 to 64 work"),
        ({"a": (GLOBAL, 65)}, "^groups: 'a' has 65 views"),
        ({"a": 3}, "^groups: 'a' is 3; "),
        ({"a": (None, 2)}, r"^groups: 'a' is \(None, 2\); "),
        ({"label": (GLOBAL, 1)}, '"label" is no name for a group'),
        ({"": (GLOBAL, 1)}, '"" is no name for a group'),
        ({"a": (GLOBAL | {"batch_transform": [{"type": "MixUp", "alpha": 0.8}]}, 1)}, "^groups: 'a': the recipe has a batch_transform"),
        ({"a": gpufeed.Views(recipe=GLOBAL, layout="nchw", channels_last=True)}, "^groups: 'a': channels_last: True, but layout"),
        ({"a": gpufeed.Views(recipe=GLOBAL, normalize_on_device=True)}, "^groups: 'a': normalize_on_device: the last transform is no"),
        ({"a": gpufeed.Views()}, "^groups: 'a': transforms: give either"),
    ]:
        with pytest.raises(gpufeed.ArgumentError, match=words):
            loader(groups)
    for given, words in [
        ({"recipe": GLOBAL}, "^recipe: given beside groups, but each group has its own"),
        ({"transforms": []}, "^transforms: given beside groups"),
        ({"views": 2}, "^views: given beside groups"),
        ({"batch_transforms": object()}, "^batch_transforms: given beside groups, but images of one list are mixed"),
    ]:
        with pytest.raises(gpufeed.ArgumentError, match=words):
            loader(**given)
    for given, words in [
        ({"views": 0}, "^views: 0"),
        ({"dtype": "int8"}, "^dtype: int8"),
        ({"layout": "chw"}, "^layout: 'chw'"),
        ({"channels_last": 1}, "^channels_last: 1"),
    ]:
        with pytest.raises(gpufeed.ArgumentError, match=words):
            gpufeed.Views(recipe=GLOBAL, **given)
