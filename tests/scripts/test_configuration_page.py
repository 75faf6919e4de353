"""The page of the keys of ``[tool.envcheck]``."""

from dataclasses import fields
from pathlib import Path

from configuration_page import keys

from compat.dockerfile import Settings

ROOT = Path(__file__).parents[2]


def test_every_key_has_a_meaning_and_stands_on_the_page():
    rows = keys()
    assert {key.name for key in rows["image"]} == {item.name for item in fields(Settings)}
    assert all(len(key.meaning) > 5 for table in rows.values() for key in table)
    page = (ROOT / "docs" / "configuration.md").read_text("utf-8")
    assert all(f"| `{key.name}` |" in page for table in rows.values() for key in table)
