//! Attributes that a file publishes, and changes while durward runs.
//!
//! The file is looked at again and again: a lost event of the file system could not be told from a file that stays.

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use durward_pdp::ir::Value;
use durward_pdp::ir::json;
use durward_pdp::ir::value::Object;
use durward_pdp::stream::{Finder, Invocation, PUBLISHED_BYTES_MAX, Repository};
use jiff::Timestamp;

use crate::Clock;
use crate::settings::SettingError;

/// A file being watched; it is no longer when this is dropped.
pub(super) struct PublishedFile {
    repository: Repository,
    _stop: Sender<()>,
}

/// What is published: attribute, value, and when it ends, in milliseconds since 1970.
type Published = (Invocation, Value, Option<i64>);

impl PublishedFile {
    /// # Errors
    /// The file cannot be read or says something else, or there can be no thread.
    pub(super) fn start(path: &Path, poll: Duration, clock: &Clock) -> Result<PublishedFile, SettingError> {
        let watch = Watch::open(path)?;
        let repository = watch.repository.clone();
        let (stop, stopped) = channel();
        let clock = Clock::clone(clock);
        let run = move || watch.run(poll, &clock, &stopped);
        thread::Builder::new()
            .name("published".into())
            .spawn(run)
            .map_err(|error| wrong(error.to_string()))?;
        Ok(PublishedFile { repository, _stop: stop })
    }

    pub(super) fn finder(&self) -> Finder {
        self.repository.finder()
    }
}

/// Reads the file once, as [`PublishedFile::start`] does.
///
/// # Errors
/// The file cannot be read or says something else.
pub(super) fn check(path: &Path) -> Result<(), SettingError> {
    Watch::open(path).map(drop)
}

fn wrong(message: String) -> SettingError {
    SettingError::new("sources.published", message)
}

struct Watch {
    path: PathBuf,
    repository: Repository,
    /// What the file said last, if it was read.
    text: Option<Vec<u8>>,
}

impl Watch {
    /// Reads the file for the first time.
    fn open(path: &Path) -> Result<Watch, SettingError> {
        let mut watch = Watch { path: path.into(), repository: Repository::default(), text: None };
        watch.look().map_err(wrong)?;
        Ok(watch)
    }

    fn run(mut self, poll: Duration, clock: &Clock, stopped: &Receiver<()>) {
        let mut last_problem = String::new();
        loop {
            let now_ms = millis(clock());
            let end_ms = self.repository.expire(now_ms);
            let until_end = end_ms.map(|end_ms| u64::try_from(end_ms - now_ms).unwrap_or_default());
            let nap = until_end.map_or(poll, |wait_ms| poll.min(Duration::from_millis(wait_ms)));
            match stopped.recv_timeout(nap) {
                Err(RecvTimeoutError::Timeout) => {}
                Ok(()) | Err(RecvTimeoutError::Disconnected) => return,
            }
            let problem = self.look().err().unwrap_or_default();
            if !problem.is_empty() && problem != last_problem {
                tracing::error!(%problem, "published attributes could not be read; those before stay");
            }
            last_problem = problem;
        }
    }

    /// Publishes what the file says, if it says something new.
    ///
    /// # Errors
    /// What is wrong with the file; what was published before stays.
    fn look(&mut self) -> Result<(), String> {
        let path = self.path.display();
        let text = read(&self.path).map_err(|error| format!("{path}: {error}"))?;
        if self.text.as_ref() == Some(&text) {
            return Ok(());
        }
        let published = parse(&text).map_err(|reason| format!("{path}: {reason}"))?;
        self.repository.replace_all(published).map_err(|full| format!("{path}: {full}"))?;
        self.text = Some(text);
        Ok(())
    }
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    let bytes_max = PUBLISHED_BYTES_MAX as u64 + 1;
    std::fs::File::open(path)?.take(bytes_max).read_to_end(&mut text)?;
    if text.len() as u64 == bytes_max {
        return Err(io::Error::other(format!("the file has more than {PUBLISHED_BYTES_MAX} bytes")));
    }
    Ok(text)
}

fn millis(time: SystemTime) -> i64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

fn parse(text: &[u8]) -> Result<Vec<Published>, String> {
    let value = json::read(text).map_err(|error| error.to_string())?;
    let entries = value.as_array().ok_or("an array of attributes is needed")?;
    let attribute = |(number, entry): (usize, &Value)| {
        let object = entry.as_object().ok_or_else(|| format!("attribute {number} is no object"))?;
        attribute(object).map_err(|reason| format!("attribute {number}: {reason}"))
    };
    entries.iter().enumerate().map(attribute).collect()
}

fn attribute(object: &Object) -> Result<Published, String> {
    const KEYS: [&str; 5] = ["name", "entity", "arguments", "value", "until"];
    if let Some(other) = object.keys().find(|key| !KEYS.contains(&key.as_str())) {
        return Err(format!("`{other}` is unknown; there are {}", KEYS.join(", ")));
    }
    let name = object.get("name").and_then(Value::as_text).filter(|name| is_name(name));
    let name = name.ok_or("`name` must be two names with a point between, as `user.presence`")?;
    let arguments = match object.get("arguments") {
        None => &[][..],
        Some(arguments) => arguments.as_array().ok_or("`arguments` must be an array")?,
    };
    let value = object.get("value").ok_or("`value` is missing")?.clone();
    let until_ms = match object.get("until") {
        None => None,
        Some(until) => Some(moment(until).ok_or("`until` must be a time as \"2026-01-31T12:00:00Z\"")?),
    };
    let environment = Invocation::environment(name, arguments.iter().cloned());
    Ok((Invocation { entity: object.get("entity").cloned(), ..environment }, value, until_ms))
}

fn is_name(text: &str) -> bool {
    let is_word = |word: &str| {
        !word.is_empty()
            && !word.starts_with(|first: char| first.is_ascii_digit())
            && word.chars().all(|other| other.is_ascii_alphanumeric() || other == '_' || other == '$')
    };
    text.split_once('.').is_some_and(|(finder, attribute)| is_word(finder) && is_word(attribute))
}

fn moment(value: &Value) -> Option<i64> {
    value.as_text()?.parse::<Timestamp>().ok().map(Timestamp::as_millisecond)
}
