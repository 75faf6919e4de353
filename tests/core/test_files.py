"""Reading and writing what people name: whole or not at all, and a message that says what to do."""

import stat

import pytest

from compat.app.files import read_document, read_text, write_atomically
from compat.errors import InputError


def test_a_file_appears_whole_and_readable(tmp_path):
    target = tmp_path / "Dockerfile"
    write_atomically(str(target), "FROM scratch\n")
    assert target.read_text() == "FROM scratch\n"
    assert stat.S_IMODE(target.stat().st_mode) & 0o600 == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["Dockerfile"]


def test_a_missing_folder_is_refused_and_nothing_is_left(tmp_path):
    with pytest.raises(InputError, match="does not exist"):
        write_atomically(str(tmp_path / "no" / "file"), "x")
    assert list(tmp_path.iterdir()) == []


def test_a_failed_write_keeps_the_old_file(tmp_path):
    target = tmp_path / "old"
    target.write_text("precious")
    with pytest.raises(TypeError):
        write_atomically(str(target), None)
    assert target.read_text() == "precious"
    assert [path.name for path in tmp_path.iterdir()] == ["old"]


def test_a_folder_is_no_file(tmp_path):
    with pytest.raises(InputError, match="is a folder"):
        write_atomically(str(tmp_path), "x")


@pytest.mark.parametrize(
    ("name", "text"),
    [("h.json", '{"driver": "535.1"}'), ("h.toml", 'driver = "535.1"'), ("h", '\ufeff{"driver": "535.1"}')],
)
def test_json_and_toml_are_told_apart_by_content(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text, "utf-8")
    assert read_document(str(path)) == {"driver": "535.1"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"a": ', ":1:7"),
        ("a = [", "neither JSON nor valid TOML"),
        ("{} []", ":1:4"),
        ('{"a":' * 100_000, "usable JSON"),
        ("[" * 100_000, "neither JSON nor valid TOML"),
    ],
)
def test_faults_are_named_with_their_place(tmp_path, text, words):
    path = tmp_path / "bad"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        read_document(str(path))
    assert words in str(caught.value)
    assert str(path) in str(caught.value)


def test_limits_and_missing_files(tmp_path):
    path = tmp_path / "big"
    path.write_bytes(b"x" * 100)
    with pytest.raises(InputError, match="larger than"):
        read_text(str(path), limit=10)
    with pytest.raises(InputError, match="No such file"):
        read_text(str(tmp_path / "none"))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_text_is_read_in_each_encoding_that_shells_write(tmp_path, encoding):
    """PowerShell redirects as UTF-16 with a mark; an editor may mark UTF-8."""
    path = tmp_path / "log.txt"
    path.write_bytes("Treiber für GPU: 535.54\n".encode(encoding))
    assert read_text(str(path)) == "Treiber für GPU: 535.54\n"


def test_bytes_that_are_no_text_are_replaced(tmp_path):
    path = tmp_path / "log.txt"
    path.write_bytes(b"\xff\xfe\x00\xd8bad")
    assert "\ufffd" in read_text(str(path))
