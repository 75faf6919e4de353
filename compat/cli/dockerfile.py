"""``envcheck dockerfile``: the Dockerfile of a plan."""

from typing import Annotated

import typer

from compat.cli.options import ImageOptions, Knowledge, PlatformOptions, Speech, TargetOptions, Texts


def command(
    framework: Annotated[
        Texts, typer.Option("--framework", metavar="REQ", help="What to install, torch==2.0.1 (repeatable).")
    ] = None,
    *,
    ignore_file: Annotated[
        str, typer.Option(metavar="FILE", help="Write a .dockerignore too: nothing but the files copied travels.")
    ] = "",
    target: TargetOptions,
    platforms: PlatformOptions,
    image: ImageOptions,
    speech: Speech,
    knowledge: Knowledge,
) -> int:
    """Write a Dockerfile that fits: the base that the build needs, Python, exact pins from the right index.

    Example: envcheck dockerfile --framework torch==2.0.1 --gpu A100 --output Dockerfile

    Example: envcheck dockerfile --framework jax --cpu --platform linux/amd64,linux/arm64
    """
    from compat import dockerfile
    from compat.app.files import write_atomically
    from compat.app.images import settings
    from compat.app.knowledge import load
    from compat.app.plans import outdated
    from compat.app.platforms import planned_for

    wishes, matrix = settings(image.given(), config=image.config), load(knowledge.matrix)
    asked = target.target("dockerfile", "--framework", image, speech, knowledge)
    plan = planned_for(platforms.names(), tuple(framework or ()), asked, matrix)
    speech.say(dockerfile.write(plan, wishes))
    if ignore_file:
        write_atomically(ignore_file, dockerfile.ignore_file(wishes))
    for condition in (*plan.conditions, *filter(None, [outdated(plan, matrix)])):
        speech.note(f"note: {condition}")
    return 0
