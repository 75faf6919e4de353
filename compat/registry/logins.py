"""Docker's logins: what ``docker login`` wrote down, or a helper keeps, for one registry.

Source: Docker's command line reference, "docker login" (``auths``, ``credsStore``, ``credHelpers``; the protocol of
credential helpers). The Docker SDK reads the same file; it would look for helpers in relative folders of PATH, too.
"""

from __future__ import annotations

import base64
import os
import re
from pathlib import Path
from typing import Any, Final

from compat.errors import CannotCheckError
from compat.inputs import opened
from compat.run import stream, which
from compat.untrusted import json_of, table

_LIMIT: Final = 1 << 20  # bytes of the file
_PATIENCE: Final = 10.0  # seconds for a helper
_HUB: Final = {"docker.io": "https://index.docker.io/v1/"}  # the name that Docker Hub's login has


def login(host: str) -> tuple[str, str] | None:
    """Account and password for a registry; ``None`` where nobody logged in.

    Raises:
        CannotCheckError: if a helper has the login and does not give it.
    """
    config = table(_config())
    name = _HUB.get(host, host)
    helper = table(config.get("credHelpers")).get(host) or config.get("credsStore")
    if isinstance(helper, str) and (found := _helped(helper, name)):
        return found
    auths = table(config.get("auths"))
    entry = table(auths.get(name) or auths.get(f"https://{host}") or auths.get(f"http://{host}"))
    return _decoded(str(entry.get("auth") or ""))


def _config() -> Any:
    """The file, as far as it can be read."""
    folder = os.environ.get("DOCKER_CONFIG") or "~/.docker"
    try:
        with opened(Path(folder).expanduser() / "config.json", patience=1.0) as file:
            return json_of(file.read(_LIMIT))
    except (OSError, RuntimeError):
        return None


def _helped(helper: str, name: str) -> tuple[str, str] | None:
    """What a helper keeps; ``None`` where it keeps none for that registry, an error where it is missing or fails."""
    program = which(f"docker-credential-{helper}") if re.fullmatch(r"[\w.\-]{1,100}", helper) else ""
    if not program:
        raise CannotCheckError(f"docker-credential-{helper[:40]}, which keeps your logins, is not on PATH")
    answer = stream([program, "get"], lambda _: None, text=name, timeout=_PATIENCE)
    found = table(json_of(answer.out))
    if found.get("Username") and found.get("Secret"):
        return str(found["Username"]), str(found["Secret"])
    if answer.why:
        raise CannotCheckError(answer.why)
    return None


def _decoded(auth: str) -> tuple[str, str] | None:
    try:
        account, colon, password = base64.b64decode(auth).decode().partition(":")
    except ValueError:
        return None
    return (account, password) if colon else None
