"""Images that serve a model: what starts, on which port, how it is asked whether it lives, where models are kept."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from compat import versions
from compat.dockerfile.settings import Settings
from compat.lazy import dataclass

if TYPE_CHECKING:
    from compat.plan import Plan

# Where a server keeps the models that it downloads: a volume, since an image is replaced and models are large.
MODELS: Final = "/models"


@dataclass(frozen=True, slots=True)
class Server:
    """One program that serves.

    Attributes:
        program: what starts it; the model and further options follow.
        port: where it listens.
        model: what the name of the model is given to; empty where it stands alone.
    """

    program: tuple[str, ...]
    port: int
    model: str = ""


# vLLM: docs "OpenAI-Compatible Server" (``vllm serve MODEL``, port 8000, GET /health) and docker/Dockerfile; before 0.6
# by its module. SGLang: docs "Launch A Server", docker/compose.yaml (port 30000, GET /health).
_VLLM: Final = Server(("vllm", "serve"), 8000)
_VLLM_BEFORE: Final = Server(("python", "-m", "vllm.entrypoints.openai.api_server"), 8000, "--model ")
_SGLANG: Final = Server(("python", "-m", "sglang.launch_server", "--host", "0.0.0.0"), 30000, "--model-path ")  # noqa: S104 - in a container


def server_of(plan: Plan, settings: Settings) -> Server | None:
    """The server that an image starts; none where nothing of the plan serves, or the person starts something else."""
    found = {build.name: build.version for build in plan.builds}
    usual = Settings()
    if settings.entrypoint or settings.command != usual.command:
        return None
    if "vllm" in found:
        return _VLLM if versions.at_least(found["vllm"].partition("+")[0], "0.6") else _VLLM_BEFORE
    return _SGLANG if "sglang" in found else None


def serving(settings: Settings, server: Server) -> Settings:
    """The settings of an image that serves: its program, which tells its options where no model is named."""
    ask = f"import urllib.request as r; r.urlopen('http://localhost:{server.port}/health', timeout=5)"
    return replace(
        settings,
        entrypoint=server.program,
        command=("--help",),
        healthcheck=settings.healthcheck or ("python", "-c", ask),
        env={"HF_HOME": MODELS, **settings.env},
    )
