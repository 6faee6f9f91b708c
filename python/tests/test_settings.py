"""Tests the keywords in the signatures, files of settings, and the settings that ``state_dict()`` records."""

from __future__ import annotations

import inspect
import json
import pickle
from pathlib import Path
from typing import Any

import pytest

import gpufeed
from gpufeed import _gpufeed, keywords
from pictures import Jpegs, folder

CROP = {"transform": [{"type": "RandomResizedCrop", "size": 16}]}


def loader(**given: Any) -> gpufeed.DataLoader:
    return gpufeed.DataLoader(Jpegs(8), recipe=CROP, **({"batch_size": 4, "seek_indexes": "memory"} | given))


@pytest.mark.parametrize("of", [gpufeed.DataLoader, gpufeed.open])
def test_every_keyword_is_in_the_signature_and_documented(of: Any) -> None:
    parameters = inspect.signature(of).parameters.values()
    assert {each.kind for each in parameters} == {inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY}
    named = [each.name for each in parameters if each.kind is inspect.Parameter.KEYWORD_ONLY]
    assert {*keywords.PATHS} <= {*named} and ({*keywords.LOADER, *keywords.PYTHON, "shard"} <= {*named}) == (of is gpufeed.DataLoader)
    said = inspect.getdoc(of) or ""
    lines = [line.strip() for line in said.partition("Args:\n")[2].splitlines()]
    for each in parameters:
        if each.kind is inspect.Parameter.KEYWORD_ONLY:
            assert [line for line in lines if line.startswith(f"{each.name}: ") and len(line.split()) > 3], each.name
            assert each.annotation is not inspect.Parameter.empty


def test_the_defaults_of_the_signature_are_the_librarys() -> None:
    given = {name: each.default for name, each in inspect.signature(gpufeed.DataLoader).parameters.items()}
    data = _gpufeed.Dataset.open(str(Path(__file__).parents[2] / "tests" / "parquet" / "datasets.parquet"), '{"indexes": "memory"}')
    bare = json.loads(_gpufeed.Loader(data, json.dumps(CROP), "{}", "cpu", 5).settings())
    made = gpufeed.arguments.checked(keywords.LOADER, given)  # type: ignore[attr-defined]
    full = json.loads(_gpufeed.Loader(data, json.dumps(CROP), json.dumps(made), "cpu", 5).settings())
    assert full == bare and {*made} < {*bare}


def test_a_file_of_settings(tmp_path: Path) -> None:
    toml = tmp_path / "run.toml"
    toml.write_text('batch_size = 2\nshuffle = true\norder = ["blocks", 2, 2]\nmemory_budget = "512M"\nexif = false\ndtype = "F16"\n')
    found = gpufeed.settings(toml)
    assert found == {
        "batch_size": 2,
        "shuffle": True,
        "order": ["blocks", 2, 2],
        "memory_budget": "512M",
        "exif": False,
        "dtype": "float16",
    }
    made = gpufeed.DataLoader(Jpegs(8), recipe=CROP, **found)
    assert len(made) == 4 and next(made.batches()).images.dtype == "float16"
    (tmp_path / "run.json").write_text(json.dumps(found))
    assert gpufeed.settings(str(tmp_path / "run.json")) == found
    toml.write_text("batch_size = 2\n\nworker = 2\n")
    with pytest.raises(gpufeed.ArgumentError, match=r'^settings: .*run.toml: line 3: worker: no such setting; did you mean "workers"\?$'):
        gpufeed.settings(toml)
    toml.write_text('batch_size = 2\ncache = "16G"\n')
    with pytest.raises(gpufeed.ArgumentError, match=r'^settings: .*run.toml: line 2: cache: "16G"; "host:16G", '):
        gpufeed.settings(toml)
    with pytest.raises(gpufeed.FileError, match="none.toml"):
        gpufeed.settings(tmp_path / "none.toml")


def test_every_setting_of_a_file_is_a_keyword(tmp_path: Path) -> None:
    made = loader()
    whole = json.loads(made._native.settings())
    given = {name: value for name, value in whole.items() if value is not None}
    (tmp_path / "run.json").write_text(json.dumps(given))
    found = gpufeed.settings(tmp_path / "run.json")
    assert found == given
    again = gpufeed.DataLoader(Jpegs(8), recipe=CROP, **found)
    assert json.loads(again._native.settings()) == whole


def test_a_state_records_the_settings() -> None:
    made = loader(shuffle=True, truncated="fill", cache="host:1M", shard=(1, 2), workers=1, batch_size=2)
    next(made.batches())
    state = json.loads(json.dumps(made.state_dict()))
    recorded = state["settings"]
    assert (recorded["batch_size"], recorded["truncated"], recorded["cache"]) == (2, "fill", "host:1M")
    assert recorded["dtype"] == "float32" and recorded["views"] == 1
    # Every rank records the same settings, whatever its number of workers.
    other = loader(shuffle=True, truncated="fill", cache="host:1M", shard=(0, 2), workers=2, batch_size=2)
    next(other.batches())
    assert other.state_dict() == made.state_dict()
    made.close()
    assert made.state_dict() == state
    # A loader also reads states without settings, which earlier versions wrote. It does not adopt recorded settings.
    for earlier in ({"gpufeed": state["gpufeed"]}, state, state | {"settings": {"truncated": "error"}}):
        second = loader(shuffle=True, shard=(1, 2), batch_size=2)
        second.load_state_dict(earlier)
        assert second.state_dict()["gpufeed"] == state["gpufeed"]
    assert pickle.loads(pickle.dumps(second)).state_dict() == second.state_dict()


def test_what_a_state_records_are_keywords() -> None:
    torch, v2 = pytest.importorskip("torch"), pytest.importorskip("torchvision.transforms.v2")
    crop = [v2.CenterCrop(8), v2.ToDtype(torch.float32, scale=True), v2.Normalize([0.5] * 3, [0.25] * 3)]
    for given in ({"transforms": crop}, {"transforms": crop, "normalize_on_device": True}, {"recipe": CROP}):
        made = gpufeed.DataLoader(Jpegs(4), batch_size=4, shuffle=True, seed=7, on_error=0.5, **given)
        recorded = json.loads(json.dumps(made.state_dict()))["settings"]
        assert recorded["dtype"] == "float32"
        again = gpufeed.DataLoader(Jpegs(4), **given, **recorded)
        assert again.state_dict() == made.state_dict()
        assert torch.equal(next(iter(again))[0], next(iter(made))[0])


def test_layout_and_channels_last() -> None:
    assert next(loader(layout="nhwc").batches()).images.shape == (4, 16, 16, 3)
    assert next(loader(layout="nhwc", channels_last=True).batches()).images.shape == (4, 16, 16, 3)
    with pytest.raises(gpufeed.ArgumentError, match="^channels_last: True, but layout says otherwise; give one of the two"):
        loader(layout="nchw", channels_last=True)


def test_settings_of_remote_data(tmp_path: Path) -> None:
    root = folder(tmp_path / "data", count=3)
    remote: dict[str, Any] = {
        "remote_timeout": 0.5,
        "remote_retries": 0,
        "remote_min_rate": "1K",
        "remote_certificates": tmp_path / "ca.pem",
        "remote_store": {"AWS_REGION": "eu-west-1"},
    }
    # The settings of remote data have no effect on a folder of this machine.
    assert len(gpufeed.open(root, **remote)) == 3
    with pytest.raises(gpufeed.ArgumentError, match="certificates: .*ca.pem"):
        gpufeed.open("https://127.0.0.1:9/a.tar", **remote)
    with pytest.raises(gpufeed.FileError) as refused:
        gpufeed.open("http://127.0.0.1:9/a.tar", **(remote | {"remote_certificates": None}))
    assert "127.0.0.1:9/a.tar" in str(refused.value)
    with pytest.raises(gpufeed.ArgumentError, match="^remote_timeout: 0 leaves no time for any answer"):
        gpufeed.open("http://127.0.0.1:9/a.tar", remote_timeout=0)
    for given, words in [
        ({"remote_timeout": -1}, "^remote_timeout: -1; a number of seconds"),
        ({"remote_retries": 1.5}, "^remote_retries: 1.5 is a float"),
        ({"remote_min_rate": "fast"}, "^remote_min_rate: 'fast'; a number of bytes works"),
        ({"remote_store": "AWS_REGION"}, "^remote_store: a str; a dictionary of texts works"),
        ({"remote_store": {"AWS_SECRET_ACCESS_KEY": 7}}, "^remote_store: 'AWS_SECRET_ACCESS_KEY' has a int"),
    ]:
        with pytest.raises(gpufeed.ArgumentError, match=words):
            gpufeed.open(root, **given)
        with pytest.raises(gpufeed.ArgumentError, match=words):
            gpufeed.DataLoader(root, recipe=CROP, **given)
