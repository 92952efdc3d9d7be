//! Durward's parts, and servers of others, as processes; and certificates for all of them.

use crate::process::{output_of, shown};
use std::fs::{self, File};
use std::io::Write;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Longest until a process is ready, or says what it is waited for.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);
/// Longest until it has ended by itself.
const END_MAX: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(50);

/// A process with its output in a file. Ended when dropped.
pub(super) struct Running {
    child: Child,
    log: PathBuf,
}

impl Running {
    pub(super) fn start(command: &mut Command, log: &Path) -> Result<Running, String> {
        let file = File::create(log).map_err(|error| format!("no log `{}`: {error}", log.display()))?;
        let errors = file.try_clone().map_err(|error| format!("no log: {error}"))?;
        // An open input: what ends when it has ended goes on.
        command.stdin(Stdio::piped()).stdout(file).stderr(errors);
        let child =
            command.spawn().map_err(|error| format!("`{}` does not start: {error}", shown(command)))?;
        Ok(Running { child, log: log.to_path_buf() })
    }

    /// What it has said so far.
    pub(super) fn said(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Waits for words in what it says; all of it then.
    pub(super) fn until(&mut self, words: &str) -> Result<String, String> {
        let end = Instant::now() + PATIENCE;
        loop {
            let said = self.said();
            if said.contains(words) {
                return Ok(said);
            }
            let gone = self.child.try_wait().ok().flatten();
            if gone.is_some() || Instant::now() > end {
                let how = gone.map_or("is silent".to_owned(), |status| format!("ended with {status}"));
                return Err(format!("what writes to {} {how}: {}", self.log.display(), last_line(&said)));
            }
            std::thread::sleep(PAUSE);
        }
    }
}

/// As an operator ends it, so that it leaves nothing behind; and in every case.
impl Drop for Running {
    fn drop(&mut self) {
        let _ = output_of(Command::new("kill").args(["-TERM", &self.child.id().to_string()]));
        let end = Instant::now() + END_MAX;
        while matches!(self.child.try_wait(), Ok(None)) && Instant::now() < end {
            std::thread::sleep(PAUSE);
        }
        let _ = self.child.kill().and_then(|()| self.child.wait());
    }
}

/// The binary, and the folder that it works in.
#[derive(Clone)]
pub(super) struct Durward {
    pub(super) binary: PathBuf,
    pub(super) folder: PathBuf,
}

impl Durward {
    pub(super) fn new(binary: &Path, folder: &Path) -> Result<Durward, String> {
        fs::create_dir_all(folder).map_err(|error| format!("no folder `{}`: {error}", folder.display()))?;
        Ok(Durward { binary: binary.to_path_buf(), folder: folder.to_path_buf() })
    }

    pub(super) fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(&self.binary);
        command.args(words).current_dir(&self.folder);
        command
    }

    /// Starts a part of durward that runs until it is ended.
    pub(super) fn start(&self, name: &str, words: &[&str]) -> Result<Running, String> {
        Running::start(&mut self.command(words), &self.folder.join(format!("{name}.log")))
    }

    /// Makes a certificate in a directory.
    pub(super) fn certify(&self, directory: &str, uri: &str) -> Result<(), String> {
        let words = ["opcua", "pki", "create", "--dir", directory, "--application-uri", uri];
        output_of(self.command(&words).args(["--host", "localhost", "--host", "127.0.0.1"])).map(drop)
    }

    /// Has one directory trust the application of the other.
    pub(super) fn trust(&self, directory: &str, other: &str) -> Result<(), String> {
        let certificate = format!("{other}/own/certs/application.der");
        output_of(&mut self.command(&["opcua", "pki", "trust", "--dir", directory, &certificate])).map(drop)
    }

    /// Writes a file in the folder.
    pub(super) fn write(&self, name: &str, text: &str) -> Result<(), String> {
        let path = self.folder.join(name);
        fs::write(&path, text).map_err(|error| format!("cannot write `{}`: {error}", path.display()))
    }

    /// Writes a file that only its owner may read.
    pub(super) fn write_secret(&self, name: &str, text: &str) -> Result<(), String> {
        self.write(name, text)?;
        let owner = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        fs::set_permissions(self.folder.join(name), owner)
            .map_err(|error| format!("cannot write `{name}`: {error}"))
    }

    /// Runs to the end with a line for its input; what it wrote, and how it ended.
    pub(super) fn run(&self, words: &[&str], input: &str) -> Result<Output, String> {
        let mut command = self.command(words);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let failed = |error: std::io::Error| format!("durward does not run: {error}");
        let mut child = command.spawn().map_err(failed)?;
        if let Some(mut stdin) = child.stdin.take() {
            writeln!(stdin, "{input}").map_err(failed)?;
        }
        child.wait_with_output().map_err(failed)
    }
}

/// A port that is free at this moment.
pub(super) fn free_port() -> Result<u16, String> {
    let probe = TcpListener::bind(("127.0.0.1", 0)).map_err(|error| format!("no free port: {error}"))?;
    Ok(probe.local_addr().map_err(|error| error.to_string())?.port())
}

/// Tries again until it works or the time is over; the last reason why it did not.
pub(super) fn eventually<T>(
    within: Duration,
    mut attempt: impl FnMut() -> Result<T, String>,
) -> Result<T, String> {
    let end = Instant::now() + within;
    loop {
        match attempt() {
            Ok(done) => return Ok(done),
            Err(why) if Instant::now() > end => return Err(why),
            Err(_) => std::thread::sleep(PAUSE),
        }
    }
}

fn last_line(text: &str) -> &str {
    text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it says nothing")
}
