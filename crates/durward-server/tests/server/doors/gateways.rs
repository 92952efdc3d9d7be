//! The gateways of others, started with the configurations of docs/gateways.md: only addresses, and how long they wait, are replaced.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::world::{App, blocks, page};
use crate::support::{Directory, PATIENCE};

/// A kind of gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Nginx,
    Caddy,
    Haproxy,
}

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
        let folder = Directory::new();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        let page = page();
        let placed = |language: &str| {
            let block = blocks(&page, language).swap_remove(0);
            let block = block
                .replace("127.0.0.1:8080", &durward.to_string())
                .replace("127.0.0.1:3000", &app.address.to_string())
                .replace("listen 8000", &format!("listen {address}"))
                .replace("bind :8000", &format!("bind {address}"))
                .replace(":8000 {", &format!("http://:{port} {{\n\tbind 127.0.0.1"))
                .replace("/etc/haproxy/durward.lua", &folder.path("durward.lua").display().to_string());
            change(&block)
        };
        let command = match kind {
            Kind::Nginx => nginx(&folder, &placed("nginx")),
            Kind::Caddy => caddy(&folder, &placed("caddyfile")),
            Kind::Haproxy => haproxy(&folder, &placed("haproxy"), &placed("lua")),
        }?;
        Some(Gateway { process: started(command, address), address, _folder: folder })
    }
}

/// The program, where it is: not in the `PATH` of who does not administer.
fn program(name: &str, version: &str) -> Option<String> {
    let administered = format!("/usr/sbin/{name}");
    let program = if Path::new(&administered).exists() { administered } else { name.to_owned() };
    let package = if name == "nginx" { "nginx-light" } else { name };
    let is_there = durward_testdata::has_program(&program, version, &format!("apt-get install {package}"));
    is_there.then_some(program)
}

/// One process: killing a master would leave its workers.
fn nginx(folder: &Directory, server: &str) -> Option<Command> {
    let config = format!(
        "daemon off; master_process off; error_log stderr crit; pid nginx.pid; events {{ worker_connections 256; }}\n\
         http {{ access_log off; client_body_temp_path b; proxy_temp_path p; fastcgi_temp_path f; uwsgi_temp_path u; scgi_temp_path s;\n\
         {server} }}\n"
    );
    folder.write("nginx.conf", &config);
    let mut command = Command::new(program("nginx", "-v")?);
    command.arg("-p").arg(folder.path("")).args(["-c", "nginx.conf"]);
    Some(command)
}

fn caddy(folder: &Directory, sites: &str) -> Option<Command> {
    folder.write("Caddyfile", &format!("{{\n\tadmin off\n\tauto_https off\n}}\n{sites}"));
    let mut command = Command::new(program("caddy", "version")?);
    command.args(["run", "--adapter", "caddyfile", "--config"]).arg(folder.path("Caddyfile"));
    command.env("XDG_DATA_HOME", folder.path("data")).env("XDG_CONFIG_HOME", folder.path("config"));
    Some(command)
}

fn haproxy(folder: &Directory, config: &str, script: &str) -> Option<Command> {
    folder.write("haproxy.cfg", config);
    folder.write("durward.lua", script);
    let mut command = Command::new(program("haproxy", "-v")?);
    command.arg("-db").arg("-f").arg(folder.path("haproxy.cfg"));
    Some(command)
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
