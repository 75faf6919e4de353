"""``envcheck fit``: whether a model's weights can lie in a GPU's memory."""

from typing import TYPE_CHECKING, Annotated

import typer

from compat.cli.options import Formats, Overlay, Speech, Texts, gpu_option

if TYPE_CHECKING:
    from compat.app.fitting import Fit
    from compat.render.ink import Ink

_CODES = {"weights fit": 0, "cannot": 1, "unknown": 3}


def command(
    model: Annotated[
        str, typer.Argument(metavar="MODEL", help="A .safetensors, .gguf or .index.json file, or a size: 13.5GiB.")
    ],
    *,
    gpu: Annotated[Texts, gpu_option("GPU, MIG slice or instance type (repeatable).")] = None,
    config: Annotated[str, typer.Option("--config", metavar="FILE", help="The model's config.json.")] = "",
    context: Annotated[
        int, typer.Option("--context", metavar="N", min=0, max=2**31, help="Tokens that a cache is wanted for.")
    ] = 0,
    tensor_parallel: Annotated[
        int, typer.Option("--tensor-parallel", metavar="N", min=1, max=4096, help="Cards that share the weights.")
    ] = 1,
    train: Annotated[bool, typer.Option("--train", help="With gradients and the moments of Adam.")] = False,
    speech: Annotated[Speech, Formats("text", "json")],
    overlay: Overlay,
) -> int:
    """Say whether a model's weights can lie in a GPU's memory: a bound from file headers, and never a promise.

    Example: envcheck fit 15GiB --gpu "RTX 3090"
    """
    from dataclasses import asdict

    from compat.app import caches, fitting
    from compat.app.matrices import load
    from compat.errors import InputError
    from compat.sources.weights import read_config, weigh

    if not gpu:
        raise InputError("no GPU was named", where="--gpu", expected="such as --gpu 'RTX 4090'")
    found = weigh(model)
    matrix = load(overlay.matrix)
    fields = read_config(config) if config else found.config
    places = fitting.rooms(matrix, gpu)
    row = caches.rule(matrix, fields)
    answer = fitting.fit(found, places, fields, context=context, cards=tensor_parallel, train=train, rule=row)
    speech.tell({"schema": "envcheck.fit/1", **asdict(answer)}, lambda pen: _told(answer, pen))
    return _CODES[answer.verdict]


def _told(answer: "Fit", pen: "Ink") -> str:
    """An answer in words."""
    words = {"cannot": "cannot fit", "weights fit": "weights fit", "unknown": "unknown"}[answer.verdict]
    lines = pen.wrap(f"{words}: {answer.why} ({answer.gpu})", "", "  ")
    return "\n".join([*lines, "", *(one for text in answer.conditions for one in pen.wrap(f"- {text}", "  ", "    "))])
