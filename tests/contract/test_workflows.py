"""The workflows of CI: each runs targets that the Makefile has, and a release publishes everything that is built."""

from __future__ import annotations

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
