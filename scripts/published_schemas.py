"""Published JSON Schemas of the documents that envcheck prints, built from the values themselves.

Keys are only ever added, so every object stays open (``additionalProperties`` is not forbidden) and ``required`` lists
what a reader may rely on. Dialect: JSON Schema 2020-12.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, Final, Literal, get_args, get_origin, get_type_hints

from compat import facts, findings, kernels, plan, survey
from compat.plan import is_published
from compat.render import explanation

Schema = dict[str, Any]

_TEXT: Final[Schema] = {"type": "string"}
_TEXTS: Final[Schema] = {"type": "array", "items": _TEXT}
_KINDS: Final[Mapping[str, Schema]] = {
    "text": _TEXT,
    "version": {"type": "string", "pattern": "^[0-9]"},
    "number": {"type": "integer"},
    "flag": {"type": "boolean"},
    "texts": _TEXTS,
    "table": {"type": "object", "additionalProperties": _TEXT},
    "tables": {"type": "object", "additionalProperties": _TEXTS},
}


def schemas() -> dict[str, Schema]:
    """Document name (``envcheck.doctor/1``) -> its schema."""
    made = {
        "envcheck.host/1": host(),
        "envcheck.doctor/1": doctor(),
        "envcheck.resolve/1": _document(shape(plan.Answer), "status"),
        "envcheck.fleet/1": fleet(),
        "envcheck.inspect/1": inspect(),
        "envcheck.verify/1": verify(),
        "envcheck.ci/1": grid(),
        "envcheck.explain/1": _document(shape(explanation.Explanation)),
        "envcheck.matrix/1": tables(),
        "envcheck.gpus/1": gpus(),
        "envcheck.fit/1": fit(),
        "envcheck.matrix-check/1": _object_of({"files": _TEXTS}),
        "envcheck.matrix-diff/1": changes(),
    }
    return {name: _headed(name, body) for name, body in made.items()}


def host() -> Schema:
    """Facts of a machine; every key is optional, ``null`` is a known absence.

    The catalogue of facts is the only list of the keys, so that a new fact is in the schema with the meaning it has
    in code.
    """
    records = {"gpus": facts.Gpu, "builds": facts.Build, "libraries": facts.Library}
    values: dict[str, Schema] = {}
    for name, spec in facts.CATALOGUE.items():
        if spec.kind in _KINDS:
            value = _KINDS[spec.kind]
        elif spec.kind == "builds":
            value = {"type": "object", "additionalProperties": shape(records[spec.kind], required=())}
        else:
            value = {"type": "array", "items": shape(records[spec.kind], required=())}
        values[name] = {"description": spec.meaning, "anyOf": [value, {"type": "null"}]}
    notes = {"read": _KINDS["table"], "unknown": _KINDS["table"]}
    return {"type": "object", "properties": {"schema": {"const": facts.SCHEMA}, **values, **notes}}


def _fix() -> Schema:
    """What to do; each change is an object that says its kind."""
    own = shape(findings.Fix, skip=("changes",), required=("text", "commands"))
    changes = {"type": "object", "properties": {"kind": _TEXT}, "required": ["kind"]}
    own["properties"]["changes"] = {"type": "array", "items": changes}
    return own


def finding() -> Schema:
    """One finding; consequences are findings again.

    ``evidence[].value`` has the type of its fact, which differs from fact to fact, so only its presence is
    demanded.
    """
    own = shape(findings.Finding, skip=("consequences", "evidence", "place"))
    seen = {"type": "object", "required": ["fact", "value", "source"], "properties": {"fact": _TEXT, "source": _TEXT}}
    own["properties"] |= {
        "evidence": {"type": "array", "items": seen},
        "consequences": {"type": "array", "items": {"$ref": "#/$defs/finding"}},
        "fix": _fix(),
        "place": shape(findings.Place),
        "rows_evidence": _TEXTS,
    }
    own["required"] = [
        "code",
        "severity",
        "confidence",
        "title",
        "detail",
        "evidence",
        "fix",
        "sources",
        "consequences",
    ]
    return own


def doctor() -> Schema:
    """The doctor's report: findings worst first, what fits, the facts they rest on, what was not checked and why."""
    counts = {"errors": {"type": "integer"}, "warnings": {"type": "integer"}, "ok": {"type": ["boolean", "null"]}}
    body = {
        "summary": {"type": "object", "properties": counts, "required": list(counts)},
        "findings": {"type": "array", "items": {"$ref": "#/$defs/finding"}},
        "fine": _TEXTS,
        "facts": {"type": "object"},
        "unchecked": {"type": "array", "items": shape(findings.Unchecked)},
        "questions": {"type": "array", "items": shape(findings.Ask)},
    }
    required = [name for name in body if name != "questions"]
    body |= dict.fromkeys(("node", "checked_at", "version", "matrix"), _TEXT)
    return {"type": "object", "properties": body, "required": required, "$defs": {"finding": finding()}}


def fleet() -> Schema:
    """Many machines: a verdict for each, groups of alike ones, the plans that cover them, records that are broken.

    ``differs`` has, for each fact, its value here and in the largest group that has the same GPUs.
    """
    group = shape(survey.Alike, skip=("differs",))
    group["properties"]["differs"] = _KINDS["tables"]
    covered = _object_of({"nodes": _TEXTS, "plan": shape(plan.Plan)})
    upgrade = _object_of({"driver": _TEXT, **covered["properties"]})
    body: dict[str, Schema] = {
        "nodes": {"type": "array", "items": shape(survey.Member)},
        "groups": {"type": "array", "items": group},
        "plans": {"type": "array", "items": covered},
        "upgrade": {"anyOf": [upgrade, {"type": "null"}]},
        "errors": {"type": "array", "items": shape(survey.Broken)},
        **dict.fromkeys(("checked_at", "version", "matrix"), _TEXT),
    }
    return _object_of(body, "nodes", "groups", "plans", "errors")


def gpus() -> Schema:
    """GPU products: rates in dense TFLOP/s, memory in GiB, bandwidth in GB/s, power in W.

    What is not known is absent, or null of the main numbers; ``inferred`` names what nobody saw in a document.
    """
    number: Schema = {"type": ["number", "null"]}
    inner: Schema = {"type": "object", "additionalProperties": _TEXT}
    own = _object_of(
        {
            **dict.fromkeys(("name", "vendor", "target", "architecture", "segment", "form", "pcie", "how"), _TEXT),
            **dict.fromkeys(("year", "memory_gib", "bandwidth_gbs", "watts", "links", "links_gbs"), number),
            **dict.fromkeys(("aliases", "features", "mig", "pci", "notes", "inferred", "lacks", "source"), _TEXTS),
            **dict.fromkeys(("cuda", "driver", "rocm", "frameworks", "sharing"), inner),
            "unified_memory": {"type": "boolean"},
            "rates": {"type": "object", "additionalProperties": number},
        },
        "name",
        "vendor",
        "target",
        "memory_gib",
        "bandwidth_gbs",
        "watts",
        "rates",
    )
    return _object_of({"gpus": {"type": "array", "items": own}, "sources": _KINDS["table"]}, "gpus", "sources")


def fit() -> Schema:
    """Whether a model's weights can lie in a card's memory; sizes in GiB of one card, null where not known."""
    sizes = ("weights_gib", "usable_gib", "left_gib", "cache_gib", "training_gib")
    body: dict[str, Schema] = {
        "verdict": {"enum": ["cannot", "weights fit", "unknown"]},
        **{name: {"type": ["number", "null"]} for name in sizes},
        **dict.fromkeys(("gpu", "why"), _TEXT),
        **dict.fromkeys(("conditions", "source"), _TEXTS),
    }
    return _object_of(body)


def inspect() -> Schema:
    """Kernel targets of the objects looked into.

    ``sass``, ``ptx`` and ``gfx`` are in the compilers' spelling: ``sm_90a``, ``compute_90``, ``gfx90a``.
    ``complete`` is false where something could not be read, so that an empty list is no proof of absence.
    """
    lists = {"sass": _TEXTS, "ptx": _TEXTS, "gfx": _TEXTS}
    counts: Schema = {"type": "object", "additionalProperties": {"type": "integer"}}
    group = _object_of({"targets": _TEXTS, "count": {"type": "integer"}})
    more: dict[str, Schema] = {
        "form": {
            "enum": ["", "elf", "pe", "macho", "cubin", "ptx", "fatbin", "hsaco", "bundle", "kpack", "archive", "name"]
        },
        "images": counts,
        "binaries": {"type": "array", "items": group},
        "isa": _KINDS["tables"],
        "implied": _KINDS["table"],
        "floors": _KINDS["table"],
        "rpath": _TEXTS,
        "machine": _TEXT,
        "relocatable": {"type": "boolean"},
        "python_tag": _TEXT,
        "cxx11_abi": {"type": ["boolean", "null"]},
        "packs": _TEXTS,
        "unread": _TEXTS,
    }
    verdict = shape(kernels.Verdict)
    verdict["properties"] = {"gpu": _TEXT, **verdict["properties"]}
    body = {
        "path": _TEXT,
        "objects": {"type": "array", "items": _object_of({"path": _TEXT, **lists, "needed": _TEXTS, **more})},
        "targets": _object_of(lists),
        "scanned": {"type": "integer"},
        "complete": {"type": "boolean"},
        "unread": _TEXTS,
        "verdicts": {"type": "array", "items": {**verdict, "required": ["gpu", "target", "kernels", "why"]}},
    }
    return _object_of(body, *(key for key in body if key != "verdicts"))


def tables() -> Schema:
    """Tables of the matrix: one subject's rows, or all that is known of one thing; or the subjects there are.

    Columns differ from subject to subject, so a row is open but for how it is known and its sources.
    """
    row = {**_object_of({"how": _TEXT, "source": _TEXTS}), "additionalProperties": {"type": ["string", "array"]}}
    table = _object_of({"title": _TEXT, "rows": {"type": "array", "items": row}, "sources": _KINDS["table"]})
    body = {"tables": {"type": "array", "items": table}, "subjects": _TEXTS}
    return {"type": "object", "properties": body, "anyOf": [{"required": ["tables"]}, {"required": ["subjects"]}]}


def changes() -> Schema:
    """What changed between two matrices: the table, the row's subject, and the change in words."""
    change = _object_of({"table": _TEXT, "subject": _TEXT, "words": _TEXT})
    return _object_of({"changes": {"type": "array", "items": change}})


def verify() -> Schema:
    """Results of the probes that ran in a container or right here.

    ``figures`` are numbers with their unit in the key (``gb_per_s``); which there are depends on the probe.
    """
    status = {"enum": ["pass", "fail", "skip"]}
    probe = {"name": _TEXT, "status": status, "why": _TEXT, "figures": {"type": "object"}}
    body = {
        "image": _TEXT,
        "level": _TEXT,
        "probes": {"type": "array", "items": {"type": "object", "properties": probe, "required": list(probe)}},
        "findings": {"type": "array", "items": {"$ref": "#/$defs/finding"}},
    }
    return {"type": "object", "properties": body, "required": list(body), "$defs": {"finding": finding()}}


def grid() -> Schema:
    """Cells of a CI matrix with their plans, and the excluded ones.

    Each cell carries its whole plan, so that a job needs no second solve and builds exactly what was listed.
    """
    names = ("name", "requirements", "runtime", "python", "platform", "base_image")
    cell = {**dict.fromkeys(names, _TEXT), "gpu": {"type": "boolean"}, "plan": shape(plan.Plan)}
    body = {
        "cells": {"type": "array", "items": _object_of(cell)},
        "excluded": {"type": "array", "items": shape(survey.Excluded)},
    }
    return {"type": "object", "properties": body, "required": list(body)}


def shape(hint: Any, *, required: tuple[str, ...] | None = None, skip: tuple[str, ...] = ()) -> Schema:
    """The schema of an annotation: frozen values become objects, tuples arrays, ``Literal`` an enumeration.

    ``required``: keys demanded of an object; without it those that have no default. ``skip``: fields that are described
    elsewhere, such as those that refer to the object itself.
    """
    origin, args = get_origin(hint), get_args(hint)
    if is_dataclass(hint) and isinstance(hint, type):
        return _object(hint, required, skip)
    if origin is tuple:
        return {"type": "array", "items": shape(args[0])}
    if origin is Literal:
        return {"enum": list(args)}
    if type(None) in args:
        return {"anyOf": [shape(next(item for item in args if item is not type(None))), {"type": "null"}]}
    if origin is not None:
        return _KINDS["table"]
    return {"type": {str: "string", int: "integer", bool: "boolean", float: "number"}.get(hint, "object")}


def _object(kind: Any, required: tuple[str, ...] | None, skip: tuple[str, ...]) -> Schema:
    """A frozen value as an object; what has a default may be left out by older writers."""
    hints = get_type_hints(kind, localns={"Mapping": Mapping, "Finding": Any, "Change": Any})
    names = [item.name for item in fields(kind) if item.name not in skip and is_published(item)]
    always = [item.name for item in fields(kind) if item.default is MISSING and item.default_factory is MISSING]
    demanded = list(required if required is not None else (name for name in always if name in names))
    body: Schema = {"type": "object", "properties": {name: shape(hints[name]) for name in names}}
    return {**body, "required": demanded} if demanded else body


def _object_of(properties: Mapping[str, Schema], *required: str) -> Schema:
    """An object with these keys; all of them are there unless fewer are named."""
    return {"type": "object", "properties": dict(properties), "required": list(required or properties)}


def _document(body: Schema, *required: str) -> Schema:
    """A document that demands these keys and no more."""
    return {**body, "required": list(required)}


def _headed(name: str, body: Schema) -> Schema:
    """A schema with its dialect, its name and the ``schema`` key that every document carries first."""
    properties = {"schema": {"const": name}, **body["properties"]}
    required = ["schema", *(key for key in body.get("required", ()) if key != "schema")] if "required" in body else []
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": name}
    return {**head, **body, "properties": properties, **({"required": required} if required else {})}
