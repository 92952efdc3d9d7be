"""Guards views of Flask: `pre_enforce` and `post_enforce` of `durward.enforce`, which answer 403.

    from durward import Pdp
    from durward.flask import configure, pre_enforce

    configure(Pdp.from_dir("policies"))

    @app.get("/records/<int:record_id>")
    @pre_enforce(action="read", resource=lambda context: {"record": context.params["record_id"]})
    def record(record_id): ...

Elements that are not chosen come from the request: `subject` is `flask.g.user`, else the user of flask-login, else "anonymous"; `action` is `{"method",
"handler"}`; `resource` is `{"path", "route", "params"}`; `environment` is `{"ip"}`.
"""

from __future__ import annotations

from typing import Any, Dict, Optional, Tuple

import flask
from werkzeug.exceptions import Forbidden

from . import enforce
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


class _Flask(WebSurroundings):
    def request(self, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Optional[flask.Request]:
        # What stands behind Flask's name for it: what is asked about one request stays about it.
        return flask.request._get_current_object() if flask.has_request_context() else None  # type: ignore[attr-defined]

    def user(self, request: flask.Request) -> Any:
        user = flask.g.get("user")
        if user is None and hasattr(flask.current_app, "login_manager"):
            from flask_login import current_user  # type: ignore[import-not-found]

            user = current_user
        return user

    def path(self, request: flask.Request) -> str:
        return request.path

    def route(self, request: flask.Request) -> Optional[str]:
        return None if request.url_rule is None else request.url_rule.rule

    def params(self, request: flask.Request) -> Dict[str, Any]:
        return dict(request.view_args or {})

    def query(self, request: flask.Request) -> Dict[str, Any]:
        return dict(request.args)

    def address(self, request: flask.Request) -> Optional[str]:
        return request.remote_addr

    def denied(self, error: AccessDeniedError) -> Exception:
        return Forbidden()


def guards(enforcer: Enforcer) -> Enforcer:
    """The guards of an enforcer other than that of `configure`, for views."""
    return enforcer.within(_Flask())


_here = guards(enforce._enforcer)
post_enforce = _here.post_enforce
pre_enforce = _here.pre_enforce
