//! Policies on their way in: at once, or on a thread of Node's pool while JavaScript goes on.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use durward_embed::{Clock, DecisionPoint, SnapshotInfo};
use napi::bindgen_prelude::Buffer;
use napi::{Env, Result, Task};

use crate::answer::Snapshot;
use crate::error;
use crate::pdp::NativePdp;

/// Policies as texts, each with its name.
pub(crate) type Texts = Vec<(String, Vec<u8>)>;

#[expect(clippy::disallowed_methods, reason = "a program's own addon: nobody else hands a clock to it")]
fn clock() -> Clock {
    Arc::new(SystemTime::now)
}

/// Pairs names with texts.
pub(crate) fn texts(names: Vec<String>, texts: &[Buffer]) -> Texts {
    names.into_iter().zip(texts.iter().map(|text| text.to_vec())).collect()
}

pub(crate) fn open(path: &str) -> Result<DecisionPoint> {
    DecisionPoint::open(Path::new(path), clock()).map_err(|error| error::of_load(&error))
}

pub(crate) fn from_texts(texts: Texts) -> Result<DecisionPoint> {
    DecisionPoint::from_texts(texts, clock()).map_err(|error| error::of_load(&error))
}

pub(crate) fn reload(point: &DecisionPoint) -> Result<SnapshotInfo> {
    point.reload().map_err(|error| error::of_load(&error))
}

pub(crate) fn replace(point: &DecisionPoint, texts: Texts) -> Result<SnapshotInfo> {
    point.replace(texts).map_err(|error| error::of_load(&error))
}

/// What a thread of the pool does, once.
type Work<T> = Box<dyn FnOnce() -> Result<T> + Send>;

/// Node's pool calls this from C, through which no panic may go.
fn run<T>(work: &mut Option<Work<T>>) -> Result<T> {
    let Some(work) = work.take() else { return Err(error::panicked()) };
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| Err(error::panicked()))
}

/// A decision point in the making.
pub struct Opening(Option<Work<DecisionPoint>>);

impl Opening {
    pub(crate) fn new(work: impl FnOnce() -> Result<DecisionPoint> + Send + 'static) -> Opening {
        Opening(Some(Box::new(work)))
    }
}

impl Task for Opening {
    type Output = DecisionPoint;
    type JsValue = NativePdp;

    fn compute(&mut self) -> Result<DecisionPoint> {
        run(&mut self.0)
    }

    fn resolve(&mut self, _: Env, point: DecisionPoint) -> Result<NativePdp> {
        NativePdp::new(point)
    }
}

/// Policies that take the place of others.
pub struct Renewing(Option<Work<SnapshotInfo>>);

impl Renewing {
    pub(crate) fn new(work: impl FnOnce() -> Result<SnapshotInfo> + Send + 'static) -> Renewing {
        Renewing(Some(Box::new(work)))
    }
}

impl Task for Renewing {
    type Output = SnapshotInfo;
    type JsValue = Snapshot;

    fn compute(&mut self) -> Result<SnapshotInfo> {
        run(&mut self.0)
    }

    fn resolve(&mut self, _: Env, info: SnapshotInfo) -> Result<Snapshot> {
        Ok(info.into())
    }
}
