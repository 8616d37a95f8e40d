"""Parameters in files: the same bits back, and a file that does not fit changes nothing."""

import json
import math
import os
import random
import re

import pytest

from micrograd import Value, install, nn
from micrograd.nn import files


def ending_or_skip(ending):
    if ending == ".safetensors":
        pytest.importorskip("safetensors", reason="for .safetensors files")


ENDINGS = [".json", ".safetensors"]
MODELS = [lambda seed: nn.MLP(2, [4, 3], rng=seed), lambda seed: nn.GPT(5, 4, 4, 2, 1, rng=seed)]


@pytest.mark.parametrize("make", MODELS, ids=["MLP", "GPT"])
@pytest.mark.parametrize("ending", ENDINGS)
def test_saved_and_loaded_parameters_are_the_same_to_the_bit(tmp_path, make, ending):
    ending_or_skip(ending)
    model, other = make(0), make(1)
    odd = [math.pi, -0.0, 5e-324, 1e308, 0.1 + 0.2, math.inf, -math.inf]
    for p, x in zip(model.parameters(), odd):
        p.data = x
    model.save(tmp_path / f"model{ending}")
    other.load(tmp_path / f"model{ending}")
    assert [p.data.hex() for p in other.parameters()] == [p.data.hex() for p in model.parameters()]


@pytest.mark.parametrize("ending", ENDINGS)
def test_predictions_after_loading_are_the_same_to_the_bit(tmp_path, ending):
    ending_or_skip(ending)
    model, other = nn.MLP(2, [8, 1], rng=0), nn.MLP(2, [8, 1], rng=1)
    model.save(str(tmp_path / f"model{ending}"))
    other.load(str(tmp_path / f"model{ending}"))
    rng = random.Random(0)
    for _ in range(20):
        x = [rng.gauss(0, 2), rng.gauss(0, 2)]
        assert model(x).data == other(x).data


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_nan_survives(tmp_path, ending):
    ending_or_skip(ending)
    model, other = nn.MLP(1, [1], rng=0), nn.MLP(1, [1], rng=1)
    model.parameters()[0].data = math.nan
    model.save(tmp_path / f"model{ending}")
    other.load(tmp_path / f"model{ending}")
    assert math.isnan(other.parameters()[0].data)


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_file_cut_short_anywhere_is_refused_by_name(tmp_path, ending):
    ending_or_skip(ending)
    path = tmp_path / f"model{ending}"
    model = nn.MLP(2, [3, 1], rng=0)
    model.save(path)
    before, content = model.state_dict(), path.read_bytes()
    for length in [0, 1, 7, 8, 9, len(content) // 2, len(content) - 1]:
        path.write_bytes(content[:length])
        with pytest.raises(ValueError, match=f"model{ending} is damaged or cut short"):
            model.load(path)
        assert model.state_dict() == before


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_flipped_bit_anywhere_is_refused(tmp_path, ending):
    ending_or_skip(ending)
    path = tmp_path / f"model{ending}"
    model = nn.MLP(2, [3, 1], rng=0)
    model.save(path)
    before, content = model.state_dict(), path.read_bytes()
    rng = random.Random(0)
    for _ in range(200):
        spoiled = bytearray(content)
        spoiled[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
        path.write_bytes(spoiled)
        try:
            model.load(path)
        except ValueError as refusal:
            assert f"model{ending}" in str(refusal)
        assert model.state_dict() == before  # refused, or a bit that says nothing (a space, a letter's case)


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize(
    "other, told",
    [
        (lambda: nn.MLP(3, [3, 1]), r"layers\.0\.neurons\.0\.w of shape \(2,\), and the model's has shape \(3,\)"),
        (lambda: nn.MLP(2, [4, 1]), r"lacks layers\.0\.neurons\.3\.w of shape \(2,\)"),
        (lambda: nn.MLP(2, [2, 1]), r"has what this model lacks: layers\.0\.neurons\.2\."),
    ],
)
def test_a_file_of_another_model_is_refused_with_names_and_shapes(tmp_path, ending, other, told):
    ending_or_skip(ending)
    path = tmp_path / f"model{ending}"
    nn.MLP(2, [3, 1], rng=0).save(path)
    model = other()
    before = model.state_dict()
    with pytest.raises(ValueError, match=f"model{ending} {told}|model{ending} has {told}"):
        model.load(path)
    assert model.state_dict() == before


@pytest.mark.parametrize(
    "content, told",
    [
        ([1, 2], "is no file of"),
        ({"format": "something else"}, "its format is 'something else'"),
        ({"format": files.FORMAT}, "no table of parameters"),
        ({"format": files.FORMAT, "parameters": {"x": "text"}}, "parameter x is neither a number"),
        ({"format": files.FORMAT, "parameters": {"x": [[1.0], [1.0, 2.0]]}}, "parameter x is neither a number"),
        ({"format": files.FORMAT, "check": 1, "parameters": {"x": 1.0}}, "do not agree with its checksum"),
    ],
)
def test_json_that_is_no_file_of_ours_is_refused(tmp_path, content, told):
    path = tmp_path / "model.json"
    path.write_text(json.dumps(content))
    with pytest.raises(ValueError, match=told):
        files.load(path)


def test_a_file_without_a_check_sum_can_be_edited_by_hand(tmp_path):
    path = tmp_path / "model.json"
    path.write_text(json.dumps({"format": files.FORMAT, "parameters": {"a": 1, "b": [2.5]}}))

    class Two(nn.Module):
        def __init__(self):
            self.a, self.b = Value(0.0), [Value(0.0)]

    two = Two()
    two.load(path)
    assert two.state_dict() == {"a": 1.0, "b": [2.5]}


def test_an_ending_that_is_neither_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"\.json or \.safetensors, and this ends in '\.pkl'"):
        nn.MLP(1, [1]).save(tmp_path / "model.pkl")
    with pytest.raises(ValueError, match="ends in 'neither'"):
        nn.MLP(1, [1]).load(tmp_path / "model")


def test_a_missing_file_is_the_usual_error(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"model\.json"):
        nn.MLP(1, [1]).load(tmp_path / "model.json")


def test_without_safetensors_the_way_out_is_named(tmp_path, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "safetensors", None)
    with pytest.raises(ImportError, match=re.escape(f"{install.command('train')}, or use .json")):
        nn.MLP(1, [1]).save(tmp_path / "model.safetensors")
    assert os.listdir(tmp_path) == []


def test_a_write_that_fails_leaves_the_old_file_and_no_litter(tmp_path, monkeypatch):
    path = tmp_path / "model.json"
    model = nn.MLP(1, [1], rng=0)
    model.save(path)
    content = path.read_bytes()

    def full(*_):
        raise OSError("no space left")

    monkeypatch.setattr(files.os, "fsync", full)
    model.parameters()[0].data = 7.0
    with pytest.raises(OSError, match="no space left"):
        model.save(path)
    assert path.read_bytes() == content
    assert os.listdir(tmp_path) == ["model.json"]


@pytest.mark.skipif(os.name != "posix", reason="permissions are POSIX's")
def test_permissions_are_those_of_a_plain_file_or_of_the_one_replaced(tmp_path):
    path, plain = tmp_path / "model.json", tmp_path / "plain"
    model = nn.MLP(1, [1], rng=0)
    model.save(path)
    plain.write_text("")
    assert path.stat().st_mode == plain.stat().st_mode
    path.chmod(0o600)
    model.save(path)
    assert path.stat().st_mode & 0o777 == 0o600
