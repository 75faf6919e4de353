"""A command line run in process: exit code and both streams."""

import pytest

from compat import cli


@pytest.fixture
def envcheck(capsys, monkeypatch, tmp_path):
    """Call ``envcheck`` with words; returns (exit code, standard output, standard error)."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("NO_COLOR", "1")

    def call(*words):
        code = cli.run(list(words))
        said = capsys.readouterr()
        return code, said.out, said.err

    return call


@pytest.fixture
def host_file(tmp_path):
    """A host file with the given TOML text; returns its path."""

    def write(text):
        path = tmp_path / "host.toml"
        path.write_text(text)
        return str(path)

    return write
