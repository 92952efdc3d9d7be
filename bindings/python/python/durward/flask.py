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

from . import _web
from ._web import *
from ._web import WebSurroundings

__all__ = ["guards", "post_enforce", "pre_enforce"]
__all__ += _web.__all__


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


guards = _Flask().guards
post_enforce = guards().post_enforce
pre_enforce = guards().pre_enforce
