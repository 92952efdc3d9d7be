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

from . import _web
from ._durward import Pdp
from ._web import *
from ._web import WebSurroundings, first_of

__all__ = ["guards", "post_enforce", "pre_enforce"]
__all__ += _web.__all__


class _Django(WebSurroundings):
    def pdp(self) -> Optional[Pdp]:
        path = getattr(settings, "DURWARD_POLICIES", None)
        return None if path is None else Pdp.from_dir(path)

    def request(self, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Optional[HttpRequest]:
        return first_of(HttpRequest, args, kwargs)

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


guards = _Django().guards
post_enforce = guards().post_enforce
pre_enforce = guards().pre_enforce
