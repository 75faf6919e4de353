"""``envcheck verify``: the probes, run in a container of an image."""

from typing import TYPE_CHECKING, Annotated, Final

import typer

from compat.cli.options import Formats, Speech, Texts, finite
from compat.errors import InputError
from compat.lazy import dataclass

if TYPE_CHECKING:
    from compat.build import Verification

FORMATS = Formats("text", "json", "junit", "markdown", "github", "sarif", "html")
_MODULES: Final = ("torch", "tensorflow", "jax", "paddle")


@dataclass(frozen=True, slots=True)
class ProbeOptions:
    """What to probe, and for how long."""

    level: Annotated[str, typer.Option(metavar="LEVEL", help="driver, framework, bench or stress.")] = "framework"
    framework: Annotated[
        Texts,
        typer.Option(
            "--framework",
            metavar="MODULE",
            help="torch, tensorflow, jax or paddle (repeatable).  [default: those installed]",
        ),
    ] = None
    expect: Annotated[str, typer.Option(metavar="RUNTIME", help="Planned runtime, such as cuda12.6 or cpu.")] = ""
    timeout: Annotated[
        float, typer.Option(metavar="SECONDS", min=1, callback=finite, help="Deadline of the whole run.")
    ] = 600.0
    seconds: Annotated[
        float, typer.Option(metavar="SECONDS", min=1, callback=finite, help="Length of the stress level.")
    ] = 60.0
    contribute: Annotated[
        str, typer.Option(metavar="FILE", help="Write what the run proved of its builds, as matrix rows to review.")
    ] = ""

    def modules(self) -> tuple[str, ...]:
        """The modules to test; empty for those installed.

        Raises:
            InputError: for one that no probe tests.
        """
        for name in self.framework or ():
            if name not in _MODULES:
                raise InputError(f"no probe tests {name!r}", where="--framework", expected=", ".join(_MODULES))
        return tuple(self.framework or ())

    def runtime(self) -> str:
        """The runtime expected; empty to take the plan's.

        Raises:
            InputError: if it is none.
        """
        from re import fullmatch

        if not fullmatch(r"(cuda|rocm)[0-9]{1,3}(\.[0-9]{1,3}){0,2}|cpu|xpu|metal|tpu|", self.expect):
            raise InputError(f"runtime {self.expect!r}", where="--expect", expected="cuda12.6, rocm6.4 or cpu")
        return self.expect


def command(
    image: Annotated[str, typer.Argument(metavar="IMAGE", help="Name or id of a local image.")] = "",
    *,
    clean: Annotated[bool, typer.Option("--clean", help="Remove what killed runs have left, and do no more.")] = False,
    gpus: Annotated[str, typer.Option(metavar="GPUS", help="all, none, or device ids with commas.")] = "all",
    plan: Annotated[
        str, typer.Option(metavar="FILE", help="Stored plan to prove.  [default: the image's own label]")
    ] = "",
    platform: Annotated[
        str,
        typer.Option(metavar="OS/ARCH", help="Which image of a name that has several.  [default: the engine's own]"),
    ] = "",
    memory: Annotated[int, typer.Option(metavar="MIB", min=64, help="Memory limit of the container.")] = 8192,
    probing: ProbeOptions,
    speech: Annotated[Speech, FORMATS],
) -> int:
    """Prove inside a container of an image that it computes, and correctly, on the device it was planned for.

    Example: envcheck verify mine:1 --level framework

    Example: envcheck verify mine:1 --plan plan.json
    """
    from compat import build
    from compat.app.platforms import demanded
    from compat.app.stored import stored

    if clean:
        removed = build.clean()
        speech.say("\n".join(f"removed {name}" for name in removed) or "nothing was left")
        return 0
    if not image:
        raise InputError("no image was named", expected="envcheck verify IMAGE, or --clean")
    done = build.verify(
        image,
        level=probing.level,
        gpus=gpus,
        memory=memory * 1024 * 1024,
        expect=probing.runtime(),
        frameworks=probing.modules(),
        plan=stored(plan).plan if plan else None,
        platform=demanded(platform) if platform else "",
        timeout=probing.timeout,
        seconds=probing.seconds,
    )
    speech.say(told(done, speech))
    contribute(done, probing.contribute, speech)
    return outcome(done)


def contribute(done: "Verification", file: str, speech: Speech) -> None:
    """Write the rows that a run proved, where a file is named for them; say so if it proved none."""
    if not file:
        return
    from compat.app import contribution
    from compat.app.files import write_atomically
    from compat.matrix import matrix

    if found := contribution.text(done, matrix()):
        write_atomically(file, found)
    else:
        speech.note(f"nothing was written to {file}: no framework was imported without a failed probe")


def outcome(done: "Verification") -> int:
    """The exit code: 1 for a failure; 3 where nothing that the level promises was run, for then it is not proved."""
    if not done.ok:
        return 1
    loads = done.level in {"bench", "stress"}
    ran = [item for item in done.probes if item.status != "skip" and (not loads or item.name.startswith(done.level))]
    return 0 if ran else 3


def told(done: "Verification", speech: Speech, *, title: str = "envcheck verify") -> str:
    """A verification in the format asked for; the title is for people."""
    from compat import render
    from compat.build.outcome import dump
    from compat.render import document, verification

    body = dump(done)
    if speech.format == "json":
        return document.encode(body)
    if speech.format == "text":
        return verification.text(body, done.findings, title=title, pen=speech.pen())
    return render.report(verification.as_report(done.findings, body), verification.NOWHERE, speech.format)
