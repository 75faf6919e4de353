"""Command lines in a text: behind a prompt, or by programs that a shell calls; never a sentence about them."""

from __future__ import annotations

import pytest

from compat.reading import read
from compat.reading.commands import image_of, requirements, typed


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("$ docker run --rm nvidia/cuda nvidia-smi", "docker run --rm nvidia/cuda nvidia-smi"),
        ("docker run --rm \\\n    --gpus all IMAGE\nError response", "docker run --rm --gpus all IMAGE"),
        ("(base) me@host:~/x$ pip install torch==2.0.1+cu118", "pip install torch==2.0.1+cu118"),
        ("root@box:/# make", "make"),
        (r"PS C:\Users\me> pip install torch", "pip install torch"),
        (r"(env) C:\Users\me>python -m bitsandbytes", "python -m bitsandbytes"),
        ("After `pip install torch==2.1.0` it fails", "pip install torch==2.1.0"),
        ("- `conda install pytorch cudatoolkit=11.3` ran through", "conda install pytorch cudatoolkit=11.3"),
        ("```pip install torch```", "pip install torch"),
        ("uv run python train.py", "uv run python train.py"),
    ],
)
def test_a_command_is_found(text, command):
    assert typed(text) == (command,)


@pytest.mark.parametrize(
    "text",
    [
        "I ran docker run and it works",
        "Then pip install torch fixed it",
        "# pip install torch",
        "> quoted",
        "docker",
        "the `pip install` step",
    ],
)
def test_a_sentence_is_no_command(text):
    assert typed(text) == ()


def test_a_command_beside_a_report_is_kept():
    text = "Collecting environment information...\nPyTorch version: 2.4.0\nIs CUDA available: False\n\n$ docker run --rm x y\n"
    assert "docker run --rm x y" in typed(read(text).rest(text))


@pytest.mark.parametrize(
    ("command", "image"),
    [
        ("docker run --rm -it nvidia/cuda:12.4.1-base-ubuntu22.04 nvidia-smi", "nvidia/cuda:12.4.1-base-ubuntu22.04"),
        ("sudo docker run -d -p 80:80 -e A=b --name=x --shm-size 8g reg.example:5000/team/app bash", "reg.example:5000/team/app"),
        ("podman run --device nvidia.com/gpu=all --gpus all ubuntu", "ubuntu"),
        ("docker run --gpus all $NAME bash", ""),
        ("docker run --gpus all IMAGE", ""),
        ("docker compose up", ""),
    ],
)  # fmt: skip
def test_a_command_names_its_image(command, image):
    assert image_of((command,)) == image


@pytest.mark.parametrize(
    ("text", "groups"),
    [
        ("$ groups\nme adm sudo video\n", ("me", "adm", "sudo", "video")),
        ("me@box:~$ groups me\nme : me adm render\n", ("me", "adm", "render")),
        ("uid=1000(me) gid=1000(me) groups=1000(me),44(video)", ("me", "video")),
        ("$ groups\nbash: groups: command not found\n", None),
        ("which groups\nare there\n", None),
    ],
)
def test_groups_are_read_as_they_are_printed(text, groups):
    assert read(text).host.groups == groups


def test_a_table_is_no_log_of_compose():
    from compat.reading.said import said

    assert said("web-1  | listening\nweb-1  | torch.cuda.is_available() is False\n")["compose"]
    assert not said("GPU | listed twice\ngpu | A100\ngpu | H100\n").get("compose")


@pytest.mark.parametrize(
    ("line", "name", "version"),
    [
        ("pip install torch===1.5.1 -f https://download.pytorch.org/whl/torch_stable.html", "torch", "1.5.1"),
        ("pip install ./flash_attn-2.5.8%2Bcu122-cp311-cp311-linux_x86_64.whl", "flash-attn", "2.5.8+cu122"),
        ("pip install https://example.org/a/jaxlib-0.4.30-cp312-cp312-macosx_11_0_arm64.whl", "jaxlib", "0.4.30"),
    ],
)
def test_a_release_is_asked_for_by_any_spelling(line, name, version):
    assert requirements([line]) == {name: version}
