"""Facts of one machine: values, where each was read, and why the rest is unknown.

A :class:`Host` holds a reading for each name of :data:`CATALOGUE`. Three states are kept apart, because a verdict may
rest on the first two and never on the third:

- a value that was read (:class:`Fact`),
- a known absence: looked, and it is not there (:class:`Fact` whose value is ``None``),
- :class:`Unknown`, with the reason.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, field, fields
from typing import Any, Final

from compat.catalogue import CATALOGUE, Facts, Kind
from compat.errors import InputError, InputErrors
from compat.lazy import dataclass
from compat.records import Build, Fact, Gpu, Library, Reading, Unknown
from compat.redaction import homes, places, secrets, variable

__all__ = [
    "CATALOGUE",
    "Build",
    "Fact",
    "Gpu",
    "Host",
    "Library",
    "Reading",
    "Unknown",
    "checked",
    "dump",
    "host",
    "load",
    "plain",
]

SCHEMA: Final = "envcheck.host/1"
_MOST: Final = 1 << 63  # no size, count or limit of a machine is larger


@dataclass(frozen=True, slots=True)
class Host(Facts):
    """The readings of one machine, by name of the catalogue. A name that is missing is unknown.

    Each name is a typed attribute: ``host.driver`` is the version, or ``None`` if there is no driver or nobody knows;
    ask :meth:`known` to tell these apart and :meth:`source` where it was read.
    """

    readings: Mapping[str, Reading] = field(default_factory=dict)

    def value(self, name: str) -> Any:
        """The value of a fact whose name is itself a value; else read the attribute."""
        reading = self.reading(name)
        return reading.value if isinstance(reading, Fact) else None

    def reading(self, name: str) -> Reading:
        """What was read under ``name``; :class:`Unknown` if nothing was.

        Raises:
            KeyError: if the catalogue has no such fact (a slip in our own code).
        """
        if name not in CATALOGUE:
            raise KeyError(name)
        return self.readings.get(name, Unknown("not given"))

    def known(self, name: str) -> bool:
        """Whether ``name`` was read, be it to a value or to a known absence."""
        return isinstance(self.reading(name), Fact)

    def absent(self, name: str) -> bool:
        """Whether it was looked for and is not there."""
        reading = self.reading(name)
        return isinstance(reading, Fact) and reading.value is None

    def is_option(self, name: str) -> bool:
        """Whether an option of the command stated ``name``; what a file says of its own sources does not count."""
        reading = self.reading(name)
        return isinstance(reading, Fact) and reading.option

    def source(self, name: str) -> str:
        """Where ``name`` was read or tried."""
        return self.reading(name).source

    def __iter__(self) -> Iterator[str]:
        """Names with a reading, in the catalogue's order."""
        return (name for name in CATALOGUE if name in self.readings)

    def over(self, other: Host) -> Host:
        """These readings laid over another host's: ours win, unless ours is unknown and theirs is not."""
        merged = dict(other.readings)
        for name, reading in self.readings.items():
            if isinstance(reading, Fact) or not isinstance(merged.get(name), Fact):
                merged[name] = reading
        return Host(merged)

    def targets(self) -> tuple[str, ...]:
        """Kernel targets of all GPUs that are known, in order, without repeats."""
        return tuple(dict.fromkeys(gpu.target for gpu in self.gpus or () if gpu.target))


def host(source: str = "given", /, **values: Any) -> Host:
    """A host from plain values, as tests and options make it: ``host("option", driver="535.54", python="3.11")``.

    Raises:
        InputErrors: if a name is not in the catalogue or a value is of the wrong kind.
    """
    return load(values, source)


_KEYS: Final = 1000  # keys of a host document; the catalogue has some two hundred


def load(document: Mapping[str, Any], where: str) -> Host:
    """Read a host document: the JSON that ``envcheck host`` prints or a partial file written by hand.

    Each key of the catalogue is optional; ``null`` states a known absence. ``read`` (name -> where) and ``unknown``
    (name -> why) are optional too. Every fault of the document is reported at once.

    Raises:
        InputErrors: naming each key that is unknown or has a value of the wrong kind.
        InputError: for more keys than there are facts.
    """
    if len(document) > _KEYS:
        raise InputError(f"holds {len(document):,} keys", where=where, expected="the facts of one machine")
    faults: list[InputError] = []
    readings: dict[str, Reading] = {}
    read = _notes(document, "read", where, faults)
    for name, why in _notes(document, "unknown", where, faults).items():
        if name in CATALOGUE:
            readings[name] = Unknown(why, where)
    for name, raw in document.items():
        if name in {"schema", "read", "unknown"}:
            continue
        try:
            readings[name] = Fact(None if raw is None else _value(name, raw, where), read.get(name, where))
        except InputError as fault:
            faults.append(fault)
    if faults:
        raise InputErrors(faults)
    return Host(readings)


def checked(readings: Mapping[str, Reading]) -> dict[str, Reading]:
    """Readings with nonsense named as such: a version that is none (a driver may answer anything) is unknown."""
    return {name: _checked(name, reading) for name, reading in readings.items()}


def _checked(name: str, reading: Reading) -> Reading:
    """A reading whose version is one; a garbage version becomes unknown with the reason, not a wrong comparison."""
    if CATALOGUE[name].kind != "version" or isinstance(reading, Unknown) or reading.value is None:
        return reading
    try:
        return Fact(_version(reading.value), reading.source)
    except (TypeError, ValueError) as error:
        return Unknown(str(error), reading.source)


def dump(machine: Host, *, full: bool = False) -> dict[str, Any]:
    """The document of a host: every value under its name, ``read`` and ``unknown`` beside them; JSON-ready.

    Secrets, which a host file of somebody else may hold, and names of people in paths are taken out, unless all that
    the detectors tell is wanted (``full``).
    """
    values, read, unknown = {}, {}, {}
    for name in machine:
        reading = machine.reading(name)
        if isinstance(reading, Unknown):
            unknown[name] = reading.why
        else:
            values[name] = plain(reading.value)
            read[name] = reading.source
    if not full:
        if env := values.get("env"):
            values["env"] = {key: variable(text) for key, text in env.items()}
        values, read, unknown = unnamed(values), unnamed(read), unnamed(unknown)
    return {"schema": SCHEMA, **values, "read": read, "unknown": unknown}


def unnamed(document: Any) -> Any:
    """A JSON document whose texts hold neither secrets nor names of people."""
    if isinstance(document, str):
        return places(homes(secrets(document)))
    if isinstance(document, dict):
        return {unnamed(key): unnamed(item) for key, item in document.items()}
    return [unnamed(item) for item in document] if isinstance(document, list) else document


def plain(value: Any) -> Any:
    """A fact's value in JSON's own types; defaults of records are left out."""
    if isinstance(value, (Gpu, Build, Library)):
        blank = {item.name: item.default for item in fields(value)}
        return {key: plain(item) for key, item in asdict(value).items() if item != blank[key]}
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        return [plain(item) for item in value]
    return value


def _notes(document: Mapping[str, Any], key: str, where: str, faults: list[InputError]) -> dict[str, str]:
    """One of the two tables of notes in a host file; faults are gathered, so that all are told at once."""
    notes = document.get(key, {})
    if isinstance(notes, dict) and all(isinstance(note, str) for note in notes.values()):
        return notes
    faults.append(InputError(f"{key!r} is not a table of texts", where=where, expected='{"driver": "..."}'))
    return {}


def _value(name: str, raw: Any, where: str) -> Any:
    """A value of a host file by its fact's kind."""
    if name not in CATALOGUE:
        from difflib import get_close_matches

        name = name[:80]
        near = get_close_matches(name, CATALOGUE, 1)
        raise InputError(
            f"unknown fact {name!r}",
            where=where,
            expected=f"{near[0]!r}" if near else "a name that `envcheck host` prints",
        )
    reader, expected = _KINDS[CATALOGUE[name].kind]
    try:
        return reader(raw)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name}: {error}", where=where, expected=expected) from None


def _text(raw: Any) -> str:
    if isinstance(raw, bool) or not isinstance(raw, (str, int, float)):
        raise TypeError(f"{raw!r} is not a text")
    return str(raw).strip()


def _version(raw: Any) -> str:
    """A version starts with a digit, a plain one: rules compare it, and must never compare a word."""
    text = _text(raw)
    if text[:1] not in set("0123456789"):
        raise ValueError(f"{text[:40]!r} is not a version")
    return text


def _number(raw: Any) -> int:
    if isinstance(raw, bool) or not isinstance(raw, (int, float)) or not -_MOST < raw < _MOST:  # JSON has Infinity
        raise TypeError(f"{raw!r:.40} is not a number")
    return int(raw)


def _flag(raw: Any) -> bool:
    if not isinstance(raw, bool):
        raise TypeError(f"{raw!r} is neither true nor false")
    return raw


def _texts(raw: Any) -> tuple[str, ...]:
    if not isinstance(raw, (list, tuple)):
        raise TypeError(f"{raw!r} is not a list")
    return tuple(_text(item) for item in raw)


def _table(raw: Any) -> dict[str, str]:
    return {_text(key): _text(item) for key, item in _mapping(raw).items()}


def _tables(raw: Any) -> dict[str, tuple[str, ...]]:
    return {_text(key): _texts(item) for key, item in _mapping(raw).items()}


def _builds(raw: Any) -> dict[str, Build]:
    return {_text(key): _record(Build, item) for key, item in _mapping(raw).items()}


def _libraries(raw: Any) -> tuple[Library, ...]:
    return tuple(_record(Library, item) for item in _sequence(raw))


def _gpus(raw: Any) -> tuple[Gpu, ...]:
    """GPUs as tables, or just their names."""
    return tuple(Gpu(name=item.strip()) if isinstance(item, str) else _record(Gpu, item) for item in _sequence(raw))


def _mapping(raw: Any) -> dict[Any, Any]:
    if not isinstance(raw, dict):
        raise TypeError(f"{raw!r} is not a table")
    return raw


def _sequence(raw: Any) -> list[Any] | tuple[Any, ...]:
    if not isinstance(raw, (list, tuple)):
        raise TypeError(f"{raw!r} is not a list")
    return raw


def _record(cls: type[Any], raw: Any) -> Any:
    """A Gpu, Build or Library from a table; instances pass through."""
    if isinstance(raw, cls):
        return raw
    shapes = {item.name: str(item.type) for item in fields(cls)}
    values = {}
    for key, item in _mapping(raw).items():
        if key not in shapes:
            raise ValueError(f"unknown key {key!r}; known are {', '.join(shapes)}")
        values[key] = _shaped(shapes[key], item)
    return cls(**values)


def _shaped(shape: str, item: Any) -> Any:
    """A field of a record (a GPU, a build) by the annotation of the field."""
    if item is None and "None" in shape:
        return None
    for word, reader in (("tuple", _texts), ("bool", _flag), ("int", _number)):
        if word in shape:
            return reader(item)
    return _text(item)


# How a value of each kind is read, and what a host file may say.
_KINDS: Final[Mapping[Kind, tuple[Any, str]]] = {
    "text": (_text, 'a text such as "ubuntu22.04"'),
    "version": (_version, 'a version such as "535.54.03"'),
    "number": (_number, "a whole number"),
    "flag": (_flag, "true or false"),
    "texts": (_texts, 'a list of texts such as ["a", "b"]'),
    "table": (_table, 'a table of texts such as {"torch": "2.9.1"}'),
    "tables": (_tables, "a table of lists of texts"),
    "gpus": (_gpus, 'a list of GPU names or tables such as [{"name": "NVIDIA A100", "target": "sm_80"}]'),
    "builds": (_builds, 'a table of tables such as {"torch": {"runtime": "cuda12.8"}}'),
    "libraries": (_libraries, 'a list of tables such as [{"name": "libcudnn.so.9"}]'),
}
