"""Sentences that people read, with their parts: what is said in English can be said in another language."""

from __future__ import annotations


class Sentence(str):
    """A text that was made of a sentence and values, and still knows both; elsewhere it is the English text.

    Args:
        sentence: the English sentence, with the names of the values in braces.
        **values: what stands in their place.
    """

    __slots__ = ("sentence", "values")

    sentence: str
    values: dict[str, object]

    def __new__(cls, sentence: str, **values: object) -> Sentence:  # noqa: D102, PYI034 - Self is of Python 3.11
        made = super().__new__(cls, sentence.format(**values) if values else sentence)
        made.sentence, made.values = sentence, values
        return made
