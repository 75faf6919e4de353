"""The factory form of a Dockerfile under the names of the plain one, for the tests that are about it."""

from functools import partial

from compat import dockerfile

Settings = partial(dockerfile.Settings, form="factory")


def write(plan, settings=Settings()):  # noqa: B008 - frozen
    return dockerfile.write(plan, settings)
