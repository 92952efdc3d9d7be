"""The policies of the programs, and who handles their obligations."""

import durward
from durward import enforce

POLICIES = {
    "pdp.json": '{"algorithm": {"votingMode": "PRIORITY_PERMIT", "defaultDecision": "DENY", "errorHandling": "ABSTAIN"}}',
    "records.sapl": """policy "doctors read"
permit
  subject == "doctor";
  action.handler == "record";
obligation {"type": "log", "path": resource.path, "from": environment.ip}
""",
    "own.sapl": """policy "who it is about"
permit
  action == "returned";
  subject == resource.about;
transform {"about": resource.about, "seen": true}
""",
    "routes.sapl": """policy "visitors see what is open"
permit
  subject == "anonymous" & action.method == "GET" & action.handler == "opened";
  resource.route == environment.route & resource.params.number == environment.number;
""",
    "unknown.sapl": """policy "nobody knows how"
permit
  action == "unknown";
obligation "what nobody handles"
""",
}

LOGGED = []


def configure():
    enforce.configure(durward.Pdp.from_texts(POLICIES))


@enforce.on_decision("log")
def log(obligation, context):
    LOGGED.append((obligation["path"], obligation["from"], context.function_name))
