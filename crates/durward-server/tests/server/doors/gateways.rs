//! The gateways of others, started with the configurations of docs/gateways.md: only addresses, and how long they wait, are replaced.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

pub(super) use durward_testdata::gateways::GatewayKind as Kind;
use durward_testdata::gateways::{Asking, Places};

use super::world::App;
use crate::support::{Directory, PATIENCE};

/// Those that are started here; `cargo xtask clients Envoy` starts the other one.
pub(super) const KINDS: [Kind; 3] = [Kind::Nginx, Kind::Caddy, Kind::Haproxy];

/// A gateway that runs; it ends when this is dropped.
pub(super) struct Gateway {
    pub(super) address: SocketAddr,
    process: Child,
    _folder: Directory,
}

impl Drop for Gateway {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Gateway {
    /// In front of an application, with a durward at this address; `None` where the program is not installed.
    pub(super) fn start(kind: Kind, durward: SocketAddr, app: &App) -> Option<Gateway> {
        Gateway::start_with(kind, durward, app, str::to_owned)
    }

    /// The same, with another configuration than the manual's.
    pub(super) fn start_with(
        kind: Kind,
        durward: SocketAddr,
        app: &App,
        change: impl Fn(&str) -> String,
    ) -> Option<Gateway> {
        let program = program(kind)?;
        let folder = Directory::new();
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let places = Places { gateway: address, durward, application: app.address };
        let within = folder.path("");
        for (name, text) in kind.configuration(&within, &places, Asking::Each, change).unwrap() {
            folder.write(name, &text);
        }
        let command = kind.command(Path::new(&program), &within);
        Some(Gateway { process: started(command, address), address, _folder: folder })
    }
}

/// The program, where it is: not in the `PATH` of who does not administer.
fn program(kind: Kind) -> Option<String> {
    let name = kind.program();
    let administered = format!("/usr/sbin/{name}");
    let program = if Path::new(&administered).exists() { administered } else { name.to_owned() };
    let package = if kind == Kind::Nginx { "nginx-light" } else { name };
    let version = if kind == Kind::Caddy { "version" } else { "-v" };
    let is_there = durward_testdata::has_program(&program, version, &format!("apt-get install {package}"));
    is_there.then_some(program)
}

/// Starts a program and waits for its port.
fn started(mut command: Command, address: SocketAddr) -> Child {
    let process = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
    let mut process = Some(process);
    let begun = Instant::now();
    while begun.elapsed() < PATIENCE {
        if TcpStream::connect(address).is_ok() {
            return process.take().unwrap();
        }
        if let Some(ended) = process.as_mut().and_then(|process| process.try_wait().unwrap()) {
            panic!("{command:?} ended: {ended}");
        }
        thread::sleep(Duration::from_millis(20));
    }
    panic!("{command:?} does not listen on {address}");
}
