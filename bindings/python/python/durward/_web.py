"""What the adapters for web frameworks have in common, also the names that they pass on from `durward.enforce`: `__all__`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Dict, Optional, Tuple, Type

from .enforce import (
    ABSENT,
    AccessDeniedError,
    Enforcer,
    SubscriptionContext,
    Surroundings,
    configure,
    default_enforcer,
    on_decision,
    on_output,
    register_provider,
)

__all__ = ["AccessDeniedError", "SubscriptionContext", "configure", "on_decision", "on_output", "register_provider"]


class WebSurroundings(Surroundings):
    """Elements of subscriptions from requests. Only a user that the framework knows counts: no token is read that nobody has verified."""

    def of_call(self, context: SubscriptionContext, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> SubscriptionContext:
        request = self.request(args, kwargs)
        if request is None:
            return context
        named = {name: value for name, value in context.args.items() if value is not request}
        return replace(context, args=named, request=request, params=self.params(request), query=self.query(request))

    def check(self, elements: Dict[str, Any]) -> None:
        """All have a default: from the request."""

    def default(self, element: str, context: SubscriptionContext) -> Any:
        request = context.request
        if request is None:
            raise TypeError(f"{context.function_name} was called without a request: choose the `{element}` of its guard")
        if element == "subject":
            return _subject(self.user(request))
        if element == "action":
            return {"method": request.method, "handler": context.function_name}
        if element == "resource":
            return {"path": self.path(request), "route": self.route(request), "params": context.params}
        if element == "environment":
            address = self.address(request)
            return {} if address is None else {"ip": address}
        return ABSENT

    def guards(self, enforcer: Enforcer = default_enforcer) -> Enforcer:
        """The guards of this framework; those of an enforcer other than that of `configure`, where one is given."""
        return enforcer.within(self)

    def request(self, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Any:
        raise NotImplementedError

    def user(self, request: Any) -> Any:
        raise NotImplementedError

    def path(self, request: Any) -> str:
        raise NotImplementedError

    def route(self, request: Any) -> Optional[str]:
        raise NotImplementedError

    def params(self, request: Any) -> Dict[str, Any]:
        raise NotImplementedError

    def query(self, request: Any) -> Dict[str, Any]:
        raise NotImplementedError

    def address(self, request: Any) -> Optional[str]:
        raise NotImplementedError


def first_of(kind: Type[Any], args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Any:
    """The first argument of a type, as the request is one; None where there is none."""
    return next((value for value in (*args, *kwargs.values()) if isinstance(value, kind)), None)


def _subject(user: Any) -> Any:
    """A user as a question has it: what is JSON as it is, others by name; "anonymous" where nobody is logged in."""
    if user is None or getattr(user, "is_authenticated", True) is False:
        return "anonymous"
    if isinstance(user, (str, dict)):
        return user
    for attribute in ("username", "identity", "display_name"):
        name = getattr(user, attribute, None)
        if isinstance(name, str) and name:
            return name
    raise TypeError(f"a user of the type {type(user).__name__} has no name that a question could have: choose the `subject` of the guard")
