//! A line on standard error that says what takes long, from its third second on. It is there only where standard error is a terminal, and gone
//! when the command goes on.

use std::fmt::Display;
use std::io::{self, IsTerminal, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// What is done within this time needs no line.
const QUIET: Duration = Duration::from_secs(2);

/// How often the line is drawn.
const INTERVAL: Duration = Duration::from_millis(250);

/// Most characters that are told of what is done: a line that a narrow terminal folds cannot be taken back.
const CHARS_MAX: usize = 60;

/// To the beginning of the line, and away with what stands there.
const ERASE: &str = "\r\u{1b}[K";

/// Whether a line is there; whoever writes to standard error holds it meanwhile.
static IS_DRAWN: Mutex<bool> = Mutex::new(false);

/// Says what takes long, for as long as it lives.
#[derive(Debug)]
pub(crate) struct Progress {
    told: Arc<Told>,
    /// Nothing where nobody looks.
    drawing: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Told {
    now: Mutex<Now>,
    has_ended: Condvar,
}

#[derive(Debug, Default)]
struct Now {
    what: String,
    is_over: bool,
}

impl Progress {
    /// Begins to say what is done: `reading policies`.
    pub(crate) fn start(what: impl Into<String>) -> Progress {
        let told = Arc::new(Told::default());
        lock(&told.now).what = what.into();
        let is_dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb" || term.is_empty());
        if is_dumb || !io::stderr().is_terminal() {
            return Progress { told, drawing: None };
        }
        let shared = Arc::clone(&told);
        // Without a thread to draw with, the command does what it does all the same.
        let drawing = thread::Builder::new().name("progress".to_owned()).spawn(move || draw(&shared)).ok();
        Progress { told, drawing }
    }

    /// The same for commands that write to standard output meanwhile, which may be the same terminal.
    pub(crate) fn beside_output(what: impl Into<String>) -> Progress {
        if io::stdout().is_terminal() {
            return Progress { told: Arc::default(), drawing: None };
        }
        Progress::start(what)
    }

    /// Goes on to something else.
    pub(crate) fn turn_to(&self, what: impl Into<String>) {
        lock(&self.told.now).what = what.into();
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        let Some(drawing) = self.drawing.take() else { return };
        lock(&self.told.now).is_over = true;
        self.told.has_ended.notify_all();
        // A panic of the thread was reported already.
        let _ = drawing.join();
        let mut is_drawn = lock(&IS_DRAWN);
        if std::mem::take(&mut *is_drawn) {
            let _ = write!(io::stderr(), "{ERASE}");
        }
    }
}

/// Writes a line to standard error, in the place of what says what takes long. Whoever closed standard error does not want to know.
pub(crate) fn to_stderr(line: impl Display) {
    let mut is_drawn = lock(&IS_DRAWN);
    let erase = if std::mem::take(&mut *is_drawn) { ERASE } else { "" };
    let _ = writeln!(io::stderr(), "{erase}{line}");
}

/// The same for bytes that end with a line feed, such as a line of the log.
pub(crate) fn write_line(line: &[u8]) -> io::Result<()> {
    let mut is_drawn = lock(&IS_DRAWN);
    if std::mem::take(&mut *is_drawn) {
        io::stderr().write_all(ERASE.as_bytes())?;
    }
    io::stderr().write_all(line)
}

fn draw(told: &Told) {
    let begun = Instant::now();
    let mut now = lock(&told.now);
    while !now.is_over {
        let took = begun.elapsed();
        if took >= QUIET {
            let mut is_drawn = lock(&IS_DRAWN);
            *is_drawn = write!(io::stderr(), "{ERASE}{}", line(&now.what, took)).is_ok();
        }
        let wait = if took < QUIET { QUIET.saturating_sub(took) } else { INTERVAL };
        now = told.has_ended.wait_timeout(now, wait).unwrap_or_else(PoisonError::into_inner).0;
    }
}

fn line(what: &str, took: Duration) -> String {
    let what: String = what.chars().take(CHARS_MAX).collect();
    format!("{what} ... {} s", took.as_secs())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_short_and_says_how_long_it_has_taken() {
        assert_eq!(line("reading policies", Duration::from_millis(2_900)), "reading policies ... 2 s");
        assert!(line(&"a".repeat(1_000), Duration::from_secs(9_999)).chars().count() < 80);
    }
}
