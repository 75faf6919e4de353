"""Later."""


def command() -> int:
    """Later."""
    return 3
