"""A program of FastAPI with guarded endpoints."""

from __future__ import annotations

import pathlib
import re
import unittest

import fastapi
import policies
from fastapi.testclient import TestClient
from starlette.authentication import AuthCredentials, AuthenticationBackend, SimpleUser, UnauthenticatedUser
from starlette.middleware.authentication import AuthenticationMiddleware

from durward.enforce import Enforcer
from durward.fastapi import guards, post_enforce, pre_enforce

policies.configure()
app = fastapi.FastAPI()


class Backend(AuthenticationBackend):
    async def authenticate(self, connection):
        user = connection.headers.get("x-user")
        return (AuthCredentials(), SimpleUser(user) if user else UnauthenticatedUser())


app.add_middleware(AuthenticationMiddleware, backend=Backend())


@app.get("/records/{number}")
@pre_enforce()
async def record(number: int, wide: bool = False):
    return {"number": number, "wide": wide}


@app.get("/blocking/{number}")
@pre_enforce(action={"handler": "record"})
def blocking(number: int, request: fastapi.Request):
    return {"number": number, "method": request.method}


@app.get("/open/{number}")
@pre_enforce(environment=lambda context: {"route": "/open/{number}", "number": context.query["number"]})
def opened(number: int):
    return {"number": number}


@app.get("/about/{who}")
@post_enforce(action="returned", resource=lambda context: context.return_value)
async def about(who: str):
    return {"about": who}


@app.get("/unknown")
@pre_enforce(action="unknown")
async def unknown():
    raise AssertionError


@app.get("/elsewhere")
@guards(Enforcer()).pre_enforce()
async def elsewhere():
    raise AssertionError


class FastApi(unittest.TestCase):
    def get(self, path, user=None):
        client = TestClient(app, raise_server_exceptions=False, client=("10.0.0.7", 5))
        reply = client.get(path, headers={"x-user": user} if user else {})
        return reply.status_code, reply.json() if reply.status_code == 200 else None

    def test_an_endpoint_is_called_if_that_is_permitted(self):
        self.assertEqual(self.get("/records/7?wide=1", "doctor"), (200, {"number": 7, "wide": True}))
        self.assertEqual(policies.LOGGED.pop(), ("/records/7", "10.0.0.7", "record"))
        self.assertEqual(self.get("/records/7", "nurse"), (403, None))
        self.assertEqual(self.get("/records/7"), (403, None))
        self.assertEqual(self.get("/records/seven", "doctor")[0], 422)
        self.assertEqual(policies.LOGGED, [])

    def test_endpoints_that_block_are_guarded_too(self):
        self.assertEqual(self.get("/blocking/7", "doctor"), (200, {"number": 7, "method": "GET"}))
        self.assertEqual(policies.LOGGED.pop()[0], "/blocking/7")
        self.assertEqual(self.get("/blocking/7", "nurse"), (403, None))

    def test_what_is_not_chosen_comes_from_the_request(self):
        self.assertEqual(self.get("/open/7?number=7"), (200, {"number": 7}))
        self.assertEqual(self.get("/open/7?number=8"), (403, None))
        self.assertEqual(self.get("/open/7?number=7", "doctor"), (403, None))

    def test_a_result_is_returned_if_that_is_permitted(self):
        self.assertEqual(self.get("/about/anna", "anna"), (200, {"about": "anna", "seen": True}))
        self.assertEqual(self.get("/about/anna", "bob"), (403, None))

    def test_an_obligation_that_nobody_handles_denies(self):
        self.assertEqual(self.get("/unknown", "doctor"), (403, None))

    def test_without_a_decision_point_there_is_no_access(self):
        self.assertEqual(self.get("/elsewhere", "doctor"), (500, None))

    def test_the_description_of_the_program_is_as_it_was(self):
        described = app.openapi()["paths"]["/records/{number}"]["get"]["parameters"]
        self.assertEqual([one["name"] for one in described], ["number", "wide"])


class Readme(unittest.TestCase):
    def test_its_example_runs(self):
        text = pathlib.Path(__file__).resolve().parents[2].joinpath("README.md").read_text(encoding="utf-8")
        examples = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
        (example,) = [one for one in examples if "import fastapi" in one]
        names = {"__name__": "readme"}
        exec(example, names)
        self.assertEqual(TestClient(names["app"]).get("/records/7").status_code, 403)


class Calls(unittest.IsolatedAsyncioTestCase):
    async def test_without_a_request_elements_are_to_be_chosen(self):
        with self.assertRaisesRegex(TypeError, "without a request"):
            await record(7)
