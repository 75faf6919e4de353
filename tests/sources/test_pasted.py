"""Files inside a pasted text: what their containers and installs are as commands."""

from __future__ import annotations

import pytest

from compat.reading.commands import asks_for_gpu, image_of, starts_blind, typed

SERVICES = """The worker is slow.

services:
  worker:
    image: pytorch/pytorch:2.4.0-cuda12.1-cudnn9-runtime
    command: python worker.py
{}
It prints nothing.
"""
RESERVED = """    deploy:
      resources:
        reservations:
          devices:
            - driver: nvidia
              capabilities: [gpu]
"""
WITH_GPU = {
    "reserved": RESERVED,
    "short": "    gpus: all\n",
    "runtime": "    runtime: nvidia\n",
    "nodes": "    devices:\n      - /dev/kfd\n      - /dev/dri\n",
    "privileged": "    privileged: true\n",
}


def test_a_service_without_a_gpu_starts_blind():
    said = typed(SERVICES.format(""))
    assert image_of(said) == "pytorch/pytorch:2.4.0-cuda12.1-cudnn9-runtime"
    assert starts_blind(said)


@pytest.mark.parametrize("way", WITH_GPU.values(), ids=WITH_GPU)
def test_a_service_with_a_gpu_does_not(way):
    said = typed(SERVICES.format(way))
    assert image_of(said) == "pytorch/pytorch:2.4.0-cuda12.1-cudnn9-runtime"
    assert not starts_blind(said)
    assert asks_for_gpu(said[0])


LISTS = {
    "a Dockerfile": (
        "FROM python:3.11\nRUN apt-get update && \\\n    apt-get install -y git\nRUN pip install torch==2.1.0 xformers\n",
        "pip install torch xformers",
    ),
    "a conda environment": (
        "name: lab\ndependencies:\n  - python=3.10\n  - pytorch=2.1\n  - pip:\n    - timm\n",
        "conda install python pytorch",
    ),
    "lists without a step": ("dependencies:\n- numpy\n- jaxlib\nIt fails.", "conda install numpy jaxlib"),
}


@pytest.mark.parametrize(("text", "line"), LISTS.values(), ids=LISTS)
def test_the_packages_of_a_file_are_named(text, line):
    assert line in typed(text)


@pytest.mark.parametrize(
    "text",
    ["services:\n  a: [\n", "FROM where I stand it fails\n", '"dependencies": {"left-pad": "1"}', "services:\n\n", ""],
)
def test_what_is_no_such_file_says_nothing(text):
    assert typed(text) == ()
