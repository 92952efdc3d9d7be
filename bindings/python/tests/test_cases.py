"""The table of cases that every package for another language holds: `crates/durward-embed/tests/cases.json`."""

import json
import os
import unittest

import durward

with open(os.environ["DURWARD_CASES"], encoding="utf-8") as file:
    CASES = json.load(file)


def text(value):
    return json.dumps(value, ensure_ascii=False)


class Cases(unittest.TestCase):
    def hold(self, case, pdp):
        for subscription, expected in case.get("decide", []):
            forms = (text(subscription), text(subscription).encode(), subscription)
            decisions = [pdp.decide(form) for form in forms]
            decisions.append(pdp.decide(**subscription))
            decisions += pdp.decide_many(forms)
            for decision in decisions:
                self.assertEqual(json.loads(decision.to_json()), expected)
                self.assertEqual(decision.decision, expected["decision"])
                self.assertIs(decision.permit, expected["decision"] == "PERMIT")
                self.assertEqual(decision.obligations, expected.get("obligations", []))
                self.assertEqual(decision.advice, expected.get("advice", []))
                self.assertEqual(decision.resource, expected.get("resource"))
                self.assertIs(decision.has_resource, "resource" in expected)
            explained = pdp.explain(**subscription)
            self.assertEqual(json.loads(explained.to_json())[0]["outcome"], expected["decision"])
            self.assertIn(expected["decision"], explained.text)
            self.assertEqual(str(explained), explained.text)
            with pdp.watch(subscription) as watch:
                self.assertEqual(watch.next(60), decisions[0])
        for request, expected in case.get("requests", []):
            self.assertEqual(json.loads(pdp.decide_request(request)), expected)
            explained = pdp.explain_request(request.encode())
            self.assertEqual(json.loads(explained.to_json())[0]["outcome"], expected["Response"][0]["Decision"])
        for request, expected in case.get("xml_requests", []):
            self.assertIn(expected, pdp.decide_request(request))
            self.assertIn(expected, pdp.decide_request(request.encode()))
        for subscription, why in case.get("refused", []):
            for ask in (pdp.decide, pdp.explain, pdp.watch, lambda one: pdp.decide_many([one])):
                with self.assertRaises(durward.QuestionError) as refused:
                    ask(subscription)
                self.assertIn(why, str(refused.exception))
        for request, why in case.get("refused_requests", []):
            for ask in (pdp.decide_request, pdp.explain_request):
                with self.assertRaises(durward.QuestionError) as refused:
                    ask(request)
                self.assertIn(why, str(refused.exception))

    def test_every_case_of_the_table_holds(self):
        for case in CASES:
            with self.subTest(case["name"]):
                if "policies" in case:
                    self.hold(case, durward.Pdp.from_texts(case["policies"]))
                for policies, place in case.get("broken", []):
                    with self.assertRaises(durward.PolicyError) as broken:
                        durward.Pdp.from_texts(policies)
                    self.assertTrue(str(broken.exception).startswith(place), broken.exception)
                    problem = broken.exception.problems[0]
                    self.assertTrue(f"{problem.source}:{problem.line}:".startswith(place), problem)
        self.assertGreater(len(CASES), 5)
