"""``envcheck dockerfile``: the Dockerfile of a plan."""

from typing import Annotated

import typer

from compat.cli.options import (
    Formats,
    ImageOptions,
    IndexOptions,
    Overlay,
    PlatformOptions,
    Speech,
    TargetOptions,
    Texts,
    WishOptions,
    requested,
)


def command(
    requirements: Annotated[Texts, requested("What to install, such as torch==2.0.1.")] = None,
    *,
    ignore_file: Annotated[
        str, typer.Option(metavar="FILE", help="Write a .dockerignore too: nothing but the files copied travels.")
    ] = "",
    wishing: WishOptions,
    index: IndexOptions,
    target: TargetOptions,
    platforms: PlatformOptions,
    image: ImageOptions,
    speech: Annotated[Speech, Formats("text", "compose", "devcontainer", "apptainer")],
    overlay: Overlay,
) -> int:
    """Write a Dockerfile that fits: the base that the build needs, Python, exact pins from the right index.

    Example: envcheck dockerfile torch==2.0.1 --gpu A100 --output Dockerfile

    Example: envcheck dockerfile jax --cpu --platform linux/amd64,linux/arm64

    Example: envcheck dockerfile torch --gpu MI300X --format apptainer --output image.def
    """
    from compat import dockerfile
    from compat.app.files import demand_ours, write_atomically
    from compat.app.images import settings
    from compat.app.matrices import load
    from compat.app.plans import outdated
    from compat.app.platforms import planned_for

    matrix, wishes = index.wanted(wishing, requirements, load(overlay.matrix), speech, conda=True)
    wanted = settings(image.given(wishes), config=image.config)
    asked = target.target("dockerfile", index, image, speech, overlay)
    plan = planned_for(platforms.names(), wishes.known, asked, matrix)
    demand_ours(speech.output, "--output")
    demand_ours(ignore_file, "--ignore-file")
    if speech.format == "text":
        speech.say(dockerfile.write(plan, wanted))
    else:
        from compat.dockerfile.elsewhere import WRITERS

        speech.say(WRITERS[speech.format](plan, wanted))
    if ignore_file:
        write_atomically(ignore_file, dockerfile.ignore_file(wanted))
    for condition in (*plan.conditions, *filter(None, [outdated(plan, matrix)]), *dockerfile.notes(plan, wanted)):
        speech.note(f"note: {condition}")
    return 0
