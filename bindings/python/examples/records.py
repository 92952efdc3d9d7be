"""A guarded program of FastAPI.

    pip install durward fastapi uvicorn
    uvicorn records:app --port 3000
    curl -i localhost:3000/records/7                         403
    curl -i -H 'x-role: doctor' localhost:3000/records/7     200
    curl -i -H 'x-role: nurse' localhost:3000/records/7      200, and noted
"""

from collections import Counter
from typing import Annotated, Optional

from durward import Pdp
from durward.fastapi import configure, on_decision, pre_enforce
from fastapi import Depends, FastAPI, Header, Request

configure(
    Pdp.from_texts(
        {
            "doctors.sapl": """policy "doctors read" permit
                action.handler == "record"; subject.role == "doctor";""",
            "nurses.sapl": """policy "nurses read, and that is noted" permit
                action.handler == "record"; subject.role == "nurse";
              obligation { "type": "note", "path": resource.path }""",
        }
    )
)

reads: Counter = Counter()


@on_decision("note")
def note(constraint, context):
    reads[constraint["path"]] += 1


async def login(request: Request, x_role: Annotated[Optional[str], Header()] = None):
    """Stands for your login, which finds out who asks."""
    if x_role is not None:
        request.state.user = {"role": x_role}


app = FastAPI(dependencies=[Depends(login)])


@app.get("/open/{number}")
async def opened(number: int):
    return {"number": number}


@app.get("/records/{number}")
@pre_enforce()
async def record(number: int):
    return {"number": number}
