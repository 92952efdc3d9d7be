//! Decisions, as Python holds them.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use durward_embed::{Decision as Decided, Outcome, Value};
use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyList, PyString};

use crate::value::to_python;

/// A decision. Those that nothing goes along with are five objects, made once.
#[pyclass(frozen, module = "durward")]
pub struct Decision {
    decided: Decided,
    /// Obligations, advice and resource, made when they are asked for.
    made: PyOnceLock<Made>,
}

/// What goes along with a decision, as Python's values.
struct Made {
    obligations: Py<PyList>,
    advice: Py<PyList>,
    resource: Option<Py<PyAny>>,
}

/// Each outcome, in the order of `PLAIN`.
const OUTCOMES: [Outcome; 5] =
    [Outcome::Permit, Outcome::Deny, Outcome::Suspend, Outcome::NotApplicable, Outcome::Indeterminate];

static PLAIN: PyOnceLock<[Py<Decision>; 5]> = PyOnceLock::new();

impl Decision {
    pub(crate) fn of(py: Python<'_>, decided: Decided) -> PyResult<Py<Decision>> {
        if is_plain(&decided) {
            return Decision::plain(py, decided.outcome);
        }
        // What has no JSON is written as INDETERMINATE by every surface: so it is that here.
        if decided.to_value().holds_undefined() {
            return Decision::plain(py, Outcome::Indeterminate);
        }
        Py::new(py, Decision { decided, made: PyOnceLock::new() })
    }

    fn plain(py: Python<'_>, outcome: Outcome) -> PyResult<Py<Decision>> {
        let made = PLAIN.get_or_try_init(py, || {
            let [permit, deny, suspend, not_applicable, indeterminate] = OUTCOMES.map(|outcome| {
                Py::new(py, Decision { decided: Decided::plain(outcome), made: PyOnceLock::new() })
            });
            Ok::<_, PyErr>([permit?, deny?, suspend?, not_applicable?, indeterminate?])
        })?;
        let [permit, deny, suspend, not_applicable, indeterminate] = made;
        let decision = match outcome {
            Outcome::Permit => permit,
            Outcome::Deny => deny,
            Outcome::Suspend => suspend,
            Outcome::NotApplicable => not_applicable,
            Outcome::Indeterminate => indeterminate,
        };
        Ok(decision.clone_ref(py))
    }

    /// What goes along with it.
    fn made(&self, py: Python<'_>) -> PyResult<&Made> {
        self.made.get_or_try_init(py, || {
            Ok(Made {
                obligations: list(py, self.decided.obligations())?,
                advice: list(py, self.decided.advice())?,
                resource: match self.decided.resource() {
                    Some(resource) => Some(to_python(py, resource)?.unbind()),
                    None => None,
                },
            })
        })
    }
}

fn is_plain(decided: &Decided) -> bool {
    decided.resource().is_none() && decided.obligations().len() == 0 && decided.advice().len() == 0
}

fn list(py: Python<'_>, values: impl Iterator<Item = Value>) -> PyResult<Py<PyList>> {
    let list = PyList::empty(py);
    for value in values {
        list.append(to_python(py, &value)?)?;
    }
    Ok(list.unbind())
}

#[pymethods]
impl Decision {
    /// Whether it is a PERMIT. Whoever takes it for one must see to the obligations first: where one of them cannot be, it is no permit.
    #[getter]
    fn permit(&self) -> bool {
        self.decided.outcome == Outcome::Permit
    }

    /// `PERMIT`, `DENY`, `SUSPEND`, `NOT_APPLICABLE` or `INDETERMINATE`.
    #[getter]
    fn decision<'py>(&self, py: Python<'py>) -> &Bound<'py, PyString> {
        match self.decided.outcome {
            Outcome::Permit => intern!(py, "PERMIT"),
            Outcome::Deny => intern!(py, "DENY"),
            Outcome::Suspend => intern!(py, "SUSPEND"),
            Outcome::NotApplicable => intern!(py, "NOT_APPLICABLE"),
            Outcome::Indeterminate => intern!(py, "INDETERMINATE"),
        }
    }

    /// What must be done, or access is not granted.
    #[getter]
    fn obligations(&self, py: Python<'_>) -> PyResult<Py<PyList>> {
        // Plain decisions are shared: a list of their own for each who asks.
        if is_plain(&self.decided) {
            return Ok(PyList::empty(py).unbind());
        }
        Ok(self.made(py)?.obligations.clone_ref(py))
    }

    /// What may be done.
    #[getter]
    fn advice(&self, py: Python<'_>) -> PyResult<Py<PyList>> {
        if is_plain(&self.decided) {
            return Ok(PyList::empty(py).unbind());
        }
        Ok(self.made(py)?.advice.clone_ref(py))
    }

    /// What stands for the resource; None where nothing does.
    #[getter]
    fn resource(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        if is_plain(&self.decided) {
            return Ok(None);
        }
        Ok(self.made(py)?.resource.as_ref().map(|resource| resource.clone_ref(py)))
    }

    /// Whether something stands for the resource; it may be None.
    #[getter]
    fn has_resource(&self) -> bool {
        self.decided.resource().is_some()
    }

    /// The decision as SAPL writes it.
    fn to_json(&self) -> String {
        self.decided.to_json()
    }

    fn __bool__(&self) -> PyResult<bool> {
        Err(PyTypeError::new_err(
            "a decision is neither true nor false: ask `.permit`, and see to its `.obligations`",
        ))
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Decision>().is_ok_and(|other| self.decided.equals(&other.get().decided))
    }

    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        // Not values: numbers may be equal that are written differently.
        (self.decided.outcome, self.decided.obligations().len()).hash(&mut hasher);
        hasher.finish()
    }

    fn __repr__(&self) -> String {
        format!("<durward.Decision {}>", self.to_json())
    }
}
