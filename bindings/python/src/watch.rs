//! Watched subscriptions: what `durward._watch` is built on.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use durward_embed::{Watch, Watched};
use pyo3::exceptions::{PyRuntimeError, PyStopAsyncIteration, PyStopIteration};
use pyo3::prelude::*;

use crate::decision::Decision;
use crate::error;
use crate::pdp::Point;

/// The longest wait without a look whether Python has a signal to handle, such as Ctrl-C.
const SIGNAL_WAIT: Duration = Duration::from_millis(250);

/// A watched subscription.
#[pyclass(frozen, module = "durward._durward")]
pub struct NativeWatch {
    /// Forgotten, not dropped, in a process that was forked: the thread that drives it may have held locks that dropping takes.
    watch: Option<Watch>,
    /// The process it belongs to.
    process: u32,
    is_closed: AtomicBool,
    /// Whom to wake when it is closed.
    task: Mutex<Option<Arc<Task>>>,
    /// As long as it is watched, somebody may put other policies in force.
    point: Arc<Point>,
}

/// A task that waits for the next decision: what wakes it is called once.
struct Task(Mutex<Option<Py<PyAny>>>);

impl Wake for Task {
    fn wake(self: Arc<Task>) {
        let call = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(call) = call else { return };
        // Nothing to do where the interpreter has ended.
        let _ = Python::try_attach(|py| {
            if let Err(error) = call.call0(py)
                // The event loop was closed: nobody waits.
                && !error.is_instance_of::<PyRuntimeError>(py)
            {
                error.write_unraisable(py, None);
            }
        });
    }
}

impl NativeWatch {
    pub(crate) fn new(watch: Watch, point: Arc<Point>) -> NativeWatch {
        NativeWatch {
            watch: Some(watch),
            process: std::process::id(),
            is_closed: AtomicBool::new(false),
            task: Mutex::new(None),
            point,
        }
    }

    fn watch(&self) -> PyResult<&Watch> {
        match &self.watch {
            Some(watch) if self.process == std::process::id() => Ok(watch),
            _ => Err(error::of_fork()),
        }
    }

    /// Keeps the task that waits, and gives the one that did.
    fn keep(&self, task: Option<Arc<Task>>) -> Option<Arc<Task>> {
        std::mem::replace(&mut *self.task.lock().unwrap_or_else(PoisonError::into_inner), task)
    }
}

#[pymethods]
impl NativeWatch {
    /// The next decision; None where none comes within so many seconds. Raises StopIteration when it is closed.
    fn wait(&self, py: Python<'_>, seconds: Option<f64>) -> PyResult<Option<Py<Decision>>> {
        let watch = self.watch()?;
        let limit =
            seconds.map(|seconds| Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or(Duration::MAX));
        // A limit beyond what the clock can count is none.
        let end = limit.and_then(|limit| Instant::now().checked_add(limit));
        loop {
            let left = end.map(|end| end.saturating_duration_since(Instant::now()));
            let wait = left.map_or(SIGNAL_WAIT, |left| left.min(SIGNAL_WAIT));
            match py.detach(|| watch.next(Some(wait))) {
                Watched::Decision(decision) => return Decision::of(py, decision).map(Some),
                Watched::Closed => return Err(PyStopIteration::new_err(())),
                Watched::Nothing => {
                    py.check_signals()?;
                    if left.is_some_and(|left| left <= wait) {
                        return Ok(None);
                    }
                }
            }
        }
    }

    /// The next decision if there is one; None where there is none, and `wake` is called, on any thread, when that may have changed. Raises
    /// StopAsyncIteration when it is closed.
    fn poll(&self, py: Python<'_>, wake: Py<PyAny>) -> PyResult<Option<Py<Decision>>> {
        let watch = self.watch()?;
        let task = Arc::new(Task(Mutex::new(Some(wake))));
        let polled = py.detach(|| {
            self.keep(Some(Arc::clone(&task)));
            let polled = watch.poll_next(&mut Context::from_waker(&Waker::from(task)));
            if polled.is_ready() {
                self.keep(None);
            }
            polled
        });
        match polled {
            Poll::Ready(Some(decision)) => Decision::of(py, decision).map(Some),
            Poll::Ready(None) => Err(PyStopAsyncIteration::new_err(())),
            Poll::Pending => Ok(None),
        }
    }

    /// Ends it: whoever waits is told.
    fn close(&self, py: Python<'_>) {
        if self.is_closed.swap(true, Ordering::AcqRel) {
            return;
        }
        let Ok(watch) = self.watch() else { return };
        let task = py.detach(|| {
            watch.close();
            self.keep(None)
        });
        if let Some(task) = task {
            task.wake();
        }
    }

    #[getter]
    fn closed(&self) -> bool {
        self.is_closed.load(Ordering::Acquire)
    }
}

impl Drop for NativeWatch {
    fn drop(&mut self) {
        if self.process != std::process::id() {
            std::mem::forget(self.watch.take());
        }
        self.point.keep_if_forked();
    }
}
