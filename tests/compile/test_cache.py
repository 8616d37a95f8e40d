"""Machine code on disk: found again by the next process, never trusted when it is damaged or in others' hands."""

from __future__ import annotations

import io
import os
import stat
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from micrograd.compile import cache
from micrograd.compile.llvm import build
from random_programs import needs_llvm
from twins import PACKAGE

pytestmark = needs_llvm

PROGRAM = """
import micrograd.compile.cache as cache, micrograd.compile.llvm.build as llvm
saved, loaded = [], []
real_save, real_load = cache.save, cache.load
cache.save = lambda key, code: (saved.append(key), real_save(key, code))
cache.load = lambda key: (lambda code: (loaded.append(key) if code else None, code)[1])(real_load(key))
from micrograd import jit, math
f = jit(lambda x: math.exp(x) * 3 + x, wait=True)
f(1.0)
print(repr(f(0.5)), len(saved), len(loaded))
"""

# A loop is a typed tape: machine code of the kernel, and of what C calls with the numbers of a point.
TYPED = """
import micrograd.compile.cache as cache
saved, loaded = [], []
real_save, real_load = cache.save, cache.load
cache.save = lambda key, code: (saved.append(key), real_save(key, code))
cache.load = lambda key: (lambda code: (loaded.append(key) if code else None, code)[1])(real_load(key))
from micrograd import jit, value_and_grad
def f(p, xs):
    s = 0.0
    for x in xs:
        s += p[0] * x * x if x > p[1] else p[1] * x
    return s
g = jit(value_and_grad(f))
p, xs = [0.5, 0.25], [0.125, 1.0, -3.0, 2.0]
print(repr(g(p, xs)).replace(" ", ""), repr(g(p, xs)).replace(" ", ""), len(saved), len(loaded))
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A directory for kernels, as the environment names it."""
    path = tmp_path / "kernels"
    monkeypatch.setenv("MICROGRAD_CACHE", str(path))
    return path


@pytest.fixture
def run(run_python, place):
    def run(**more):
        value, saved, loaded = run_python(PROGRAM, **{"MICROGRAD_CACHE": str(place), **more}).stdout.split()
        return float(value), int(saved), int(loaded)

    return run


def kernels(place):
    return sorted(p for p in place.iterdir() if p.suffix == ".o")


class TestProcesses:
    def test_the_second_process_uses_what_the_first_made(self, run, place):
        value, saved, loaded = run()
        assert (saved, loaded) == (1, 0)
        (kernel,) = kernels(place)
        before = kernel.stat().st_ino
        assert run() == (value, 0, 1)
        assert kernel.stat().st_ino == before

    @pytest.mark.parametrize("damage", ["truncated", "one bit", "empty", "text"])
    def test_a_damaged_file_is_ignored_and_written_anew(self, run, place, damage):
        value, _, _ = run()
        (kernel,) = kernels(place)
        content = kernel.read_bytes()
        broken = {
            "truncated": content[: len(content) // 2],
            "one bit": content[:100] + bytes([content[100] ^ 1]) + content[101:],
            "empty": b"",
            "text": b"#!/bin/sh\n" * 100,
        }[damage]
        kernel.write_bytes(broken)
        assert run() == (value, 1, 0)
        assert kernel.read_bytes() == content

    def test_typed_kernels_are_kept_too(self, run_python, place):
        """And the words that C calls them by, which are addresses of one process, are not taken from the disk."""

        def run(**more):
            out = run_python(TYPED, **{"MICROGRAD_CACHE": str(place), **more}).stdout.split()
            return out[:2], int(out[2]), int(out[3])

        first, saved, loaded = run()
        assert (saved, loaded) == (2, 0) and first[0] == first[1]
        files = kernels(place)
        assert run() == (first, 0, 2)
        assert run(MICROGRAD_CACHE="0")[0] == first
        for file in files:
            content = file.read_bytes()
            file.write_bytes(content[:80] + bytes([content[80] ^ 1]) + content[81:])
            assert run() == (first, 1, 1)
            assert file.read_bytes() == content
        one, other = [file.read_bytes() for file in files]
        files[0].write_bytes(other)
        files[1].write_bytes(one)
        assert run() == (first, 2, 0)

    def test_the_key_of_a_kernel_holds_whatever_the_code_depends_on(self, place, monkeypatch):
        """The text, how it is compiled, the version of LLVM and the processor."""
        made = []

        def make():
            made.append(1)
            return b"code"

        def is_made(*parts):
            made.clear()
            assert build.kept_code(*parts[:1], make, *parts[1:]) == b"code"
            return bool(made)

        assert is_made("text", "3") and not is_made("text", "3")
        assert is_made("text2", "3") and is_made("text", "2")
        with monkeypatch.context() as patch:
            patch.setattr(build, "host_name", lambda: "another")
            assert is_made("text", "3")
        with monkeypatch.context() as patch:
            patch.setattr(build, "host_features_text", lambda: "fewer")
            assert is_made("text", "3")
        with monkeypatch.context() as patch:
            patch.setattr(build.llvm(), "llvm_version_info", (99, 0, 0))
            assert is_made("text", "3")
        assert not is_made("text", "3")

    @pytest.mark.parametrize("word", ["off", "OFF", "no", "false", "none"])
    def test_words_that_switch_it_off_name_no_folder(self, word, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("MICROGRAD_CACHE", word)
        assert cache.directory() is None and not list(tmp_path.iterdir())

    def test_zero_switches_it_off(self, run, place):
        value, _, loaded = run(MICROGRAD_CACHE="0")
        assert loaded == 0
        assert not place.exists()
        assert run()[0] == value

    def test_other_writers_at_the_same_time(self, place):
        env = os.environ | {"PYTHONPATH": str(PACKAGE.parent), "MICROGRAD_CACHE": str(place)}
        many = [
            subprocess.Popen([sys.executable, "-c", PROGRAM], env=env, stdout=subprocess.PIPE, text=True)
            for _ in range(3)
        ]
        values = {p.communicate(timeout=120)[0].split()[0] for p in many}
        assert [p.returncode for p in many] == [0, 0, 0]
        assert len(values) == 1
        (kernel,) = kernels(place)
        assert cache.load(kernel.name)

    def test_a_process_killed_while_it_writes_leaves_a_working_cache(self, run, place, run_python):
        program = (
            """
import os, signal, micrograd.compile.cache as cache
cache.os.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)  # everything is written, nothing is in place
"""
            + PROGRAM
        )
        if not hasattr(os, "fork"):
            pytest.skip("no SIGKILL on this platform")
        done = run_python(program, check=False, MICROGRAD_CACHE=str(place))
        assert done.returncode == -9
        assert kernels(place) == []
        value, saved, loaded = run()
        assert (saved, loaded) == (1, 0)
        assert run() == (value, 0, 1)


class TestFiles:
    def test_what_is_saved_is_loaded(self, place):
        cache.save("a.o", b"code" * 1000)
        assert cache.load("a.o") == b"code" * 1000
        assert cache.load("b.o") is None

    def test_every_cut_of_a_file_is_refused(self, place):
        cache.save("a.o", b"some machine code")
        content = (place / "a.o").read_bytes()
        for n in range(len(content)):
            (place / "a.o").write_bytes(content[:n])
            assert cache.load("a.o") is None, n

    @pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no FIFOs")
    def test_what_is_no_plain_file_is_not_opened(self, place, monkeypatch):
        """A FIFO would wait for somebody who writes to it, and a device may give bytes without an end."""
        cache.save("a.o", b"some machine code")
        folder = cache.directory()
        os.mkfifo(folder / "fifo.o")
        os.symlink(folder / "fifo.o", folder / "link.o")
        os.symlink("/dev/zero", folder / "zero.o")
        os.mkdir(folder / "folder.o")
        opened = []
        for module in (os, io):
            real = module.open
            monkeypatch.setattr(
                module, "open", lambda path, *a, real=real, **k: opened.append(path) or real(path, *a, **k)
            )
        for name in ("fifo.o", "link.o", "zero.o", "folder.o"):
            assert cache.load(name) is None
        assert opened == []
        assert cache.load("a.o") == b"some machine code" and opened

    @pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no FIFOs")
    def test_a_file_that_becomes_a_fifo_before_it_is_opened_is_not_waited_for(self, place, monkeypatch):
        cache.save("a.o", b"some machine code")
        path, real = cache.directory() / "a.o", os.open

        def exchanged(name, *how):
            os.unlink(name)
            os.mkfifo(name)
            return real(name, *how)

        monkeypatch.setattr(os, "open", exchanged)
        assert cache.load("a.o") is None and stat.S_ISFIFO(path.stat().st_mode)

    def test_many_threads_write_one_file(self, place):
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda i: cache.save("a.o", bytes([i]) * 100_000), range(32)))
        code = cache.load("a.o")
        assert code is not None
        assert code == bytes([code[0]]) * 100_000
        assert [p.name for p in place.iterdir()] == ["a.o"]

    @pytest.mark.skipif(os.name != "posix", reason="rights of files are those of POSIX")
    @pytest.mark.parametrize("mode", [0o770, 0o707, 0o777, 0o1777])
    def test_a_directory_that_others_can_write_to_is_not_used(self, place, mode):
        cache.save("a.o", b"code")
        place.chmod(mode)
        assert cache.directory() is None
        assert cache.load("a.o") is None
        cache.save("b.o", b"code")
        place.chmod(0o700)
        assert cache.load("a.o") == b"code"
        assert not (place / "b.o").exists()

    @pytest.mark.skipif(os.name != "posix", reason="rights of files are those of POSIX")
    def test_a_directory_of_another_user_is_not_used(self, place, monkeypatch):
        cache.save("a.o", b"code")
        mine = os.getuid()
        monkeypatch.setattr(os, "getuid", lambda: mine + 1)
        assert cache.load("a.o") is None

    def test_it_is_made_for_its_user_alone(self, place):
        cache.save("a.o", b"code")
        assert place.stat().st_mode & 0o077 == 0

    def test_its_name_may_begin_at_home(self, tmp_path, monkeypatch):
        monkeypatch.setenv("HOME", str(tmp_path))
        monkeypatch.setenv("MICROGRAD_CACHE", "~/kernels")
        assert cache.directory() == tmp_path / "kernels"

    def test_a_directory_that_cannot_be_made_costs_time_not_results(self, tmp_path, monkeypatch):
        (tmp_path / "file").write_text("not a directory")
        monkeypatch.setenv("MICROGRAD_CACHE", str(tmp_path / "file" / "kernels"))
        assert cache.directory() is None
        cache.save("a.o", b"code")
        assert cache.load("a.o") is None

    def test_a_user_without_a_home_has_no_cache(self, monkeypatch):
        def homeless():
            raise RuntimeError("Could not determine home directory.")

        monkeypatch.delenv("MICROGRAD_CACHE", raising=False)
        monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
        monkeypatch.setattr(cache.Path, "home", homeless)
        cache.save(cache.name("a"), b"code")
        assert cache.load(cache.name("a")) is None

    def test_a_disk_that_is_full_costs_time_not_results(self, place, monkeypatch):
        def full(*_):
            raise OSError(28, "No space left on device")

        place.mkdir(mode=0o700)
        monkeypatch.setattr(cache.os, "replace", full)
        cache.save("a.o", b"code")
        assert list(place.iterdir()) == []

    def test_a_folder_that_can_only_be_read_is_read(self, place, monkeypatch):
        def refuse(*_):
            raise PermissionError

        cache.save("a.o", b"code")
        monkeypatch.setattr(cache.os, "utime", refuse)
        assert cache.load("a.o") == b"code"

    def test_names_depend_on_every_part(self):
        assert len({cache.name("a", "b"), cache.name("ab", ""), cache.name("a", "b", ""), cache.name("b", "a")}) == 4


class TestLimit:
    """MICROGRAD_CACHE_SIZE: what was used longest ago goes first."""

    @pytest.fixture(autouse=True)
    def small(self, place, monkeypatch):
        monkeypatch.setenv("MICROGRAD_CACHE_SIZE", "0.01")  # 10 kB
        monkeypatch.setattr(cache, "_since_look", float("inf"))

    def fill(self, place, ages):
        """Kernels of 1,000 bytes that were last used so many seconds ago."""
        place.mkdir(mode=0o700, exist_ok=True)
        for k, age in enumerate(ages):
            self.file(place / cache.name(str(k)), age)
        return [cache.name(str(k)) for k in range(len(ages))]

    def file(self, path, age):
        path.write_bytes(bytes(1000))
        os.utime(path, (time.time() - age,) * 2)

    def test_the_oldest_go_until_there_is_room_again(self, place):
        names = self.fill(place, [100, 900, 300, 800, 700, 200, 600, 500, 400, 1000, 50, 60])
        cache.save(cache.name("new"), bytes(1000))
        there = {p.name for p in place.iterdir()}
        assert there == {names[k] for k in (0, 2, 5, 8, 10, 11)} | {cache.name("new")}
        assert sum(p.stat().st_size for p in place.iterdir()) <= 10_000 * cache.KEPT

    def test_what_fits_stays(self, place):
        names = self.fill(place, [10**8] * 8)
        cache.save(cache.name("new"), bytes(1000))
        assert {p.name for p in place.iterdir()} == {*names, cache.name("new")}

    def test_a_kernel_that_is_loaded_is_new_again(self, place):
        cache.save(cache.name("old"), b"code")
        os.utime(place / cache.name("old"), (0, 0))
        assert cache.load(cache.name("old")) == b"code"
        self.fill(place, [1000] * 12)
        cache.trim(place, cache.limit())
        assert cache.load(cache.name("old")) == b"code"
        assert len(kernels(place)) < 12

    def test_a_process_that_goes_on_writing_keeps_to_the_limit(self, place):
        for k in range(200):
            cache.save(cache.name(str(k)), bytes(400))
            assert sum(p.stat().st_size for p in place.iterdir()) <= 10_000 * (1 + 2 / cache.LOOK)
        assert len(kernels(place)) > 10

    def test_a_kernel_larger_than_the_limit_is_not_kept(self, place):
        names = self.fill(place, [100] * 3)
        cache.save(cache.name("huge"), bytes(10_000))
        assert sorted(p.name for p in place.iterdir()) == sorted(names)

    def test_what_killed_writers_left_is_removed_and_other_files_are_not(self, place):
        self.fill(place, [])
        old = ["new-abcdefgh.part", "new-a_c3e5g7.part"]
        others = ["notes.o", "new-features", "new-ABC.part", "x" * 64 + ".o", "a" * 64]
        for name in [*old, *others]:
            self.file(place / name, 2 * cache.STALE)
        self.file(place / "new-12345678.part", 10)  # somebody is writing
        (place / "new-folders1.part").mkdir()
        cache.save(cache.name("new"), bytes(1000))
        assert {p.name for p in place.iterdir()} == {
            *others,
            "new-12345678.part",
            "new-folders1.part",
            cache.name("new"),
        }

    def test_the_names_of_unfinished_files_are_those_that_are_removed(self, place, monkeypatch):
        seen = []
        monkeypatch.setattr(cache.os, "replace", lambda a, b: seen.append(Path(a).name))
        cache.save(cache.name("a"), b"code")
        assert cache.UNFINISHED.fullmatch(seen[0])

    @pytest.mark.parametrize("fails", ["unlink", "scandir"])
    def test_files_that_others_remove_or_hold_are_no_error(self, place, monkeypatch, fails):
        def refuse(*_):
            raise PermissionError

        self.fill(place, [100] * 12)
        monkeypatch.setattr(cache.os, fails, refuse)
        cache.save(cache.name("new"), b"code")
        monkeypatch.undo()
        assert (place / cache.name("new")).exists()

    def test_many_threads_fill_it_at_once(self, place):
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda k: cache.save(cache.name(str(k)), bytes(300)), range(200)))
        cache.trim(place, cache.limit())
        assert 0 < sum(p.stat().st_size for p in place.iterdir()) <= 10_000
        assert all(cache.load(p.name) == bytes(300) for p in place.iterdir())

    @pytest.mark.parametrize(
        "text, megabytes", [("", 500), ("20", 20), ("0.5", 0.5), ("0", 0), ("much", 500), ("-1", 500), ("nan", 500)]
    )
    def test_a_size_that_makes_no_sense_is_the_usual_one(self, monkeypatch, text, megabytes):
        monkeypatch.setenv("MICROGRAD_CACHE_SIZE", text)
        assert cache.limit() == 1e6 * megabytes

    def test_without_a_limit_nothing_goes(self, place, monkeypatch):
        monkeypatch.setenv("MICROGRAD_CACHE_SIZE", "inf")
        self.fill(place, [10**8] * 12)
        self.file(place / "new-abcdefgh.part", 2 * cache.STALE)
        cache.save(cache.name("new"), bytes(1000))
        assert len(kernels(place)) == len(list(place.iterdir())) == 13


class TestExchangedFiles:
    def test_two_kernels_in_each_others_place_are_refused(self, run_python, place):
        program = (
            "from micrograd import jit\n"
            "f, g = jit(lambda x: x * 3.0, wait=True), jit(lambda x: x - 7.0, wait=True)\n"
            "print(f(2.0), g(2.0), f(2.0), g(2.0))\n"
        )
        run = lambda: run_python(program, MICROGRAD_CACHE=str(place)).stdout  # noqa: E731
        assert run() == "6.0 -5.0 6.0 -5.0\n"
        one, two = kernels(place)
        contents = one.read_bytes(), two.read_bytes()
        one.write_bytes(contents[1])
        two.write_bytes(contents[0])
        assert run() == "6.0 -5.0 6.0 -5.0\n"
        assert (one.read_bytes(), two.read_bytes()) == contents  # made again

    def test_a_file_under_another_name_is_refused(self, place):
        place.mkdir(mode=0o700)
        cache.save("a" * 64 + ".o", b"code")
        assert cache.load("a" * 64 + ".o") == b"code"
        (place / ("a" * 64 + ".o")).rename(place / ("b" * 64 + ".o"))
        assert cache.load("b" * 64 + ".o") is None
