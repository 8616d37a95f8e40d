"""The command `micrograd`: demo, info, and one clear line for what is wrong."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from micrograd import __version__, cli, data, engine, install
from micrograd.cli import info
from micrograd.compile.llvm import vector_math
from random_programs import needs_llvm

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = Path(cli.__file__).resolve().parents[1]


@pytest.fixture
def micrograd(tmp_path, monkeypatch, capsys):
    """Run the command in an empty folder; gives (exit code, output, errors)."""
    monkeypatch.chdir(tmp_path)

    def run(*words):
        try:
            code = cli.main(words)
        except SystemExit as leave:
            code = leave.code
        out, err = capsys.readouterr()
        return code, out, err

    return run


# ---- demo


def losses_shown(out):
    return [float(x) for x in re.findall(r"^step .* loss (\S+)", out, re.M)]


@pytest.mark.parametrize(
    "task, steps, factor",
    [
        ("moons", 40, 5),
        ("spirals", 120, 5),
        pytest.param("digits", 100, 4, marks=pytest.mark.slow),
        ("names", 60, 1.15),
    ],
)
def test_each_task_learns(micrograd, task, steps, factor):
    if task == "digits":
        pytest.importorskip("sklearn", reason="the digits are scikit-learn's")
    code, out, err = micrograd("demo", "--task", task, "--steps", str(steps), "--out", "here")
    assert (code, err) == (0, "")
    shown = losses_shown(out)
    later = sum(shown[-4:]) / 4 if task == "names" else shown[-1]  # a step on names is one name: more noise
    assert shown[0] / later > factor
    assert json.loads(Path(f"here/{task}.json").read_text())["format"] == "micrograd parameters 1"


def test_moons_end_with_all_points_right_and_two_pictures(micrograd):
    pytest.importorskip("matplotlib", reason="pictures are drawn by matplotlib")
    code, out, _ = micrograd("demo")
    assert code == 0
    assert "accuracy 100.0%" in out.split("steps in")[1]
    for name in ("moons-boundary.png", "moons-loss.png"):
        path = Path("demo-output") / name
        assert f"wrote {path}" in out
        assert path.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n" and path.stat().st_size > 10_000


def test_the_parameters_of_a_demo_load_as_it_says(micrograd):
    from micrograd import nn

    _, out, _ = micrograd("demo", "--steps", "3", "--out", "here", "--quiet")
    said = re.search(r"the parameters: (.*)$", out, re.M).group(1)
    assert isinstance(eval(said, {"nn": nn}), nn.MLP)


def test_names_use_the_learned_alphabet(micrograd):
    code, out, _ = micrograd("demo", "--task", "names", "--steps", "30", "--quiet")
    made = [word for line in out.splitlines() if line.startswith("  ") for word in line.split()]
    assert code == 0
    assert len(made) == 20 and set("".join(made)) <= set(data.Alphabet(data.names()).letters)


def test_the_same_seed_gives_the_same_parameters(micrograd):
    for folder, seed in (("a", "1"), ("b", "1"), ("c", "2")):
        micrograd("demo", "--steps", "3", "--seed", seed, "--out", folder, "--quiet")
    a, b, c = (Path(folder, "moons.json").read_text() for folder in "abc")
    assert a == b != c


def test_without_matplotlib_the_demo_trains_and_says_how_to_get_pictures(micrograd, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    code, out, err = micrograd("demo", "--steps", "2")
    assert (code, err) == (0, "")
    assert install.command("train") in out
    assert sorted(os.listdir("demo-output")) == ["moons-watch.html", "moons.json"]


def test_without_scikit_learn_digits_say_so(micrograd, monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    code, _, err = micrograd("demo", "--task", "digits")
    assert code == 1
    assert err == (
        "micrograd demo: data.digits needs scikit-learn, which is not installed\n"
        f"  Install it with: {install.command('train')}\n"
    )


@pytest.mark.parametrize(("said", "words", "opens"), [
    ("y", [], True), ("Yes ", [], True), ("", [], False), ("n", [], False), (None, [], False), ("y", ["--quiet"], False),
    ("n", ["--open"], True), ("y", ["--no-open"], False),
])  # fmt: skip
def test_a_demo_at_a_terminal_offers_the_page_of_its_run(micrograd, monkeypatch, said, words, opens):
    opened, asked = [], []

    def answer(question):
        asked.append(question)
        if said is None:
            raise EOFError
        return said

    monkeypatch.setattr("webbrowser.open", lambda address: opened.append(address) or True)
    monkeypatch.setattr("builtins.input", answer)
    monkeypatch.setattr(sys, "stdin", type("Tty", (), {"isatty": lambda self: True})())
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    code, _, err = micrograd("demo", "--steps", "2", "--no-jit", *words)
    assert (code, err) == (0, "") and bool(asked) == (not words)
    assert [address.rsplit("/", 1)[1] for address in opened] == (["moons-watch.html"] if opens else [])


def test_a_demo_in_a_pipe_asks_nothing(micrograd, monkeypatch):
    monkeypatch.setattr("builtins.input", lambda question: pytest.fail(question))
    assert micrograd("demo", "--steps", "2", "--no-jit")[0] == 0


def test_a_demo_without_a_browser_says_where_the_page_is(micrograd, monkeypatch):
    monkeypatch.setattr("webbrowser.open", lambda address: False)
    _, out, _ = micrograd("demo", "--steps", "2", "--no-jit", "--open")
    assert "no browser was found here; the page is file://" in out


# ---- what is wrong


@pytest.mark.parametrize(
    "words, told",
    [
        (["dem"], "invalid choice: 'dem'"),
        (["demo", "--task", "mnist"], "invalid choice: 'mnist'"),
        (["demo", "--steps", "0"], "a whole number above 0, not '0'"),
        (["demo", "--steps", "many"], "a whole number above 0, not 'many'"),
        (["demo", "--seed", "x"], "--seed"),
        (["demo", "--colour"], "--colour"),
        (["demo", "extra"], "extra"),
        (["info", "--all"], "--all"),
        (["demo", "--out", "file"], "--out file is a file; give a folder"),
    ],
)
def test_bad_arguments_give_one_line_and_exit_code_2(micrograd, words, told):
    Path("file").write_text("")
    code, out, err = micrograd(*words)
    assert (code, out) == (2, "")
    assert told in err and err.startswith("micrograd") and err.count("\n") == 1


def test_a_folder_that_cannot_be_written_is_told_before_the_training(micrograd, monkeypatch):
    def refuse(dir):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("micrograd.cli.demo.tempfile.TemporaryFile", refuse)  # root may write anywhere
    code, out, err = micrograd("demo", "--steps", "1", "--out", "locked")
    assert (code, out) == (1, "")
    assert err == "micrograd demo: locked cannot be written to (Permission denied); give another folder with --out\n"


def test_a_folder_that_cannot_be_made_is_told_with_the_way_out(micrograd, monkeypatch):
    def refuse(self, **_):
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr("micrograd.cli.demo.Path.mkdir", refuse)
    code, out, err = micrograd("demo", "--steps", "1")
    assert (code, out) == (1, "")
    assert (
        err == "micrograd demo: demo-output cannot be written to (Permission denied); give another folder with --out\n"
    )


def test_an_error_of_the_system_reads_as_in_other_commands(micrograd, monkeypatch):
    def refuse(args):
        raise PermissionError(13, "Permission denied", "my_micrograd")

    monkeypatch.setattr("micrograd.cli.demo.run", refuse)
    assert micrograd("demo") == (1, "", "micrograd demo: my_micrograd: Permission denied\n")


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="needs a folder that one may not write to")
def test_a_folder_in_a_locked_folder_is_told_before_the_training(micrograd):
    os.mkdir("locked", 0o500)
    code, out, err = micrograd("demo", "--steps", "1", "--out", "locked/here")
    assert (code, out) == (1, "") and "locked" in err and err.count("\n") == 1


def test_no_command_shows_what_there_is(micrograd):
    code, out, _ = micrograd()
    assert code == 0
    assert all(name in out for name in cli.offered())


def test_a_command_whose_module_is_missing_is_not_offered(micrograd, monkeypatch):
    monkeypatch.setitem(cli.COMMANDS, "fly", ("micrograd.not_there", "take off"))
    monkeypatch.setitem(cli.COMMANDS, "dive", ("micrograd.not_there.at_all", "go down"))
    assert "fly" not in cli.offered() and "dive" not in cli.offered()
    assert micrograd("fly")[0] == 2


# ---- info, version, python -m


def test_info_tells_version_engine_and_extras(micrograd):
    code, out, err = micrograd("info")
    assert (code, err) == (0, "")
    assert out.startswith(f"micrograd {__version__} on Python ")
    assert re.search(r"^engine +(\w+)", out, re.M).group(1) == ("C" if engine.NATIVE else "Python")
    for extra in info.EXTRAS:
        assert re.search(rf"^{extra} ", out, re.M)


@needs_llvm
def test_info_tells_elementary_functions_and_devices(micrograd, monkeypatch):
    out = micrograd("info")[1]
    libraries = [name for name in ("exp", "log", "pow", "erfc") if vector_math.of_the_library(name)]
    if vector_math.build.fuses():
        assert f"functions {', '.join(libraries) or 'none'} over rows" in out
        assert re.search(r"other last bits over rows, unless exact=True: .*sin.*tanh", out)
        assert re.search(r"no definition of their own.*: gamma, lgamma\n", out)
    assert re.search(r"^cuda +\S", out, re.M) and re.search(r"^opencl +\S", out, re.M)
    monkeypatch.setattr(vector_math, "of_the_library", lambda name: name == "log")  # as with another C library
    out = micrograd("info")[1]
    assert "functions log over rows have the bits of" in out and re.search("unless exact=True: .*erfc, exp,", out)


def test_info_names_what_is_missing_and_how_to_get_it(micrograd, monkeypatch):
    monkeypatch.setattr(info, "_version", lambda package: "" if package == "rich" else "1.0")
    out = micrograd("info")[1]
    assert "rich missing" in out
    assert install.command("train") in out and install.command("jit") not in out


def test_the_extras_are_those_of_the_project():
    tomllib = pytest.importorskip("tomllib", reason="Python 3.10 has no reader of TOML")
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for extra, (_, packages) in info.EXTRAS.items():
        wanted = [r for x in declared[extra] for r in (declared["jit"] if x == "micrograd-next[jit]" else [x])]
        assert {re.split(r"[<>=\[ ]", requirement)[0] for requirement in wanted} == set(packages)


def test_version(micrograd):
    assert micrograd("--version") == (0, f"micrograd {__version__}\n", "")


def python(*words, pure="0", **options):
    env = os.environ | {"PYTHONPATH": str(PACKAGE.parent), "MICROGRAD_PURE": pure}
    command = [sys.executable, "-W", "ignore", *words]
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=120, **options)


@pytest.mark.parametrize("pure", ["0", "1"])
def test_python_m_micrograd_is_the_same_command(pure):
    done = python("-m", "micrograd", "info", pure=pure)
    assert done.returncode == 0, done.stderr
    assert ("engine    Python" in done.stdout) is (pure == "1" or not engine.NATIVE)
    assert python("-m", "micrograd", "inf", pure=pure).returncode == 2


def test_python_m_micrograd_demo_writes_where_it_says(tmp_path):
    done = python("-m", "micrograd", "demo", "--steps", "2", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for name in re.findall(r"^wrote (\S+)", done.stdout, re.M):
        assert (tmp_path / name).stat().st_size > 0


TRAINING = """
from micrograd import data, losses, nn, optim
from micrograd.train import fit
X, y = data.spirals(12)
mlp, gpt = nn.MLP(2, [8, 3], activation="gelu", rng=0), nn.GPT(5, 4, 8, 2, rng=0)
fit(mlp, (X, y), losses.cross_entropy, optim.Adam(mlp.parameters(), lr=0.01), 5, batch_size=5, quiet=True)
fit(gpt, ([[0, 1, 2]], [[1, 2, 3]]), losses.cross_entropy, optim.AdamW(gpt.parameters(), lr=0.01), 3, quiet=True)
print(mlp.state_dict(), gpt.state_dict())
"""


def test_both_engines_train_to_the_same_bits():
    ours, pure = (python("-c", TRAINING, pure=pure) for pure in "01")
    assert ours.stdout == pure.stdout and "{" in ours.stdout, ours.stderr + pure.stderr


@pytest.mark.parametrize("task", ["moons", "spirals"])
def test_compiled_and_eager_training_end_alike(micrograd, task):
    pytest.importorskip("llvmlite", reason="compiling needs llvmlite")
    ends = []
    for way in ("--jit", "--no-jit"):
        code, out, _ = micrograd("demo", "--task", task, "--steps", "20", way, "--quiet")
        assert code == 0
        assert ("as machine code" in out) == (way == "--jit")
        ends.append(next(line for line in out.splitlines() if line.startswith("loss ")))
    assert ends[0] == ends[1]


def test_what_cannot_be_compiled_is_told(micrograd):
    code, _, err = micrograd("demo", "--task", "names", "--jit")
    assert code == 2
    assert "names is trained eagerly" in err
