//! The leader's connection to one agent: a thread that sends, receives, and keeps comparing clocks.

use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::channel::{AgentChannel, ChannelError};
use super::clock::{AgentClock, ClockDifference, SideMoments};
use super::key::{AgentKey, ProofSide};
use super::message::{AgentHello, LeaderHello, PROTOCOL, ToAgent, ToLeader};
use super::{AGENT_SILENCE_MAX, GREETING_TIME_MAX, LOOK, PING_EVERY};
use crate::machine::MachineIdentity;
use crate::record::MachineInfo;

/// Round trips by which clocks are compared at once.
const ROUND_TRIPS: u64 = 16;

/// The leader's clocks.
#[derive(Clone, Copy, Debug)]
pub(super) struct LeaderClocks {
    pub(super) begun: Instant,
    pub(super) unix_us: Option<fn() -> u64>,
}

impl LeaderClocks {
    fn now(&self) -> SideMoments {
        SideMoments { ns: self.ns_at(Instant::now()), unix_us: self.unix_us.map_or(0, |now| now()) }
    }

    /// A moment in nanoseconds of this clock.
    pub(super) fn ns_at(&self, at: Instant) -> u64 {
        u64::try_from(at.saturating_duration_since(self.begun).as_nanos()).unwrap_or(u64::MAX)
    }
}

/// An event at the leader.
#[derive(Debug)]
pub(super) enum AgentEvent {
    /// The agent says something.
    Said(ToLeader),
    /// Clocks were compared.
    Compared,
    /// It will say no more: why.
    Lost(String),
}

enum AgentOrder {
    Send(ToAgent),
    Compare,
}

/// One agent, as its leader has it.
pub(super) struct AgentLink {
    /// As it was named: `HOST:PORT` or `local`.
    pub(super) name: String,
    pub(super) machine: MachineInfo,
    pub(super) identity: MachineIdentity,
    pub(super) peer: SocketAddr,
    orders: Sender<AgentOrder>,
    clocks: Arc<Mutex<AgentClock>>,
}

impl AgentLink {
    /// Connects, proves the key, has the agent prove it, and starts the thread, which tells `events` under this number.
    ///
    /// # Errors
    /// Nobody who listens, another key, another version, an agent that is busy: in words.
    pub(super) fn begin(
        number: usize,
        (name, address): (&str, &str),
        key: &AgentKey,
        version: &str,
        own: LeaderClocks,
        events: Sender<(usize, AgentEvent)>,
    ) -> Result<AgentLink, String> {
        let socket = connect(address)?;
        let peer = socket.peer_addr().map_err(|error| format!("cannot be reached: {error}"))?;
        let (channel_to, machine, identity) = greet(socket, key, version)?;
        let clocks = Arc::new(Mutex::new(AgentClock::default()));
        let (orders, taken) = channel();
        let mut side = LinkThread {
            channel: channel_to,
            clocks: Arc::clone(&clocks),
            own,
            number,
            events,
            orders: taken,
            next_ping: Instant::now(),
            pings: Vec::new(),
            ping: 0,
        };
        thread::Builder::new()
            .name(format!("lab-link-{number}"))
            .spawn(move || side.run())
            .map_err(|error| format!("no thread can be started for it: {error}"))?;
        Ok(AgentLink { name: name.to_owned(), machine, identity, peer, orders, clocks })
    }

    /// Sends a message; where the agent is lost, its event tells.
    pub(super) fn send(&self, message: ToAgent) {
        let _ = self.orders.send(AgentOrder::Send(message));
    }

    /// Has clocks compared by several round trips.
    pub(super) fn compare(&self) {
        let _ = self.orders.send(AgentOrder::Compare);
    }

    /// How its clocks differ, as far as is known now.
    pub(super) fn difference(&self) -> ClockDifference {
        self.clocks.lock().unwrap_or_else(PoisonError::into_inner).difference()
    }
}

fn connect(address: &str) -> Result<TcpStream, String> {
    let all = address
        .to_socket_addrs()
        .map_err(|error| format!("is no address of an agent ({error}): write `HOST:PORT`"))?;
    let mut why = "resolves to no address".to_owned();
    for address in all {
        match TcpStream::connect_timeout(&address, GREETING_TIME_MAX) {
            Ok(socket) => return Ok(socket),
            Err(error) => why = format!("cannot be reached: {error}"),
        }
    }
    Err(why)
}

/// Each side proves to the other that it has the key.
fn greet(
    socket: TcpStream,
    key: &AgentKey,
    version: &str,
) -> Result<(AgentChannel, MachineInfo, MachineIdentity), String> {
    let said = |error: ChannelError| match error {
        ChannelError::Late => "does not answer in time: is it an agent of durward?".to_owned(),
        ChannelError::Tls(error) => format!("is no agent of durward: {error}"),
        other @ (ChannelError::Closed
        | ChannelError::TooLong(_)
        | ChannelError::NoMessage(_)
        | ChannelError::Io(_)) => format!("{other}"),
    };
    let deadline = Instant::now() + GREETING_TIME_MAX;
    let mut channel = AgentChannel::connect(socket, deadline).map_err(said)?;
    let binding = channel.binding().map_err(said)?;
    let proof = key.proof(ProofSide::Leader, &binding);
    channel.send(&LeaderHello { protocol: PROTOCOL, version: version.to_owned(), proof }).map_err(said)?;
    let wait = deadline.saturating_duration_since(Instant::now());
    match channel.receive::<AgentHello>(wait).map_err(said)? {
        None => Err(said(ChannelError::Late)),
        Some(AgentHello::Refused { why }) => Err(format!("refuses: {}", crate::draw::shortened(&why, 300))),
        Some(AgentHello::Welcome { proof, machine, identity }) => {
            if !key.is_proof(ProofSide::Agent, &binding, &proof) {
                return Err(
                    "does not prove to have the key: it is another agent, or somebody is between".to_owned()
                );
            }
            channel.trust();
            Ok((channel, *machine, identity))
        }
    }
}

/// What the thread has.
struct LinkThread {
    channel: AgentChannel,
    clocks: Arc<Mutex<AgentClock>>,
    own: LeaderClocks,
    number: usize,
    events: Sender<(usize, AgentEvent)>,
    orders: Receiver<AgentOrder>,
    next_ping: Instant,
    /// Pings that are not answered: number and moment.
    pings: Vec<(u64, SideMoments)>,
    ping: u64,
}

impl LinkThread {
    fn run(&mut self) {
        match self.serve() {
            // The leader has dropped its end.
            Ok(()) => {}
            Err(why) => self.tell(AgentEvent::Lost(why)),
        }
    }

    fn tell(&self, event: AgentEvent) {
        let _ = self.events.send((self.number, event));
    }

    fn serve(&mut self) -> Result<(), String> {
        let mut heard = Instant::now();
        loop {
            match self.orders.try_recv() {
                Ok(AgentOrder::Send(message)) => {
                    self.channel.send(&message).map_err(|error| error.to_string())?
                }
                Ok(AgentOrder::Compare) => {
                    self.compare()?;
                    heard = Instant::now();
                    self.tell(AgentEvent::Compared);
                }
                Err(TryRecvError::Empty) => {}
                Err(TryRecvError::Disconnected) => return Ok(()),
            }
            if Instant::now() >= self.next_ping {
                self.ping()?;
            }
            if self.listen(LOOK)? {
                heard = Instant::now();
            } else if heard.elapsed() > AGENT_SILENCE_MAX {
                return Err(format!("was not heard of for {} s", AGENT_SILENCE_MAX.as_secs()));
            }
        }
    }

    /// Several round trips, one after the other.
    fn compare(&mut self) -> Result<(), String> {
        let deadline = Instant::now() + AGENT_SILENCE_MAX;
        for _ in 0..ROUND_TRIPS {
            self.ping()?;
            while !self.pings.is_empty() {
                let _ = self.listen(LOOK)?;
                if Instant::now() > deadline {
                    return Err(format!("was not heard of for {} s", AGENT_SILENCE_MAX.as_secs()));
                }
            }
        }
        Ok(())
    }

    fn ping(&mut self) -> Result<(), String> {
        self.ping += 1;
        self.next_ping = Instant::now() + PING_EVERY;
        self.pings.push((self.ping, self.own.now()));
        self.channel.send(&ToAgent::Ping { id: self.ping }).map_err(|error| error.to_string())
    }

    /// Waits for a message; whether one came.
    fn listen(&mut self, time: Duration) -> Result<bool, String> {
        let message = self.channel.receive::<ToLeader>(time).map_err(|error| error.to_string())?;
        match message {
            None => return Ok(false),
            Some(ToLeader::Pong { id, now_ns, unix_us }) => {
                let received = self.own.now();
                let sent = self.pings.iter().find(|(ping, _)| *ping == id).map(|(_, sent)| *sent);
                self.pings.retain(|(ping, _)| *ping > id);
                if let Some(sent) = sent {
                    let agent = SideMoments { ns: now_ns, unix_us };
                    self.clocks.lock().unwrap_or_else(PoisonError::into_inner).learn(sent, agent, received);
                }
            }
            Some(message) => self.tell(AgentEvent::Said(message)),
        }
        Ok(true)
    }
}
