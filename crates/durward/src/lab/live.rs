//! How a run is seen while it goes on: flags, and the screens that they open.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use durward_lab::live::page::{LivePage, PageFiles};
use durward_lab::live::push::{Push, PushDestination, PushProtocol};
use durward_lab::live::{RunEnding, RunStatus, StatusBoard};
use durward_lab::record::RunRecord;
use durward_lab::run::Watchers;
use durward_lab::scenario::Scenario;

use super::terminal::{self, Dashboard};
use super::watch::ProgressLines;
use crate::failure::{CommandError, without_number};

/// Where a page is served that no address was given for.
const PAGE: &str = "127.0.0.1:0";
/// How long the end of a run waits for figures that are still to be delivered.
const DELIVERY: Duration = Duration::from_secs(5);

/// How a run is seen while it goes on.
#[derive(Debug, clap::Args)]
pub(super) struct RunScreens {
    /// Print a line each second also where there is a terminal to draw in
    #[arg(long)]
    plain: bool,
    /// Serve the run as a page that browsers draw live: at a free port of 127.0.0.1, or at ADDRESS
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, default_missing_value = PAGE, value_parser = address)]
    page: Option<String>,
    /// In the end the page stays as long as somebody looks at it, but no longer
    #[arg(long, value_name = "SECONDS", default_value_t = 600)]
    page_stay: u64,
    /// Also draw the report, into DIR/report
    #[arg(long)]
    pub(super) report: bool,
    /// Send the figures of each second to a server that takes Prometheus remote write: `http://host:9090/api/v1/write`
    #[arg(long, value_name = "URL")]
    remote_write: Option<String>,
    /// A file with the value of the header `Authorization` for it; without it `$DURWARD_REMOTE_WRITE_AUTHORIZATION`, if set
    #[arg(long, value_name = "FILE")]
    remote_write_authorization: Option<PathBuf>,
    /// Send the figures of each second to a collector of OpenTelemetry, by OTLP over HTTP: `http://host:4318`
    #[arg(long, value_name = "URL")]
    otlp: Option<String>,
    /// A file with the value of the header `Authorization` for it; without it `$DURWARD_OTLP_AUTHORIZATION`, if set
    #[arg(long, value_name = "FILE")]
    otlp_authorization: Option<PathBuf>,
}

/// A report that was drawn.
#[derive(Debug)]
pub(super) struct DrawnReport {
    pub(super) folder: PathBuf,
    pub(super) names: Vec<String>,
}

impl DrawnReport {
    /// The page to open.
    pub(super) fn index(&self) -> PathBuf {
        self.folder.join("index.html")
    }
}

/// `host:port`, or a port of this machine alone.
fn address(text: &str) -> Result<String, String> {
    if let Ok(port) = text.parse::<u16>() {
        return Ok(format!("127.0.0.1:{port}"));
    }
    let has_port =
        text.rsplit_once(':').is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok());
    if has_port {
        Ok(text.to_owned())
    } else {
        Err("write `--page HOST:PORT`, or the scenario before `--page`".to_owned())
    }
}

/// What shows a run.
#[derive(Debug)]
pub(super) struct ScreenArguments {
    is_quiet: bool,
    board: Option<StatusBoard>,
    dashboard: Option<Dashboard>,
    page: Option<LivePage>,
    pushes: Vec<Push>,
    /// What must not be printed over the dashboard.
    held: HeldLines,
}

/// Lines for standard error, held back while a dashboard is there.
#[derive(Clone, Debug, Default)]
struct HeldLines(Arc<Mutex<Option<Vec<String>>>>);

impl HeldLines {
    fn say(&self, line: &str) {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match held.as_mut() {
            Some(lines) => lines.push(line.to_owned()),
            // Whoever closed standard error does not want to know.
            None => drop(writeln!(io::stderr(), "{line}")),
        }
    }

    /// From now on lines are held back.
    fn hold(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_default();
    }

    /// Prints what was held back.
    fn release(&self) {
        let lines = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        lines.into_iter().flatten().for_each(|line| self.say(&line));
    }
}

impl ScreenArguments {
    /// Opens what the flags ask for.
    pub(super) fn open(
        live: &RunScreens,
        scenario: &Scenario,
        is_quiet: bool,
        stop: &Arc<AtomicBool>,
        now_unix_ms: fn() -> u64,
    ) -> Result<ScreenArguments, CommandError> {
        let held = HeldLines::default();
        let page = live.page.as_deref().map(|address| open_page(address, scenario)).transpose()?;
        if let Some(page) = &page {
            held.say(&format!("page: {}", page.url()));
            if page.is_public() {
                held.say("the page can be seen by everybody who reaches this address");
            }
        }
        let pushes = pushes(live, scenario, &held, now_unix_ms)?;
        let mut screens = ScreenArguments { is_quiet, board: None, dashboard: None, page, pushes, held };
        if !live.plain && !is_quiet && terminal::can_draw() {
            screens.draw(scenario, stop);
        }
        Ok(screens)
    }

    /// Draws in the terminal; where that fails there are plain lines.
    fn draw(&mut self, scenario: &Scenario, stop: &Arc<AtomicBool>) {
        let board = StatusBoard::new(scenario);
        let note = self.page.as_ref().map(|page| format!("page: {}", page.url())).unwrap_or_default();
        self.held.hold();
        match Dashboard::open(board.clone(), Arc::clone(stop), note) {
            Ok(dashboard) => (self.dashboard, self.board) = (Some(dashboard), Some(board)),
            Err(_) => self.held.release(),
        }
    }

    /// All that are told of the run.
    pub(super) fn watchers(&self, scenario: &Scenario) -> Watchers<'static> {
        let mut watchers = Watchers::default();
        match &self.board {
            Some(board) => watchers.add(board.clone()),
            None => watchers.add(ProgressLines::new(scenario, self.is_quiet)),
        }
        if let Some(page) = &self.page {
            watchers.add(page.watcher());
        }
        self.pushes.iter().for_each(|push| watchers.add(push.watcher()));
        watchers
    }

    /// Gives the terminal back.
    pub(super) fn close_terminal(&mut self) {
        self.dashboard = None;
        self.held.release();
    }

    /// Shows that nothing could be measured.
    pub(super) fn fail(self, why: &str) {
        if let Some(page) = &self.page {
            page.finish(RunEnding { cut_short: Some(why.to_owned()), ..RunEnding::default() }, None);
        }
    }

    /// Shows how the run ended, delivers what is still to be, and lets the page stay while somebody looks at it.
    pub(super) fn finish(
        mut self,
        record: &RunRecord,
        path: &Path,
        report: Option<DrawnReport>,
        live: &RunScreens,
        stop: &AtomicBool,
    ) {
        if let Some(page) = &self.page {
            let path = Some(path.display().to_string());
            let files = report.map(|DrawnReport { folder, names }| PageFiles { folder, names });
            page.finish(RunEnding { record: path, ..RunEnding::of(record) }, files);
        }
        for push in self.pushes.drain(..) {
            let delivery = push.finish(DELIVERY);
            if !self.is_quiet || delivery.dropped > 0 {
                self.held.say(&delivery.to_string());
            }
        }
        let Some(page) = &self.page else { return };
        if page.viewers() > 0 && live.page_stay > 0 && record.cut_short.is_none() {
            self.held.say(&format!("{} stays while somebody looks at it; Ctrl-C ends it", page.url()));
            page.stay(Duration::from_secs(live.page_stay), stop);
        }
    }
}

fn open_page(address: &str, scenario: &Scenario) -> Result<LivePage, CommandError> {
    LivePage::start(address, RunStatus::new(scenario)).map_err(|error| {
        let why = without_number(&error.to_string());
        CommandError::new(format!("cannot serve a page at {address}: {why}"))
            .hint("`--page` alone takes a free port")
    })
}

fn pushes(
    live: &RunScreens,
    scenario: &Scenario,
    held: &HeldLines,
    now_unix_ms: fn() -> u64,
) -> Result<Vec<Push>, CommandError> {
    let run = format!("{}-{}", scenario.name, now_unix_ms() / 1000);
    let all = [
        (
            PushProtocol::RemoteWrite,
            &live.remote_write,
            &live.remote_write_authorization,
            "DURWARD_REMOTE_WRITE_AUTHORIZATION",
        ),
        (PushProtocol::Otlp, &live.otlp, &live.otlp_authorization, "DURWARD_OTLP_AUTHORIZATION"),
    ];
    let mut pushes = Vec::new();
    for (protocol, url, file, variable) in all {
        let Some(url) = url.clone() else { continue };
        let authorization = authorization(file.as_deref(), variable)?;
        let destination = PushDestination { protocol, url, authorization, run: run.clone(), now_unix_ms };
        let held = held.clone();
        let say = move |problem: &str| {
            held.say(&format!("{} does not deliver, and the run goes on: {problem}", protocol.as_str()));
        };
        let push = Push::start(destination, Box::new(say));
        pushes.push(push.map_err(|error| CommandError::new(error.to_string()))?);
    }
    Ok(pushes)
}

/// From the file, else from the environment.
fn authorization(file: Option<&Path>, variable: &str) -> Result<Option<String>, CommandError> {
    let Some(path) = file else {
        return Ok(std::env::var(variable).ok().filter(|value| !value.is_empty()));
    };
    let text = fs::read_to_string(path).map_err(|error| CommandError::unreadable(path, &error))?;
    Ok(Some(text.trim().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_served_at_hosts_with_ports() {
        assert_eq!(address("8080").unwrap(), "127.0.0.1:8080");
        for text in ["127.0.0.1:0", "[::1]:80", "bench.test:8080"] {
            assert_eq!(address(text).unwrap(), text);
        }
        for text in ["lab.toml", "", ":80", "host", "host:http", "127.0.0.1:99999"] {
            assert!(address(text).is_err(), "{text}");
        }
    }

    #[test]
    fn lines_are_held_back_while_a_dashboard_is_there() {
        let held = HeldLines::default();
        held.hold();
        held.say("one");
        assert_eq!(held.0.lock().unwrap().as_deref(), Some(&["one".to_owned()][..]));
        held.release();
        assert!(held.0.lock().unwrap().is_none());
    }
}
