//! The decision point, as Python holds it.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::SystemTime;

use durward_embed::{Clock, DecisionPoint, LoadError};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyDict, PyList, PyMapping, PyString, PyType};

use crate::decision::Decision;
use crate::error::{self, QuestionError};
use crate::explanation::Explanation;
use crate::question::Text;
use crate::snapshot::Snapshot;
use crate::watch::NativeWatch;

/// The longest question whose text is looked at while the interpreter is held: to let go of it and take it again costs as much as a look at
/// a text of some hundred bytes, and more where other threads run.
const HELD_BYTES_MAX: usize = 1024;

/// A decision point, and in which process its watched subscriptions are driven.
pub(crate) struct Point {
    pub(crate) point: DecisionPoint,
    /// The process whose thread drives them; 0 as long as nothing was watched.
    driven_in: AtomicU32,
}

impl Point {
    /// Refuses in a process that was forked from the one with the thread, which may have held locks.
    fn not_forked(&self) -> PyResult<()> {
        if self.is_forked() { Err(error::of_fork()) } else { Ok(()) }
    }

    fn is_forked(&self) -> bool {
        let driven_in = self.driven_in.load(Ordering::Acquire);
        driven_in != 0 && driven_in != std::process::id()
    }

    /// There it is never dropped, which takes the same locks.
    pub(crate) fn keep_if_forked(self: &Arc<Point>) {
        if self.is_forked() {
            std::mem::forget(Arc::clone(self));
        }
    }
}

/// Policies in force, and their decisions. All of it may be called from any thread.
#[pyclass(frozen, module = "durward")]
pub struct Pdp {
    point: Arc<Point>,
}

type Texts = Vec<(String, Vec<u8>)>;

impl Pdp {
    fn of(made: Result<DecisionPoint, LoadError>) -> PyResult<Pdp> {
        let point = made.map_err(|error| error::of_policies(&error))?;
        Ok(Pdp { point: Arc::new(Point { point, driven_in: AtomicU32::new(0) }) })
    }

    fn answered(&self, py: Python<'_>, text: &[u8]) -> PyResult<Py<Decision>> {
        let point = &self.point.point;
        let decided = if text.len() <= HELD_BYTES_MAX {
            point.decide_aside(text, |pending| py.detach(|| pending.decide()))
        } else {
            py.detach(|| point.decide(text))
        };
        Decision::of(py, decided.map_err(error::of_question)?)
    }
}

#[pymethods]
impl Pdp {
    /// Reads the policies of a folder, or of one file.
    #[classmethod]
    fn from_dir(_class: &Bound<'_, PyType>, py: Python<'_>, path: PathBuf) -> PyResult<Pdp> {
        Pdp::of(py.detach(|| DecisionPoint::open(&path, clock())))
    }

    /// Takes policies as texts, by their names, which say the language: `doctors.sapl`, `records.xml`, `pdp.json`.
    #[classmethod]
    fn from_texts(_class: &Bound<'_, PyType>, py: Python<'_>, texts: &Bound<'_, PyMapping>) -> PyResult<Pdp> {
        let texts = texts_of(texts)?;
        Pdp::of(py.detach(|| DecisionPoint::from_texts(texts, clock())))
    }

    /// Answers a subscription: str or bytes of JSON, a dict, or its elements as keyword arguments.
    #[pyo3(signature = (subscription=None, /, **elements), text_signature = "($self, subscription=None, /, *, subject=..., action=..., resource=..., environment=..., secrets=...)")]
    fn decide<'py>(
        &self,
        py: Python<'py>,
        subscription: Option<&Bound<'py, PyAny>>,
        elements: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Py<Decision>> {
        let text = Text::of_subscription(subscription, elements)?;
        self.answered(py, text.bytes()?)
    }

    /// Answers many subscriptions, in their order. The first that is none is raised, with its `index`; with `return_exceptions`, errors stand
    /// among the decisions.
    #[pyo3(signature = (subscriptions, /, *, return_exceptions=false))]
    fn decide_many<'py>(
        &self,
        py: Python<'py>,
        subscriptions: &Bound<'py, PyAny>,
        return_exceptions: bool,
    ) -> PyResult<Bound<'py, PyList>> {
        let is_one = subscriptions.is_instance_of::<PyString>()
            || subscriptions.is_instance_of::<PyBytes>()
            || subscriptions.is_instance_of::<PyDict>();
        if is_one {
            return Err(PyTypeError::new_err("many subscriptions are wanted, in a list: this is one"));
        }
        let mut texts = Vec::new();
        for subscription in subscriptions.try_iter()? {
            texts.push(kept(py, Text::of_one(&subscription?))?);
        }
        let mut read = Vec::with_capacity(texts.len());
        for text in &texts {
            read.push(match text {
                Ok(text) => kept(py, text.bytes())?,
                Err(error) => Err(error.clone_ref(py)),
            });
        }
        let asked: Vec<&[u8]> = read.iter().filter_map(|read| read.as_ref().ok().copied()).collect();
        let point = &self.point.point;
        let mut decided = py.detach(|| point.decide_many(asked)).into_iter();
        let answers = PyList::empty(py);
        for (index, read) in read.into_iter().enumerate() {
            let answer = read.and_then(|_| match decided.next() {
                Some(decided) => Decision::of(py, decided.map_err(error::of_question)?),
                None => Err(QuestionError::new_err("this question was not answered")),
            });
            match answer {
                Ok(decision) => answers.append(decision)?,
                Err(error) => {
                    error.value(py).setattr("index", index)?;
                    if !return_exceptions {
                        return Err(error);
                    }
                    answers.append(error.into_value(py))?;
                }
            }
        }
        Ok(answers)
    }

    /// Answers a request of XACML 3.0 or 2.0 in XML, or in JSON of its profile; the response is of the same form.
    #[pyo3(signature = (request, /))]
    fn decide_request(&self, py: Python<'_>, request: &Bound<'_, PyAny>) -> PyResult<String> {
        let text = Text::of_request(request)?;
        let (point, bytes) = (&self.point.point, text.bytes()?);
        py.detach(|| point.decide_request(bytes)).map_err(error::of_question)
    }

    /// Says why a subscription is answered as it is; takes what `decide` takes.
    #[pyo3(signature = (subscription=None, /, **elements), text_signature = "($self, subscription=None, /, *, subject=..., action=..., resource=..., environment=..., secrets=...)")]
    fn explain<'py>(
        &self,
        py: Python<'py>,
        subscription: Option<&Bound<'py, PyAny>>,
        elements: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Explanation> {
        let text = Text::of_subscription(subscription, elements)?;
        let (point, bytes) = (&self.point.point, text.bytes()?);
        py.detach(|| point.explain(bytes)).map(Explanation::from).map_err(error::of_question)
    }

    /// Says why a request of XACML, in XML or JSON, is answered as it is.
    #[pyo3(signature = (request, /))]
    fn explain_request(&self, py: Python<'_>, request: &Bound<'_, PyAny>) -> PyResult<Explanation> {
        let text = Text::of_request(request)?;
        let (point, bytes) = (&self.point.point, text.bytes()?);
        py.detach(|| point.explain_request(bytes)).map(Explanation::from).map_err(error::of_question)
    }

    /// Decides a subscription again whenever another decision comes of it; takes what `decide` takes, gives a `durward.Watch`.
    #[pyo3(signature = (subscription=None, /, **elements), text_signature = "($self, subscription=None, /, *, subject=..., action=..., resource=..., environment=..., secrets=...)")]
    fn watch<'py>(
        &self,
        py: Python<'py>,
        subscription: Option<&Bound<'py, PyAny>>,
        elements: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        static WATCH: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let text = Text::of_subscription(subscription, elements)?;
        let bytes = text.bytes()?;
        self.point.not_forked()?;
        let point = &self.point.point;
        let watch = py.detach(|| point.watch(bytes)).map_err(error::of_question)?;
        self.point.driven_in.store(std::process::id(), Ordering::Release);
        let native = NativeWatch::new(watch, Arc::clone(&self.point));
        WATCH.import(py, "durward._watch", "Watch")?.call1((native,))
    }

    /// Reads the policies again from where they were read, and puts them in force. If they are broken, all stays as it was.
    fn reload(&self, py: Python<'_>) -> PyResult<Snapshot> {
        self.point.not_forked()?;
        let point = &self.point.point;
        py.detach(|| point.reload()).map(Snapshot::from).map_err(|error| error::of_policies(&error))
    }

    /// Puts these texts in force in place of the policies there are. If they are broken, all stays as it was.
    fn replace(&self, py: Python<'_>, texts: &Bound<'_, PyMapping>) -> PyResult<Snapshot> {
        self.point.not_forked()?;
        let texts = texts_of(texts)?;
        let point = &self.point.point;
        py.detach(|| point.replace(texts)).map(Snapshot::from).map_err(|error| error::of_policies(&error))
    }

    /// What is in force.
    fn snapshot(&self) -> Snapshot {
        self.point.point.snapshot().into()
    }

    fn __repr__(&self) -> String {
        let info = self.point.point.snapshot();
        format!("<durward.Pdp of {} policies, snapshot {}>", info.policies, info.id)
    }
}

impl Drop for Pdp {
    fn drop(&mut self) {
        self.point.keep_if_forked();
    }
}

/// Keeps what is wrong with a question for its answer; what is wrong with the call, or the interpreter, is raised.
fn kept<T>(py: Python<'_>, result: PyResult<T>) -> PyResult<PyResult<T>> {
    match result {
        Err(error) if !error.is_instance_of::<QuestionError>(py) => Err(error),
        result => Ok(result),
    }
}

/// Names and texts of policies.
fn texts_of(texts: &Bound<'_, PyMapping>) -> PyResult<Texts> {
    let mut all = Vec::new();
    for item in texts.items()? {
        let (name, text): (String, Bound<'_, PyAny>) = item.extract()?;
        let text = if let Ok(text) = text.cast::<PyString>() {
            text.to_str()?.as_bytes().to_vec()
        } else if let Ok(text) = text.cast::<PyBytes>() {
            text.as_bytes().to_vec()
        } else {
            return Err(PyTypeError::new_err(format!("the text of `{name}` is to be str or bytes")));
        };
        all.push((name, text));
    }
    Ok(all)
}

#[expect(clippy::disallowed_methods, reason = "this hands out the clock")]
fn clock() -> Clock {
    Arc::new(SystemTime::now)
}
