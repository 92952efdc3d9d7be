//! The dashboard of `durward lab run`: what goes on, drawn in the terminal four times a second by a thread of its own. The
//! terminal is put back whatever happens: the end of the run, an error, a signal, a panic.

mod draw;
mod parts;
#[cfg(test)]
mod tests;

use std::io::{self, BufWriter, IsTerminal, Stderr, Write};
use std::sync::Arc;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use durward_lab::live::StatusBoard;
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::{Hide, Show};
use ratatui::crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers, poll, read};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};

use draw::DashboardView;

/// How often the screen is drawn anew.
const EVERY: Duration = Duration::from_millis(250);
/// How often keys are looked for, and whether the run has ended.
const LOOK: Duration = Duration::from_millis(50);
/// Status of a process that a second Ctrl-C ended.
const KILLED: i32 = 130;

/// Whether the terminal is the dashboard's.
static IS_OPEN: AtomicBool = AtomicBool::new(false);

/// A dashboard on the terminal; it ends when this is dropped.
#[derive(Debug)]
pub(super) struct Dashboard {
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// Whether there is a terminal to draw in: standard error and standard input are one, it can do more than print, and this
/// process is in its foreground.
pub(super) fn can_draw() -> bool {
    let term = std::env::var("TERM").unwrap_or_default();
    let is_terminal = io::stderr().is_terminal() && io::stdin().is_terminal();
    is_terminal && !term.is_empty() && term != "dumb" && is_in_foreground()
}

/// A job in the background that changed the terminal would be stopped by it.
fn is_in_foreground() -> bool {
    rustix::termios::tcgetpgrp(io::stderr()).is_ok_and(|group| group == rustix::process::getpgrp())
}

impl Dashboard {
    /// Takes the terminal. `note` stands in the last line; `stop` is set by `q` and Ctrl-C.
    ///
    /// # Errors
    /// A terminal that cannot be set up.
    pub(super) fn open(board: StatusBoard, stop: Arc<AtomicBool>, note: String) -> io::Result<Dashboard> {
        put_back_on_panic();
        let screen = Screen::open()?;
        let is_over = Arc::new(AtomicBool::new(false));
        let over = Arc::clone(&is_over);
        let view =
            DashboardView { note, is_coloured: std::env::var_os("NO_COLOR").is_none(), is_stopping: false };
        let show = move || show(screen, &board, &stop, &over, view);
        let thread = thread::Builder::new().name("lab-dashboard".to_owned()).spawn(show)?;
        Ok(Dashboard { is_over, thread: Some(thread) })
    }
}

impl Drop for Dashboard {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // Whether it panicked or not: the terminal is put back.
            let _ = thread.join();
        }
        put_back();
    }
}

/// Draws and takes keys until the run is over, or the terminal is gone: then the run goes on unseen.
fn show(
    mut screen: Screen,
    board: &StatusBoard,
    stop: &AtomicBool,
    is_over: &AtomicBool,
    mut view: DashboardView,
) {
    let mut next = Instant::now();
    while !is_over.load(Ordering::Relaxed) && IS_OPEN.load(Ordering::Relaxed) {
        view.is_stopping = stop.load(Ordering::Relaxed);
        if Instant::now() >= next {
            next = Instant::now() + EVERY;
            let drawn = screen.terminal.draw(|frame| {
                board.with(|status| {
                    status.tick(Instant::now());
                    draw::draw(frame, status, &view);
                });
            });
            if drawn.is_err() {
                return;
            }
        }
        let Ok(has_event) = poll(LOOK) else { return };
        if !has_event {
            continue;
        }
        match read() {
            Ok(Event::Key(key)) if is_stop(&key) => {
                if stop.swap(true, Ordering::Relaxed) {
                    put_back();
                    std::process::exit(KILLED);
                }
                next = Instant::now();
            }
            Ok(Event::Resize(..)) => next = Instant::now(),
            Ok(_) => {}
            Err(_) => return,
        }
    }
}

/// `q` and Ctrl-C, which is a key like another while the terminal is the dashboard's.
fn is_stop(key: &KeyEvent) -> bool {
    if key.kind == KeyEventKind::Release {
        return false;
    }
    let is = |letter| key.code == KeyCode::Char(letter);
    let is_interrupt = key.modifiers.contains(KeyModifiers::CONTROL) && (is('c') || is('C'));
    is('q') || is('Q') || is_interrupt
}

/// The terminal while it is the dashboard's.
struct Screen {
    // Small writes would each be a call to the system.
    terminal: Terminal<CrosstermBackend<BufWriter<Stderr>>>,
}

impl Screen {
    fn open() -> io::Result<Screen> {
        enable_raw_mode()?;
        IS_OPEN.store(true, Ordering::Relaxed);
        let entered = execute!(io::stderr(), EnterAlternateScreen, Hide);
        let terminal =
            entered.and_then(|()| Terminal::new(CrosstermBackend::new(BufWriter::new(io::stderr()))));
        terminal.map(|terminal| Screen { terminal }).inspect_err(|_| put_back())
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        put_back();
    }
}

/// Gives the terminal back as it was; once, whoever asks first.
pub(super) fn put_back() {
    if IS_OPEN.swap(false, Ordering::Relaxed) {
        // A terminal that is gone needs nothing.
        let _ = execute!(io::stderr(), LeaveAlternateScreen, Show);
        let _ = disable_raw_mode();
        let _ = io::stderr().flush();
    }
}

/// What a panic says must be seen, and not on a screen that vanishes.
fn put_back_on_panic() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            put_back();
            before(info);
        }));
    });
}
