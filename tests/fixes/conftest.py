import pytest

from compat.app.doctor import Question, examine
from compat.matrix import matrix


@pytest.fixture
def prescribes(tmp_path):
    """Demand the code of a pasted text's first finding, and what its fix holds and never holds; it stays short."""

    def check(text, code, holds, never):
        path = tmp_path / "report.txt"
        path.write_text(text)
        first = examine(Question(report=str(path)), matrix())[0].findings[0]
        said = "\n".join([first.fix.text, *first.fix.commands])
        assert first.code == code
        assert holds in said, said
        assert never not in said, said
        assert len(said) <= 206

    return check
