use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use durward_opcua::permission::{Permission, PermissionRuling, SessionRights};
use durward_opcua::token::{
    AccessDenial, CutoffTarget, Cutoffs, Feed, FeedMessage, LiveDecider, LiveQuestion, NodeTable, RightEnd,
    RightKind, RightsClock, StalenessLimits, TableRows, TokenRights,
};
use opcua_types::NodeId;

use super::{NOW, PLANT, later, table, verified};

const SKEW: Duration = Duration::from_secs(5);
const NAMESPACES: [&str; 3] = ["http://opcfoundation.org/UA/", "urn:server", PLANT];

fn heard(messages: impl IntoIterator<Item = FeedMessage<Arc<str>>>) -> Feed<Arc<str>> {
    let mut feed = Feed::default();
    let first = FeedMessage::Snapshot {
        epoch: 1,
        sequence: 0,
        time: NOW,
        question: 0,
        cutoffs: Arc::new(Cutoffs::default()),
    };
    for message in [first].into_iter().chain(messages) {
        feed.hear(NOW, SKEW, 0, message);
    }
    feed
}

fn watch() -> Arc<RightsClock> {
    let watch = RightsClock::new(StalenessLimits::new(Duration::from_secs(3)), NOW);
    watch.publish(heard([]));
    Arc::new(watch)
}

fn rows(table: NodeTable) -> Arc<TableRows> {
    Arc::new(TableRows::new(Arc::new(table), &NAMESPACES))
}

fn rights(watch: &Arc<RightsClock>, live: Option<Arc<dyn LiveDecider>>) -> TokenRights {
    TokenRights::new(verified(&table(10), NOW), rows(table(10)), Arc::clone(watch), live)
}

fn node(row: u32) -> NodeId {
    NodeId::new(2, 1000 + row)
}

#[test]
fn what_the_token_grants_may_be_done_and_nothing_else() {
    let watch = watch();
    let rights = rights(&watch, None);
    assert_eq!(rights.rule(Permission::Read, &node(0)), PermissionRuling::Granted);
    let denials = [
        (Permission::Browse, node(0), AccessDenial::NotGranted),
        (Permission::Read, node(1), AccessDenial::NotGranted),
        (Permission::Write, node(1), AccessDenial::NobodyToAsk),
        (Permission::Read, node(10), AccessDenial::UnknownNode),
        (Permission::Read, NodeId::new(1, 1000_u32), AccessDenial::UnknownNode),
        (Permission::Read, NodeId::new(2, "1000"), AccessDenial::UnknownNode),
    ];
    for (permission, node, denial) in denials {
        assert_eq!(rights.judge(NOW, permission, &node), Err(denial), "{node}");
        assert_eq!(rights.rule(permission, &node), PermissionRuling::DENIED);
    }
}

/// Grants what is asked for the first time.
struct Once(AtomicU32);

impl LiveDecider for Once {
    fn rule(&self, question: &LiveQuestion<'_>) -> PermissionRuling {
        let node = question.node().unwrap();
        let asked =
            (question.token.subject(), question.permission, node.as_str(), question.row, question.now);
        assert_eq!(asked, ("anna", Permission::Write, "nsu=urn:plant:line1;i=1001", 1, NOW));
        if self.0.fetch_add(1, Ordering::Relaxed) == 0 {
            PermissionRuling::Granted
        } else {
            PermissionRuling::DENIED
        }
    }
}

#[test]
fn what_depends_on_live_values_is_asked_each_time() {
    let watch = watch();
    let rights = rights(&watch, Some(Arc::new(Once(AtomicU32::new(0)))));
    assert_eq!(rights.rule(Permission::Write, &node(1)), PermissionRuling::Granted);
    assert_eq!(rights.rule(Permission::Write, &node(1)), PermissionRuling::DENIED);
    // After the end nobody is asked.
    watch.set_now(later(600));
    assert_eq!(
        rights.judge(watch.now(), Permission::Write, &node(1)),
        Err(AccessDenial::Ended(RightEnd::Expired))
    );
}

#[test]
fn a_right_ends_with_the_token() {
    let watch = watch();
    let rights = rights(&watch, None);
    watch.set_now(later(599));
    assert!(rights.rule(Permission::Read, &node(0)).is_granted());
    watch.set_now(later(600));
    assert_eq!(rights.rule(Permission::Read, &node(0)), PermissionRuling::DENIED);
    rights.swap(verified(&table(10), later(600)));
    assert!(rights.rule(Permission::Read, &node(0)).is_granted());
}

#[test]
fn a_cutoff_ends_a_right_at_the_next_question() {
    let watch = watch();
    let rights = rights(&watch, None);
    assert!(rights.rule(Permission::Call, &node(0)).is_granted());
    let cutoff = |before, sequence| FeedMessage::Cutoff {
        epoch: 1,
        sequence,
        target: CutoffTarget::Session("session-1".into()),
        before,
    };
    watch.publish(heard([cutoff(NOW, 1)]));
    assert!(rights.rule(Permission::Call, &node(0)).is_granted(), "issued in the moment of the cutoff");
    watch.publish(heard([cutoff(later(1), 1)]));
    for permission in [Permission::Read, Permission::Write, Permission::Call] {
        let denied = rights.judge(NOW, permission, &node(0));
        assert_eq!(denied, Err(AccessDenial::Ended(RightEnd::Recalled)));
    }
    rights.swap(verified(&table(10), later(1)));
    watch.set_now(later(1));
    assert!(rights.rule(Permission::Call, &node(0)).is_granted(), "a token issued after the cutoff");
}

#[test]
fn before_the_gate_knows_the_cutoffs_no_token_counts() {
    let watch = Arc::new(RightsClock::new(StalenessLimits::new(Duration::from_secs(3)), NOW));
    let rights = rights(&watch, None);
    let read = || rights.judge(NOW, Permission::Read, &node(0));
    assert_eq!(read(), Err(AccessDenial::Ended(RightEnd::CutoffsUnknown)));
    watch.publish(heard([]));
    assert_eq!(read(), Ok(PermissionRuling::Granted));
    assert_eq!(rights.until(RightKind::Reading).moment, later(600));
}

#[test]
fn another_table_ends_all_rights_and_another_namespace_array_none() {
    let watch = watch();
    let rights = rights(&watch, None);
    rights.set_rows(rows(super::table::other(10)));
    assert_eq!(rights.judge(NOW, Permission::Read, &NodeId::new(2, 1001_u32)), Err(AccessDenial::OtherTable));
    let moved = TableRows::new(Arc::new(table(10)), &["http://opcfoundation.org/UA/", PLANT]);
    rights.set_rows(Arc::new(moved));
    assert!(rights.rule(Permission::Read, &NodeId::new(1, 1000_u32)).is_granted());
    assert_eq!(rights.rule(Permission::Read, &node(0)), PermissionRuling::DENIED);
}

/// Whatever order threads come in: a token that was swapped in stays in force, and after a recall nothing is granted.
#[test]
fn swaps_and_recalls_are_never_lost_to_readers() {
    for _ in 0..50 {
        let watch = watch();
        let rights = rights(&watch, None);
        let next = verified(&table(10), NOW);
        let id = next.id().to_owned();
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    assert!((0..200).all(|_| rights.rule(Permission::Read, &node(0)).is_granted()))
                });
            }
            scope.spawn(|| (0..20).for_each(|_| watch.publish(heard([]))));
            scope.spawn(|| rights.swap(next));
        });
        assert_eq!(rights.token().id(), id);
        let all = FeedMessage::Cutoff { epoch: 1, sequence: 1, target: CutoffTarget::All, before: later(1) };
        watch.publish(heard([all]));
        assert_eq!(rights.rule(Permission::Read, &node(0)), PermissionRuling::DENIED);
    }
}

/// What a question costs: `cargo test --release -p durward-opcua --test opcua -- --ignored --nocapture cost_of`.
#[test]
#[ignore = "a measurement"]
fn cost_of_a_question() {
    let watch = watch();
    for nodes in [100, 5_000, 1_000_000] {
        let rights =
            TokenRights::new(verified(&table(nodes), NOW), rows(table(nodes)), Arc::clone(&watch), None);
        let rights: &dyn SessionRights = &rights;
        let ids: Vec<NodeId> = (0..1024).map(|at| node(at * 7919 % nodes)).collect();
        let (begun, mut granted) = (std::time::Instant::now(), 0_u32);
        let rounds = 5_000;
        for _ in 0..rounds {
            for id in &ids {
                granted += u32::from(rights.rule(Permission::Read, id).is_granted());
            }
        }
        let ns = begun.elapsed().as_nanos() as f64 / f64::from(rounds * 1024);
        println!("{nodes} nodes: {ns:.1} ns a question ({granted} granted)");
    }
}
