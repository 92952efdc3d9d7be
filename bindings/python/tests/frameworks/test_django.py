"""A program of Django with guarded views."""

import json
import pathlib
import tempfile
import unittest

import django
import policies
from django.conf import settings
from django.http import JsonResponse
from django.test import AsyncClient, Client
from django.urls import path
from django.utils.decorators import method_decorator
from django.views import View

from durward.django import guards, post_enforce, pre_enforce
from durward.enforce import Enforcer

FOLDER = tempfile.TemporaryDirectory()
pathlib.Path(FOLDER.name, "all.sapl").write_text('policy "all" permit subject == "doctor";', encoding="utf-8")

settings.configure(
    ROOT_URLCONF=__name__,
    ALLOWED_HOSTS=["*"],
    SECRET_KEY="of a test",
    DURWARD_POLICIES=FOLDER.name,
    MIDDLEWARE=[f"{__name__}.login"],
)
django.setup()
policies.configure()

class User:
    """As Django's: nobody has an empty name and is not authenticated."""

    def __init__(self, username):
        self.username = username

    @property
    def is_authenticated(self):
        return bool(self.username)

def login(get_response):
    def middleware(request):
        request.user = User(request.META.get("HTTP_X_USER", ""))
        return get_response(request)

    return middleware

@pre_enforce()
def record(request, number):
    return {"number": number}

@pre_enforce(action={"handler": "record"})
async def awaited(request, number):
    return JsonResponse({"number": number})

@pre_enforce(
    environment=lambda context: {"route": "open/<int:number>", "number": int(context.query["number"])},
    resource=lambda context: {"route": context.request.resolver_match.route, "params": context.params},
)
def opened(request, number):
    return [number]

@post_enforce(action="returned", resource=lambda context: context.return_value)
def about(request, who):
    return {"about": who}

@pre_enforce(action="unknown")
def unknown(request):
    raise AssertionError

@method_decorator(pre_enforce(action={"handler": "record"}), name="dispatch")
class Record(View):
    def get(self, request, number):
        return JsonResponse({"number": number})

@guards(Enforcer()).pre_enforce()
def from_settings(request):
    return {"read": True}

urlpatterns = [
    path("records/<int:number>", record),
    path("awaited/<int:number>", awaited),
    path("open/<int:number>", opened),
    path("about/<who>", about),
    path("unknown", unknown),
    path("class/<int:number>", Record.as_view()),
    path("settings", from_settings),
]

def answer(reply):
    return reply.status_code, json.loads(reply.content) if reply.status_code == 200 else None

class Django(unittest.TestCase):
    def get(self, path, user=None):
        return answer(Client().get(path, headers={"x-user": user} if user else {}, REMOTE_ADDR="10.0.0.7"))

    def test_a_view_is_called_if_that_is_permitted(self):
        self.assertEqual(self.get("/records/7", "doctor"), (200, {"number": 7}))
        self.assertEqual(policies.LOGGED.pop(), ("/records/7", "10.0.0.7", "record"))
        self.assertEqual(self.get("/records/7", "nurse"), (403, None))
        self.assertEqual(self.get("/records/7"), (403, None))
        self.assertEqual(policies.LOGGED, [])

    def test_views_that_are_classes_are_guarded_too(self):
        self.assertEqual(self.get("/class/7", "doctor"), (200, {"number": 7}))
        self.assertEqual(policies.LOGGED.pop()[0], "/class/7")
        self.assertEqual(self.get("/class/7", "nurse"), (403, None))

    def test_what_is_not_chosen_comes_from_the_request(self):
        self.assertEqual(self.get("/open/7?number=7"), (200, [7]))
        self.assertEqual(self.get("/open/7?number=8"), (403, None))
        self.assertEqual(self.get("/open/7?number=7", "doctor"), (403, None))

    def test_a_result_is_returned_if_that_is_permitted(self):
        self.assertEqual(self.get("/about/anna", "anna"), (200, {"about": "anna", "seen": True}))
        self.assertEqual(self.get("/about/anna", "bob"), (403, None))

    def test_an_obligation_that_nobody_handles_denies(self):
        self.assertEqual(self.get("/unknown", "doctor"), (403, None))

    def test_policies_are_read_from_where_the_settings_say(self):
        self.assertEqual(self.get("/settings", "doctor"), (200, {"read": True}))
        self.assertEqual(self.get("/settings", "nurse"), (403, None))

    def test_without_a_request_elements_are_to_be_chosen(self):
        with self.assertRaisesRegex(TypeError, "without a request"):

            pre_enforce()(lambda: None)()

class Awaited(unittest.IsolatedAsyncioTestCase):
    async def get(self, path, user):
        return answer(await AsyncClient().get(path, headers={"x-user": user}))

    async def test_views_that_are_awaited_are_guarded_too(self):
        self.assertEqual(await self.get("/awaited/7", "doctor"), (200, {"number": 7}))
        self.assertEqual(policies.LOGGED.pop()[0], "/awaited/7")
        self.assertEqual(await self.get("/awaited/7", "nurse"), (403, None))
