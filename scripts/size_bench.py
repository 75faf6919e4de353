#!/usr/bin/env python3
"""Bytes, build seconds and import seconds of both generated forms beside what other generators write, in one run.

Usage: ``DOCKER_HOST=... python scripts/size_bench.py [--framework jax==0.10.2] [--base python:3.11-slim] [--ours]``.
``--ours`` builds our two forms alone; ``--index URL`` is a page of links to the framework's wheels.
The import is the median of five, in processor seconds, of a container that may write nothing. Every form starts
from the same base and installs the same requirement without a build cache, so that only the form differs. The
last lines compare our image with the sum of its wheels, unpacked, and the bare base. Where bases are stand-ins
(label dev.envcheck.standin) the output says so: their own sizes are then not those of the public images.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from compat.build import build_image
from compat.dockerfile import Settings, write
from compat.plan import BaseImage, Plan, PlannedBuild

_VENV = "RUN python3 -m venv /opt/venv && /opt/venv/bin/pip install"
_TOOLS = "RUN apt-get update && apt-get install -y build-essential git curl && rm -rf /var/lib/apt/lists/*"

FORMS = {
    # as cog and truss write it: one stage, pip from the image, everything as root
    "single stage": "FROM {base}\n" + _VENV + " {req}\n",
    # the commonest hand-written form, with the usual advice followed
    "single stage, no cache": "FROM {base}\n" + _VENV + " --no-cache-dir {req}\n",
    # as devel-based generators have it in effect: a compiler in case, cache off
    "with build tools": "FROM {base}\n" + _TOOLS + "\n" + _VENV + " --no-cache-dir {req}\n",
}


def size(image: str) -> int:
    """Bytes of an image, all layers."""
    words = ["docker", "image", "inspect", "--format", "{{.Size}}", image]
    return int(subprocess.run(words, capture_output=True, text=True, check=True).stdout)


def is_standin(image: str) -> bool:
    """Whether the base only plays the public image."""
    words = ["docker", "image", "inspect", "--format", '{{index .Config.Labels "dev.envcheck.standin"}}', image]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip() == "1"


def unpacked(wanted: list[str], python: str) -> int:
    """Bytes of the wheels that the requirement brings, unpacked."""
    with tempfile.TemporaryDirectory() as folder:
        words = [sys.executable, "-m", "pip", "download", "-q", "--only-binary=:all:", "--python-version", python]
        subprocess.run([*words, "--dest", folder, *wanted], check=True, stderr=subprocess.DEVNULL)
        wheels = Path(folder).glob("*.whl")
        return sum(item.file_size for wheel in wheels for item in zipfile.ZipFile(wheel).infolist())


def built(text: str, tag: str, folder: str) -> tuple[int, float]:
    """Size and seconds of one form."""
    done = build_image(text, tag=tag, context=folder, network="host", no_cache=True)
    if not done.ok:
        raise SystemExit(f"{tag}: {done.step}\n{done.why}")
    return size(tag), done.seconds


def import_seconds(image: str, module: str) -> float:
    """Processor seconds that importing a module takes in a fresh container as its own user."""
    program = f"import resource, {module}; u = resource.getrusage(resource.RUSAGE_SELF); print(u.ru_utime + u.ru_stime)"
    words = ["docker", "run", "--rm", "--network", "none", "--read-only", "--tmpfs", "/tmp", image]  # noqa: S108 - inside the container
    pythons = ["sh", "-c", '[ -x /opt/venv/bin/python ] && exec /opt/venv/bin/python -c "$0"; exec python3 -c "$0"']
    said = [subprocess.run([*words, *pythons, program], capture_output=True, text=True, check=True) for _ in range(5)]
    return sorted(float(done.stdout.split()[-1]) for done in said)[2]


def main() -> None:
    """Build every form and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--framework", default="jax==0.10.2")
    parser.add_argument("--module", default="", help="what is imported; the framework's name if left out")
    parser.add_argument("--base", default="python:3.11-slim")
    parser.add_argument("--python", default="3.11")
    parser.add_argument("--index", default="", help="where the framework comes from; the default index if left out")
    parser.add_argument("--ours", action="store_true", help="build our two forms alone")
    options = parser.parse_args()
    name, _, version = options.framework.partition("==")
    module = options.module or name
    build = PlannedBuild(name=name, version=version, runtime="cpu", module=module, index=options.index, links=True)
    base = BaseImage(image=options.base, os="debian12", python=options.python, python_from="image")
    plan = Plan(runtime="cpu", python=options.python, base_image=base, builds=(build,))
    wanted = f"--find-links {options.index} {options.framework}" if options.index else options.framework
    texts = {"plain": write(plan, Settings()), "factory": write(plan, Settings(form="factory"))}
    if not options.ours:
        texts["plain, bytecode = false"] = write(plan, Settings(bytecode=False))
        texts |= {form: text.format(base=options.base, req=wanted) for form, text in FORMS.items()}
    print(f"{options.framework} on {options.base}{' (a stand-in)' if is_standin(options.base) else ''}")
    with tempfile.TemporaryDirectory() as folder:
        found = {
            form: built(text, f"envcheck-bench/{number}", folder) for number, (form, text) in enumerate(texts.items())
        }
    for form, (count, seconds) in found.items():
        busy = import_seconds(f"envcheck-bench/{list(found).index(form)}", module)
        print(
            f"{form:24} {count / 1e6:9.1f} MB {seconds:7.1f} s {count / found['plain'][0]:6.2f} x  import {busy:5.2f} s"
        )
    floor = size(options.base) + unpacked(wanted.split(), options.python)
    print(f"{'base plus its wheels':24} {floor / 1e6:9.1f} MB; plain {100 * (found['plain'][0] / floor - 1):+.1f} %")
    subprocess.run(
        ["docker", "rmi", "-f", *(f"envcheck-bench/{number}" for number in range(len(texts)))],
        check=False,
        stdout=subprocess.DEVNULL,
    )


if __name__ == "__main__":
    main()
