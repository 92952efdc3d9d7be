"""What goes wrong: the extension module raises these."""

from __future__ import annotations

from typing import Any, Iterable, List, NamedTuple, Optional


class Error(Exception):
    """What durward raises. Whoever asked must treat it as a deny."""


class Problem(NamedTuple):
    """One problem of policies."""

    source: str
    """The document, as it was named; a path where it could not be read; empty where it is about all documents together."""
    line: int
    """From 1; 0 where it is about the document as a whole."""
    column: int
    """In characters, from 1; 0 where it is about the document as a whole."""
    message: str
    help: Optional[str]
    """A way out, where one is known."""


class PolicyError(Error):
    """Policies were not put in force. Those that were in force still are."""

    problems: List[Problem]

    def __init__(self, message: str, problems: Iterable[Iterable[Any]] = ()) -> None:
        super().__init__(message)
        self.problems = [Problem._make(problem) for problem in problems]


class QuestionError(Error):
    """A question that has no decision: it cannot be read."""

    index: Optional[int] = None
    """Which of those given to `Pdp.decide_many` it is, from 0."""
