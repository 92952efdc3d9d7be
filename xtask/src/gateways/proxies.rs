//! A gateway at work: its program, and one that runs with the manual's configuration or without what asks.

use std::fs;
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use durward_testdata::gateways::{Asking, GatewayKind, Places};

use super::server::exchange;
use crate::clients::{Missing, envoy_program};
use crate::generators::free_port;
use crate::tools::{CADDY, HAPROXY, NGINX};

const PATIENCE: Duration = Duration::from_secs(30);

/// The program of a gateway, or why there is none.
pub(super) fn program(kind: GatewayKind) -> Result<PathBuf, String> {
    match kind {
        GatewayKind::Nginx => NGINX.get(),
        GatewayKind::Caddy => CADDY.get(),
        GatewayKind::Haproxy => HAPROXY.get(),
        GatewayKind::Envoy | GatewayKind::EnvoyHttp => envoy_program().map_err(|missing| match missing {
            Missing::Tool(why) | Missing::Broken(why) => why,
        }),
    }
}

/// A gateway that runs; it ends when this is dropped.
pub(super) struct Proxy {
    pub(super) address: SocketAddr,
    child: Child,
    log: PathBuf,
}

impl Drop for Proxy {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Proxy {
    pub(super) fn start(
        (kind, program): (GatewayKind, &Path),
        asking: Asking,
        (durward, application): (SocketAddr, SocketAddr),
        folder: &Path,
    ) -> Result<Proxy, String> {
        let address = SocketAddr::from(([127, 0, 0, 1], free_port()?));
        let places = Places { gateway: address, durward, application };
        for (name, text) in kind.configuration(folder, &places, asking, str::to_owned)? {
            fs::write(folder.join(name), text).map_err(|error| format!("cannot write `{name}`: {error}"))?;
        }
        let log = folder.join("log");
        let errors = fs::File::create(&log).map_err(|error| format!("no log: {error}"))?;
        let mut command = kind.command(program, folder);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(errors);
        let child = command.spawn().map_err(|error| format!("cannot start {}: {error}", kind.name()))?;
        let mut proxy = Proxy { address, child, log };
        let begun = Instant::now();
        while TcpStream::connect(address).is_err() {
            let has_ended = !matches!(proxy.child.try_wait(), Ok(None));
            if has_ended || begun.elapsed() > PATIENCE {
                return Err(format!("{} does not listen; see `{}`", kind.name(), proxy.log.display()));
            }
            thread::sleep(Duration::from_millis(50));
        }
        Ok(proxy)
    }

    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    /// The status that a client with this cookie is answered with.
    pub(super) fn status(&self, cookie: &str) -> Result<u16, String> {
        let request = format!(
            "GET /papers/7 HTTP/1.1\r\nHost: papers.example.org\r\nCookie: {cookie}\r\nConnection: close\r\n\r\n"
        );
        let answer = exchange(self.address, &request).map_err(|error| error.to_string())?;
        let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok());
        status.ok_or_else(|| format!("no answer of HTTP; see `{}`", self.log.display()))
    }

    /// Waits until who has this cookie gets through: some look after those whom they ask, and need a moment.
    pub(super) fn passes(&self, cookie: &str) -> Result<(), String> {
        let begun = Instant::now();
        loop {
            match self.status(cookie) {
                Ok(200) => return Ok(()),
                last if begun.elapsed() > PATIENCE => {
                    return Err(format!("nobody gets through: {last:?}; see `{}`", self.log.display()));
                }
                _ => thread::sleep(Duration::from_millis(100)),
            }
        }
    }
}
