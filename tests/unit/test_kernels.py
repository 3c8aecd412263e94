"""The directory of compiled kernels: private, its own for every state of the sources, and never a reason to fail."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tidings import kernels


@pytest.fixture(autouse=True)
def without_a_directory(monkeypatch, tmp_path):
    monkeypatch.setenv("TIDINGS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv(kernels.VARIABLE, "")
    monkeypatch.setenv(kernels.OURS, "")
    monkeypatch.delitem(sys.modules, "numba.core.config", raising=False)


def again() -> Path:
    """What a process that inherits nothing would use."""
    os.environ[kernels.VARIABLE] = os.environ[kernels.OURS] = ""
    return kernels.cache_directory()


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_the_directory_is_made_for_the_owner_alone(tmp_path):
    old = os.umask(0)
    try:
        directory = kernels.cache_directory()
    finally:
        os.umask(old)
    assert directory.parent == tmp_path / "cache"
    assert mode(directory) == mode(directory.parent) == 0o700
    assert directory.name == "kernels-" + kernels.fingerprint()
    assert os.environ[kernels.VARIABLE] == str(directory)


def test_it_lies_under_the_general_cache_directory(monkeypatch, tmp_path):
    monkeypatch.delenv("TIDINGS_CACHE")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "general"))
    assert again().parent == tmp_path / "general" / "tidings"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative/is/ignored")
    assert again().parent == tmp_path / "home" / ".cache" / "tidings"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert again().parent == tmp_path / "home" / ".cache" / "tidings"


def test_what_the_user_has_set_stays(monkeypatch, tmp_path):
    monkeypatch.setenv(kernels.VARIABLE, str(tmp_path / "mine"))
    kernels.prepare()
    assert os.environ[kernels.VARIABLE] == str(tmp_path / "mine")
    assert not (tmp_path / "cache").exists()


def test_a_child_does_not_take_an_outdated_directory_for_the_users_choice(monkeypatch):
    first = kernels.cache_directory()
    monkeypatch.setattr(kernels, "fingerprint", lambda: "changed")
    assert kernels.cache_directory() == first, "a process keeps the directory that it began with"
    kernels.prepare()
    assert kernels.cache_directory() == first.with_name("kernels-changed")


def test_numba_hears_of_it_even_when_it_was_imported_first(tmp_path):
    code = "import numba, tidings; print(numba.config.CACHE_DIR)"
    told = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.strip()
    assert told == str(again())


def test_a_foreign_directory_is_refused(monkeypatch):
    directory = kernels.cache_directory()
    monkeypatch.setattr(os, "getuid", lambda: os.geteuid() + 1)
    with pytest.warns(RuntimeWarning, match="belongs to somebody else"):
        other = again()
    assert other.parent != directory.parent


@pytest.mark.parametrize("which", ["base", "leaf"])
@pytest.mark.parametrize("bit", [0o020, 0o002])
def test_a_directory_that_others_can_write_is_refused(which, bit):
    directory = kernels.cache_directory()
    open_one = directory if which == "leaf" else directory.parent
    open_one.chmod(0o700 | bit)
    with pytest.warns(RuntimeWarning, match="others can write"):
        other = again()
    assert other != directory
    assert mode(other) == mode(other.parent) == 0o700
    assert not list(directory.iterdir())


def test_a_link_in_the_place_of_the_directory_is_refused(tmp_path):
    directory = kernels.cache_directory()
    directory.rmdir()
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    directory.symlink_to(tmp_path / "elsewhere")
    with pytest.warns(RuntimeWarning):
        assert again() != directory


def test_without_a_writable_home_a_temporary_directory_serves_and_goes(tmp_path):
    (tmp_path / "file").write_text("a file is where the directory should be")
    environment = {**os.environ, "TIDINGS_CACHE": str(tmp_path / "file" / "cache"), "TMPDIR": str(tmp_path)}
    code = (
        "import os, subprocess, sys, tidings;"
        "directory = tidings.kernels.cache_directory(); print(directory, directory.is_dir());"
        "child = 'import tidings; print(tidings.kernels.cache_directory())';"
        "sys.stdout.flush(); subprocess.run([sys.executable, '-W', 'error', '-c', child], check=True)"
    )
    ran = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, env=environment)
    assert "set TIDINGS_CACHE" in ran.stderr
    parent, child = ran.stdout.splitlines()
    assert parent == f"{child} True", "the child uses what its parent made, and keeps quiet"
    assert Path(child).is_relative_to(tmp_path)
    assert not Path(child).parent.exists()


def test_every_kernel_source_counts(tmp_path):
    package = tmp_path / "tidings"
    shutil.copytree(Path(kernels.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    before = kernels._sources(str(package))
    counted = [path for room in kernels.ROOMS for path in (package / room).rglob("*.py")]
    assert len(counted) >= len(kernels.ROOMS)
    assert len(before) == len(counted) + 1
    for path in [*counted, package / "__init__.py"]:
        state = path.stat()
        os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns + 1))
        after = kernels._sources(str(package))
        assert after != before
        before = after
    (package / "index" / "another.py").touch()
    assert len(kernels._sources(str(package))) == len(before) + 1


def test_the_compiler_counts(monkeypatch, tmp_path):
    assert [line.partition("-")[0] for line in kernels._compiler()] == sorted(kernels.COMPILER)
    before = kernels.fingerprint()
    (tmp_path / "numba-99.0.dist-info").mkdir()
    monkeypatch.syspath_prepend(str(tmp_path))
    assert kernels.fingerprint() != before


def test_those_used_last_are_kept(monkeypatch, tmp_path):
    def use(name: str, when_s: int) -> None:
        monkeypatch.setattr(kernels, "fingerprint", lambda: name)
        os.utime(again(), ns=(0, when_s * 10**9))

    for when_s, name in enumerate(["a", "b", "c", "d"]):
        use(name, when_s)
    (tmp_path / "cache" / "something-else").mkdir(mode=0o700)
    use("a", 10)
    use("e", 11)
    left = {path.name for path in (tmp_path / "cache").iterdir()}
    assert left == {"something-else", "kernels-a", "kernels-c", "kernels-d", "kernels-e"}
