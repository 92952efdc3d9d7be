//! A server that stands still for 200 ms every 5 s, by a schedule: what each percentile must be follows from that alone.
//!
//! Requests are due evenly, so 200 of 5000 are due while the server stands still, and wait evenly from 0 to 200 ms: `w` of 5000 wait
//! longer than `200 ms - w`. Nothing makes a wait shorter, so what is measured may not lie below that. What makes it longer, scheduling
//! and other tests, is seen by a control: the same load at the same time on a server that never stalls.

use std::thread;
use std::time::Duration;

use super::server::{Server, ok, one_point, since_start};
use durward_lab::record::{LatencyRecord, MeasuredPoint};

const EVERY: Duration = Duration::from_secs(5);
const STALL: Duration = Duration::from_millis(200);

/// Stalls in the middle of each period of its life, so that a measurement of one period holds one whole stall.
fn stalling() -> Server {
    let elapsed = since_start();
    Server::start(move |_| {
        let into = Duration::from_nanos(((elapsed() + EVERY / 2).as_nanos() % EVERY.as_nanos()) as u64);
        if into < STALL {
            thread::sleep(STALL - into);
        }
        ok("")
    })
}

/// One period of a load: on the server that stalls, and on one that does not.
fn measured(load: &str) -> (MeasuredPoint, MeasuredPoint) {
    let (server, control) = (stalling(), Server::plain());
    let load = format!("{load}\nmeasure = \"5s\"");
    thread::scope(|scope| {
        let control = scope.spawn(|| one_point(&[&control.url], &load, "path = \"/\""));
        (one_point(&[&server.url], &load, "path = \"/\""), control.join().unwrap())
    })
}

fn ms(latency: &LatencyRecord, percent: f64) -> f64 {
    latency.percentile_ns(percent) as f64 / 1e6
}

/// Each percentile since requests were due is that of the schedule: not less by more than due moments are apart (`grid_ms`), nor more by
/// more than that, the time in which 100 requests that waited are answered, and what one of 1000 requests of the control took.
#[track_caller]
fn is_exact(point: &MeasuredPoint, control: &MeasuredPoint, grid_ms: f64) {
    // On a busy machine the last ones before the border may find no connection.
    assert!(point.failed() <= 5 && control.failed() <= 5, "{} {}", point.failed(), control.failed());
    let noise = 10.0 + ms(&control.since_due(), 99.9);
    for (percent, exact) in [(96.0, 0.0), (97.0, 50.0), (98.0, 100.0), (99.0, 150.0), (99.9, 195.0)] {
        let was = ms(&point.since_due(), percent);
        let bounds = (exact - grid_ms - 0.5)..(exact + grid_ms + noise);
        assert!(bounds.contains(&was), "p{percent}: {was} ms, exactly {exact} ms; bounds {bounds:?}");
    }
}

/// One place, one connection: one request of the stall is sent, the others wait within the generator.
#[test]
fn arrivals_that_wait_for_a_connection_waited_for_the_server() {
    let (point, control) = measured("arrivals = { rate = 500 }\nconnections = 1");
    assert_eq!(point.answered() + point.steps[0].not_sent, 2500);
    is_exact(&point, &control, 2.0);
    // What counts since sending hides it: 1 of 2500.
    let (sent, noise) = (&point.steps[0].since_sent, 5.0 + ms(&control.since_due(), 99.9));
    assert!(ms(sent, 99.9) < noise, "{} {noise}", ms(sent, 99.9));
    assert!(ms(sent, 100.0) > 190.0, "{}", ms(sent, 100.0));
}

/// Places enough for all: each request of the stall is sent when it is due, so both ways to count agree.
#[test]
fn arrivals_with_room_are_sent_into_the_stall() {
    let (point, control) = measured("arrivals = { rate = 500 }\nconnections = 150");
    assert_eq!(point.answered() + point.steps[0].not_sent, 2500);
    is_exact(&point, &control, 2.0);
    for percent in [97.0, 98.0, 99.0, 99.9] {
        let (due, sent) = (ms(&point.since_due(), percent), ms(&point.steps[0].since_sent, percent));
        let late = ms(&point.generator.lateness, 99.9);
        assert!((due - sent).abs() < 10.0 + late, "p{percent}: {due} {sent}, late {late}");
    }
}

/// Each of five users is due every 10 ms, whatever answers take.
#[test]
fn paced_users_are_due_while_they_wait() {
    let (point, control) = measured("users = 5\npace = \"10ms\"");
    assert_eq!(point.answered() + point.steps[0].not_sent, 2500);
    is_exact(&point, &control, 10.0);
    // Since sending, 5 of 2500 saw it.
    let (sent, noise) = (ms(&point.steps[0].since_sent, 99.0), 5.0 + ms(&control.since_due(), 99.9));
    assert!(sent < noise, "{sent} {noise}");
}

/// Users who think for 20 ms wait instead of asking: each of the ten meets the stall with one request, at most 20 ms after it began.
/// So it is 10 of some 2400, which p99 does not see: a property of such users, not of how they are counted.
#[test]
fn thinking_users_meet_a_stall_once_each() {
    let (point, control) = measured("users = 10\nthink = \"20ms\"");
    let slower = |point: &MeasuredPoint, bound_ms: f64| -> u64 {
        let counts: Vec<(u64, u64)> = point.since_due().counts().collect();
        counts.iter().filter(|(ns, _)| *ns as f64 / 1e6 > bound_ms).map(|(_, count)| count).sum()
    };
    let noise = ms(&control.since_due(), 99.9);
    // A user whom the machine held back met the stall later.
    let waited = slower(&point, 178.0 - noise);
    assert!((10..=10 + slower(&control, 178.0 - noise)).contains(&waited), "{waited}, noise {noise}");
    assert!(ms(&point.since_due(), 99.0) < 10.0 + noise, "{}", ms(&point.since_due(), 99.0));
    // Ten users who ask every 20 ms for 4.8 s.
    assert!((1200..=2420).contains(&point.answered()), "{}", point.answered());
}
