"""Files that a Dockerfile writes itself: what a later install step reads from them, and at which line it stands."""

import pytest

from compat import sources

FORMS = {
    "copy": ("COPY <<E /app/r.txt\ntorch==2.1.0\nE\nRUN pip install -r /app/r.txt\n", 3),
    "copy-folder": ("COPY <<r.txt <<other.txt /app/\ntorch==2.1.0\nr.txt\nnumpy\nother.txt\nRUN pip install -r /app/r.txt\n", 3),
    "copy-flag": ("COPY --chown=1 <<-'E' r.txt\ntorch==2.1.0\nE\nRUN uv pip install --system -r r.txt\n", 3),
    "cat": ("RUN cat <<E > /tmp/r.txt\ntorch==2.1.0\nE\nRUN pip install -r /tmp/r.txt\n", 3),
    "cat-before": ("RUN cat > r.txt <<'E'\n# one\ntorch==2.1.0\nE\nRUN pip3 install -r r.txt\n", 4),
    "tee": ("RUN tee r.txt <<E\ntorch==2.1.0\nE\nRUN pip install -r r.txt\n", 3),
    "script": ("RUN <<E\ncat > r.txt <<F\ntorch==2.1.0\nF\npip install -r r.txt\nE\n", 4),
    "echo": ("RUN echo 'torch==2.1.0' > r.txt && pip install -r r.txt\n", 2),
    "printf": ('RUN printf "numpy\\ntorch==2.1.0\\n" >> r.txt\nRUN pip install -r r.txt\n', 3),
    "earlier stage": ("COPY <<E r.txt\ntorch==2.1.0\nE\nFROM a AS b\nRUN pip install -r r.txt\n", 3),
}  # fmt: skip


def asked(text):
    ask = sources.read("FROM python:3.10 AS a\n" + text, "Dockerfile")
    return [
        (item.text, item.line)
        for stage in ask.stages
        for step in stage.installs
        for item in step.requests
        if item.name == "torch"
    ]


@pytest.mark.parametrize("form", FORMS)
def test_each_way_to_write_a_file_is_read_with_its_lines(form):
    text, line = FORMS[form]
    assert asked(text) == [("torch==2.1.0", line)]


@pytest.mark.parametrize(
    "text",
    [
        "COPY <<E /app/r.txt\ntorch==2.1.0\nE\nRUN pip install -r other.txt\n",
        "COPY <<E /app/r.txt\ntorch==2.1.0\nE\nFROM python:3.10\nRUN pip install -r r.txt\n",
        "RUN pip install -r r.txt\nCOPY <<E r.txt\ntorch==2.1.0\nE\n",
        "RUN cat <<E\ntorch==2.1.0\nE\nRUN pip install -r E\n",
    ],
)
def test_another_file_another_stage_or_a_later_one_is_not_taken(text):
    assert asked(text) == []


def test_a_document_that_nothing_ends_reaches_to_the_last_line():
    assert asked("COPY <<E r.txt\ntorch==2.1.0\n") == []
    ask = sources.read("FROM python:3.10\nCOPY <<E r.txt\ntorch\nRUN x\n", "Dockerfile")
    assert ask.stages[0].commands == ()
