//! One leader at an agent: reads what it says, answers, and has the load made by a thread of its own.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::channel::{AgentChannel, ChannelError};
use super::message::{ToAgent, ToLeader};
use super::service::AgentHost;
use super::work::{LoadOrder, LoadThread};
use super::{LEADER_SILENCE_MAX, LOOK, SENT_BYTES_MAX};
use crate::scenario::{Scenario, ScenarioFolder, SentScenario};

/// A leader that is served.
pub(super) struct LeaderSession {
    house: Arc<AgentHost>,
    channel: AgentChannel,
    /// A scenario whose files have not come whole.
    coming: Option<IncomingTask>,
    scenario: Option<Arc<Scenario>>,
    work: Option<RunningTask>,
    out: (Sender<ToLeader>, Receiver<ToLeader>),
}

struct IncomingTask {
    text: String,
    sent: SentScenario,
    /// Files to come, the next one last.
    files: Vec<(String, u64)>,
    bytes: Vec<u8>,
}

/// A thread that makes load, or measures what can be made.
struct RunningTask {
    orders: Sender<LoadOrder>,
    thread: JoinHandle<()>,
}

impl LeaderSession {
    pub(super) fn new(house: &Arc<AgentHost>, channel_to: AgentChannel) -> LeaderSession {
        LeaderSession {
            house: Arc::clone(house),
            channel: channel_to,
            coming: None,
            scenario: None,
            work: None,
            out: channel(),
        }
    }

    /// Until the leader goes. How it went, for the log. No load is made any more then.
    pub(super) fn run(mut self) -> String {
        let how = self.serve();
        self.end_work("the leader has gone");
        how
    }

    fn serve(&mut self) -> String {
        let mut heard = Instant::now();
        loop {
            if self.house.is_stopped() {
                self.end_work("the agent was stopped");
                let why = "the agent was stopped".to_owned();
                // It is told as far as it listens.
                let _ = self.channel.send(&ToLeader::Failed { why: why.clone() });
                return why;
            }
            while let Ok(message) = self.out.1.try_recv() {
                if let Err(error) = self.channel.send(&message) {
                    return format!("it {error}");
                }
            }
            match self.channel.receive::<ToAgent>(LOOK) {
                Ok(Some(message)) => {
                    heard = Instant::now();
                    if let Err(error) = self.take(message) {
                        return error;
                    }
                }
                Ok(None) if heard.elapsed() > LEADER_SILENCE_MAX => {
                    return format!("it was not heard of for {} s", LEADER_SILENCE_MAX.as_secs());
                }
                Ok(None) => {}
                Err(ChannelError::Closed) => return "it has gone".to_owned(),
                Err(error) => return format!("it {error}"),
            }
        }
    }

    /// An error ends the session.
    fn take(&mut self, message: ToAgent) -> Result<(), String> {
        match message {
            ToAgent::Ping { id } => {
                let now = self.house.now();
                self.answer(&ToLeader::Pong { id, now_ns: now.ns, unix_us: now.unix_us })
            }
            ToAgent::Scenario { text, variables, mut files } => {
                self.end_work("another scenario has come");
                let total: u64 = files.iter().fold(0, |sum, (_, bytes)| sum.saturating_add(*bytes));
                if total > SENT_BYTES_MAX {
                    return Err(format!("it sent files of {total} bytes, and {SENT_BYTES_MAX} are allowed"));
                }
                files.reverse();
                let sent = SentScenario { variables, ..SentScenario::default() };
                self.coming = Some(IncomingTask { text, sent, files, bytes: Vec::new() });
                self.come()
            }
            ToAgent::Bytes { base64 } => {
                let bytes =
                    STANDARD.decode(base64).map_err(|_| "it sent bytes that are no Base64".to_owned())?;
                let Some(coming) = &mut self.coming else {
                    return Err("it sent bytes of no file".to_owned());
                };
                coming.bytes.extend_from_slice(&bytes);
                self.come()
            }
            ToAgent::Limit { measure_ms } => self.begin(move |work| work.limit(measure_ms)),
            ToAgent::Point(task) => self.begin(move |work| work.point(&task)),
            ToAgent::Start { at_ns } => self.order(LoadOrder::Start(at_ns)),
            ToAgent::Measure { from_ns } => self.order(LoadOrder::Measure(from_ns)),
            ToAgent::Stop { why } => self.order(LoadOrder::Stop(why)),
        }
    }

    fn answer(&mut self, message: &ToLeader) -> Result<(), String> {
        self.channel.send(message).map_err(|error| format!("it {error}"))
    }

    /// Takes whole files out of what has come; after the last one, the scenario is read.
    fn come(&mut self) -> Result<(), String> {
        let Some(coming) = &mut self.coming else { return Ok(()) };
        while let Some((name, length)) = coming.files.last() {
            let length = usize::try_from(*length).unwrap_or(usize::MAX);
            if coming.bytes.len() < length {
                return Ok(());
            }
            let rest = coming.bytes.split_off(length);
            let file = std::mem::replace(&mut coming.bytes, rest);
            coming.sent.files.insert(PathBuf::from(name), file.into());
            coming.files.pop();
        }
        let Some(coming) = self.coming.take() else { return Ok(()) };
        if !coming.bytes.is_empty() {
            return Err("it sent more bytes than its files have".to_owned());
        }
        match Scenario::read(&coming.text) {
            Ok(scenario) => {
                self.house.say(&format!("scenario `{}`", crate::draw::shortened(&scenario.name, 60)));
                let folder = ScenarioFolder::of_sent(coming.sent);
                self.scenario = Some(Arc::new(Scenario { folder, ..scenario }));
                self.answer(&ToLeader::Ready)
            }
            Err(error) => self.answer(&ToLeader::Failed { why: error.to_string() }),
        }
    }

    /// Has something done by a thread; one thing at a time.
    fn begin(&mut self, act: impl FnOnce(&mut LoadThread) + Send + 'static) -> Result<(), String> {
        self.end_work("another load was asked for");
        let Some(scenario) = self.scenario.clone() else {
            return Err("it asked for load without a scenario".to_owned());
        };
        let (orders, taken) = channel();
        let mut work = LoadThread::new(&self.house, scenario, taken, self.out.0.clone());
        let thread = thread::Builder::new()
            .name("lab-agent-work".to_owned())
            .spawn(move || act(&mut work))
            .map_err(|error| format!("no thread can be started for its load: {error}"))?;
        self.work = Some(RunningTask { orders, thread });
        Ok(())
    }

    fn order(&mut self, order: LoadOrder) -> Result<(), String> {
        if let Some(work) = &self.work {
            // A load that is over needs no orders.
            let _ = work.orders.send(order);
        }
        Ok(())
    }

    /// Ends what is under way and waits for it.
    fn end_work(&mut self, why: &str) {
        if let Some(work) = self.work.take() {
            let _ = work.orders.send(LoadOrder::Stop(why.to_owned()));
            // A thread that failed has nothing to say.
            let _ = work.thread.join();
        }
    }
}
