//! Events, and those who listen. Each listener has a short queue: who does not read it in time is dropped.

use hyper::body::Bytes;
use serde::Serialize;
use tokio::sync::mpsc::{Receiver, Sender, channel};

use crate::live::{PointStatusRow, RunStatus, SecondRow, StatusHead};

/// Events that wait for one listener: half a minute of them.
const QUEUE: usize = 32;
/// So many can listen at once.
const CLIENTS_MAX: usize = 32;

/// An event as it is sent.
#[derive(Clone, Debug)]
pub(super) struct PageEvent(pub(super) Bytes);

#[derive(Serialize)]
struct StatusUpdate<'s> {
    head: &'s StatusHead,
    #[serde(skip_serializing_if = "Option::is_none")]
    second: Option<&'s SecondRow>,
    #[serde(skip_serializing_if = "Option::is_none")]
    point: Option<&'s PointStatusRow>,
}

impl PageEvent {
    fn new(name: &str, data: &impl Serialize) -> PageEvent {
        // JSON on one line has no line break, so it is one `data` field. Figures that JSON cannot say are null.
        let data = serde_json::to_string(data).unwrap_or_else(|_| "null".to_owned());
        PageEvent(Bytes::from(format!("event: {name}\ndata: {data}\n\n")))
    }

    /// Everything, for whoever comes now.
    pub(super) fn all(status: &RunStatus) -> PageEvent {
        PageEvent::new("all", status)
    }

    /// Where the run is.
    pub(super) fn head(status: &RunStatus) -> PageEvent {
        PageEvent::told("head", status, None, None)
    }

    /// A second has passed.
    pub(super) fn second(status: &RunStatus) -> PageEvent {
        PageEvent::told("second", status, status.seconds.back(), None)
    }

    /// A point was measured.
    pub(super) fn point(status: &RunStatus) -> PageEvent {
        PageEvent::told("point", status, None, status.points.last())
    }

    /// The run is over.
    pub(super) fn end(status: &RunStatus) -> PageEvent {
        PageEvent::told("end", status, None, None)
    }

    fn told(
        name: &str,
        status: &RunStatus,
        second: Option<&SecondRow>,
        point: Option<&PointStatusRow>,
    ) -> PageEvent {
        PageEvent::new(name, &StatusUpdate { head: &status.head, second, point })
    }
}

/// Those who listen.
#[derive(Debug, Default)]
pub(super) struct EventClients(Vec<Sender<Bytes>>);

impl EventClients {
    /// One more; `None` where there are too many.
    pub(super) fn add(&mut self) -> Option<Receiver<Bytes>> {
        self.0.retain(|client| !client.is_closed());
        if self.0.len() >= CLIENTS_MAX {
            return None;
        }
        let (sender, receiver) = channel(QUEUE);
        self.0.push(sender);
        Some(receiver)
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.0.iter().filter(|client| !client.is_closed()).count()
    }

    /// Puts an event into everybody's queue; drops those whose queue is full, and never waits.
    pub(super) fn tell(&mut self, event: &PageEvent) {
        self.0.retain(|client| client.try_send(event.0.clone()).is_ok());
    }
}
