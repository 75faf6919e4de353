"""Images in a registry, read without an engine: manifest, configuration, and the layers as streams, nothing kept.

A layer is one compressed stream without an index, and what stands in its middle can only be unpacked from its start: a
range of its bytes, which registries do serve, would tell nothing. So it is read once, as a pull reads it, or not at
all; names are kept, and contents of small files only (:mod:`compat.detect.layers`). A registry is not trusted:
documents and the sum of layers are bounded, each blob must have its digest, a redirect never gets our credentials, and
no address that an image names is asked.

Sources: OCI distribution specification 1.1 (pull); Docker, "Token authentication specification" (Bearer challenges).
"""

from __future__ import annotations

import hashlib
import io
import json
import re
from dataclasses import field
from time import monotonic
from typing import IO, TYPE_CHECKING, Any, Final, cast
from urllib.parse import urljoin, urlsplit

from compat.errors import CannotCheckError, InputError
from compat.lazy import dataclass
from compat.streams import Stream
from compat.untrusted import json_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    Login = tuple[str, str]

_NAME: Final = re.compile(
    r"(?P<host>[A-Za-z0-9][\w.\-]*(?::\d{1,5})?|\[[\da-fA-F:]+\](?::\d{1,5})?)/(?P<path>[a-z0-9][a-z0-9._\-/]{0,254})"
    r"(?::(?P<tag>\w[\w.\-]{0,127}))?(?:@(?P<digest>sha256:[0-9a-f]{64}))?",
    re.ASCII,
)
_LOOPBACK: Final = re.compile(r"(localhost|127\.\d+\.\d+\.\d+|\[::1\])(:\d+)?")
_HUB: Final = "docker.io"  # whose registry has another name, and whose own images have no folder in their names
_OCI: Final = "application/vnd.oci.image"
_DOCKER: Final = "application/vnd.docker.distribution.manifest"
_KINDS: Final = f"{_OCI}.index.v1+json, {_OCI}.manifest.v1+json, {_DOCKER}.list.v2+json, {_DOCKER}.v2+json"
_DOCUMENT: Final = 4 << 20  # bytes; the specification's own limit of a manifest
_TOKEN: Final = 64 << 10
_LAYERS: Final = 512  # the engine's storage driver ends at 128
_IMAGE: Final = 256 << 30  # bytes of all layers, packed; the largest images of frameworks have some twenty GiB
_MOST: Final = f"at most {_IMAGE >> 30} GiB"
_SILENCE: Final = (10.0, 20.0)  # seconds to connect, and between two answers
_PATIENCE: Final = 60.0  # seconds for a document, and for a layer beside one for each of its
_SLOWEST: Final = 1 << 20  # bytes
_REDIRECTS: Final = 5


@dataclass(frozen=True, slots=True)
class Reference:
    """What a name means: the registry's host, the repository in it, and a tag or digest."""

    host: str
    repository: str
    version: str

    @property
    def server(self) -> str:
        """Host that answers for the registry."""
        return "registry-1.docker.io" if self.host == _HUB else self.host

    @property
    def name(self) -> str:
        """How messages call it."""
        return f"{self.host}/{self.repository}:{self.version}"[:200]


def reference(name: str) -> Reference | None:
    """What a name means; ``None`` for one without a registry, which is the engine's to know.

    >>> reference("ghcr.io/team/torch:1")
    Reference(host='ghcr.io', repository='team/torch', version='1')
    >>> reference("team/torch:1")
    """
    found = _NAME.fullmatch(name)
    if found is None or not ({".", ":"} & {*found["host"]} or found["host"] == "localhost"):
        return None
    path = found["path"]
    path = f"library/{path}" if found["host"] == _HUB and "/" not in path else path
    return Reference(found["host"], path, found["digest"] or found["tag"] or "latest")


def blobs(
    where: Reference, choose: Callable[[Mapping[str, Any]], list[Mapping[str, Any]]], login: Login | None = None
) -> Iterator[tuple[str, IO[bytes], int]]:
    """The parts of an image as an OCI layout names them: ``index.json``, its manifest, its configuration, its layers.

    ``choose``: of an index of several platforms, the manifests that fit, the best one first.

    Yields:
        Name, stream and size of each part. A stream ends when the next part is asked for; one that is not read is not
        asked for at the registry.

    Raises:
        InputError: if the registry has no such image, or what it sends is none.
        CannotCheckError: if it cannot be reached, or refuses.
    """
    registry = _Registry(where, login)
    try:
        body, digest = registry.manifest(where.version)
        manifest = _object(body, where)
        if "manifests" in manifest:
            fitting = [str(item.get("digest")) for item in choose(manifest)]
            if not fitting:
                raise InputError("has no image for any platform", where=where.name)
            body, digest = registry.manifest(fitting[0])
            manifest = _object(body, where)
        listed = manifest.get("layers")
        parts = [manifest.get("config"), *(listed if isinstance(listed, list) else ())]
        if len(parts) < 2 or len(parts) > _LAYERS or not all(isinstance(part, dict) for part in parts):
            raise InputError("sends no manifest of an image", where=where.name)
        index = json.dumps({"manifests": [{"digest": digest}]}).encode()
        yield "index.json", io.BytesIO(index), len(index)
        yield _place(digest), io.BytesIO(body), len(body)
        sizes = {_checked(part, where): _size(part) for part in parts}
        if sum(sizes.values()) > _IMAGE:
            raise InputError(f"names layers of {sum(sizes.values()) >> 30:,} GiB", where=where.name, expected=_MOST)
        for digest, size in sizes.items():
            with registry.blob(digest, size) as stream:
                reader = io.BufferedReader(stream, 1 << 20)  # held, for it closes the stream with itself
                yield _place(digest), cast("IO[bytes]", reader), size
                stream.end()
    finally:
        registry.close()


class _Registry:
    """The registry of one image: answers as streams, asked for with the token that it wants."""

    def __init__(self, where: Reference, login: Login | None) -> None:
        import requests

        self._where, self._login = where, login
        self._session = requests.Session()
        self._session.auth = self._authorised  # else requests takes what .netrc has for the host
        self._authorisation = ""
        self._base = f"https://{where.server}"

    def close(self) -> None:
        """Let go of its connections."""
        self._session.close()

    def manifest(self, version: str) -> tuple[bytes, str]:
        """A manifest, and its digest, which it must have where it was asked for by that."""
        answer = self._get(f"manifests/{version}", {"Accept": _KINDS})
        body = _bounded(answer, _DOCUMENT, self._where)
        digest = f"sha256:{hashlib.sha256(body).hexdigest()}"
        if version.startswith("sha256:") and version != digest:
            raise InputError(f"sends a manifest that is not {version[:19]}", where=self._where.name)
        return body, digest

    def blob(self, digest: str, size: int) -> _Blob:
        """A blob as a stream."""
        return _Blob(lambda: self._get(f"blobs/{digest}", {}), digest, size, self._where)

    def _get(self, path: str, headers: Mapping[str, str]) -> Any:
        """An answer of the registry, whose body is not read yet."""
        url = f"/v2/{self._where.repository}/{path}"
        answer = self._first(url, headers) if not self._authorisation else self._ask(self._base + url, headers)
        for _ in range(_REDIRECTS):
            if not answer.is_redirect:
                break
            target = urljoin(answer.url, answer.headers["Location"])
            self._demand_tls(target)
            answer.close()
            answer = self._ask(target, headers)
        if answer.status_code == 404:
            raise InputError("the registry has no such image", where=self._where.name)
        if answer.status_code in {401, 403}:
            hint = f"docker login {self._where.host}" + (", if it is there at all" if self._login is None else "")
            raise CannotCheckError(f"{self._where.host} does not show {self._where.repository}", hint=hint)
        if answer.status_code != 200:
            raise CannotCheckError(f"{self._where.host} answered {answer.status_code}")
        return answer

    def _first(self, url: str, headers: Mapping[str, str]) -> Any:
        """The first answer: by TLS, or without on this very machine (Docker's rule); with the token it asks for."""
        try:
            answer = self._ask(self._base + url, headers)
        except CannotCheckError:
            if not _LOOPBACK.fullmatch(self._where.host):
                raise
            self._base = f"http://{self._where.server}"
            answer = self._ask(self._base + url, headers)
        if answer.status_code == 401:
            challenge = answer.headers.get("WWW-Authenticate", "")
            answer.close()
            self._authorisation = self._token(challenge)
            answer = self._ask(self._base + url, headers)
        return answer

    def _authorised(self, request: Any) -> Any:
        """Put the token on what goes to the registry itself, and on nothing else."""
        there, here = urlsplit(request.url), urlsplit(self._base)
        if self._authorisation and (there.scheme, there.netloc) == (here.scheme, here.netloc):
            request.headers["Authorization"] = self._authorisation
        return request

    def _ask(self, url: str, headers: Mapping[str, str], **more: Any) -> Any:
        """One request, without its redirects; refused if nobody answers."""
        import requests

        given = {"Accept-Encoding": "identity", **headers}
        try:
            return self._session.get(url, headers=given, stream=True, timeout=_SILENCE, allow_redirects=False, **more)
        except (requests.RequestException, ValueError) as error:  # ValueError: an address that is none
            why = f"{self._where.host} could not be reached: {type(error).__name__}"
            raise CannotCheckError(why) from None

    def _token(self, challenge: str) -> str:
        """The header that a challenge asks for: the login itself, or a token from the server that it names."""
        from requests import Request
        from requests.auth import HTTPBasicAuth
        from requests.utils import parse_dict_header

        kind, _, rest = challenge.partition(" ")
        auth = HTTPBasicAuth(*self._login) if self._login else _nobody
        if kind.lower() != "bearer":
            ready = Request("GET", self._base, auth=auth).prepare()
            return ready.headers.get("Authorization", "none") if kind.lower() == "basic" else "none"
        said = parse_dict_header(rest)  # type: ignore[no-untyped-call]
        realm = str(said.get("realm") or "")
        self._demand_tls(realm)
        asked = {"service": str(said.get("service") or ""), "scope": f"repository:{self._where.repository}:pull"}
        answer = self._ask(realm, {}, params=asked, auth=auth)
        if answer.status_code != 200:
            return "none"
        found = _object(_bounded(answer, _TOKEN, self._where), self._where)
        return f"Bearer {found.get('token') or found.get('access_token') or ''}"

    def _demand_tls(self, url: str) -> None:
        """Refuse to be led to an address without TLS, except by a registry that has none itself."""
        if not url.startswith(("https://", self._base + "/")):
            raise CannotCheckError(f"{self._where.host} leads to an address without TLS")


def _nobody(request: Any) -> Any:
    """A request without a login; without this, requests would look for one."""
    return request


@dataclass(slots=True)
class _Until:
    """When what is read must have come."""

    end: float = field(default_factory=lambda: monotonic() + _PATIENCE)

    def part(self, answer: Any, count: int) -> bytes:
        """Some bytes as they come.

        Raises:
            OSError: if the connection breaks, or too little comes in all the time.
        """
        from urllib3.exceptions import HTTPError

        if monotonic() > self.end:
            raise OSError("too little comes from the registry")
        read = getattr(answer.raw, "read1", answer.raw.read)  # urllib3 has it from 2.2.3 on
        try:
            return cast("bytes", read(count, decode_content=False))
        except HTTPError as error:
            raise OSError(f"the registry breaks off: {type(error).__name__}") from None


def _bounded(answer: Any, most: int, where: Reference) -> bytes:
    """A document as a whole; refused if it is longer than documents are, or does not come."""
    until, body = _Until(), b""
    try:
        while part := until.part(answer, most + 1 - len(body)):
            body += part
            if len(body) > most:
                raise InputError(f"the registry sends a document of more than {most >> 10} KiB", where=where.name)
    except OSError as error:
        raise CannotCheckError(f"{where.host}: {error}") from None
    finally:
        answer.close()
    return body


class _Blob(Stream):
    """A blob as it comes, from the first read on; its digest is known at its end."""

    def __init__(self, ask: Callable[[], Any], digest: str, size: int, where: Reference) -> None:
        super().__init__()
        self._ask, self._digest, self._left, self._where = ask, digest, size, where
        self._sum = hashlib.new(digest.partition(":")[0])
        self._answer: Any = None
        self._broken = False

    def part(self, count: int) -> bytes:
        """What has come.

        Raises:
            OSError: if the registry breaks off.
        """
        if self._answer is None:
            self._answer, self._until = self._ask(), _Until(monotonic() + _PATIENCE + self._left / _SLOWEST)
        try:
            part = self._until.part(self._answer, min(count, self._left)) if self._left else b""
        except OSError:
            self._broken = True
            raise
        self._sum.update(part)
        self._left -= len(part)
        return part

    def end(self) -> None:
        """Read the rest, and hold the whole against its digest.

        Raises:
            InputError: if it is another blob; one that broke off is unread, and its reader said so.
        """
        if self._answer is None or self._broken:
            return
        try:
            while self.part(1 << 20):
                pass
        except OSError:
            return
        if f"{self._digest.partition(':')[0]}:{self._sum.hexdigest()}" != self._digest:
            raise InputError(f"the registry sends a blob that is not {self._digest[:19]}", where=self._where.name)

    def close(self) -> None:
        """Let go of the answer."""
        if self._answer is not None and not self.closed:
            self._answer.close()
        super().close()


def _object(body: bytes, where: Reference) -> Mapping[str, Any]:
    """A JSON object; anything else is refused."""
    found = json_of(body)
    if not isinstance(found, dict):
        raise InputError("the registry sends no JSON object", where=where.name)
    return found


def _checked(part: Mapping[str, Any], where: Reference) -> str:
    """The digest of a part; one that cannot be checked is refused."""
    digest = str(part.get("digest"))
    if not re.fullmatch(r"sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128}", digest):
        raise InputError("the registry names a part without a digest", where=where.name)
    return digest


def _size(part: Mapping[str, Any]) -> int:
    size = part.get("size")
    return max(0, size) if isinstance(size, int) else 0


def _place(digest: str) -> str:
    return "blobs/" + digest.replace(":", "/")
