#!/usr/bin/env python3
"""Bytes, build seconds and import seconds of both generated forms beside what other generators write, in one run.

Usage: ``DOCKER_HOST=... python scripts/size_bench.py [--framework jax==0.10.2] [--base python:3.11-slim] [FORM...]``.
Forms: plain, factory, bare (plain without bytecode), cog, hpccm (where it is installed), hand, tools; the first two,
cog and hpccm unless named. ``--index URL`` is a page of links to the framework's wheels.
The import is the median of five, in processor seconds, of a container that may write nothing. Every form starts
from the same base and installs the same requirement without a build cache, mounted ones included, so that only the
form differs. The last line compares our image with the sum of its wheels, unpacked, and the bare base. Where bases are
stand-ins (label dev.envcheck.standin) the output says so: their own sizes are then not those of the public images.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from compat.build import build_image
from compat.dockerfile import Settings, write
from compat.plan import BaseImage, Plan, PlannedBuild

ROOT = Path(__file__).parents[1]
_VENV = "RUN python3 -m venv /opt/venv && /opt/venv/bin/pip install --no-cache-dir"

OTHERS = {
    # What cog's generator comes to for a base of its own choice (replicate/cog, pkg/dockerfile/standard_generator.go at
    # commit 6110c912): one stage as root, pip through uv, its own server beside the framework. tini is Debian's.
    "cog": """FROM {base}
RUN apt-get update && apt-get install -y --no-install-recommends curl tini && rm -rf /var/lib/apt/lists/*
ENTRYPOINT ["tini", "--"]
COPY --from={uv} /uv /usr/local/bin/
ENV UV_PYTHON=/usr/local/bin/python
RUN --mount=type=cache,target=/root/.cache/pip uv run pip install --cache-dir /root/.cache/pip {req}
RUN uv pip install --no-cache cog
WORKDIR /src
""",
    # the commonest one by hand, with the usual advice followed
    "hand": "FROM {base}\n" + _VENV + " {req}\n",
    # a compiler in case, as devel-based generators have it in effect
    "tools": "FROM {base}\nRUN apt-get update && apt-get install -y build-essential git curl\n" + _VENV + " {req}\n",
}


def hpccm(base: str, wanted: str) -> str:
    """What NVIDIA's HPC Container Maker writes for a base and a requirement; empty where it is not installed."""
    if not shutil.which("hpccm"):
        print("hpccm is not installed: left out", file=sys.stderr)
        return ""
    recipe = f"Stage0 += baseimage(image={base!r})\nStage0 += pip(packages={wanted.split()!r}, pip='pip3')\n"
    with tempfile.NamedTemporaryFile("w", suffix=".py") as held:
        held.write(recipe)
        held.flush()
        return subprocess.run(["hpccm", "--recipe", held.name], capture_output=True, text=True, check=True).stdout


def written(forms: list[str], plan: Plan, wanted: str) -> dict[str, str]:
    """The Dockerfile of each form."""
    base = plan.base_image.image if plan.base_image else ""
    uv = re.findall(r'"(\S+/uv:[\d.]+)"', (ROOT / "dockerfiles" / "_uv.j2").read_text())[0]
    ours = {"plain": Settings(), "factory": Settings(form="factory"), "bare": Settings(bytecode=False)}
    texts = {name: write(plan, ours[name]) for name in forms if name in ours}
    texts |= {name: OTHERS[name].format(base=base, req=wanted, uv=uv) for name in forms if name in OTHERS}
    return texts | ({"hpccm": text} if "hpccm" in forms and (text := hpccm(base, wanted)) else {})


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
    words = ["docker", "builder", "prune", "--all", "--force", "--filter", "type=exec.cachemount"]
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    done = build_image(text, tag=tag, context=folder, network="host", no_cache=True)
    if not done.ok:
        raise SystemExit(f"{tag}: {done.step}\n{done.why}")
    return size(tag), done.seconds


def import_seconds(image: str, module: str) -> str:
    """Processor seconds that importing a module takes in a fresh container as its own user, or that it cannot."""
    program = f"import resource, {module}; u = resource.getrusage(resource.RUSAGE_SELF); print(u.ru_utime + u.ru_stime)"
    words = ["docker", "run", "--rm", "--network", "none", "--read-only", "--tmpfs", "/tmp", image]  # noqa: S108 - inside the container
    pythons = ["sh", "-c", '[ -x /opt/venv/bin/python ] && exec /opt/venv/bin/python -c "$0"; exec python3 -c "$0"']
    said = [subprocess.run([*words, *pythons, program], capture_output=True, text=True, check=False) for _ in range(5)]
    if failed := [done.stderr.strip().split("\n")[-1] for done in said if done.returncode]:
        return f"fails: {failed[0]}"
    return f"{sorted(float(done.stdout.split()[-1]) for done in said)[2]:5.2f} s"


def main() -> None:
    """Build every form and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--framework", default="jax==0.10.2")
    parser.add_argument("--module", default="", help="what is imported; the framework's name if left out")
    parser.add_argument("--base", default="python:3.11-slim")
    parser.add_argument("--python", default="3.11")
    parser.add_argument("--index", default="", help="where the framework comes from; the default index if left out")
    parser.add_argument("forms", nargs="*", default=["plain", "factory", "cog", "hpccm"])
    options = parser.parse_args()
    name, _, version = options.framework.partition("==")
    module = options.module or name
    build = PlannedBuild(name=name, version=version, runtime="cpu", module=module, index=options.index, links=True)
    base = BaseImage(image=options.base, os="debian12", python=options.python, python_from="image")
    plan = Plan(runtime="cpu", python=options.python, base_image=base, builds=(build,))
    wanted = f"--find-links {options.index} {options.framework}" if options.index else options.framework
    print(f"{options.framework} on {options.base}{' (a stand-in)' if is_standin(options.base) else ''}")
    first = 0
    for form, text in written(options.forms, plan, wanted).items():
        tag = f"envcheck-bench/{form}"
        with tempfile.TemporaryDirectory() as folder:
            count, seconds = built(text, tag, folder)
        first = first or count
        busy = import_seconds(tag, module)
        print(f"{form:24} {count / 1e6:9.1f} MB {seconds:7.1f} s {count / first:6.2f} x  import {busy}", flush=True)
        subprocess.run(["docker", "rmi", "-f", tag], check=False, stdout=subprocess.DEVNULL)
    floor = size(options.base) + unpacked(wanted.split(), options.python)
    print(f"{'base plus its wheels':24} {floor / 1e6:9.1f} MB {'':9} {floor / first:6.2f} x")


if __name__ == "__main__":
    main()
