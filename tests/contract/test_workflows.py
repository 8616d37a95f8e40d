"""The workflows of CI: jobs run targets of the Makefile, a release publishes all that is built, and every tool is pinned."""

from __future__ import annotations

import json
import re

import pytest

from twins import ROOT

FOLDER = ROOT / ".github" / "workflows"
pytestmark = pytest.mark.skipif(not FOLDER.exists(), reason="the workflows are in the clone only")


def jobs(name):
    yaml = pytest.importorskip("ruamel.yaml")
    return yaml.YAML(typ="safe").load((FOLDER / name).read_text(encoding="utf-8"))["jobs"]


def commands(job):
    return [step["run"] for step in job["steps"] if "run" in step]


@pytest.mark.parametrize("name", ["ci.yml", "wheels.yml"])
def test_every_job_calls_a_target_of_the_makefile_or_a_file_of_the_clone(name):
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    for job in jobs(name).values():
        included = job.get("strategy", {}).get("matrix", {}).get("include", [])
        for command in commands(job):
            made = re.match(r"make (\S+|\$\{\{ matrix\.target \}\})(?: |$)", command)
            if made is None:
                assert (ROOT / command).exists(), command
            elif made[1].startswith("$"):
                assert included and {row["target"] for row in included} <= targets
            else:
                assert made[1] in targets, command


def test_a_release_waits_for_all_that_is_built_and_has_an_sdist():
    found = jobs("wheels.yml")
    publish = found.pop("publish")
    assert set(publish["needs"]) == set(found)
    kept = {}
    for name, job in found.items():
        (upload,) = [step["with"] for step in job["steps"] if "upload-artifact" in step.get("uses", "")]
        kept[name] = upload["path"]
        assert upload["name"].startswith("wheels-")  # the pattern that `publish` downloads
    (sdist,) = [name for name, path in kept.items() if path.endswith(".tar.gz")]
    assert commands(found[sdist])[0].split()[:2] == ["make", "dist"]  # builds both; `make dist-pure` builds no sdist


def test_all_supported_pythons_are_tested_and_get_wheels():
    supported = re.findall(r'"Programming Language :: Python :: (3\.\d+)"', (ROOT / "pyproject.toml").read_text())
    assert jobs("ci.yml")["test"]["strategy"]["matrix"]["python"] == supported
    wheels = re.search(r"^build = (\[.*\])", (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    assert wheels is not None and eval(wheels[1]) == [f"cp{version.replace('.', '')}-*" for version in supported]


@pytest.mark.parametrize("name", ["ci.yml", "wheels.yml"])
def test_actions_are_pinned_by_the_commit_of_a_release_and_every_job_has_a_time_limit(name):
    """A tag or a branch may be moved to other code; a commit may not."""
    found: dict[str, str] = {}
    for line in (FOLDER / name).read_text(encoding="utf-8").splitlines():
        if "uses:" in line:
            pin = re.fullmatch(r"\s*- uses: ([\w.-]+/[\w./-]+)@([0-9a-f]{40}) # v\d+\.\d+\.\d+", line)
            assert pin, line
            assert found.setdefault(pin[1], pin[2]) == pin[2], line  # one commit of an action everywhere
    assert found
    assert all(0 < job["timeout-minutes"] <= 120 for job in jobs(name).values())


def test_the_job_that_publishes_runs_on_a_fixed_release_and_may_do_nothing_else():
    publish = jobs("wheels.yml")["publish"]
    assert re.fullmatch(r"ubuntu-\d\d\.\d\d", publish["runs-on"])
    assert publish["permissions"] == {"id-token": "write"} and not commands(publish)


def test_what_builds_wheels_is_pinned_by_hashes():
    lines = (ROOT / "tools" / "cibuildwheel.txt").read_text(encoding="utf-8").splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    assert any(line.startswith("cibuildwheel==") for line in pins)
    for line in pins:
        assert re.fullmatch(r'[\w-]+==[\w.]+( ; sys_platform == "win32")? --hash=sha256:[0-9a-f]{64}', line), line
    recipe = (ROOT / "Makefile").read_text(encoding="utf-8").split("\nwheels:")[1]
    assert "--require-hashes" in recipe.split("\n\n")[0]


@pytest.mark.parametrize("folder", [".", "tools/editor"])
def test_packages_of_npm_have_exact_versions_and_a_lock_file_with_their_hashes(folder):
    wanted = json.loads((ROOT / folder / "package.json").read_text(encoding="utf-8"))["devDependencies"]
    locked = json.loads((ROOT / folder / "package-lock.json").read_text(encoding="utf-8"))["packages"]
    assert locked[""]["devDependencies"] == wanted
    for name, version in wanted.items():
        assert re.fullmatch(r"\d+\.\d+\.\d+", version) and locked[f"node_modules/{name}"]["version"] == version
    assert all(row["integrity"].startswith("sha512-") for path, row in locked.items() if path)


def test_npm_installs_what_the_lock_file_has_and_nothing_else():
    for path in (ROOT / "Makefile", ROOT / ".ci" / "run"):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"\bnpm (install|i|add|update)\b|\bnpx\b", text) and "npm ci" in text, path
