"""Guards views of Django: `pre_enforce` and `post_enforce` of `durward.enforce`, which raise PermissionDenied.

    from durward.django import pre_enforce

    @pre_enforce(action="read", resource=lambda context: {"record": context.params["record_id"]})
    def record(request, record_id): ...

For views that are classes: `@method_decorator(pre_enforce(action="read"), name="dispatch")`. The decision point is that of `configure`; where nobody called it,
the policies are read from `settings.DURWARD_POLICIES`, a folder or a file, when they are first asked for.

Elements that are not chosen come from the request: `subject` is the name of `request.user`, or "anonymous"; `action` is `{"method", "handler"}`; `resource` is
`{"path", "route", "params"}`; `environment` is `{"ip"}`. A guarded view may return a dict or a list, which becomes a JsonResponse: so does what a decision puts in the
place of a response.
"""

from __future__ import annotations

from typing import Any, Dict, Optional, Tuple

from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, JsonResponse

from . import enforce
from ._durward import Pdp
from ._web import WebSurroundings
from .enforce import AccessDeniedError, Enforcer, SubscriptionContext, configure, on_decision, on_output, register_provider

__all__ = [
    "AccessDeniedError",
    "SubscriptionContext",
    "configure",
    "guards",
    "on_decision",
    "on_output",
    "post_enforce",
    "pre_enforce",
    "register_provider",
]


class _Django(WebSurroundings):
    def pdp(self) -> Optional[Pdp]:
        path = getattr(settings, "DURWARD_POLICIES", None)
        return None if path is None else Pdp.from_dir(path)

    def request(self, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Optional[HttpRequest]:
        values = (*args, *kwargs.values())
        return next((value for value in values if isinstance(value, HttpRequest)), None)

    def user(self, request: HttpRequest) -> Any:
        return getattr(request, "user", None)

    def path(self, request: HttpRequest) -> str:
        return request.path

    def route(self, request: HttpRequest) -> Optional[str]:
        return None if request.resolver_match is None else request.resolver_match.route

    def params(self, request: HttpRequest) -> Dict[str, Any]:
        return {} if request.resolver_match is None else dict(request.resolver_match.kwargs)

    def query(self, request: HttpRequest) -> Dict[str, Any]:
        return request.GET.dict()

    def address(self, request: HttpRequest) -> Optional[str]:
        return request.META.get("REMOTE_ADDR")

    def denied(self, error: AccessDeniedError) -> Exception:
        return PermissionDenied()

    def result(self, value: Any, context: SubscriptionContext) -> Any:
        if context.request is not None and isinstance(value, (dict, list)):
            return JsonResponse(value, safe=False)
        return value


def guards(enforcer: Enforcer) -> Enforcer:
    """The guards of an enforcer other than that of `configure`, for views."""
    return enforcer.within(_Django())


_here = guards(enforce._enforcer)
post_enforce = _here.post_enforce
pre_enforce = _here.pre_enforce
