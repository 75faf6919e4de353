"""Standard input by the name ``-``: read like a file, and called by its name where something is wrong with it."""

import io
import sys

import pytest

from compat.app.files import only_once, read_document, read_text
from compat.errors import InputError


@pytest.fixture
def typed(monkeypatch):
    def given(data):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))

    return given


@pytest.mark.parametrize("data", [b"CUDA error \xf0\x9f\x99\x82", "CUDA error \U0001f642".encode("utf-16")])
def test_it_is_read_in_whatever_encoding_it_is_marked_with(typed, data):
    typed(data)
    assert read_text("-") == "CUDA error \U0001f642"


def test_faults_name_it_and_not_a_dash(typed, tmp_path):
    typed(b'{\n "gpus": ]}')
    with pytest.raises(InputError, match=r"standard input:2:10"):
        read_document("-")
    (tmp_path / "host.json").write_text('{\n "gpus": ]}')
    with pytest.raises(InputError, match=r"host\.json:2:10"):
        read_document(str(tmp_path / "host.json"))


def test_where_it_is_closed_that_is_said(monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(InputError, match=r"standard input: is closed"):
        read_text("-")


@pytest.mark.parametrize(("spare", "fits"), [(0, True), (1, False)])
def test_a_document_may_have_eight_mebibytes_and_no_byte_more(typed, spare, fits):
    filler = b" " * (8 * 1024 * 1024 - 2 + spare)
    typed(b"{" + filler + b"}")
    if fits:
        assert read_document("-") == {}
        return
    with pytest.raises(InputError, match=r"standard input: is larger than 8 MiB"):
        read_document("-")


def test_it_can_be_named_once():
    only_once(["-", "file", "file"])
    with pytest.raises(InputError, match="named twice"):
        only_once(["-", "file", "-"])
