//! A binary that was built for some processor, as it is started here: by itself, or in an emulator.

use crate::process::{output_of, shown};
use crate::tools::{QEMU_AARCH64, QEMU_ARM, QEMU_X86_64, Tool};
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

/// Longest from the start of a server to the line that says where it listens. Emulators are slow.
const START_S_MAX: u64 = 60;

/// How the binary is started.
#[derive(Debug)]
pub(crate) struct Program {
    binary: PathBuf,
    emulator: Option<PathBuf>,
}

/// A server that was started, and its address; it ends with this.
pub(crate) struct Server {
    child: Child,
    pub(crate) address: String,
}

impl Program {
    /// # Errors
    /// Which emulator is missing.
    pub(crate) fn of(binary: &Path, target: &str) -> Result<Program, String> {
        let processor = target.split('-').next().unwrap_or_default();
        let emulator = match emulator(processor, env_processor()) {
            Some(tool) => Some(tool.get()?),
            None => None,
        };
        Ok(Program { binary: binary.to_path_buf(), emulator })
    }

    pub(crate) fn is_emulated(&self) -> bool {
        self.emulator.is_some()
    }

    pub(crate) fn command(&self) -> Command {
        match &self.emulator {
            Some(emulator) => {
                let mut command = Command::new(emulator);
                command.arg(&self.binary);
                command
            }
            None => Command::new(&self.binary),
        }
    }

    /// What it prints.
    ///
    /// # Errors
    /// It fails, and what it says.
    pub(crate) fn prints(&self, words: &[&str], folder: &Path) -> Result<String, String> {
        output_of(self.command().args(words).current_dir(folder))
    }

    /// A script that starts it with the words it is given.
    ///
    /// # Errors
    /// It cannot be written.
    pub(crate) fn script(&self, room: &Path) -> Result<PathBuf, String> {
        let Some(emulator) = &self.emulator else { return Ok(self.binary.clone()) };
        let path = room.join("durward");
        let text = format!("#!/bin/sh\nexec '{}' '{}' \"$@\"\n", emulator.display(), self.binary.display());
        let written = std::fs::create_dir_all(room)
            .and_then(|()| std::fs::write(&path, text))
            .and_then(|()| std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)));
        written.map_err(|error| format!("cannot write `{}`: {error}", path.display()))?;
        Ok(path)
    }

    /// Starts it as a server with these policies, on a port that is free.
    ///
    /// # Errors
    /// It does not say where it listens.
    pub(crate) fn serve(&self, policies: &Path) -> Result<Server, String> {
        let mut command = self.command();
        command.arg("serve").arg("--policies").arg(policies).args(["--listen", "127.0.0.1:0"]);
        let started = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
        let mut child = started.map_err(|error| format!("cannot start `{}`: {error}", shown(&command)))?;
        let errors = child.stderr.take();
        let mut server = Server { child, address: String::new() };
        server.address = listens_on(errors.ok_or("no log to read")?)?;
        Ok(server)
    }
}

impl Server {
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill().and_then(|()| self.child.wait());
    }
}

/// Which emulator a processor needs on another; none on itself.
fn emulator(processor: &str, here: &str) -> Option<Tool> {
    if processor == here {
        return None;
    }
    match processor {
        "aarch64" => Some(QEMU_AARCH64),
        "armv7" => Some(QEMU_ARM),
        _ => Some(QEMU_X86_64),
    }
}

fn env_processor() -> &'static str {
    std::env::consts::ARCH
}

/// The address in the log, which is read to its end by a thread: nobody else would empty the pipe.
fn listens_on(log: impl Read + Send + 'static) -> Result<String, String> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut said = Vec::new();
        for line in BufReader::new(log).lines().map_while(Result::ok) {
            if let Some(address) = address_in(&line) {
                let _ = sender.send(Ok(address));
            }
            if said.len() < 20 {
                said.push(line);
            }
        }
        let _ = sender.send(Err(said.join("\n")));
    });
    match receiver.recv_timeout(Duration::from_secs(START_S_MAX)) {
        Ok(Ok(address)) => Ok(address),
        Ok(Err(said)) => Err(format!("the server ended before it listened: {said}")),
        Err(_) => Err(format!("the server did not listen within {START_S_MAX} s")),
    }
}

/// `127.0.0.1:` and a port.
fn address_in(line: &str) -> Option<String> {
    let (_, rest) = line.split_once("127.0.0.1:")?;
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let port = rest.get(..digits).filter(|port| !port.is_empty() && *port != "0")?;
    Some(format!("127.0.0.1:{port}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_processor_emulates_only_others() {
        assert!(emulator("x86_64", "x86_64").is_none());
        assert!(emulator("armv7", "x86_64").is_some() && emulator("x86_64", "aarch64").is_some());
    }

    #[test]
    fn the_address_is_read_from_the_log() {
        let log = "starting\n2026-01-01 INFO listening on http://127.0.0.1:4711/ now\nmore\n";
        assert_eq!(listens_on(log.as_bytes()), Ok("127.0.0.1:4711".to_owned()));
        assert!(listens_on("error: 127.0.0.1:0\n".as_bytes()).unwrap_err().contains("127.0.0.1:0"));
    }
}
