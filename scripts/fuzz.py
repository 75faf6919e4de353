"""Throw damaged and hostile input at everything that reads what strangers wrote, and keep what breaks it.

    python scripts/fuzz.py --seconds 600 --seed 1

Subjects: host files, facts of any value before every rule, recorded machines whose files and answers are damaged,
pasted reports, logs, image archives and layouts. A fault is an exception other than those of ``compat.errors``, more
than the allowed processor seconds for one input, or a time that grows faster than the input does. Each round has a
number from which it can be made again (``--only SUBJECT --round N``). The last line reads ``rounds 4810 faults 0``.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import gzip
import io
import json
import random
import signal
import sys
import tarfile
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from compat import matrix, rules
from compat.app import hosts
from compat.app.doctor import Question, examine
from compat.detect import detect, image, layers
from compat.errors import EnvcheckError
from compat.facts import CATALOGUE, Build, Fact, Gpu, Host, Library, Unknown, dump, load
from compat.reading import read as read_report

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).parent.parent
KNOWN = matrix.matrix()
SECONDS = 5.0  # of processor time for one input of at most a few hundred KiB
HANGS = 60  # seconds after which a round is given up

ODD = ["", "\0", "-1", "0", "9" * 4000, "1e999", "..", "../../etc/passwd", "\ud7ff", "é" * 50, "$(reboot)", "{branch}"]
ODD += [
    "%s%n",
    "a" * 5000,
    "1.2.3",
    "550.54.14",
    "sm_90a",
    "cuda12.8",
    "\x1b[2J",
    "[",
    "((((",
    "2.9.1+cu128",
    "\r\n" * 9,
]
FILES = sorted([*ROOT.glob("tests/reading/*/*.txt"), *ROOT.glob("tests/**/*.log")])
TEXTS = [path.read_text("utf-8", "replace") for path in FILES]
CODE = [ast.parse(path.read_text("utf-8")) for path in sorted(ROOT.glob("tests/rules/*.py"))]
SIGNALS = [
    node.value
    for tree in CODE
    for node in ast.walk(tree)
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) > 20
]


def damaged(text: str, rng: random.Random) -> str:
    """A text with a few cuts, repeats, swaps and strange pieces."""
    for _ in range(rng.randint(1, 6)):
        at, to = sorted((rng.randint(0, len(text)), rng.randint(0, len(text))))
        piece = text[at : min(to, at + 2000)]
        match rng.randint(0, 5):
            case 0:
                text = text[:at] + text[to:] if to - at < 5000 else text[:to]
            case 1:
                text = text[:at] + piece * rng.randint(2, 8) + text[at:]
            case 2:
                text = text[:at] + rng.choice(ODD) + text[at:]
            case 3:
                lines = text.splitlines()
                rng.shuffle(lines)
                text = "\n".join(lines)
            case 4:
                text = (
                    text[:at]
                    + "".join(chr(rng.choice((rng.randint(0, 127), rng.randint(0, 0xD7FF)))) for _ in piece[:40])
                    + text[at:]
                )
            case _:
                text = text.replace(rng.choice(text) if text else "a", rng.choice(ODD[:6]), rng.randint(1, 20))
    return text[:400_000]


def value(rng: random.Random, depth: int = 0) -> Any:
    """Any value that JSON can hold."""
    match rng.randint(0, 8 if depth < 3 else 5):
        case 0:
            return rng.choice(ODD)
        case 1:
            return rng.choice((0, 1, -1, 2**63, 10**30, 0.5, float("inf"), float("nan")))
        case 2:
            return rng.choice((True, False, None))
        case 3 | 4 | 5:
            return rng.choice(
                ("linux", "docker", "ubuntu22.04", "12.4", "torch", "nvidia", "running", "550.54.14", "x86_64")
            )
        case 6 | 7:
            return [value(rng, depth + 1) for _ in range(rng.randint(0, 4))]
        case _:
            return {
                str(rng.choice((*ODD, "torch", "name", "target"))): value(rng, depth + 1)
                for _ in range(rng.randint(0, 4))
            }


def a_host_file(rng: random.Random, folder: Path) -> None:
    """A host document whose keys and values are anything, through the whole doctor."""
    document = {
        **EXAMPLE,
        **{rng.choice([*CATALOGUE, "schema", "read", "unknown"]): value(rng) for _ in range(rng.randint(1, 12))},
    }
    path = folder / "host.json"
    text = json.dumps(document)
    path.write_text(damaged(text, rng) if rng.random() < 0.3 else text, "utf-8", "replace")
    examine(
        Question(
            host=str(path), error=rng.choice(["", *SIGNALS]), wishes=("torch==2.9.1",) if rng.random() < 0.1 else ()
        ),
        KNOWN,
    )


def some_facts(rng: random.Random, _folder: Path) -> None:
    """Facts of the right kind and of any value before every rule; what is printed reads back to the same report."""
    host = Host(
        {name: reading(rng, CATALOGUE[name].kind) for name in rng.sample(sorted(CATALOGUE), rng.randint(1, 40))}
    )
    error = damaged(rng.choice(SIGNALS), rng) if rng.random() < 0.5 else ""
    rules.judge(hosts.named(host, KNOWN), KNOWN, error=error)
    with contextlib.suppress(EnvcheckError):  # words where versions belong are refused, as they should be
        load(json.loads(json.dumps(dump(host))), "host.json")


def reading(rng: random.Random, kind: str) -> Any:
    """A reading of a kind of fact."""

    def word() -> str:
        return rng.choice(
            (*ODD, "linux", "wsl2", "docker", "ubuntu22.04", "sm_90", "12.8", "550.54.14", "cp311", "nvidia")
        )

    def words() -> tuple[str, ...]:
        return tuple(word() for _ in range(rng.randint(0, 3)))

    def number() -> int:
        return rng.choice((0, 1, -1, 7, 64, 1 << 40, -(10**15)))

    made: dict[str, Callable[[], Any]] = {
        "text": word,
        "version": word,
        "number": number,
        "flag": lambda: rng.random() < 0.5,
        "texts": words,
        "table": lambda: {word(): word() for _ in range(3)} | {"torch": word(), "CUDA_VISIBLE_DEVICES": word()},
        "tables": lambda: {rng.choice(("torch", "jax", word())): words() for _ in range(2)},
        "gpus": lambda: tuple(
            Gpu(
                name=word(),
                vendor=rng.choice(("nvidia", "amd", "intel", "")),
                target=word(),
                pci=word(),
                bus=word(),
                driver=word(),
                memory_mib=number(),
                mig=word(),
                lost=rng.random() < 0.2,
            )
            for _ in range(rng.randint(0, 4))
        ),
        "builds": lambda: {
            rng.choice(("torch", "flash-attn", word())): Build(
                runtime=word(), kernels=words(), torch=word(), python_tag=word(), cudnn=word(), path=word()
            )
            for _ in range(2)
        },
        "libraries": lambda: tuple(
            Library(
                name=rng.choice(("libcuda.so.1", "libcudnn.so.9", word())),
                version=word(),
                path=word(),
                origin=word(),
                loaded=rng.random() < 0.5,
            )
            for _ in range(3)
        ),
    }
    return rng.choice((Fact(None, "fuzz"), Unknown(word(), "fuzz"), *(Fact(made[kind](), "fuzz") for _ in range(4))))


def a_machine(rng: random.Random, _folder: Path) -> None:
    """A recorded machine whose files, links, answers and commands are damaged, through detectors and rules."""
    said = json.loads(json.dumps(rng.choice(MACHINES)))
    for table in ("files", "commands", "env"):
        for key in rng.sample(sorted(said.get(table, {})), min(3, len(said.get(table, {})))):
            if isinstance(said[table][key], str):
                said[table][key] = damaged(said[table][key], rng)
    for name in said.get("answers", {}):
        if rng.random() < 0.5:
            said["answers"][name] = {
                **said["answers"][name],
                rng.choice(("gpus", "driver", "cuda", "init", "version", "peers")): value(rng),
            }
    if rng.random() < 0.2 and said.get("links"):
        one, other = rng.choice(sorted(said["links"])), rng.choice(sorted(said["links"]))
        said["links"][one], said["links"][other] = other, one  # circles
    machine = replay.Recording(said)
    host = hosts.named(detect(root=machine, run=machine.run), KNOWN)
    json.dumps(dump(host))
    rules.judge(host, KNOWN)


def a_report(rng: random.Random, _folder: Path) -> None:
    """A damaged report, or several of them in one text."""
    text = damaged("\n".join(rng.sample(TEXTS, rng.randint(1, 2))), rng)
    found = read_report(text)
    rules.judge(hosts.named(found.host, KNOWN), KNOWN, error=text)


def a_log(rng: random.Random, folder: Path) -> None:
    """A long log of known messages among noise, and the same four times as long: time must not grow faster."""
    pieces = [damaged(rng.choice(SIGNALS), rng)[:4000] for _ in range(rng.randint(1, 20))]
    text = ("\n".join(pieces) + "\n") * rng.randint(1, 40)
    text = text[:300_000]
    first = spent(lambda: rules.judge(Host(), KNOWN, error=text))
    longer = spent(lambda: rules.judge(Host(), KNOWN, error=text * 4))
    if longer > 1.0 and longer > 8 * first:
        raise AssertionError(f"{len(text)} characters take {first:.2f} s, four times as many {longer:.2f} s")
    (folder / "log").write_text(text, "utf-8", "replace")
    examine(Question(host=str(ROOT / "docs/example-host.toml"), log=str(folder / "log")), KNOWN)


NAMES = [
    "etc/os-release",
    "usr/lib/os-release",
    "../../../etc/passwd",
    "/abs",
    "a/../../b",
    "opt/venv/pyvenv.cfg",
    ".wh..wh..opq",
]
NAMES += [
    "usr/.wh.lib",
    "opt/venv/bin/python3",
    "usr/lib/x86_64-linux-gnu/libc.so.6",
    "a" * 300,
    "\n",
    ".",
    "",
    "x/" * 400 + "y",
]
NAMES += [
    "opt/venv/lib/python3.10/site-packages/torch-2.9.1.dist-info/METADATA",
    "etc/ld.so.cache",
    "etc/ld.so.conf.d/a.conf",
]
NAMES += ["usr/local/cuda-12.4/version.json", "opt/conda/conda-meta/pytorch-2.1.json", "usr/include/cudnn_version.h"]


def a_layer(rng: random.Random) -> bytes:
    """A change set with paths that escape, links in circles, devices, repeats and sizes that lie."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=rng.choice((tarfile.PAX_FORMAT, tarfile.GNU_FORMAT))) as tar:
        for _ in range(rng.randint(0, 30)):
            info = tarfile.TarInfo(rng.choice(NAMES))
            info.type = rng.choice(
                (tarfile.REGTYPE,) * 5
                + (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE)
            )
            info.linkname = rng.choice(NAMES) if info.type in {tarfile.SYMTYPE, tarfile.LNKTYPE} else ""
            content = (rng.choice(TEXTS)[:3000] if rng.random() < 0.5 else rng.choice(ODD)).encode("utf-8", "replace")
            info.size = len(content) if info.type == tarfile.REGTYPE else 0
            tar.addfile(info, io.BytesIO(content))
    raw = bytearray(out.getvalue())
    if rng.random() < 0.4:
        for _ in range(rng.randint(1, 20)):
            raw[rng.randrange(len(raw))] = rng.randrange(256)
    done = bytes(raw[: rng.randint(0, len(raw))] if rng.random() < 0.2 else raw)
    return rng.choice(
        (done, gzip.compress(done), b"\x28\xb5\x2f\xfd" + done, gzip.compress(done)[: rng.randint(1, 400)])
    )


def an_image(rng: random.Random, folder: Path) -> None:
    """An archive or layout whose manifests name what is not there, other digests, or each other."""
    config = {
        "architecture": rng.choice(("amd64", "arm64", 5, None)),
        "config": {"Env": value(rng), "Labels": value(rng), "WorkingDir": value(rng)},
    }
    parts = {f"blobs/sha256/{n:064x}": a_layer(rng) for n in range(rng.randint(0, 3))}
    digests = [name.replace("blobs/sha256/", "sha256:") for name in parts] + [rng.choice(ODD)]
    parts["config.json"] = parts["blobs/sha256/c"] = json.dumps(config).encode()
    layered = {"config": {"digest": "sha256:c"}, "layers": [{"digest": each} for each in digests] + [value(rng)]}
    parts["blobs/sha256/m"] = json.dumps(layered).encode()
    parts["index.json"] = json.dumps(
        {"manifests": [{"digest": rng.choice(("sha256:m", "sha256:i"))}, value(rng)]}
    ).encode()
    parts["blobs/sha256/i"] = json.dumps({"manifests": [{"digest": "sha256:i"}]}).encode()
    if rng.random() < 0.6:
        parts["manifest.json"] = json.dumps(
            rng.choice(([{"Config": "config.json", "Layers": [*parts, value(rng)]}], value(rng)))
        ).encode()
    if rng.random() < 0.3:
        name = rng.choice(sorted(parts))
        parts[name] = damaged(parts[name].decode("latin-1"), rng).encode("utf-8", "replace")
    path = folder / "image"
    if rng.random() < 0.4:
        for name, content in parts.items():
            (path / name).parent.mkdir(parents=True, exist_ok=True)
            (path / name).write_bytes(content)
    else:
        with tarfile.open(path, "w") as tar:
            for name, content in rng.sample(sorted(parts.items()), len(parts)):
                info = tarfile.TarInfo(name)
                info.size = len(content)
                tar.addfile(info, io.BytesIO(content))
        if rng.random() < 0.3:
            raw = bytearray(path.read_bytes())
            for _ in range(rng.randint(1, 30)):
                raw[rng.randrange(len(raw))] = rng.randrange(256)
            path.write_bytes(raw[: rng.randint(1, len(raw))])
    found = image.facts(layers.read(str(path), "x86_64"), str(path))
    rules.judge(found, KNOWN)


SUBJECTS: dict[str, Callable[[random.Random, Path], None]] = {
    "host": a_host_file,
    "facts": some_facts,
    "machine": a_machine,
    "report": a_report,
    "log": a_log,
    "image": an_image,
}


def spent(work: Callable[[], object]) -> float:
    """Processor seconds that some work takes."""
    start = time.process_time()
    work()
    return time.process_time() - start


def fault_of(subject: str, number: int, seed: int) -> str:
    """What went wrong in one round; empty if nothing did."""
    rng = random.Random(f"{seed}:{subject}:{number}")
    signal.alarm(HANGS)
    start = time.process_time()
    try:
        with tempfile.TemporaryDirectory() as folder:
            SUBJECTS[subject](rng, Path(folder))
    except EnvcheckError:
        pass
    except Exception:  # noqa: BLE001 - any other exception is what is looked for
        return traceback.format_exc()
    finally:
        signal.alarm(0)
    took = time.process_time() - start
    return f"{took:.1f} s of processor time" if took > SECONDS * (3 if subject == "log" else 1) else ""


def rounds(arguments: argparse.Namespace) -> Iterator[tuple[str, int]]:
    """Subject and number of each round, until the time is over."""
    if arguments.round is not None:
        yield arguments.only, arguments.round
        return
    end = time.monotonic() + arguments.seconds
    number = 0
    while time.monotonic() < end:
        for subject in [arguments.only] if arguments.only else SUBJECTS:
            yield subject, number
        number += 1


def _hung(*_: object) -> None:
    raise TimeoutError(f"no end after {HANGS} s")


def main() -> int:
    """Run rounds and print each fault; the exit status is 1 if there was one."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=SUBJECTS)
    parser.add_argument("--round", type=int)
    arguments = parser.parse_args()
    signal.signal(signal.SIGALRM, _hung)
    done, faults = Counter[str](), 0
    for subject, number in rounds(arguments):
        done[subject] += 1
        if fault := fault_of(subject, number, arguments.seed):
            faults += 1
            print(f"--- {subject} --seed {arguments.seed} --only {subject} --round {number}\n{fault}", flush=True)
    print(" ".join(f"{name} {count}" for name, count in done.items()))
    print(f"rounds {done.total()} faults {faults}")
    return bool(faults)


sys.path.insert(0, str(ROOT / "tests" / "machines"))
import replay  # noqa: E402 - a recorded machine is replayed by the tests' own code

EXAMPLE = replay.document(ROOT / "docs" / "example-host.toml")
MACHINES = [replay.document(path) for path in sorted((ROOT / "tests" / "machines").glob("*.toml"))]

if __name__ == "__main__":
    sys.exit(main())
