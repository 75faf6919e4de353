"""Finding a GPU product by what people and programs call it: name, alias, PCI id or kernel target."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

from compat import targets
from compat.lazy import pattern

if TYPE_CHECKING:
    from collections.abc import Iterable

    from compat.matrix import Matrix
    from compat.matrix.rows import Product
    from compat.matrix.store import Raw

_PCI: Final = pattern(r"(?:0x)?([0-9a-f]{4})[:\s-]?(?:0x)?([0-9a-f]{4})")
_BRACKETS: Final = pattern(r"\[([^\[\]]{1,200})\]")
# A TPU with the size of its slice, as Google names accelerator types: ``v5litepod-8``.
_SLICE: Final = pattern(r"\b((?:tpu|v)[0-9][a-z]{0,7})-[0-9]{1,5}\b")
_TARGET: Final = pattern(r"^(sm|compute)[ -]?(?=[0-9]{2,3}[a-z]?$)")
_GIB: Final = pattern(r"(?<=-[0-9]{2})g(?![a-z0-9])")
_LEFT_OUT: Final = pattern(r"(radeon|instinct|geforce)(?=[0-9])")
_JOINED: Final = pattern(r"(?<=[0-9])(?=[a-z])")  # between a number and what people write right behind it: ``3090ti``
_NUMBER: Final = pattern(r"[0-9]+")
_WORD: Final = pattern(r"[a-z0-9+.]+")
_VENDORS: Final = frozenset(
    {*("nvidia", "amd", "ati", "intel", "google", "huawei", "advanced", "micro", "devices")}
    | {*("corporation", "inc", "gpu", "graphics")}
)
_FAMILIES: Final = frozenset({"geforce", "quadro", "tesla", "radeon", "instinct", "arc"})
_MAKERS: Final = {
    **dict.fromkeys(("nvidia", "geforce", "rtx", "gtx", "quadro", "tesla"), "nvidia"),
    **dict.fromkeys(("amd", "radeon", "instinct", "rx"), "amd"),
    **dict.fromkeys(("intel", "iris"), "intel"),
}
_LONGEST: Final = 200  # no product name comes near; longer input is not a name
_SAYS: Final = 4  # letters of a word that says what is meant


@lru_cache(maxsize=1024)
def find_gpu(matrix: Matrix, text: str) -> tuple[Product, ...]:
    """Every product that ``text`` may mean, the likeliest first; empty if none is known.

    Understood are a name as the driver or lspci prints it, a name as people type it (any case, with or without
    the vendor's words), an alias, a PCI id (``10de:2684``) and a target (``sm_89``, ``8.9``, ``gfx1100``). Products may
    differ in target (``RTX 6000`` is four of them): a caller that needs one target asks for the set of them.
    """
    wanted = spelled(text[:_LONGEST])
    if found := _PCI.fullmatch(wanted):
        pci = f"{found[1]}:{found[2]}"
        return tuple(row for row in matrix.likely("gpus", lambda raw: pci in raw.get("pci", "")) if pci in row.pci)
    if target := _target(matrix, wanted):
        return tuple(matrix.select("gpus", target=target))
    numbers = _NUMBER.findall(" ".join(_words(wanted)))

    def has_all(row: Raw) -> bool:  # making all rows would cost more than the search
        return all(number in f"{row['name']};{row.get('aliases', '')}" for number in numbers)

    likely = matrix.likely("gpus", has_all)
    return _named(likely, wanted) or _named(matrix.table("gpus"), wanted)


def _named(products: tuple[Product, ...], wanted: str) -> tuple[Product, ...]:
    """Products by a name, however it is typed."""
    named = _exactly(products, wanted) or _containing(products, wanted) or _run_together(products, wanted)
    return named or _containing(products, _JOINED.sub(" ", wanted))


def spelled(text: str) -> str:
    """What was typed in lower case, with what people leave out: ``SM89``, ``A100-80G``, ``Radeon7900XTX``."""
    return _LEFT_OUT.sub(r"\1 ", _GIB.sub("gb", _TARGET.sub(r"\1_", text.strip().lower())))


def nearest_gpus(matrix: Matrix, text: str, *, limit: int = 3) -> tuple[str, ...]:
    """Names that look like ``text``, for a hint about a slip of the pen; those of one maker where the text names it."""
    import difflib

    meant = {vendor for word, vendor in _MAKERS.items() if word in text[:_LONGEST].lower()}
    products = [row for row in matrix.table("gpus") if not meant or row.vendor in meant]
    names = {_bare(name): product.name for product in products for name in names_of(product)}
    close = difflib.get_close_matches(_bare(text[:_LONGEST]), names, n=limit * 2, cutoff=0.6)
    strange = [word for word in _words(text[:_LONGEST]) if len(word) >= _SAYS and word.isalpha()]
    known = _VENDORS.union(*(_words(name) for row in products for name in names_of(row))) if strange else ()
    if not all(difflib.get_close_matches(word, known, n=1, cutoff=0.7) for word in strange):
        return ()  # the name of another maker, or of no card
    return tuple(dict.fromkeys(names[name] for name in close))[:limit]


def _bare(name: str) -> str:
    """A name as people shorten it, squeezed and without its brand: ``rx6600``."""
    return squeezed(name).removeprefix("geforce").removeprefix("radeon")


def names_of(product: Product) -> tuple[str, ...]:
    """The product's name and its aliases."""
    return _split(product.name, product.aliases)


@lru_cache(maxsize=8192)
def _split(name: str, aliases: str) -> tuple[str, ...]:
    return (name, *(alias.strip() for alias in aliases.split(";") if alias.strip()))


def squeezed(name: str) -> str:
    """A name without the vendor's words, spaces and signs: ``NVIDIA GeForce RTX 4090`` -> ``geforcertx4090``."""
    return "".join(_words(name))


def _target(matrix: Matrix, text: str) -> str:
    """The target that a text names, without suffix or features; empty if it names none."""
    if matrix.intel(text):
        return text
    if (sm := targets.sm(text)) and not sm.suffix:
        return f"sm_{sm.major}{sm.minor}"
    return text.partition(":")[0] if targets.is_gfx(text) else ""


@lru_cache(maxsize=8192)
def _words(name: str) -> tuple[str, ...]:
    """The words that tell products apart: those in brackets where lspci puts the product there; slices are cut off."""
    lowered = name.lower()
    if found := _BRACKETS.search(lowered):
        lowered = found[1]
    lowered = _SLICE.sub(r"\1", lowered) if "-" in lowered else lowered
    words = _WORD.findall(lowered.partition(" mig ")[0].replace("(r)", " ").replace("(tm)", " "))
    return tuple(word for word in words if word not in _VENDORS)


def _exactly(products: Iterable[Product], wanted: str) -> tuple[Product, ...]:
    """Products one of whose names is the text, spaces, case and vendor aside."""
    key = squeezed(wanted)
    return tuple(product for product in products if key and any(squeezed(name) == key for name in names_of(product)))


def _containing(products: Iterable[Product], wanted: str) -> tuple[Product, ...]:
    """Products one of whose names has every word asked for; the fewer words are left over, the earlier."""
    asked = frozenset(_words(wanted)) - _FAMILIES
    if not asked:
        return ()
    found = [(left, product) for product in products if (left := _left_over(product, asked)) is not None]
    return tuple(product for _, product in sorted(found, key=lambda pair: pair[0]))


def _run_together(products: Iterable[Product], wanted: str) -> tuple[Product, ...]:
    """Products one of whose names is the text without spaces and without the family's word: ``RX7800XT``."""
    key = squeezed(wanted)
    names = ((product, name) for product in products for name in names_of(product))
    found = (product for product, name in names if _shortened(name) == key)
    return tuple(dict.fromkeys(found)) if key else ()


@lru_cache(maxsize=8192)
def _shortened(name: str) -> str:
    """A name without the words of vendor and family, and without spaces."""
    return "".join(word for word in _words(name) if word not in _FAMILIES)


def _left_over(product: Product, asked: frozenset[str]) -> int | None:
    """How many words of the best fitting name were not asked for; ``None`` if no name has all that were."""
    counts = [len(words - asked - _FAMILIES) for words in _word_sets(names_of(product)) if asked <= words]
    return min(counts, default=None)


@lru_cache(maxsize=8192)
def _word_sets(names: tuple[str, ...]) -> tuple[frozenset[str], ...]:
    """The words of each name."""
    return tuple(frozenset(_words(name)) for name in names)
