"""Requirement files as an image has them when the installer reads them: copied, renamed, mounted, edited."""

import pytest

from compat.app.lint import ask_of

LISTED = "torch==2.1.0\ntorchvision==0.16.0\nnumpy==1.26.4\n"


def names(tmp_path, dockerfile: str) -> list[str]:
    """Names that the steps of a Dockerfile ask for, with files of the folder."""
    for name in ("requirements.txt", "requirements/gpu.txt", "a.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(LISTED if name != "requirements/gpu.txt" else "jax==0.4.30\n")
    path = tmp_path / "Dockerfile"
    path.write_text("FROM python:3.11\n" + dockerfile)
    return [request.name for step in ask_of(str(path)).stages[0].installs for request in step.requests]


@pytest.mark.parametrize(
    ("dockerfile", "expected"),
    [
        ("COPY requirements.txt .\nRUN pip install -r requirements.txt", ["torch", "torchvision", "numpy"]),
        ("COPY requirements/gpu.txt /tmp/requirements.txt\nRUN pip install -r /tmp/requirements.txt", ["jax"]),
        ("COPY requirements/ /tmp/requirements/\nRUN pip install -r /tmp/requirements/gpu.txt", ["jax"]),
        ("COPY requirements.txt requirements/gpu.txt /srv/\nRUN pip install -r /srv/gpu.txt", ["jax"]),
        (
            "RUN --mount=type=bind,source=requirements/gpu.txt,target=/tmp/all.txt pip install -r /tmp/all.txt",
            ["jax"],
        ),
        ("COPY . .\nRUN sed -i '/torch/d' requirements.txt && pip install -r requirements.txt", ["numpy"]),
        ("COPY . .\nRUN sed -i -e '/^torch=/d' -e '/numpy/d' a.txt\nRUN pip install -r a.txt", ["torchvision"]),
        ("COPY . .\nRUN sed -i '/torch\\|numpy/d' a.txt\nRUN pip install -r a.txt", []),
        ("COPY . .\nRUN sed -i 's/^torch==/jax==/' a.txt\nRUN pip install -r a.txt", ["jax", "torchvision", "numpy"]),
        ("COPY . .\nRUN find . -name '*.txt' -exec sed -i '/torch/d' {} +\nRUN pip install -r a.txt", ["numpy"]),
        ("COPY . .\nRUN pip install -r a.txt\nRUN sed -i '/torch/d' a.txt", ["torch", "torchvision", "numpy"]),
        ("COPY . .\nRUN sed -i '5{h;d}' a.txt && pip install -r a.txt", []),  # a script that is not followed
        ("COPY . .\nRUN awk '!/torch/' a.txt > b.txt && mv b.txt a.txt && pip install -r a.txt", []),  # another file
        ("COPY . .\nRUN mkdir x && mv a.txt x/a.txt && pip install -r x/a.txt", ["torch", "torchvision", "numpy"]),
        ("RUN git clone https://example.org/other.git && cd other && pip install -r requirements.txt", []),
        ("RUN git clone https://example.org/other.git --depth 1\nRUN pip install -r other/requirements.txt", []),
        (
            "RUN git clone --depth=1 https://example.org/other.git /opt/other\nRUN pip install -r /opt/other/requirements.txt",
            [],
        ),
    ],
)
def test_the_file_that_the_installer_reads(tmp_path, dockerfile, expected):
    assert names(tmp_path, dockerfile) == expected
