//! The dashboard at many sizes, drawn into memory.

use std::collections::BTreeMap;

use durward_lab::live::RunStatus;
use durward_lab::record::{
    LatencyRecord, MeasuredPoint, MeasuredSecond, PointLoad, PointWarning, StepResult, UsedSample,
};
use durward_lab::run::{NodeNow, RunPosition, RunSecond, StepNow};
use durward_lab::scenario::Scenario;
use ratatui::Terminal;
use ratatui::backend::TestBackend;

use super::draw::{DashboardView, draw};

fn scenario(name: &str) -> Scenario {
    let text = format!(
        "name = {}\n[target]\naddresses = [\"http://127.0.0.1:1\"]\n[load]\nusers = [8, 16]\nwarm_up = \"1s\"\nmeasure = \"10s\"\n\
         [[steps]]\nname = \"ask\"\npath = \"/\"\n",
        // Texts of JSON are texts of TOML.
        serde_json::Value::from(name)
    );
    Scenario::read(&text).unwrap()
}

fn place(number: usize) -> RunPosition {
    RunPosition {
        number,
        count: 12,
        configuration: "sticky".into(),
        nodes: 2,
        load: PointLoad::Users(8),
        replicate: 0,
    }
}

fn moment(at_s: f64, failed: u64) -> RunSecond {
    let mut since_due = LatencyRecord::default();
    since_due.record_many(1_500_000, 990);
    since_due.record_many(80_000_000, 10);
    let used = UsedSample { at_s, cpus: 0.39, memory_bytes: 48 << 20, throttled: 0.5 };
    let node = |name: &str| NodeNow {
        name: name.into(),
        answered: 500,
        failed,
        used: Some(used),
        cores: 0.4,
        memory_max_bytes: Some(64 << 20),
    };
    let causes: BTreeMap<String, u64> =
        if failed > 0 { [("status 503".to_owned(), failed)].into() } else { BTreeMap::new() };
    RunSecond {
        second: MeasuredSecond { at_s, answered: 1000, failed, p50_ns: 1_500_000, p99_ns: 80_000_000 },
        since_due,
        causes,
        steps: vec![StepNow { name: "ask".into(), answered: 1000, failed }],
        nodes: vec![node("http://127.0.0.1:40001"), node("http://127.0.0.1:40002")],
        generator_busy: 0.37,
    }
}

/// In the middle of a run: some points behind it, with marks and failures.
fn running() -> RunStatus {
    let mut status = RunStatus::new(&scenario("a shop"));
    for number in 1..=3 {
        status.begin(&place(number));
        let mut step = StepResult { name: "ask".into(), answered: 10_000, ..StepResult::default() };
        step.since_due.record_many(2_000_000, 10_000);
        let marks =
            if number == 2 { vec![PointWarning::GeneratorLimit("94 % busy".into())] } else { Vec::new() };
        let point = MeasuredPoint {
            load: PointLoad::Users(8),
            nodes: 2,
            measured_s: 10.0,
            steps: vec![step],
            marks,
            ..MeasuredPoint::default()
        };
        status.end(&place(number), &point);
    }
    status.begin(&place(4));
    for at in -1..5 {
        status.second(&place(4), &moment(f64::from(at), u64::from(at == 4) * 7));
    }
    status
}

fn view() -> DashboardView {
    DashboardView { note: "page: http://127.0.0.1:8080/".into(), is_coloured: true, is_stopping: false }
}

fn shown(status: &RunStatus, width: u16, height: u16, view: &DashboardView) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(frame, status, view)).unwrap();
    let buffer = terminal.backend().buffer();
    let line = |y: u16| (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>().trim_end().to_owned();
    (0..height).map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_usual_terminal_shows_all_of_it() {
    let screen = shown(&running(), 100, 40, &view());
    for part in [
        "a shop  point 4 of 12  measuring 5 of 10 s",
        "8 users, 2 nodes, sticky",
        "last second        1000   1.50 ms   1.50 ms",
        "point so far",
        "p99.9",
        "answers/s, up to 1000",
        "127.0.0.1:40002     500/s ██████████ cpu 0.39 of 0.40  48.0 MiB of 64.0 MiB  failed 7  held",
        "7 status 503",
        "8 users   2 nodes       1000/s  p50",
        "* the generator was the limit: 94 % busy",
        "q: stop, and keep what was measured   generator 37 % busy   page: http://127.0.0.1:8080/",
    ] {
        assert!(screen.contains(part), "no `{part}` in\n{screen}");
    }
    // Failures of the second stand where its column is.
    let second = screen.lines().find(|line| line.starts_with("last second")).unwrap();
    assert!(second.ends_with("      7"), "{second}");
}

#[test]
fn the_smallest_screens_show_what_matters_most() {
    let screen = shown(&running(), 40, 6, &view());
    for part in ["a shop", "1000/s", "failed 7", "p50 1.50 ms", "q: stop"] {
        assert!(screen.contains(part), "no `{part}` in\n{screen}");
    }
    assert!(shown(&running(), 30, 2, &view()).contains("1000/s"));
}

#[test]
fn no_size_breaks_it() {
    let (empty, full) = (RunStatus::new(&scenario("x")), running());
    let mut ended = running();
    ended.finish(durward_lab::live::RunEnding::default());
    for width in [1, 2, 7, 20, 39, 79, 80, 81, 120, 169, 170, 200, 400] {
        for height in [1, 2, 3, 4, 5, 8, 12, 24, 60, 200] {
            for status in [&empty, &full, &ended] {
                shown(status, width, height, &view());
            }
        }
    }
}

#[test]
fn what_has_no_room_is_counted() {
    let mut status = running();
    for number in 5..=60 {
        status.end(&place(number), &MeasuredPoint { nodes: 2, measured_s: 1.0, ..MeasuredPoint::default() });
    }
    let screen = shown(&status, 100, 30, &view());
    assert!(screen.contains(" more\n"), "{screen}");
    // Of points the last ones stay, above the footer.
    let last: Vec<&str> = screen.lines().rev().take(2).collect();
    assert!(last[0].starts_with("q: stop") && last[1].contains("2 nodes"), "{screen}");
}

#[test]
fn wide_screens_have_points_beside_the_rest() {
    let screen = shown(&running(), 200, 30, &view());
    let line = screen.lines().find(|line| line.contains("points")).unwrap();
    assert!(line.find("points").unwrap() >= 100, "{screen}");
}

#[test]
fn stopping_is_said() {
    let screen = shown(&running(), 100, 30, &DashboardView { is_stopping: true, ..view() });
    assert!(screen.contains("  stopping") && screen.contains("q again: end at once"), "{screen}");
}

#[test]
fn names_cannot_steer_the_terminal() {
    let mut status = RunStatus::new(&scenario("a\u{1b}[31m\u{7}b"));
    let mut place = place(1);
    place.configuration = "c\u{1b}]0;title\u{7}\n".into();
    status.begin(&place);
    let screen = shown(&status, 100, 30, &view());
    assert!(!screen.chars().any(|letter| letter.is_control() && letter != '\n'), "{screen:?}");
}

#[test]
fn without_colour_there_is_none() {
    let mut terminal = Terminal::new(TestBackend::new(100, 30)).unwrap();
    let status = running();
    terminal.draw(|frame| draw(frame, &status, &DashboardView { is_coloured: false, ..view() })).unwrap();
    let plain = ratatui::style::Color::Reset;
    assert!(terminal.backend().buffer().content.iter().all(|cell| cell.fg == plain && cell.bg == plain));
}
