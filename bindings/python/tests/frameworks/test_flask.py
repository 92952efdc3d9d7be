"""A program of Flask with guarded views."""

import unittest

import flask
import policies

from durward.flask import post_enforce, pre_enforce

policies.configure()
app = flask.Flask("records")


@app.before_request
def login():
    flask.g.user = flask.request.headers.get("x-user")


@app.get("/records/<int:number>")
@pre_enforce()
def record(number):
    return {"number": number}


@app.get("/awaited/<int:number>")
@pre_enforce(action={"handler": "record"})
async def awaited(number):
    return {"number": number}


@app.get("/open/<int:number>")
@pre_enforce(environment=lambda context: {"route": "/open/<int:number>", "number": int(context.query["number"])})
def opened(number):
    return {"number": number}


@app.get("/about/<who>")
@post_enforce(action="returned", resource=lambda context: context.return_value)
def about(who):
    return {"about": who}


@app.get("/unknown")
@pre_enforce(action="unknown")
def unknown():
    raise AssertionError


class Flask(unittest.TestCase):
    def get(self, path, user=None):
        client = app.test_client()
        reply = client.get(path, headers={"x-user": user} if user else {}, environ_base={"REMOTE_ADDR": "10.0.0.7"})
        return reply.status_code, reply.get_json() if reply.status_code == 200 else None

    def test_a_view_is_called_if_that_is_permitted(self):
        self.assertEqual(self.get("/records/7", "doctor"), (200, {"number": 7}))
        self.assertEqual(policies.LOGGED.pop(), ("/records/7", "10.0.0.7", "record"))
        self.assertEqual(self.get("/records/7", "nurse"), (403, None))
        self.assertEqual(self.get("/records/7"), (403, None))
        self.assertEqual(policies.LOGGED, [])

    def test_views_that_are_awaited_are_guarded_too(self):
        self.assertEqual(self.get("/awaited/7", "doctor"), (200, {"number": 7}))
        self.assertEqual(policies.LOGGED.pop()[0], "/awaited/7")
        self.assertEqual(self.get("/awaited/7", "nurse"), (403, None))

    def test_what_is_not_chosen_comes_from_the_request(self):
        self.assertEqual(self.get("/open/7?number=7"), (200, {"number": 7}))
        self.assertEqual(self.get("/open/7?number=8"), (403, None))
        self.assertEqual(self.get("/open/7?number=7", "doctor"), (403, None))

    def test_a_result_is_returned_if_that_is_permitted(self):
        self.assertEqual(self.get("/about/anna", "anna"), (200, {"about": "anna", "seen": True}))
        self.assertEqual(self.get("/about/anna", "bob"), (403, None))

    def test_an_obligation_that_nobody_handles_denies(self):
        self.assertEqual(self.get("/unknown", "doctor"), (403, None))

    def test_without_a_request_elements_are_to_be_chosen(self):
        with self.assertRaisesRegex(TypeError, "without a request"):
            record(7)
