"""``envcheck build``: the image of a plan."""

from typing import Annotated, Any

import typer

from compat.cli.options import (
    ImageOptions,
    IndexOptions,
    Overlay,
    PlatformOptions,
    Speech,
    TargetOptions,
    Texts,
    WishOptions,
    finite,
    requested,
)
from compat.lazy import dataclass


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """How the engine builds, and what becomes of the image; most are handed on to it as they are."""

    tag: Annotated[str, typer.Option(metavar="NAME", help="Name of the image.")] = "envcheck:latest"
    context: Annotated[str, typer.Option(metavar="DIR", help="Folder whose files the Dockerfile may copy.")] = "."
    push: Annotated[bool, typer.Option("--push", help="Push the image to its registry.")] = False
    build_arg: Annotated[Texts, typer.Option(metavar="NAME=VALUE", help="Build argument (repeatable).")] = None
    secret: Annotated[Texts, typer.Option(metavar="ID=FILE", help="Secret mounted for single steps (repeatable).")] = (
        None
    )
    network: Annotated[str, typer.Option(metavar="NET", help="Network of the build's steps.")] = ""
    cache_from: Annotated[Texts, typer.Option(metavar="SPEC", help="Cache to import (repeatable).")] = None
    cache_to: Annotated[Texts, typer.Option(metavar="SPEC", help="Cache to export (repeatable).")] = None
    no_cache: Annotated[bool, typer.Option("--no-cache", help="Build every step anew.")] = False
    sbom: Annotated[bool, typer.Option("--sbom", help="Attest a bill of materials.")] = False
    provenance: Annotated[bool, typer.Option("--provenance", help="Attest the build's origin.")] = False
    attest: Annotated[
        Texts, typer.Option(metavar="SPEC", help="As buildx: type=sbom,generator=IMAGE (repeatable).")
    ] = None
    timeout: Annotated[
        float, typer.Option(metavar="SECONDS", min=1, callback=finite, help="Deadline of the build.")
    ] = 7200.0

    def settings(self) -> dict[str, Any]:
        """The same as arguments of :func:`compat.build.build_image`.

        Raises:
            InputError: for a build argument or secret that is no pair.
        """
        from compat.app.images import pairs

        same = ("tag", "context", "push", "network", "no_cache", "sbom", "provenance", "timeout")
        return {name: getattr(self, name) for name in same} | {
            "build_args": pairs(self.build_arg, "--build-arg"),
            "secrets": pairs(self.secret, "--secret", "ID=FILE"),
            "cache_from": tuple(self.cache_from or ()),
            "cache_to": tuple(self.cache_to or ()),
            "attestations": tuple(self.attest or ()),
        }


def command(
    requirements: Annotated[Texts, requested("What to install, such as torch==2.0.1.")] = None,
    *,
    engine: EngineOptions,
    wishing: WishOptions,
    index: IndexOptions,
    target: TargetOptions,
    platforms: PlatformOptions,
    image: ImageOptions,
    speech: Speech,
    overlay: Overlay,
) -> int:
    """Resolve, write the Dockerfile and build it; on failure name the step and keep the log.

    Example: envcheck build torch==2.0.1 --gpu A100 --tag mine:1

    Example: envcheck build jax --cpu --platform linux/amd64,linux/arm64 --tag mine:1
    """
    from compat import build, dockerfile
    from compat.app.images import settings
    from compat.app.matrices import load
    from compat.app.plans import outdated
    from compat.app.platforms import foreign, planned_for

    wished = engine.settings()
    matrix, wishes = index.wanted(wishing, requirements, load(overlay.matrix), speech, conda=True)
    wanted = settings(image.given(wishes), config=image.config)
    asked = target.target("build", engine, index, image, speech, overlay)
    names = platforms.names()
    plan = planned_for(names, wishes.known, asked, matrix)
    if changed := outdated(plan, matrix):
        speech.note(f"note: {changed}")
    for lacking in dockerfile.notes(plan, wanted):
        speech.note(f"note: {lacking}")
    text = dockerfile.write(plan, wanted)
    places = names or foreign(plan)
    done = build.build_image(
        text, builder=wanted.builder, platforms=places, labels=dockerfile.labels(plan), hear=speech.note, **wished
    )
    if done.ok:
        speech.say(f"built {done.tag} in {done.seconds:.0f} s; next: envcheck verify {done.tag}")
        return 0
    return failed(done.step, done.why, done.log, speech)


def failed(step: str, why: str, log: str, speech: Speech) -> int:
    """Tell which step failed, keep the whole log in a file, and name the cause where a message in it is known."""
    from compat.app.logs import cause, keep
    from compat.app.matrices import load

    place = keep(log)
    speech.note(f"\nfailed at: {step or 'before the first step'}\n{why}\nthe whole log: {place}")
    for line in cause(log, load()):
        speech.note(f"likely: {line}")
    return 1
