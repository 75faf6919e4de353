"""A server of the Model Context Protocol: functions of :mod:`compat.api` as tools, findings' pages as resources.

A tool's result is the document of the published schema, which is also its declared output schema. The server uses no
network, changes nothing, and opens no file outside its root. The SDK (the extra ``mcp``) is imported here alone.

Source: the specification's pages on tools and resources, https://modelcontextprotocol.io/specification.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from compat import api, resources
from compat.errors import EnvcheckError, InputError
from compat.lazy import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mcp.server.lowlevel import Server
    from mcp.types import CallToolResult, ReadResourceResult, Resource, Tool

PAGES: Final = "envcheck://findings/"
_TEXT: Final = {"type": "string"}
_TEXTS: Final = {"type": "array", "items": _TEXT}
_WISHES: Final = {"requirements": _TEXTS}
_GPUS: Final = {"gpus": _TEXTS, "driver": _TEXT}


@dataclass(frozen=True, slots=True)
class Service:
    """One tool: what it does, the keys that it takes, those that it must have, and the schema of its answer."""

    does: str
    takes: Mapping[str, Any]
    schema: str
    needs: tuple[str, ...] = ()


SERVICES: Final = {
    "doctor": Service(
        "Find what does not fit on this machine, on that of a host file, or of a report pasted as text.",
        {**_WISHES, "host": _TEXT, "pasted": _TEXT, "error": _TEXT},
        "envcheck.doctor/1",
    ),
    "resolve": Service(
        "Find builds that fit together and a machine (this one by default), or what clashes.",
        {
            **_WISHES,
            **_GPUS,
            **dict.fromkeys(("host", "cuda", "rocm", "python", "os", "arch", "prefer"), _TEXT),
            "cpu": {"type": "boolean"},
        },
        "envcheck.resolve/1",
        ("requirements",),
    ),
    "explain": Service(
        "Explain a finding's code or an error text; without one, list the codes.",
        {"subject": _TEXT},
        "envcheck.explain/1",
    ),
    "inspect": Service(
        "Show which GPU targets a file or an installed package carries, and which GPUs run it.",
        {"subject": _TEXT, "gpus": _TEXTS},
        "envcheck.inspect/1",
        ("subject",),
    ),
    "lint": Service(
        "Find conflicts in Dockerfiles, requirements, compose, project and lock files, or in folders of them.",
        {"files": _TEXTS, **_GPUS, "arch": _TEXT},
        "envcheck.doctor/1",
        ("files",),
    ),
    "matrix": Service(
        "Show what is known of a release, GPU, target, driver or image: torch==2.9.1, RTX 4090, sm_120, cuda 12.8.",
        {"subject": _TEXT},
        "envcheck.matrix/1",
        ("subject",),
    ),
}


def answer(name: str, given: Mapping[str, Any], root: Path) -> dict[str, Any]:
    """The document that a tool answers with.

    ``given``: the arguments, as its schema has them. ``root``: folder outside of which no file is opened.

    Raises:
        EnvcheckError: for what is asked wrongly, and for a path outside of the root.
    """
    keys = dict(given)
    if keys.get("host") and (name, keys["host"]) != ("resolve", "this"):
        inside(keys["host"], root)
    for path in keys.get("files", ()):
        _demand_inside(path, root)
    if name == "inspect":
        _demand_local(keys["subject"], root)
    wishes, subjects = keys.pop("requirements", ()), keys.pop("files", ())
    asked: dict[str, Callable[[], Any]] = {
        "doctor": lambda: api.diagnose(*wishes, **keys),
        "resolve": lambda: api.resolve(*wishes, **keys),
        "explain": lambda: api.explain(**keys),
        "inspect": lambda: api.inspect(**keys),
        "lint": lambda: api.lint(*subjects, **keys),
        "matrix": lambda: api.show(**keys),
    }
    return api.document(asked[name]())


def inside(name: str, root: Path) -> None:
    """Let a path pass if what it leads to lies below the root, links followed.

    Raises:
        InputError: if it lies elsewhere, or is standard input, which carries the protocol.
    """
    path = Path(name)
    if name == "-" or "\0" in name or not path.resolve().is_relative_to(root):
        raise InputError(f"{name[:200]!r} is outside of the root", expected=f"a path below {root}")


def _demand_inside(name: str, root: Path) -> None:
    """Let a file pass, or a folder whose files all lie below the root."""
    from compat.app.folders import expanded

    inside(name, root)
    for file in expanded([name])[0]:
        inside(file, root)


def _demand_local(subject: str, root: Path) -> None:
    """Let a file below the root pass, and the name of an installed package."""
    if "://" in subject or "==" in subject:
        raise InputError("this server uses no network", expected="a file, or the name of an installed package")
    if "/" in subject or Path(subject).exists():
        inside(subject, root)


def page(uri: str) -> str:
    """The text of a finding's page by its address.

    Raises:
        InputError: if there is none.
    """
    from compat.app.explain import known
    from compat.render.explanation import text

    code = uri.removeprefix(PAGES)
    if not uri.startswith(PAGES) or code not in known():
        raise InputError(f"no page {uri[:200]!r}", expected=f"{PAGES}CODE")
    return text(api.explain(code))


def serve(root: Path) -> None:
    """Answer on standard input and output until the client leaves.

    Raises:
        InputError: if the SDK is not installed.
    """
    try:
        import anyio
        from mcp.server.stdio import stdio_server
    except ImportError:
        hint = "pip install 'envcheck-gpu[mcp]'"
        raise InputError("the SDK of the protocol is not installed", expected="the extra mcp", hint=hint) from None

    async def run() -> None:
        server = _server(root.resolve())
        async with stdio_server() as (reader, writer):
            await server.run(reader, writer, server.create_initialization_options())

    anyio.run(run)


def _server(root: Path) -> Server[Any]:
    """The server with its handlers; one question is answered at a time."""
    import anyio
    from mcp import MCPError, types
    from mcp.server.lowlevel import Server

    from compat import __version__
    from compat.app.explain import advice

    tools, pages, turn = _tools(), _pages(), anyio.CapacityLimiter(1)

    async def on_list_tools(_context: Any, _params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=list(tools.values()))

    async def on_call_tool(_context: Any, params: types.CallToolRequestParams) -> CallToolResult:
        return await anyio.to_thread.run_sync(
            _called, tools.get(params.name), params.arguments or {}, root, limiter=turn
        )

    async def on_list_resources(_context: Any, _params: Any) -> types.ListResourcesResult:
        return types.ListResourcesResult(resources=pages)

    async def on_read_resource(_context: Any, params: types.ReadResourceRequestParams) -> ReadResourceResult:
        try:
            contents = types.TextResourceContents(uri=params.uri, mime_type="text/plain", text=page(params.uri))
        except InputError as error:
            raise MCPError(types.INVALID_PARAMS, str(error)) from None
        return types.ReadResourceResult(contents=[contents])

    return Server(
        "envcheck",
        version=__version__,
        instructions=advice(),
        on_list_tools=on_list_tools,
        on_call_tool=on_call_tool,
        on_list_resources=on_list_resources,
        on_read_resource=on_read_resource,
    )


def _called(tool: Tool | None, given: dict[str, Any], root: Path) -> CallToolResult:
    """A tool's answer, or in words what was wrong with the question."""
    from jsonschema import ValidationError, validate
    from mcp.types import CallToolResult, TextContent

    from compat.render.document import encode

    try:
        if tool is None:
            raise InputError("no such tool", expected=", ".join(SERVICES))
        validate(given, tool.input_schema)
        found = answer(tool.name, given, root)
    except (EnvcheckError, ValidationError) as error:
        said = error.message if isinstance(error, ValidationError) else str(error)
        return CallToolResult(content=[TextContent(type="text", text=said)], is_error=True)
    return CallToolResult(content=[TextContent(type="text", text=encode(found))], structured_content=found)


def _tools() -> dict[str, Tool]:
    """The tools by name, each marked as one that only reads and stays on this machine."""
    from mcp.types import Tool, ToolAnnotations

    hints = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)
    return {
        name: Tool(
            name=name,
            description=service.does,
            input_schema={
                "type": "object",
                "properties": dict(service.takes),
                "required": list(service.needs),
                "additionalProperties": False,
            },
            output_schema=_published(service.schema),
            annotations=hints,
        )
        for name, service in SERVICES.items()
    }


def _published(name: str) -> Any:
    """The published schema of a document."""
    path = resources.root() / "docs" / "schemas" / f"{name.replace('/', '-')}.json"
    return json.loads(path.read_text("utf-8"))


def _pages() -> list[Resource]:
    """The page of each finding as a resource."""
    from mcp.types import Resource

    return [
        Resource(uri=PAGES + topic.code, name=topic.code, title=topic.title, mime_type="text/plain")
        for topic in api.explain().topics
    ]
