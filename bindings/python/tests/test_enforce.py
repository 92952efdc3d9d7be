"""Guards of functions: what is called, what is returned, and what is denied."""

import asyncio
import inspect
import logging
import unittest

import durward
from durward.enforce import (
    DECISION,
    ERROR,
    INPUT,
    OUTPUT,
    AccessDeniedError,
    Enforcer,
    ScopedHandler,
    post_enforce,
    pre_enforce,
)

logging.getLogger("durward.enforce").addHandler(logging.NullHandler())
logging.getLogger("durward.enforce").propagate = False


class Provider:
    """Claims what is called `name`."""

    def __init__(self, name, *handlers):
        self.name, self.handlers = name, handlers

    def get_handlers(self, constraint):
        return self.handlers if constraint == self.name else ()


def enforcer(policy, *providers):
    return Enforcer(durward.Pdp.from_texts({"p.sapl": policy}), providers=providers)


PERMIT = 'policy "p" permit subject == "anna";'
ALL = 'policy "p" permit'
CHOSEN = {"subject": lambda context: context.args["who"], "resource": "record"}


class Case(unittest.TestCase):
    def setUp(self):
        self.calls = []

    def guarded(self, enforcer, guard="pre_enforce", **chosen):
        @getattr(enforcer, guard)(**{**CHOSEN, **chosen})
        def read(who="anna"):
            self.calls.append(who)
            return f"record of {who}"

        return read

    def denied(self, reason, function, *args):
        with self.assertRaises(AccessDeniedError) as denied:
            function(*args)
        self.assertEqual(denied.exception.reason, reason)
        self.assertIsInstance(denied.exception, durward.Error)
        return denied.exception


class Guards(Case):
    def test_a_function_is_called_if_that_is_permitted(self):
        read = self.guarded(enforcer(PERMIT))
        self.assertEqual(read("anna"), "record of anna")
        error = self.denied("DENY", read, "bob")
        self.assertFalse(error.decision.permit)
        self.assertEqual(self.calls, ["anna"])

    def test_what_is_no_permit_is_denied(self):
        for reason, policy in (("INDETERMINATE", 'policy "p" permit 1 / 0 == 1;'), ("DENY", 'policy "p" deny')):
            self.denied(reason, self.guarded(enforcer(policy)))
        nothing = 'set "s" first or abstain errors propagate for false policy "p" permit'
        self.denied("DENY", self.guarded(enforcer(nothing)))
        self.assertEqual(self.calls, [])

    def test_a_question_that_cannot_be_read_is_an_error_and_no_call(self):
        for wrong in (float("nan"), object(), "\ud800"):
            self.assertRaises(durward.QuestionError, self.guarded(enforcer(ALL), subject=wrong))
        self.assertRaises(KeyError, self.guarded(enforcer(ALL), subject=lambda context: context.args["nobody"]))
        self.assertEqual(self.calls, [])

    def test_a_result_is_returned_if_that_is_permitted(self):
        owner = 'policy "p" permit resource == "record of anna";'
        read = self.guarded(enforcer(owner), "post_enforce", resource=lambda context: context.return_value)
        self.assertEqual(read("anna"), "record of anna")
        self.denied("DENY", read, "bob")
        self.assertEqual(self.calls, ["anna", "bob"])

    def test_elements_are_values_or_functions_of_the_context(self):
        seen = []
        policy = 'policy "p" permit action == "read" & environment.at == "home" & resource == null;'

        def environment(context):
            seen.append(context)
            return {"at": "home"}

        class Records:
            @enforcer(policy).pre_enforce(subject="anna", resource=None, environment=environment, secrets={"key": 1})
            def read(self, number, *more, last=3, **others):
                return number, more, last, others

        self.assertEqual(Records().read(1, 2, x=4), (1, (2,), 3, {"x": 4}))
        self.assertEqual(seen[0].args, {"number": 1, "more": (2,), "last": 3, "others": {"x": 4}})
        self.assertEqual((seen[0].function_name, seen[0].class_name), ("read", "Records"))
        self.assertRaises(TypeError, Records().read)

    def test_a_guard_that_would_not_know_what_to_ask_is_refused(self):
        for wrong in ({}, {"subject": 1}, {"resource": 1}):
            self.assertRaises(TypeError, enforcer(ALL).pre_enforce, **wrong)
        guard = enforcer(ALL).post_enforce(**CHOSEN)

        def many():
            yield 1

        async def more():
            yield 1

        for wrong in (3, None, "read", dict, classmethod(self.guarded), many, more):
            self.assertRaises(TypeError, guard, wrong)
        self.assertRaises(TypeError, enforcer(ALL).configure, None)
        self.assertRaises(TypeError, enforcer(ALL).register_provider, len)

    def test_without_a_decision_point_nothing_is_called(self):
        for read in (self.guarded(Enforcer()), pre_enforce(subject=1, resource=1)(lambda: self.calls.append(1))):
            self.assertRaisesRegex(RuntimeError, "configure", read)
        self.assertRaises(RuntimeError, post_enforce(subject=1, resource=1)(lambda: 1))
        self.assertEqual(self.calls, [])

    def test_a_guarded_function_looks_as_it_did(self):
        async def read(who: str) -> str:
            """Reads."""
            return who

        guarded = enforcer(ALL).pre_enforce(**CHOSEN)(read)
        self.assertEqual((guarded.__name__, guarded.__doc__), ("read", "Reads."))
        self.assertEqual(inspect.signature(guarded), inspect.signature(read))
        self.assertTrue(inspect.iscoroutinefunction(guarded))

    def test_what_a_function_raises_is_raised(self):
        @enforcer(ALL).pre_enforce(subject=1, resource=1)
        def fails():
            raise KeyError("mine")

        self.assertRaisesRegex(KeyError, "mine", fails)

    def test_generators_are_guarded_when_they_are_called(self):
        @enforcer(PERMIT).pre_enforce(**CHOSEN)
        def count(who):
            yield from range(3)

        self.assertEqual(list(count("anna")), [0, 1, 2])
        self.denied("DENY", count, "bob")


class Obligations(Case):
    def test_a_permit_with_an_obligation_that_nobody_handles_is_denied(self):
        for obligation in ('"log"', '{"type": "log"}', '{"id": "log"}', "3", "null", "[]", '{"type": 3}'):
            for guard in ("pre_enforce", "post_enforce"):
                held = enforcer(f"{ALL} obligation {obligation} obligation \"known\"")
                held.on_decision("known")(lambda *_: self.calls.append("known"))
                self.denied("OBLIGATION_UNHANDLED", self.guarded(held, guard))
        # Nobody was called, but for functions that are asked about afterwards.
        self.assertEqual(set(self.calls), {"anna"})

    def test_a_handler_is_known_by_name_and_told_of_the_call(self):
        for obligation in ("log", {"type": "log"}, {"id": "log", "x": 1}, {"type": "log", "id": "other"}):
            text = f'"{obligation}"' if isinstance(obligation, str) else str(obligation).replace("'", '"')
            held, told = enforcer(f"{ALL} obligation {text}"), []
            held.on_decision("log")(lambda constraint, context: told.append((constraint, context)))
            self.assertEqual(self.guarded(held)("anna"), "record of anna")
            ((constraint, context),) = told
            self.assertEqual(constraint, obligation)
            self.assertTrue(context.decision.permit)
            self.assertEqual(context.args, {"who": "anna"})

    def test_what_an_obligation_fails_with_denies(self):
        for guard, calls in (("pre_enforce", []), ("post_enforce", ["anna"])):
            self.calls.clear()
            held = enforcer(f'{ALL} obligation "log"')

            @held.on_decision("log")
            def log(*_):
                raise OSError("disk full")

            error = self.denied("OBLIGATION_FAILURE", self.guarded(held, guard))
            self.assertIsInstance(error.__cause__, OSError)
            self.assertEqual(self.calls, calls)

    def test_obligations_of_a_deny_are_handled_where_that_is_known(self):
        held, told = enforcer('policy "p" deny obligation "log" obligation "unknown" obligation "fails" obligation "last"'), []
        held.on_decision("log")(lambda constraint, _: told.append(constraint))
        held.on_decision("fails")(lambda *_: 1 / 0)
        held.on_decision("last")(lambda constraint, _: told.append(constraint))
        self.denied("DENY", self.guarded(held))
        self.assertEqual((told, self.calls), (["log", "last"], []))

    def test_an_obligation_changes_what_is_returned(self):
        for guard in ("pre_enforce", "post_enforce"):
            held = enforcer(f'{ALL} obligation {{"type": "cut", "to": 6}}')
            held.on_output("cut")(lambda constraint, value, context: value[: constraint["to"]])
            self.assertEqual(self.guarded(held, guard)("anna"), "record")
            held = enforcer(f'{ALL} obligation "cut"')
            held.on_output("cut")(lambda *_: 1 / 0)
            self.denied("OBLIGATION_FAILURE", self.guarded(held, guard))

    def test_what_stands_for_the_resource_is_returned(self):
        for guard in ("pre_enforce", "post_enforce"):
            self.assertEqual(self.guarded(enforcer(f'{ALL} transform {{"x": 1}}'), guard)(), {"x": 1})
            self.assertIsNone(self.guarded(enforcer(f"{ALL} transform null"), guard)())

    def test_advice_may_be_left_alone(self):
        self.assertEqual(self.guarded(enforcer(f'{ALL} advice "hint"'))(), "record of anna")
        held = enforcer(f'{ALL} advice "hint" advice "cut"')
        held.on_decision("hint")(lambda *_: 1 / 0)
        held.on_output("cut")(lambda *_: "changed")
        self.assertEqual(self.guarded(held)(), "record of anna")
        held, told = enforcer(f'{ALL} advice "hint"'), []
        held.on_decision("hint")(lambda constraint, _: told.append(constraint))
        self.guarded(held)()
        self.assertEqual(told, ["hint"])

    def test_a_name_has_one_handler(self):
        held = enforcer(ALL)
        held.on_decision("log")(print)
        self.assertRaises(ValueError, held.on_output("log"), print)
        self.assertRaises(TypeError, held.on_decision("other"), 3)
        self.assertRaises(TypeError, held.on_decision, print)


class Providers(Case):
    def held(self, *handlers, more=()):
        return enforcer(f'{ALL} obligation "do"', Provider("do", *handlers), *more)

    def test_handlers_of_a_provider_are_called_at_their_moments(self):
        said = []

        def handlers(signal, shape, *priorities):
            def handler(priority):
                def call(*values):
                    said.append((signal, shape, priority, *values))
                    return values[0] if values else None

                return call

            return [ScopedHandler(signal, priority, shape, handler(priority)) for priority in priorities]

        held = self.held(
            *handlers(OUTPUT, "consumer", 5, 1),
            *handlers(OUTPUT, "mapper", 3),
            *handlers(INPUT, "consumer", 0),
            *handlers(DECISION, "runner", 1, -1),
        )
        self.guarded(held)("anna")
        self.assertEqual(
            said,
            [
                ("decision", "runner", -1),
                ("decision", "runner", 1),
                ("input", "consumer", 0, (("anna",), {})),
                ("output", "consumer", 1, "record of anna"),
                ("output", "mapper", 3, "record of anna"),
                ("output", "consumer", 5, "record of anna"),
            ],
        )

    def test_arguments_may_be_changed(self):
        change = ScopedHandler(INPUT, 0, "mapper", lambda given: (("bob",), given[1]))
        self.assertEqual(self.guarded(self.held(change))("anna"), "record of bob")
        # They have been used already.
        self.denied("OBLIGATION_UNHANDLED", self.guarded(self.held(change), "post_enforce"))

    def test_errors_may_be_changed(self):
        def guarded(handler):
            @self.held(ScopedHandler(ERROR, 0, "mapper", handler)).pre_enforce(subject=1, resource=1)
            def fails():
                raise KeyError("mine")

            return fails

        self.assertRaisesRegex(ValueError, "theirs", guarded(lambda error: ValueError("theirs")))
        self.assertRaisesRegex(KeyError, "mine", guarded(lambda error: None))
        self.denied("OBLIGATION_FAILURE", guarded(lambda error: 1 / 0))

    def test_an_obligation_with_handlers_that_cannot_be_is_denied(self):
        runner = ScopedHandler(DECISION, 0, "runner", lambda: None)
        mapper = ScopedHandler(OUTPUT, 0, "mapper", lambda value: value)

        class Fails:
            def get_handlers(self, constraint):
                raise OSError

        wrong = [
            self.held(runner, more=[Provider("do", runner)]),
            self.held(runner, more=[Fails()]),
            self.held(ScopedHandler(DECISION, 0, "mapper", lambda value: value)),
            self.held(ScopedHandler(DECISION, 0, "consumer", lambda value: value)),
            self.held(ScopedHandler("query", 0, "runner", lambda: None)),
            self.held(ScopedHandler(OUTPUT, 0, "other", lambda value: value)),
            self.held(mapper, mapper),
            self.held(),
        ]
        for held in wrong:
            self.denied("OBLIGATION_UNHANDLED", self.guarded(held))
        self.assertEqual(self.calls, [])
        held = self.held(runner, more=[Provider("other", runner)])
        self.assertEqual(self.guarded(held)(), "record of anna")

    def test_handlers_that_are_awaited_deny_what_is_not(self):
        async def handler(*_):
            self.calls.append("awaited")

        held = self.held()
        held.on_decision("do")(handler)
        error = self.denied("OBLIGATION_FAILURE", self.guarded(held))
        self.assertIn("to be awaited", str(error))
        self.assertEqual(self.calls, [])


class Awaited(unittest.IsolatedAsyncioTestCase):
    async def test_functions_and_handlers_are_awaited(self):
        held, told = enforcer('policy "p" permit subject == "anna"; obligation "log" obligation "cut"'), []

        @held.on_decision("log")
        async def log(constraint, context):
            await asyncio.sleep(0)
            told.append((constraint, context.args))

        @held.on_output("cut")
        async def cut(constraint, value, context):
            await asyncio.sleep(0)
            return value[:6]

        for guard in (held.pre_enforce, held.post_enforce):

            @guard(**CHOSEN)
            async def read(who):
                await asyncio.sleep(0)
                return f"record of {who}"

            self.assertEqual(await read("anna"), "record")
            self.assertEqual(told.pop(), ("log", {"who": "anna"}))
            with self.assertRaises(AccessDeniedError):
                await read("bob")

    async def test_what_is_cancelled_stays_so(self):
        held, waits = enforcer(f'{ALL} obligation "wait"'), asyncio.Event()

        @held.on_decision("wait")
        async def wait(*_):
            waits.set()
            await asyncio.Event().wait()

        @held.pre_enforce(subject=1, resource=1)
        async def read():
            raise AssertionError

        task = asyncio.ensure_future(read())
        await waits.wait()
        task.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await task

    async def test_generators_are_guarded_when_they_are_called(self):
        @enforcer(PERMIT).pre_enforce(**CHOSEN)
        async def count(who):
            for number in range(3):
                yield number

        self.assertEqual([number async for number in count("anna")], [0, 1, 2])
        self.assertRaises(AccessDeniedError, count, "bob")
