"""The language in which people are told things: English, or Simplified Chinese by locale or ``--lang``.

English stands where it is said. A catalogue, a TOML file beside this one, has the same sentences by the English ones,
and the pages of the findings by their codes; a sentence that it lacks stays English. Codes, commands, values and every
format that programs read are the same in all languages.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Final

from compat.errors import InputError
from compat.lazy import dataclass
from compat.sentences import Sentence

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from compat.findings import Finding

LANGUAGES: Final = ("en", "zh-CN")
# The variables that name the language of messages, the strongest first (POSIX, "Internationalization Variables").
_VARIABLES: Final = ("LC_ALL", "LC_MESSAGES", "LANG")
_SIMPLIFIED: Final = ("zh_cn", "zh_sg", "zh_hans")  # zh_TW and zh_HK write traditional characters


@dataclass(frozen=True, slots=True)
class Catalogue:
    """What is said in one language.

    Attributes:
        sentences: each English sentence that is said in another way.
        pages: code -> ``title``, ``why`` and ``fix`` of a finding.
    """

    sentences: Mapping[str, str] = field(default_factory=dict)
    pages: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def said(self, sentence: str, **values: object) -> str:
        """The sentence in this language, its words in braces replaced by the values."""
        text = self.sentences.get(sentence, sentence)
        return text.format(**values) if values else text

    def told(self, text: str) -> str:
        """A text in this language: in its parts if it knows them, else as a sentence of its own."""
        if isinstance(text, Sentence):
            return self.said(text.sentence, **text.values)
        return self.sentences.get(text, text)

    def counted(self, count: int, noun: str) -> str:
        """A count with its noun: ``1 error``, ``2 errors``."""
        return f"{count} {self.sentences.get(noun) or noun + 's' * (count != 1)}"

    def title(self, finding: Finding) -> str:
        """The title of a finding."""
        return self.pages.get(finding.code, {}).get("title", finding.title)

    def detail(self, finding: Finding) -> str:
        """What is wrong: in English with this machine's values, which else stand in the evidence alone."""
        return self.pages.get(finding.code, {}).get("why", finding.detail)

    def follows(self, finding: Finding, root: Finding) -> str:
        """What follows from a finding: by its title, or what it says where that is the root's own title."""
        return self.detail(finding) if finding.code == root.code else f"{self.title(finding)} ({finding.code})"

    def fix(self, finding: Finding) -> str:
        """What to do: the fix's own words, in another language its changes, or what mends such a finding in general."""
        if finding.code not in self.pages:
            return finding.fix.text
        if finding.fix.text in self.sentences:
            return self.sentences[finding.fix.text]
        from compat.changes import deed

        deeds = [self.told(deed(change)) for change in finding.fix.changes]
        if deeds and all(deeds):
            return self.said("; ").join(dict.fromkeys(deeds)) + self.said(".")
        return self.pages[finding.code]["fix"] if finding.fix.text else ""


ENGLISH: Final = Catalogue()
_spoken = ENGLISH


def spoken() -> Catalogue:
    """The catalogue of this process."""
    return _spoken


def speak(arguments: Sequence[str], environment: Mapping[str, str]) -> None:
    """Take the language of ``--lang`` in a command line, else that of the locale, for this process.

    Raises:
        InputError: naming the languages there are, if it is none of them.
    """
    global _spoken  # noqa: PLW0603 - a process has one language, as it has one locale
    name = _asked(arguments) or _of_locale(environment)
    if name not in LANGUAGES:
        raise InputError(f"language {name[:40]!r} is not known", where="--lang", expected=" or ".join(LANGUAGES))
    _spoken = _loaded(name)


def _asked(arguments: Sequence[str]) -> str:
    """The word behind ``--lang``; empty where nothing was asked for."""
    for word, after in zip(arguments, (*arguments[1:], ""), strict=False):
        if word == "--":
            return ""
        if word == "--lang" or word.startswith("--lang="):
            return word.partition("=")[2] or after
    return ""


def _of_locale(environment: Mapping[str, str]) -> str:
    """The language of the locale, English where it is none of ours."""
    locale = next((environment[name] for name in _VARIABLES if environment.get(name)), "")
    return "zh-CN" if locale.replace("-", "_").lower().startswith(_SIMPLIFIED) else "en"


def _loaded(name: str) -> Catalogue:
    """The catalogue of a language."""
    if name == LANGUAGES[0]:
        return ENGLISH
    from pathlib import Path

    from compat.tomls import loads

    tables = loads(Path(__file__).with_name(f"{name}.toml").read_text("utf-8"))
    return Catalogue(tables["sentences"], tables["pages"])
