//! The agent's listener: authenticates leaders, and serves one at a time.

use std::fmt;
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustls::ServerConfig;

use super::GREETING_TIME_MAX;
use super::channel::{AgentChannel, ChannelError, server_config};
use super::clock::SideMoments;
use super::key::{AgentKey, ProofSide};
use super::message::{AgentHello, LeaderHello, PROTOCOL};
use super::session::LeaderSession;
use crate::machine::{MachineFacts, MachineIdentity};

/// Connections that have proven nothing yet.
const STRANGERS_MAX: usize = 16;
/// A run that has ended makes room for the next one within this.
const HANDOVER_TIME_MAX: Duration = Duration::from_secs(1);
/// How often is looked whether somebody comes, or all is to end.
const LOOK: Duration = Duration::from_millis(20);

/// What an agent is told beside its address.
#[derive(Clone)]
pub struct AgentHosting {
    /// The key of those who may steer.
    pub key: AgentKey,
    /// Hosts that are not this machine and may be loaded. No leader can have others loaded.
    pub may_load: Vec<String>,
    /// Threads that make load at most; `None`: as the scenario says, or half of the cores.
    pub threads: Option<usize>,
    /// The version of durward: leaders of others are refused.
    pub version: String,
    /// The time in microseconds since 1970: the clock of whoever calls.
    pub now_unix_us: fn() -> u64,
    /// Set by whoever wants the agent to end; a load under way ends, and its leader is told.
    pub stop: Arc<AtomicBool>,
    /// Told in one line of everybody who comes, and what is done for them.
    pub say: Arc<dyn Fn(&str) + Send + Sync>,
}

impl fmt::Debug for AgentHosting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hosting")
            .field("may_load", &self.may_load)
            .field("threads", &self.threads)
            .finish_non_exhaustive()
    }
}

/// What all connections share.
pub(super) struct AgentHost {
    pub(super) hosting: AgentHosting,
    pub(super) begun: Instant,
    tls: Arc<ServerConfig>,
    /// The leader that is served.
    leader: Mutex<Option<SocketAddr>>,
    strangers: AtomicUsize,
}

impl AgentHost {
    /// What this agent's clocks say.
    pub(super) fn now(&self) -> SideMoments {
        let ns = u64::try_from(self.begun.elapsed().as_nanos()).unwrap_or(u64::MAX);
        SideMoments { ns, unix_us: (self.hosting.now_unix_us)() }
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.hosting.stop.load(Ordering::Relaxed)
    }

    pub(super) fn say(&self, line: &str) {
        (self.hosting.say)(line);
    }
}

/// Serves leaders, one at a time, until [`AgentHosting::stop`] is set. Blocks.
///
/// # Errors
/// A socket that cannot be listened on any more.
pub fn serve(listener: &TcpListener, hosting: AgentHosting) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let house = Arc::new(AgentHost {
        hosting,
        begun: Instant::now(),
        tls: server_config()?,
        leader: Mutex::new(None),
        strangers: AtomicUsize::new(0),
    });
    while !house.is_stopped() {
        match listener.accept() {
            Ok((socket, peer)) => receive(&house, socket, peer),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => thread::sleep(LOOK),
            // Somebody who went away before they were let in, or no more files: the next may fare better.
            Err(_) => thread::sleep(LOOK),
        }
    }
    // A load under way ends by itself, and its leader is told.
    let until = Instant::now() + Duration::from_secs(5);
    while house.leader.lock().unwrap_or_else(PoisonError::into_inner).is_some() && Instant::now() < until {
        thread::sleep(LOOK);
    }
    Ok(())
}

fn receive(house: &Arc<AgentHost>, socket: TcpStream, peer: SocketAddr) {
    if house.strangers.fetch_add(1, Ordering::Relaxed) >= STRANGERS_MAX {
        house.strangers.fetch_sub(1, Ordering::Relaxed);
        house.say(&format!("{peer}: refused: {STRANGERS_MAX} others have not proven to have the key yet"));
        return;
    }
    let guests = Arc::clone(house);
    let attend = move || {
        let welcomed = welcome(&guests, socket, peer);
        guests.strangers.fetch_sub(1, Ordering::Relaxed);
        match welcomed {
            Ok(channel) => {
                guests.say(&format!("{peer}: steers this agent"));
                let how = LeaderSession::new(&guests, channel).run();
                *guests.leader.lock().unwrap_or_else(PoisonError::into_inner) = None;
                guests.say(&format!("{peer}: {how}; this agent waits for the next run"));
            }
            Err(why) => guests.say(&format!("{peer}: refused: {why}")),
        }
    };
    if thread::Builder::new().name("lab-agent".to_owned()).spawn(attend).is_err() {
        house.strangers.fetch_sub(1, Ordering::Relaxed);
        house.say(&format!("{peer}: refused: there are no more threads"));
    }
}

/// Lets a leader in who has the key and the same version, while no other one is served.
fn welcome(house: &AgentHost, socket: TcpStream, peer: SocketAddr) -> Result<AgentChannel, String> {
    let deadline = Instant::now() + GREETING_TIME_MAX;
    let said = |error: ChannelError| match error {
        ChannelError::Late => "it did not prove to have the key in time".to_owned(),
        other @ (ChannelError::Closed
        | ChannelError::TooLong(_)
        | ChannelError::Tls(_)
        | ChannelError::NoMessage(_)
        | ChannelError::Io(_)) => format!("it {other}"),
    };
    let mut channel = AgentChannel::accept(socket, Arc::clone(&house.tls), deadline).map_err(said)?;
    let binding = channel.binding().map_err(said)?;
    let wait = deadline.saturating_duration_since(Instant::now());
    let hello =
        channel.receive::<LeaderHello>(wait).map_err(said)?.ok_or_else(|| said(ChannelError::Late))?;
    let answer = check(house, &hello, &binding, peer);
    let sent = match &answer {
        Ok(welcome) => channel.send(welcome),
        Err(why) => channel.send(&AgentHello::Refused { why: why.clone() }),
    };
    let welcomed = answer.and(sent.map_err(said));
    if welcomed.is_err() {
        let mut leader = house.leader.lock().unwrap_or_else(PoisonError::into_inner);
        if *leader == Some(peer) {
            *leader = None;
        }
    }
    welcomed?;
    channel.trust();
    Ok(channel)
}

/// Whether a leader may steer; from then on no other one does.
fn check(
    house: &AgentHost,
    hello: &LeaderHello,
    binding: &[u8],
    peer: SocketAddr,
) -> Result<AgentHello, String> {
    let hosting = &house.hosting;
    if !hosting.key.is_proof(ProofSide::Leader, binding, &hello.proof) {
        return Err(
            "the proof of the key is wrong: leader and agent have different keys, or somebody is between them"
                .to_owned(),
        );
    }
    if (hello.protocol, &hello.version) != (PROTOCOL, &hosting.version) {
        return Err(format!(
            "the agent is durward {} (protocol {PROTOCOL}) and the leader durward {} (protocol {}): run the same version on all machines",
            hosting.version,
            crate::draw::shortened(&hello.version, 40),
            hello.protocol
        ));
    }
    take_over(house, peer).map_err(|other| {
        format!("the agent serves another run, steered from {other}; it serves one at a time")
    })?;
    Ok(AgentHello::Welcome {
        proof: hosting.key.proof(ProofSide::Agent, binding),
        machine: Box::new(MachineFacts::this().info("")),
        identity: MachineIdentity::this(),
    })
}

/// Makes this the leader. One that goes while the next one comes is waited for; `Err` is one that stays.
fn take_over(house: &AgentHost, peer: SocketAddr) -> Result<(), SocketAddr> {
    let until = Instant::now() + HANDOVER_TIME_MAX;
    loop {
        {
            let mut leader = house.leader.lock().unwrap_or_else(PoisonError::into_inner);
            match *leader {
                Some(other) if Instant::now() >= until => return Err(other),
                Some(_) => {}
                None => {
                    *leader = Some(peer);
                    return Ok(());
                }
            }
        }
        thread::sleep(LOOK);
    }
}
