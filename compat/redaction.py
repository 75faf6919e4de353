"""What no document shows, known by its shape: credentials, tokens, addresses; and names of people in paths.

A name of a variable may hide what it holds; what a value looks like shows it wherever it stands.

Sources: RFC 3986, user information of an address; RFC 7519 (JWT); RFC 7468 (PEM); the prefixes that GitHub, GitLab,
Hugging Face, NVIDIA, AWS, Google, Slack, npm, Docker, OpenAI, Stripe, SendGrid, Twilio, Databricks and HashiCorp
publish for secret scanners.
"""

from __future__ import annotations

from typing import Final

from compat.lazy import pattern

_HIDDEN: Final = "(hidden)"
_URL: Final = pattern(r"(?i)\b([a-z][a-z0-9+.\-]{1,20}://)[^/\s@\"'<>]{1,500}@")
_TOKEN: Final = pattern(
    r"\b(?:hf_[A-Za-z0-9]{16,}|gh[pousr]_[A-Za-z0-9]{16,}|github_pat_\w{16,}|gl(?:pat|dt|rt)-[\w\-]{16,}|nvapi-[\w\-]{16,}"
    r"|sk-[\w\-]{16,}|xox[abeprs]-[\w\-]{8,}|(?:AKIA|ASIA)[0-9A-Z]{12,}|AIza[\w\-]{20,}|ya29\.[\w\-]{16,}|npm_[A-Za-z0-9]{16,}"
    r"|xapp-[\w\-]{16,}|[rs]k_(?:live|test)_\w{16,}|SG\.[\w\-]{16,}\.[\w\-]{16,}|SK[0-9a-f]{32}|dapi[0-9a-f]{32}"
    r"|[A-Za-z0-9]{14}\.atlasv1\.[\w\-]{16,}|dckr_pat_[\w\-]{16,}|pypi-[\w\-]{16,}|eyJ[\w\-]{8,}\.[\w\-]{8,}(?:\.[\w\-]*)?)"
)
_PEM: Final = pattern(r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[^-]*(?:-----END [A-Z ]{0,40}-----)?")
_NAMED: Final = pattern(
    r"(?i)\b([\w\-]{0,40}(?:password|passwd|pwd|secret|token|api[_\-]?key|access[_\-]?key|account[_\-]?key|signature|sig)[\\\"]{0,4}\s*[=:]\s*[\\\"]{0,4})"
    r"[^\s\"'&;,\\]+"
)
_OPTION: Final = pattern(r"(?i)(--?(?:password|passwd|token|secret|api-?key)\s+)[^\s\"']+")
_BEARER: Final = pattern(r"(?i)\b(bearer|basic)\s+[\w+/=.\-]{8,}")
_MAIL: Final = pattern(r"(?<![\w/@:])[\w.+\-]{1,64}@(?:[\w\-]{1,63}\.){1,8}[A-Za-z]{2,24}\b")
# In variables only: elsewhere four numbers are a version.
_IPV4: Final = pattern(r"(?<![\w.\-])(?<![^/]/)(?!127\.|0\.0\.0\.0)\d{1,3}(?:\.\d{1,3}){3}(?![\w.])")
_IPV6: Final = pattern(
    r"(?<![\w:])(?:(?:[0-9A-Fa-f]{1,4}:){7}[0-9A-Fa-f]{1,4}|(?:[0-9A-Fa-f]{1,4}:){1,6}:[0-9A-Fa-f:]{1,40})"
)
_MAC: Final = pattern(r"(?<![\w:])(?:[0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}(?![\w:])")
_SERIAL: Final = pattern(r"(?i)\b(serial(?:[ _-]?(?:number|no))?\s*[:=]\s*)\w{6,}")
_KEY: Final = pattern(r"(?<![\w/.\-])[0-9a-fA-F]{32,128}(?![\w.\-])")
# Amazon's secret keys have no prefix: forty characters of base64, with letters of both cases and digits.
_BASE64: Final = pattern(
    r"(?<![\w/+.=\-])(?=[A-Z0-9/+]*[a-z])(?=[a-z0-9/+]*[A-Z])(?=[A-Za-z/+]*\d)[A-Za-z0-9/+]{40}(?![\w/+=.\-])"
)
# Names below the ends that no public registry gives out (RFC 6762, appendix G; ICANN's .internal); Docker's own stays.
_INSIDE: Final = pattern(
    r"(?i)(?<![\w.\-])(?!host\.docker\.)[\w\-]{1,63}(?:\.[\w\-]{1,63}){1,8}\.(?:internal|intranet|private|corp|lan|local)\b"
)

_HOMES: Final = pattern(r"(?<![\w.-])/(home|Users)/[^/:\s,;\"']+")
# With each backslash doubled once or twice too, as JSON does.
_WINDOWS_HOMES: Final = pattern(r"([A-Za-z]:[\\/]{1,4}Users[\\/]{1,4})[^\\/:;,\"']+")
# NVIDIA writes GPU-, MIG- and a UUID; MIG's older form has the GPU's UUID and two numbers behind it
_UUID: Final = pattern(r"\b(GPU|MIG|MIG-GPU)-[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}(?:/\d+/\d+)?")
# Folders of the system, below which no part is a person's name; a name in a home folder is taken out elsewhere.
_SYSTEM: Final = pattern(
    r"usr|opt|etc|s?bin|lib(?:32|64)?|var|run|dev|proc|sys|boot|root|home|Users|snap|nix|gnu|tmp|srv|app|workspace|"
    r"Library|System|Applications|Windows|\(user\)|"
)
# Folders of shared disks between the root and a person's own.
_SHARED: Final = pattern(
    r"(?i)homes?|users?|people|staff|students|scratch|work|data|projects?|shared?|n?fs|gpfs|lustre|beegfs|vol(?:umes?)?|"
    r"mnt|media|[up]|ssd|nvme|local|(?:mini|ana)?conda3?|envs|venv|lib(?:64)?|bin"
)
_PATH: Final = pattern(r"(?<![\w.\-~/)$}])/(?:[^/\s:;,\"'=()]{1,255}/?){2,64}")


def secrets(text: str) -> str:
    """A text without credentials, tokens, private keys and mail addresses.

    >>> secrets("https://me:pass@host/simple")
    'https://(hidden)@host/simple'
    """
    if "@" in text:
        text = _MAIL.sub(_HIDDEN, _URL.sub(rf"\1{_HIDDEN}@", text))
    if len(text) < 9:
        return text
    text = _PEM.sub(_HIDDEN, _TOKEN.sub(_HIDDEN, text))
    text = _OPTION.sub(rf"\1{_HIDDEN}", text) if "-" in text else text
    return _BEARER.sub(rf"\1 {_HIDDEN}", _NAMED.sub(rf"\1{_HIDDEN}", text))


def variable(text: str) -> str:
    """The value of a variable, which may hold addresses and names of machines and bare keys besides."""
    text = secrets(text)
    text = _SERIAL.sub(rf"\1{_HIDDEN}", text)
    for shape in (_MAC, _IPV4, _IPV6, _KEY, _BASE64, _INSIDE):
        text = shape.sub(_HIDDEN, text)
    return text


def homes(text: str) -> str:
    """A text without the names of home folders, and with UUIDs of cards by their kind alone."""
    if "/home/" in text or "/Users/" in text:
        text = _HOMES.sub(r"/\1/(user)", text)
    if "Users" in text:
        text = _WINDOWS_HOMES.sub(r"\1(user)", text)
    return _UUID.sub(r"\1-(uuid)", text) if "-" in text else text


def places(text: str) -> str:
    """A text whose paths outside the system's folders have ``(user)`` for the part that may be a person's name.

    >>> places("/scratch/alice/envs/x:/usr/lib/y")
    '/scratch/(user)/envs/x:/usr/lib/y'
    """
    return _PATH.sub(lambda found: _unnamed(found[0]), text) if text.count("/") > 1 else text


def _unnamed(path: str) -> str:
    """A path with its first part that is no common folder's name taken out; its root stays."""
    parts = path.split("/")
    if _SYSTEM.fullmatch(parts[1]):
        return path
    for place in range(2, len(parts)):
        if parts[place] and not _SHARED.fullmatch(parts[place]):
            parts[place] = "(user)"
            break
    return "/".join(parts)
