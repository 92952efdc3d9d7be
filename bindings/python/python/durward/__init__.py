"""A policy decision point for SAPL and XACML, in the process that asks.

    >>> import durward
    >>> pdp = durward.Pdp.from_texts({"doctors.sapl": 'policy "doctors" permit subject.role == "doctor";'})
    >>> pdp.decide(subject={"role": "doctor"}, action="read", resource="record").permit
    True

`durward.enforce` guards functions with it; `durward.fastapi`, `durward.flask` and `durward.django` guard the views of those.
"""

from ._durward import Decision, Explanation, Pdp, Snapshot, __version__
from ._errors import Error, PolicyError, Problem, QuestionError
from ._watch import Watch

__all__ = [
    "Decision",
    "Error",
    "Explanation",
    "Pdp",
    "PolicyError",
    "Problem",
    "QuestionError",
    "Snapshot",
    "Watch",
    "__version__",
]

for _public in (Error, PolicyError, Problem, QuestionError, Watch):
    _public.__module__ = __name__
del _public
