use std::sync::Arc;
use std::time::Duration;

use durward_identity::Moment;
use durward_opcua::token::{
    CUTOFFS_MAX, CutoffTarget, Cutoffs, Feed, FeedMessage, FeedOutcome, PerRightKind, RightEnd, RightKind,
    StalenessLimits, TokenFacts, until,
};

const SKEW: Duration = Duration::from_secs(5);
const QUESTION: u64 = 42;

fn at(seconds: u32) -> Moment {
    Moment::from_s(seconds)
}

fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn token(issued: u32, expires: u32) -> TokenFacts<&'static str> {
    TokenFacts {
        subject: "anna",
        session: Some("session"),
        client: "certificate",
        policy: "policy",
        issued: at(issued),
        expires: at(expires),
    }
}

fn snapshot(
    sequence: u64,
    time: u32,
    question: u64,
    cutoffs: Cutoffs<&'static str>,
) -> FeedMessage<&'static str> {
    FeedMessage::Snapshot { epoch: 1, sequence, time: at(time), question, cutoffs: Arc::new(cutoffs) }
}

fn heartbeat(sequence: u64, time: u32) -> FeedMessage<&'static str> {
    FeedMessage::Heartbeat { epoch: 1, sequence, time: at(time) }
}

fn cutoff(sequence: u64, before: u32) -> FeedMessage<&'static str> {
    FeedMessage::Cutoff { epoch: 1, sequence, target: CutoffTarget::Subject("anna"), before: at(before) }
}

/// Knows all up to number 3, as of second 100.
fn feed() -> Feed<&'static str> {
    let mut feed = Feed::default();
    assert_eq!(
        feed.hear(at(100), SKEW, QUESTION, snapshot(3, 100, QUESTION, Cutoffs::default())),
        FeedOutcome::News
    );
    feed
}

#[test]
fn a_token_issued_in_the_second_of_a_cutoff_lives_and_one_before_is_dead() {
    for target in [
        CutoffTarget::All,
        CutoffTarget::Subject("anna"),
        CutoffTarget::Session("session"),
        CutoffTarget::Client("certificate"),
        CutoffTarget::Policy("policy"),
    ] {
        let mut cutoffs = Cutoffs::default();
        cutoffs.add(target.clone(), at(100));
        assert!(cutoffs.end(&token(99, 200)), "{target}");
        assert!(!cutoffs.end(&token(100, 200)), "{target}");
        assert!(!cutoffs.end(&token(101, 200)), "{target}");
        // An earlier one for the same target changes nothing.
        cutoffs.add(target, at(50));
        assert!(cutoffs.end(&token(99, 200)));
    }
    let mut others = Cutoffs::default();
    for target in [
        CutoffTarget::Subject("bert"),
        CutoffTarget::Session("anna"),
        CutoffTarget::Client("anna"),
        CutoffTarget::Policy("anna"),
    ] {
        others.add(target, at(1000));
    }
    assert!(!others.end(&token(99, 200)));
    assert!(!others.end(&TokenFacts { session: None, ..token(99, 200) }));
}

#[test]
fn cutoffs_are_dropped_when_all_they_could_end_has_ended() {
    let mut cutoffs = Cutoffs::default();
    cutoffs.add(CutoffTarget::Subject("anna"), at(100));
    cutoffs.forget(at(199), s(100));
    assert_eq!(cutoffs.len(), 1);
    // The last token it ends was issued in second 99 and ends at 199.
    cutoffs.forget(at(200), s(100));
    assert!(cutoffs.is_empty());
}

#[test]
fn too_many_cutoffs_become_one_for_everybody() {
    let mut cutoffs = Cutoffs::default();
    for subject in 0..CUTOFFS_MAX as u32 {
        cutoffs.add(CutoffTarget::Subject(subject), at(100 + subject));
    }
    assert_eq!(cutoffs.len(), CUTOFFS_MAX);
    cutoffs.add(CutoffTarget::Session(1), at(50));
    assert_eq!(cutoffs.len(), 1);
    let latest = 100 + CUTOFFS_MAX as u32 - 1;
    let token = |issued| TokenFacts {
        subject: u32::MAX,
        session: None,
        client: 0,
        policy: 0,
        issued: at(issued),
        expires: at(u32::MAX),
    };
    assert!(cutoffs.end(&token(latest - 1)) && !cutoffs.end(&token(latest)));
}

#[test]
fn before_the_answer_to_its_own_question_a_gate_knows_nothing() {
    let mut feed = Feed::default();
    let reach = StalenessLimits::new(s(3));
    let unknown = |feed: &Feed<_>| {
        until(&token(100, 200), feed, &reach).of(RightKind::Reading).at(at(101))
            == Err(RightEnd::CutoffsUnknown)
    };
    assert!(unknown(&feed));
    feed.hear(at(100), SKEW, QUESTION, heartbeat(0, 100));
    assert!(unknown(&feed));
    feed.hear(at(100), SKEW, QUESTION, cutoff(1, 50));
    assert!(unknown(&feed));
    feed.hear(at(100), SKEW, QUESTION, snapshot(1, 100, QUESTION - 1, Cutoffs::default()));
    assert!(unknown(&feed));
    feed.hear(at(100), SKEW, QUESTION, snapshot(1, 100, QUESTION, Cutoffs::default()));
    assert!(!unknown(&feed) && !feed.has_gap());
    // What it heard before counts as well.
    assert!(feed.cutoffs().end(&token(49, 200)));
}

#[test]
fn heartbeats_say_up_to_when_all_is_known() {
    let mut feed = feed();
    assert_eq!(feed.hear(at(110), SKEW, QUESTION, heartbeat(3, 105)), FeedOutcome::News);
    assert_eq!(feed.complete_until(), Some(at(105)));
    // Late, twice, and of an earlier number: never back.
    assert_eq!(feed.hear(at(110), SKEW, QUESTION, heartbeat(3, 104)), FeedOutcome::Nothing);
    assert_eq!(feed.hear(at(110), SKEW, QUESTION, heartbeat(3, 105)), FeedOutcome::Nothing);
    feed.hear(at(110), SKEW, QUESTION, heartbeat(2, 107));
    assert_eq!(feed.complete_until(), Some(at(107)));
    // From a clock that is ahead: as if it were now, up to the skew; beyond it is no sign of life.
    feed.hear(at(110), SKEW, QUESTION, heartbeat(3, 115));
    assert_eq!(feed.complete_until(), Some(at(110)));
    assert_eq!(feed.hear(at(110), SKEW, QUESTION, heartbeat(3, 116)), FeedOutcome::FromTheFuture);
}

#[test]
fn a_gap_is_seen_and_closed_by_a_snapshot() {
    let mut feed = feed();
    feed.hear(at(101), SKEW, QUESTION, heartbeat(4, 101));
    assert!(feed.has_gap());
    assert_eq!(feed.complete_until(), Some(at(100)), "what has a gap is not complete");
    // The missing one comes late.
    feed.hear(at(102), SKEW, QUESTION, cutoff(4, 50));
    assert!(!feed.has_gap());
    // Number 6 before number 5: it counts at once, and the gap stays until a snapshot.
    feed.hear(at(102), SKEW, QUESTION, cutoff(6, 90));
    assert!(feed.has_gap() && feed.cutoffs().end(&token(89, 200)));
    feed.hear(at(103), SKEW, QUESTION, snapshot(5, 103, QUESTION, Cutoffs::default()));
    assert!(feed.has_gap());
    feed.hear(at(103), SKEW, QUESTION, snapshot(6, 103, QUESTION, Cutoffs::default()));
    assert!(!feed.has_gap());
    // An old snapshot takes nothing back.
    feed.hear(at(104), SKEW, QUESTION, snapshot(2, 104, QUESTION, Cutoffs::default()));
    assert_eq!((feed.known(), feed.cutoffs().end(&token(89, 200))), (6, true));
}

#[test]
fn a_service_with_a_new_store_is_asked_for_everything() {
    let mut feed = feed();
    feed.hear(at(101), SKEW, QUESTION, cutoff(4, 90));
    feed.hear(at(101), SKEW, QUESTION, FeedMessage::Heartbeat { epoch: 2, sequence: 1, time: at(101) });
    assert_eq!(feed.complete_until(), None);
    assert!(feed.cutoffs().end(&token(89, 200)), "what was recalled stays recalled");
    // The old one speaks no more.
    assert_eq!(feed.hear(at(101), SKEW, QUESTION, heartbeat(9, 101)), FeedOutcome::Nothing);
}

fn ends(
    token: &TokenFacts<&'static str>,
    feed: &Feed<&'static str>,
    reach: &StalenessLimits,
) -> (Moment, RightEnd) {
    let until = until(token, feed, reach).of(RightKind::Reading);
    (until.moment, until.because)
}

#[test]
fn a_right_ends_with_its_token_whether_or_not_the_service_is_in_reach() {
    let reach = StalenessLimits::new(s(3));
    assert_eq!(ends(&token(100, 101), &feed(), &reach), (at(101), RightEnd::Expired));
    assert_eq!(ends(&token(100, 500), &feed(), &reach), (at(500), RightEnd::Expired));
    let until = until(&token(100, 500), &feed(), &reach).of(RightKind::Reading);
    assert_eq!(until.at(Moment::from_ms(499_999)), Ok(()));
    assert_eq!(until.at(at(500)), Err(RightEnd::Expired));
}

#[test]
fn out_of_reach_a_right_holds_for_as_long_as_is_set() {
    let hold = PerRightKind { reading: Some(s(60)), writing: Some(s(10)), calling: None };
    let reach = StalenessLimits { hold, ..StalenessLimits::new(s(3)) };
    let until = |kind| until(&token(100, 500), &feed(), &reach).of(kind);
    assert_eq!(
        (until(RightKind::Reading).moment, until(RightKind::Reading).because),
        (at(160), RightEnd::OutOfReach)
    );
    assert_eq!(until(RightKind::Writing).moment, at(110));
    assert_eq!(until(RightKind::Calling).moment, at(500));
    let short = StalenessLimits { hold: PerRightKind::all(Some(Duration::ZERO)), ..reach };
    assert_eq!(ends(&token(100, 500), &feed(), &short), (at(103), RightEnd::OutOfReach), "in reach for 3 s");
}

#[test]
fn grace_is_for_tokens_that_end_while_the_service_is_out_of_reach() {
    let grace = PerRightKind { reading: s(30), ..PerRightKind::all(Duration::ZERO) };
    let reach = StalenessLimits { grace, ..StalenessLimits::new(s(3)) };
    // Complete up to 100, in reach until 103.
    assert_eq!(ends(&token(90, 102), &feed(), &reach), (at(102), RightEnd::Expired));
    assert_eq!(ends(&token(90, 103), &feed(), &reach), (at(133), RightEnd::Expired));
    assert_eq!(until(&token(90, 103), &feed(), &reach).of(RightKind::Writing).moment, at(103));
    // It comes back: the grace is over.
    let mut back = feed();
    back.hear(at(110), SKEW, QUESTION, heartbeat(3, 110));
    assert_eq!(ends(&token(90, 103), &back, &reach), (at(103), RightEnd::Expired));
    // A known gap is no silence.
    let mut gap = feed();
    gap.hear(at(101), SKEW, QUESTION, heartbeat(4, 101));
    assert_eq!(ends(&token(90, 103), &gap, &reach).0, at(103));
}

#[test]
fn with_a_gap_nothing_is_served_beyond_the_staleness() {
    let mut feed = feed();
    feed.hear(at(101), SKEW, QUESTION, heartbeat(4, 101));
    assert_eq!(
        ends(&token(100, 500), &feed, &StalenessLimits::new(s(3))),
        (at(103), RightEnd::CutoffsMissing)
    );
}

#[test]
fn a_recalled_right_has_ended_at_once() {
    let mut feed = feed();
    feed.hear(at(101), SKEW, QUESTION, cutoff(4, 101));
    let reach = StalenessLimits { grace: PerRightKind::all(s(1000)), ..StalenessLimits::new(s(3)) };
    assert_eq!(ends(&token(100, 500), &feed, &reach), (Moment::default(), RightEnd::Recalled));
    assert_eq!(ends(&token(101, 500), &feed, &reach), (at(1500), RightEnd::Expired));
}
