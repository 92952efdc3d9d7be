"""Guards endpoints of FastAPI, and of Starlette: `pre_enforce` and `post_enforce` of `durward.enforce`, which answer 403.

    from durward import Pdp
    from durward.fastapi import configure, pre_enforce

    configure(Pdp.from_dir("policies"))

    @app.get("/records/{record_id}")
    @pre_enforce(action="read", resource=lambda context: {"record": context.params["record_id"]})
    async def record(record_id: int): ...

Elements that are not chosen come from the request: `subject` is `request.state.user` or what the AuthenticationMiddleware found, else "anonymous"; `action`
is `{"method", "handler"}`; `resource` is `{"path", "route", "params"}`; `environment` is `{"ip"}`.
"""

from __future__ import annotations

import inspect
from typing import Any, Callable, Dict, Optional, Tuple, get_type_hints

from fastapi import HTTPException
from starlette.requests import Request

from . import _web, enforce
from ._web import *
from ._web import WebSurroundings, first_of

__all__ = ["guards", "post_enforce", "pre_enforce"]
__all__ += _web.__all__


class _FastApi(WebSurroundings):
    def request(self, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Optional[Request]:
        return first_of(Request, args, kwargs)

    def user(self, request: Request) -> Any:
        user = getattr(request.state, "user", None)
        return request.scope.get("user") if user is None else user

    def path(self, request: Request) -> str:
        return request.url.path

    def route(self, request: Request) -> Optional[str]:
        return getattr(request.scope.get("route"), "path", None)

    def params(self, request: Request) -> Dict[str, Any]:
        return dict(request.path_params)

    def query(self, request: Request) -> Dict[str, Any]:
        return dict(request.query_params)

    def address(self, request: Request) -> Optional[str]:
        return request.client.host if request.client else None

    def denied(self, error: AccessDeniedError) -> Exception:
        return HTTPException(status_code=403)

    def signature(self, function: Callable[..., Any], signature: inspect.Signature) -> Optional[inspect.Signature]:
        """With the request, which FastAPI passes to those that ask for it, once."""
        if _asks_for_request(function, signature):
            return None
        added = inspect.Parameter(enforce.ADDED, inspect.Parameter.KEYWORD_ONLY, annotation=Request)
        parameters = list(signature.parameters.values())
        ends_open = bool(parameters) and parameters[-1].kind is inspect.Parameter.VAR_KEYWORD
        parameters.insert(len(parameters) - ends_open, added)
        return signature.replace(parameters=parameters)


def _asks_for_request(function: Callable[..., Any], signature: inspect.Signature) -> bool:
    try:
        types = get_type_hints(function)
    except Exception:
        # Types that are known later, or never: what they are called must do.
        types = {}
    for name, parameter in signature.parameters.items():
        asked = types.get(name, parameter.annotation)
        if isinstance(asked, str) and asked.rpartition(".")[2] == "Request":
            return True
        if inspect.isclass(asked) and issubclass(asked, Request):
            return True
    return False


guards = _FastApi().guards
post_enforce = guards().post_enforce
pre_enforce = guards().pre_enforce
