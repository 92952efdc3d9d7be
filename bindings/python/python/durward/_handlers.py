"""Who handles obligations and advice, and when."""

from __future__ import annotations

import functools
import logging
from dataclasses import dataclass
from typing import Any, Callable, Dict, FrozenSet, List, Literal, Optional, Protocol, Sequence, Tuple, TypeVar

from ._durward import Decision

_log = logging.getLogger("durward.enforce")

Function = TypeVar("Function", bound=Callable[..., Any])
"""A function that is registered stays what it is."""

DECISION = "decision"
"""After a decision, before anything else: runners."""
INPUT = "input"
"""Before the function is called; the value is `(args, kwargs)`."""
OUTPUT = "output"
"""After it has returned; the value is what is returned."""
ERROR = "error"
"""After it has raised; the value is the exception."""


@dataclass(frozen=True)
class ScopedHandler:
    """Who handles a constraint at one moment."""

    signal: str
    """`DECISION`, `INPUT`, `OUTPUT` or `ERROR`."""
    priority: int
    """Lower ones first."""
    shape: Literal["runner", "mapper", "consumer"]
    """A runner is called without arguments; a consumer with the value; a mapper too, and gives the value in its place. Advice has no mapper."""
    handler: Callable[..., Any]


class ConstraintHandlerProvider(Protocol):
    """Knows who handles some obligations and advice."""

    def get_handlers(self, constraint: Any) -> Sequence[ScopedHandler]:
        """Who handles this; nobody where it is not for this provider. Exactly one provider is to know an obligation."""
        ...


@dataclass(frozen=True)
class _WithContext:
    """A handler of ours, which is told the constraint and the context."""

    function: Callable[..., Any]


class NamedHandlers:
    """Functions by the name of what they handle."""

    def __init__(self) -> None:
        self._functions: Dict[str, Tuple[str, Callable[..., Any]]] = {}

    def register(self, name: str, signal: str) -> Callable[[Function], Function]:
        if not isinstance(name, str):
            raise TypeError("the name of a handler is str: the text, its `type`, or its `id`")

        def register(function: Function) -> Function:
            if not callable(function):
                raise TypeError(f"the handler `{name}` is a function")
            if name in self._functions:
                raise ValueError(f"there is a handler `{name}`: obligations have one")
            self._functions[name] = (signal, function)
            return function

        return register

    def get_handlers(self, constraint: Any) -> Sequence[ScopedHandler]:
        found = self._functions.get(_name_of(constraint) or "")
        if found is None:
            return ()
        signal, function = found
        shape: Literal["runner", "mapper"] = "mapper" if signal == OUTPUT else "runner"
        return (ScopedHandler(signal, 0, shape, _WithContext(function)),)  # type: ignore[arg-type]


def _name_of(constraint: Any) -> Optional[str]:
    if isinstance(constraint, dict):
        constraint = constraint.get("type", constraint.get("id"))
    return constraint if isinstance(constraint, str) else None


@dataclass(frozen=True)
class Planned:
    """A handler, for one constraint of one decision."""

    scoped: ScopedHandler
    constraint: Any
    is_obligation: bool
    context: Any

    @property
    def maps(self) -> bool:
        return self.scoped.shape == "mapper"

    @property
    def what(self) -> str:
        return f"{'obligation' if self.is_obligation else 'advice'} {self.constraint!r}"

    def bind(self, value: Any) -> Callable[[], Any]:
        """The call, with what it is to be told."""
        handler: Any = self.scoped.handler
        values = () if self.scoped.shape == "runner" else (value,)
        if isinstance(handler, _WithContext):
            return functools.partial(handler.function, self.constraint, *values, self.context)
        return functools.partial(handler, *values)


class Plan:
    """Who does what, when. Made before anybody does anything."""

    def __init__(
        self, decision: Decision, providers: Tuple[ConstraintHandlerProvider, ...], supported: FrozenSet[str], context: Any
    ) -> None:
        self.unmet: List[str] = []
        """Obligations that cannot be met, and why."""
        self._planned: Dict[str, List[Planned]] = {}
        for is_obligation, constraints in ((True, decision.obligations), (False, decision.advice)):
            for constraint in constraints:
                handlers, why = _handlers_of(constraint, providers, supported, is_obligation)
                if why is None:
                    for scoped in handlers:
                        self._planned.setdefault(scoped.signal, []).append(Planned(scoped, constraint, is_obligation, context))
                elif is_obligation:
                    self.unmet.append(f"{constraint!r} {why}")
                elif handlers:
                    _log.warning("advice %r is not followed: it %s", constraint, why)
        for planned in self._planned.values():
            planned.sort(key=lambda one: one.scoped.priority)
            self.unmet += _in_no_order(planned)

    def at(self, signal: str) -> Tuple[Planned, ...]:
        """Who does something then, in order."""
        return tuple(self._planned.get(signal, ()))


_SHAPES = ("runner", "mapper", "consumer")


def _handlers_of(
    constraint: Any, providers: Tuple[ConstraintHandlerProvider, ...], supported: FrozenSet[str], is_obligation: bool
) -> Tuple[Sequence[ScopedHandler], Optional[str]]:
    """Who handles it; or why that cannot be, and whether anybody would."""
    claims: List[Sequence[ScopedHandler]] = []
    for provider in providers:
        try:
            handlers = tuple(provider.get_handlers(constraint))
        except Exception:
            _log.warning("a provider of handlers failed for %r", constraint, exc_info=True)
            return ((), "has a provider that fails")
        if handlers:
            claims.append(handlers)
    if not claims:
        return ((), "has no handler")
    if len(claims) > 1:
        return (claims[0], "has handlers of several providers")
    for scoped in claims[0]:
        if scoped.signal not in supported or scoped.shape not in _SHAPES:
            return (claims[0], f"has a handler for what does not happen here: {scoped.signal}, {scoped.shape}")
        if scoped.shape != "runner" and scoped.signal == DECISION:
            return (claims[0], "has a handler that wants a value, where there is none")
        if scoped.shape == "mapper" and not is_obligation:
            return (claims[0], "has a handler that changes a value, which is for obligations")
    return (claims[0], None)


def _in_no_order(planned: List[Planned]) -> List[str]:
    """Mappers of the same priority: what they come to depends on who is first."""
    mappers = [one for one in planned if one.maps]
    pairs = zip(mappers, mappers[1:])
    return [
        f"{one.constraint!r} and {next_one.constraint!r} change the same value in no order: give their handlers priorities"
        for one, next_one in pairs
        if one.scoped.priority == next_one.scoped.priority
    ]
