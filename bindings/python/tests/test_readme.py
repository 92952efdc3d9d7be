"""The examples of the README run, and print what it says. That of FastAPI is run in `frameworks`."""

import contextlib
import io
import json
import os
import pathlib
import re
import tempfile
import unittest

README = pathlib.Path(__file__).resolve().parents[1] / "README.md"


def examples():
    text = README.read_text(encoding="utf-8")
    return re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


class Readme(unittest.TestCase):
    def test_its_examples_run(self):
        with open(os.environ["DURWARD_CASES"], encoding="utf-8") as file:
            policy = next(case["policies"]["records.xml"] for case in json.load(file) if "requests" in case)
        before, said, names = os.getcwd(), io.StringIO(), {}
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(said):
            pathlib.Path(folder, "policies").mkdir()
            pathlib.Path(folder, "policies/records.xml").write_text(policy, encoding="utf-8")
            os.chdir(folder)
            try:
                for example in examples():
                    if "import fastapi" not in example:
                        exec(compile(example, str(README), "exec"), names)
            finally:
                os.chdir(before)
        lines = said.getvalue().splitlines()
        self.assertEqual(lines[0], "True")
        self.assertEqual(json.loads(lines[1])["Response"][0]["Decision"], "Permit")
        self.assertEqual(lines[2:], ["anna reads 7", "record 7"])
