"""What Python adds: forms of questions, errors, policies that are put in force, objects of decisions."""

import pathlib
import pickle
import tempfile
import unittest

import durward

DOCTORS = 'policy "doctors" permit subject.role == "doctor";'
PERMIT = {"subject": {"role": "doctor"}, "action": "read", "resource": "record"}
DENY = {"subject": {"role": "nurse"}, "action": "read", "resource": "record"}


def pdp(policy=DOCTORS):
    return durward.Pdp.from_texts({"p.sapl": policy})


class Questions(unittest.TestCase):
    def test_a_subscription_is_one_argument_or_its_elements(self):
        self.assertTrue(pdp().decide(PERMIT).permit)
        self.assertFalse(pdp().decide(**DENY).permit)
        for wrong in (
            lambda: pdp().decide(),
            lambda: pdp().decide(None),
            lambda: pdp().decide(PERMIT, action="read"),
            lambda: pdp().decide(subject=1, action=2, ressource=3),
            lambda: pdp().decide(subscription=PERMIT),
        ):
            self.assertRaises(TypeError, wrong)
        with self.assertRaisesRegex(durward.QuestionError, "lacks `resource`"):
            pdp().decide(subject=1, action=2)

    def test_none_is_null_and_not_absent(self):
        nobody = pdp('policy "nobody" permit subject == null;')
        self.assertTrue(nobody.decide(subject=None, action=1, resource=1).permit)

    def test_environment_and_secrets_are_elements_too(self):
        home = pdp('policy "home" permit environment.at == "home";')
        self.assertTrue(home.decide(subject=1, action=1, resource=1, environment={"at": "home"}, secrets={}).permit)
        self.assertFalse(home.decide(subject=1, action=1, resource=1).permit)
        with self.assertRaisesRegex(durward.QuestionError, "`secrets` must be an object"):
            home.decide(subject=1, action=1, resource=1, secrets=3)

    def test_long_questions_are_answered_as_short_ones(self):
        for length in (1, 900, 1000, 1100, 100_000, 4_000_000):
            for of in ("a", "é", "𝄞"):
                if len(of.encode()) * length < 4_000_000:
                    self.assertTrue(pdp().decide({**PERMIT, "resource": of * length}).permit)
                    self.assertEqual(pdp().decide({**DENY, "resource": of * length}).decision, "DENY")

    def test_many_are_decided_in_their_order(self):
        decisions = pdp().decide_many(iter([PERMIT, DENY, PERMIT]))
        self.assertEqual([one.permit for one in decisions], [True, False, True])
        self.assertEqual(pdp().decide_many([]), [])

    def test_the_first_that_is_no_question_is_raised_or_they_stand_among_the_answers(self):
        asked = [PERMIT, "{", {**PERMIT, "resource": float("nan")}, DENY, "\ud800"]
        with self.assertRaises(durward.QuestionError) as refused:
            pdp().decide_many(asked)
        self.assertEqual(refused.exception.index, 1)
        answers = pdp().decide_many(asked, return_exceptions=True)
        self.assertEqual([getattr(one, "permit", None) for one in answers], [True, None, None, False, None])
        self.assertEqual([getattr(one, "index", None) for one in answers], [None, 1, 2, None, 4])
        for one in (answers[1], answers[2], answers[4]):
            self.assertIsInstance(one, durward.QuestionError)
        for wrong in (3, None, "{}", b"{}", PERMIT, [PERMIT, 3]):
            self.assertRaises(TypeError, pdp().decide_many, wrong)


class Decisions(unittest.TestCase):
    def test_a_decision_is_neither_true_nor_false(self):
        for one in (PERMIT, DENY):
            with self.assertRaisesRegex(TypeError, r"\.permit"):
                bool(pdp().decide(one))

    def test_those_that_nothing_goes_along_with_are_shared(self):
        self.assertIs(pdp().decide(PERMIT), pdp().decide(PERMIT))
        decision = pdp().decide(PERMIT)
        decision.obligations.append("theirs")
        decision.advice.append("theirs")
        self.assertEqual((decision.obligations, decision.advice), ([], []))
        with self.assertRaises(AttributeError):
            decision.permit = True

    def test_decisions_are_compared_by_what_they_say(self):
        duty = pdp('policy "p" permit obligation subject')
        one, same, other = (duty.decide(subject=who, action=1, resource=1) for who in "aab")
        self.assertEqual(one, same)
        self.assertEqual(hash(one), hash(same))
        self.assertNotEqual(one, other)
        self.assertNotEqual(one, pdp().decide(PERMIT))
        self.assertNotEqual(one, one.to_json())
        self.assertEqual(repr(one), '<durward.Decision {"decision":"PERMIT","obligations":["a"]}>')

    def test_a_resource_may_be_none(self):
        decision = pdp('policy "p" permit transform null').decide(PERMIT)
        self.assertIsNone(decision.resource)
        self.assertTrue(decision.has_resource)
        self.assertFalse(pdp().decide(PERMIT).has_resource)


class Policies(unittest.TestCase):
    def test_policies_of_a_folder_are_read_again(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "p.sapl")
            file.write_text(DOCTORS, encoding="utf-8")
            for path in (folder, pathlib.Path(folder), file):
                self.assertTrue(durward.Pdp.from_dir(path).decide(PERMIT).permit)
            read = durward.Pdp.from_dir(folder)
            file.write_text('policy "p" denyy', encoding="utf-8")
            with self.assertRaises(durward.PolicyError) as broken:
                read.reload()
            self.assertEqual([(one.line, one.column) for one in broken.exception.problems], [(1, 12)])
            self.assertTrue(read.decide(PERMIT).permit)
            file.write_text('policy "p" deny', encoding="utf-8")
            self.assertGreater(read.reload().id, 1)
            self.assertFalse(read.decide(PERMIT).permit)
        self.assertRaises(durward.PolicyError, read.reload)
        self.assertFalse(read.decide(PERMIT).permit)

    def test_texts_are_replaced_whole_or_not_at_all(self):
        held = pdp()
        self.assertEqual(held.snapshot().id, 1)
        self.assertRaises(durward.PolicyError, held.replace, {"a.sapl": 'policy "a" permit', "b.sapl": "policy"})
        self.assertFalse(held.decide(DENY).permit)
        info = held.replace({"a.sapl": b'policy "a" permit'})
        self.assertEqual((info.documents, info.policies), (1, 1))
        self.assertEqual(info, held.snapshot())
        self.assertTrue(held.decide(DENY).permit)
        with self.assertRaisesRegex(durward.PolicyError, "given as texts"):
            held.reload()

    def test_what_is_not_there_is_named(self):
        with self.assertRaises(durward.PolicyError) as missing:
            durward.Pdp.from_dir("/no/such/folder")
        self.assertEqual(missing.exception.problems[0].source, "/no/such/folder")

    def test_errors_are_of_one_kind_and_travel(self):
        with self.assertRaises(durward.Error) as broken:
            pdp("policy")
        copy = pickle.loads(pickle.dumps(broken.exception))
        self.assertIsInstance(copy, durward.PolicyError)
        self.assertEqual((str(copy), copy.problems), (str(broken.exception), broken.exception.problems))
        self.assertTrue(issubclass(durward.QuestionError, durward.Error))
        self.assertEqual(durward.QuestionError.__module__, "durward")
