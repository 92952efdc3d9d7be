//! durward with the settings, the policies and the user of the manual's first fifteen minutes.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use durward_testdata::gateways::{blocks, page};
use serde_json::Value;

use crate::generators::free_port;

const PATIENCE: Duration = Duration::from_secs(30);
const PASSWORD: &str = "correct horse";

/// A durward that runs; it ends when this is dropped.
pub(super) struct Server {
    pub(super) address: SocketAddr,
    /// Of a session of somebody who may read papers.
    pub(super) token: String,
    child: Child,
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server {
    pub(super) fn start(binary: &Path, folder: &Path) -> Result<Server, String> {
        let address = SocketAddr::from(([127, 0, 0, 1], free_port()?));
        write_manual(folder, address)?;
        let mut adding = Command::new(binary);
        adding.args(["users", "add", "anna", "--group", "staff"]).current_dir(folder);
        let mut adding =
            adding.stdin(Stdio::piped()).spawn().map_err(|error| format!("no durward: {error}"))?;
        if let Some(mut input) = adding.stdin.take() {
            writeln!(input, "{PASSWORD}").map_err(|error| format!("no user is added: {error}"))?;
        }
        let status = adding.wait().map_err(|error| error.to_string())?;
        if !status.success() {
            return Err(format!("`durward users add`: {status}"));
        }
        let log = fs::File::create(folder.join("durward.log")).map_err(|error| format!("no log: {error}"))?;
        let mut command = Command::new(binary);
        command.arg("serve").current_dir(folder).stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        let child = command.spawn().map_err(|error| format!("durward does not start: {error}"))?;
        let mut server = Server { address, token: String::new(), child };
        server.token = server.logged_in(&folder.join("durward.log"))?;
        Ok(server)
    }

    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    /// What a browser sends.
    pub(super) fn cookie(&self) -> String {
        format!("durward_session={}", self.token)
    }

    /// The token of a login, as soon as there can be one.
    fn logged_in(&self, log: &Path) -> Result<String, String> {
        let body = format!("{{\"user\":\"anna\",\"password\":\"{PASSWORD}\"}}");
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE {
            if let Some(token) = login(self.address, &body) {
                return Ok(token);
            }
            thread::sleep(Duration::from_millis(100));
        }
        Err(format!("nobody can log in; see `{}`", log.display()))
    }
}

fn login(address: SocketAddr, body: &str) -> Option<String> {
    let answer = exchange(
        address,
        &format!(
            "POST /v1/login HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        ),
    );
    let (head, body) = answer.ok()?.split_once("\r\n\r\n").map(|(a, b)| (a.to_owned(), b.to_owned()))?;
    let value: Value = serde_json::from_str(&body).ok().filter(|_| head.starts_with("HTTP/1.1 200"))?;
    Some(value.get("token")?.as_str()?.to_owned())
}

/// What comes back on a connection that is closed then.
pub(super) fn exchange(address: SocketAddr, request: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(request.as_bytes())?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

fn write_manual(folder: &Path, address: SocketAddr) -> Result<(), String> {
    let page = page("gateways.md")?;
    let policies = folder.join("policies");
    fs::create_dir_all(&policies).map_err(|error| format!("no folder: {error}"))?;
    let write = |path: &Path, text: &str| {
        fs::write(path, text).map_err(|error| format!("cannot write `{}`: {error}", path.display()))
    };
    let settings = blocks(&page, "toml").into_iter().next().ok_or("gateways.md has no settings")?;
    write(&folder.join("durward.toml"), &format!("server.listen = '{address}'\n{settings}"))?;
    for (number, policy) in blocks(&page, "sapl").iter().take(2).enumerate() {
        write(&policies.join(format!("{number}.sapl")), policy)?;
    }
    Ok(())
}
