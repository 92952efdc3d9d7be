"""Guards functions with the decisions of a `Pdp`: a policy enforcement point, in the shape that users of SAPL's Python packages know.

    from durward import Pdp
    from durward.enforce import configure, on_decision, pre_enforce

    configure(Pdp.from_dir("policies"))

    @on_decision("log")
    def log(obligation, context):
        audit.info("%s by %s", obligation["message"], context.function_name)

    @pre_enforce(subject=lambda context: context.args["user"], action="read", resource=lambda context: context.args["record"])
    def read(user, record): ...

A permit counts only where each of its obligations has exactly one handler, and all of them succeed; anything else raises `AccessDeniedError`.
"""

from __future__ import annotations

import copy
import functools
import inspect
import logging
from dataclasses import dataclass, field, replace
from typing import Any, Callable, Dict, FrozenSet, Generator, Iterable, List, Optional, Tuple, Type, cast

from ._durward import Decision, Pdp
from ._errors import Error
from ._handlers import (
    DECISION,
    ERROR,
    INPUT,
    OUTPUT,
    ConstraintHandlerProvider,
    Function,
    NamedHandlers,
    Plan,
    ScopedHandler,
)

__all__ = [
    "DECISION",
    "ERROR",
    "INPUT",
    "OUTPUT",
    "AccessDeniedError",
    "ConstraintHandlerProvider",
    "Enforcer",
    "ScopedHandler",
    "SubscriptionContext",
    "configure",
    "on_decision",
    "on_output",
    "post_enforce",
    "pre_enforce",
    "register_provider",
]

_log = logging.getLogger("durward.enforce")

ABSENT: Any = object()
"""What is not there. Not None, which is null."""

_ELEMENTS = ("subject", "action", "resource", "environment", "secrets")

_PRE: FrozenSet[str] = frozenset((DECISION, INPUT, OUTPUT, ERROR))
_POST: FrozenSet[str] = frozenset((DECISION, OUTPUT, ERROR))


class AccessDeniedError(Error):
    """Access is not granted: `decision` says what was decided, `reason` why that is no access."""

    def __init__(self, message: str = "access denied", *, decision: Optional[Decision] = None, reason: str = "DENIED") -> None:
        super().__init__(message)
        self.decision = decision
        self.reason = reason


@dataclass(frozen=True)
class SubscriptionContext:
    """What the elements of a subscription are chosen from, and what handlers are told."""

    args: Dict[str, Any] = field(default_factory=dict)
    """The arguments of the function, by name, `self` left out."""
    function_name: str = ""
    class_name: str = ""
    request: Any = None
    """The request of the web framework, if there is one."""
    params: Dict[str, Any] = field(default_factory=dict)
    """What the route took from the path."""
    query: Dict[str, Any] = field(default_factory=dict)
    return_value: Any = None
    """What the function returned: for `post_enforce`."""
    decision: Optional[Decision] = None
    """What was decided: for handlers."""


class Surroundings:
    """What is around a guarded function; adapters for web frameworks know more of it."""

    def pdp(self) -> Optional[Pdp]:
        """The decision point where nobody chose one."""
        return None

    def of_call(self, context: SubscriptionContext, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> SubscriptionContext:
        """Adds what the framework knows of the call."""
        return context

    def default(self, element: str, context: SubscriptionContext) -> Any:
        """An element of the subscription that nobody chose; what is `ABSENT` is left out."""
        return context.function_name if element == "action" else ABSENT

    def denied(self, error: AccessDeniedError) -> Exception:
        """What is raised in its place."""
        return error

    def result(self, value: Any, context: SubscriptionContext) -> Any:
        """What is returned to the framework."""
        return value

    def check(self, elements: Dict[str, Any]) -> None:
        """Refuses a guard that would never know what to ask."""
        for element in ("subject", "resource"):
            if elements[element] is ABSENT:
                raise TypeError(f"`{element}` of a guard is to be chosen: a value, or a function of the SubscriptionContext")

    def signature(self, function: Callable[..., Any], signature: inspect.Signature) -> Optional[inspect.Signature]:
        """What the framework is to call for a function that has this; None for the same."""
        return None


@dataclass
class _State:
    """What guards in all surroundings share."""

    pdp: Optional[Pdp] = None
    named: NamedHandlers = field(default_factory=NamedHandlers)
    providers: List[ConstraintHandlerProvider] = field(default_factory=list)


class Enforcer:
    """A decision point, and who handles obligations and advice. A program mostly has one: that of `configure`."""

    def __init__(self, pdp: Optional[Pdp] = None, *, providers: Iterable[ConstraintHandlerProvider] = ()) -> None:
        self._state = _State()
        self._surroundings = Surroundings()
        if pdp is not None:
            self.configure(pdp)
        for provider in providers:
            self.register_provider(provider)

    def within(self, surroundings: Surroundings) -> Enforcer:
        """The same in other surroundings: decision point and handlers are shared, also those that come later."""
        other = copy.copy(self)
        other._surroundings = surroundings
        return other

    @property
    def pdp(self) -> Pdp:
        """The decision point."""
        if self._state.pdp is None:
            pdp = self._surroundings.pdp()
            if pdp is None:
                raise RuntimeError("there is no decision point to ask: call `configure(pdp)` of durward.enforce first")
            self._state.pdp = pdp
        return self._state.pdp

    def configure(self, pdp: Pdp) -> None:
        """Asks this decision point from now on."""
        if not callable(getattr(pdp, "decide", None)):
            raise TypeError("a decision point is wanted: a durward.Pdp")
        self._state.pdp = pdp

    def register_provider(self, provider: ConstraintHandlerProvider) -> None:
        """Asks this provider too who handles an obligation or advice."""
        if not callable(getattr(provider, "get_handlers", None)):
            raise TypeError("a provider has a method `get_handlers(constraint)`")
        self._state.providers.append(provider)

    @property
    def providers(self) -> Tuple[ConstraintHandlerProvider, ...]:
        """Who is asked for handlers."""
        return (self._state.named, *self._state.providers)

    def on_decision(self, name: str) -> Callable[[Function], Function]:
        """Has a function `(constraint, context)` handle obligations and advice of this name, before access is granted. The name is the text
        itself, its `type`, or its `id` in XACML."""
        return self._state.named.register(name, DECISION)

    def on_output(self, name: str) -> Callable[[Function], Function]:
        """Has a function `(constraint, value, context)` handle obligations of this name: it gives what is returned in place of the value."""
        return self._state.named.register(name, OUTPUT)

    def pre_enforce(
        self,
        *,
        subject: Any = ABSENT,
        action: Any = ABSENT,
        resource: Any = ABSENT,
        environment: Any = ABSENT,
        secrets: Any = ABSENT,
    ) -> Callable[[Function], Function]:
        """Guards a function: it is called if that is permitted. An element of the subscription is a value, or a function of the
        `SubscriptionContext`."""
        return self._guard(_Pre, (subject, action, resource, environment, secrets))

    def post_enforce(
        self,
        *,
        subject: Any = ABSENT,
        action: Any = ABSENT,
        resource: Any = ABSENT,
        environment: Any = ABSENT,
        secrets: Any = ABSENT,
    ) -> Callable[[Function], Function]:
        """Guards what a function returns: it is called, then asked about, with `return_value` in the context."""
        return self._guard(_Post, (subject, action, resource, environment, secrets))

    def _guard(self, kind: Type[_Call], chosen: Tuple[Any, ...]) -> Callable[[Function], Function]:
        elements = dict(zip(_ELEMENTS, chosen))
        self._surroundings.check(elements)

        def decorator(function: Function) -> Function:
            if not callable(function) or inspect.isclass(function):
                raise TypeError("a guard stands above a function: `@pre_enforce(subject=...)`")
            if kind is _Post and (inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function)):
                raise TypeError("what a generator gives cannot be asked about at its end: guard it with pre_enforce")
            # What Django makes of a method looks like the method, and has no `self`.
            follow = not isinstance(function, functools.partial)
            of = _Guarded(self, function, elements, inspect.signature(function, follow_wrapped=follow))
            if inspect.iscoroutinefunction(function):

                @functools.wraps(function)
                async def guarded(*args: Any, **kwargs: Any) -> Any:
                    return await _drive_async(kind(of, args, kwargs).steps())

            else:

                @functools.wraps(function)
                def guarded(*args: Any, **kwargs: Any) -> Any:
                    return _drive(kind(of, args, kwargs).steps())

            signature = self._surroundings.signature(function, of.signature)
            if signature is not None:
                guarded.__signature__ = signature  # type: ignore[attr-defined]
            return cast(Function, guarded)

        return decorator


@dataclass(frozen=True)
class _Guarded:
    """A function, and what is asked before it is called, or after."""

    enforcer: Enforcer
    function: Callable[..., Any]
    elements: Dict[str, Any]
    signature: inspect.Signature

    def context(self, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> SubscriptionContext:
        bound = self.signature.bind(*args, **kwargs)
        bound.apply_defaults()
        named = {name: value for name, value in bound.arguments.items() if name not in ("self", "cls")}
        outer = getattr(self.function, "__qualname__", "").rpartition(".")[0]
        class_name = "" if outer.endswith("<locals>") else outer.rpartition(".")[2]
        return SubscriptionContext(args=named, function_name=getattr(self.function, "__name__", ""), class_name=class_name)


@dataclass(frozen=True)
class _Step:
    """Something to call, awaited where that is possible."""

    call: Callable[[], Any]
    is_handler: bool


_Steps = Generator[_Step, Any, Any]


class _Call:
    """One call of a guarded function. What happens is written once, as steps, for functions that are awaited and those that are not."""

    def __init__(self, of: _Guarded, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> None:
        self.of = of
        self.surroundings = of.enforcer._surroundings
        self.args = args
        self.kwargs = {name: value for name, value in kwargs.items() if name != ADDED}
        self.context = self.surroundings.of_call(of.context(args, self.kwargs), args, kwargs)

    def steps(self) -> _Steps:
        try:
            result = yield from self.enforced()
        except AccessDeniedError as error:
            denied = self.surroundings.denied(error)
            if denied is error:
                raise
            raise denied from error
        return self.surroundings.result(result, self.context)

    def enforced(self) -> _Steps:
        raise NotImplementedError

    def subscription(self) -> Dict[str, Any]:
        asked = {}
        for element, chosen in self.of.elements.items():
            if chosen is ABSENT:
                value = self.surroundings.default(element, self.context)
            else:
                value = chosen(self.context) if callable(chosen) else chosen
            if value is not ABSENT:
                asked[element] = value
        return asked

    def decide(self, supported: FrozenSet[str]) -> _Steps:
        """Asks, and has the decision handled; gives the plan for what comes after."""
        decision = self.of.enforcer.pdp.decide(self.subscription())
        self.context = replace(self.context, decision=decision)
        plan = Plan(decision, self.of.enforcer.providers, supported, self.context)
        if decision.permit is not True:
            yield from self.run(plan, DECISION, must=False)
            raise AccessDeniedError(decision=decision, reason=decision.decision)
        if plan.unmet:
            _log.warning("denied, since obligations are not handled: %s", "; ".join(plan.unmet))
            raise AccessDeniedError("access denied: " + "; ".join(plan.unmet), decision=decision, reason="OBLIGATION_UNHANDLED")
        yield from self.run(plan, DECISION)
        return plan

    def run(self, plan: Plan, signal: str, value: Any = None, *, must: bool = True) -> _Steps:
        """Has handlers do what they do at this moment; gives the value that they make of it."""
        for handler in plan.at(signal):
            try:
                made = yield _Step(handler.bind(value), is_handler=True)
            except Exception as error:
                if must and handler.is_obligation:
                    message = f"access denied: an obligation could not be met: {error}"
                    raise AccessDeniedError(message, decision=self.context.decision, reason="OBLIGATION_FAILURE") from error
                _log.warning("%s could not be followed", handler.what, exc_info=True)
            else:
                value = made if handler.maps else value
        return value

    def call(self, plan: Optional[Plan]) -> _Steps:
        """Calls the function. What it raises is handled too where it is known who handles it."""
        try:
            return (yield _Step(functools.partial(self.of.function, *self.args, **self.kwargs), is_handler=False))
        except Exception as error:
            if plan is None:
                raise
            mapped = yield from self.run(plan, ERROR, error)
            if mapped is error or not isinstance(mapped, Exception):
                raise
            raise mapped from error

    def output(self, plan: Plan, value: Any) -> _Steps:
        """What the decision makes of what the function returned."""
        decision = self.context.decision
        if decision is not None and decision.has_resource:
            value = decision.resource
        return (yield from self.run(plan, OUTPUT, value))


class _Pre(_Call):
    def enforced(self) -> _Steps:
        plan = yield from self.decide(_PRE)
        self.args, self.kwargs = yield from self.run(plan, INPUT, (self.args, self.kwargs))
        value = yield from self.call(plan)
        return (yield from self.output(plan, value))


class _Post(_Call):
    def enforced(self) -> _Steps:
        value = yield from self.call(None)
        self.context = replace(self.context, return_value=value)
        plan = yield from self.decide(_POST)
        return (yield from self.output(plan, value))


def _drive(steps: _Steps) -> Any:
    """Takes the steps of a function that is not awaited."""

    def take(step: _Step) -> Any:
        value = step.call()
        if step.is_handler and inspect.isawaitable(value):
            if inspect.iscoroutine(value):
                value.close()
            raise TypeError("the handler is to be awaited, and the function that is guarded is not")
        return value

    try:
        step = next(steps)
        while True:
            try:
                value = take(step)
            except BaseException as error:
                step = steps.throw(error)
            else:
                step = steps.send(value)
    except StopIteration as end:
        return end.value


async def _drive_async(steps: _Steps) -> Any:
    """Takes the steps of a function that is awaited; handlers may be."""
    try:
        step = next(steps)
        while True:
            try:
                value = step.call()
                if inspect.isawaitable(value):
                    value = await value
            except BaseException as error:
                step = steps.throw(error)
            else:
                step = steps.send(value)
    except StopIteration as end:
        return end.value


ADDED = "durward_request"
"""The argument that an adapter adds to what the framework calls, for a function that does not ask for the request."""


default_enforcer = Enforcer()
"""That of `configure`."""

configure = default_enforcer.configure
on_decision = default_enforcer.on_decision
on_output = default_enforcer.on_output
post_enforce = default_enforcer.post_enforce
pre_enforce = default_enforcer.pre_enforce
register_provider = default_enforcer.register_provider
