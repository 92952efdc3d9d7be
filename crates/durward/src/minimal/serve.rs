//! `durward serve`: the decision point on the network, in one thread.

use std::io::{self, Write};
use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use durward_pdp::Pdp;
use tokio::net::TcpListener;
use tokio::runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::Semaphore;
use tokio::time::sleep;

use super::{PolicyArguments, http};
use crate::failure::{CommandError, CommandResult, complain, without_number};

/// Most connections at once. Each takes some 20 KiB, and up to a body of a request.
const CONNECTIONS_MAX: usize = 100;

/// How long to wait where the system has no file for a connection.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Answer requests over HTTP
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    policies: PolicyArguments,
    /// The address and port to listen on; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8080")]
    listen: SocketAddr,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> CommandResult {
    let pdp = Arc::new(arguments.policies.build(arguments.policies.read()?)?);
    let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut signals = Signals::listen()?;
        let listener = TcpListener::bind(arguments.listen).await.map_err(|error| {
            let why = without_number(&error.to_string());
            CommandError::new(format!("cannot listen on {}: {why}", arguments.listen))
                .hint("choose another address with `--listen`")
        })?;
        say(format_args!("serving address={}", listener.local_addr()?));
        let room = Arc::new(Semaphore::new(CONNECTIONS_MAX));
        loop {
            tokio::select! {
                () = accept(&listener, &room, &pdp) => {}
                is_ending = signals.next() => {
                    if is_ending {
                        return Ok(ExitCode::SUCCESS);
                    }
                    read_again(&arguments.policies, &pdp);
                }
            }
        }
    })
}

/// Takes one connection, as soon as there is room for it.
async fn accept(listener: &TcpListener, room: &Arc<Semaphore>, pdp: &Arc<Pdp>) {
    // The semaphore is never closed.
    let Ok(place) = Arc::clone(room).acquire_owned().await else { return };
    match listener.accept().await {
        Ok((stream, _)) => {
            let pdp = Arc::clone(pdp);
            tokio::spawn(async move {
                http::serve(stream, pdp).await;
                drop(place);
            });
        }
        Err(_) => sleep(ACCEPT_PAUSE).await,
    }
}

/// Puts changed policies in force; broken ones leave the old ones in force.
fn read_again(policies: &PolicyArguments, pdp: &Pdp) {
    let read = policies.read();
    let replaced =
        read.and_then(|texts| pdp.replace(&texts).map_err(|errors| CommandError::policies(&errors)));
    match replaced {
        Ok(info) => say(format_args!("policies in force snapshot={}", info.id)),
        Err(error) => complain(error),
    }
}

fn say(what: std::fmt::Arguments<'_>) {
    // Whoever closed standard error does not want to know.
    let _ = writeln!(io::stderr(), "durward: {what}");
}

/// What the process is told from outside.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hang_up: Signal,
}

impl Signals {
    fn listen() -> io::Result<Signals> {
        Ok(Signals {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }

    /// Whether the process is to end; otherwise it is to read its policies again.
    async fn next(&mut self) -> bool {
        tokio::select! {
            _ = self.terminate.recv() => true,
            _ = self.interrupt.recv() => true,
            _ = self.hang_up.recv() => false,
        }
    }
}
