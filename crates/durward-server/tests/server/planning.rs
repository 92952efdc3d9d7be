//! Plans take longer than others may wait, so they are made beside the threads that answer, a few at a time.
//!
//! The policies read the time, and the clock of their decision point stands still until a test lets it go on: until then, every plan is
//! under way.

use std::sync::{Arc, Condvar, Mutex, mpsc};
use std::thread;
use std::time::{Duration, SystemTime};

use durward_pdp::Pdp;
use durward_server::decider::Tenants;
use serde_json::json;

use crate::support::{Directory, Reply, TestServer, clock};

const POLICY: &str = r#"<Policy xmlns="urn:oasis:names:tc:xacml:3.0:core:schema:wd-17" PolicyId="p" Version="1.0"
    RuleCombiningAlgId="urn:oasis:names:tc:xacml:3.0:rule-combining-algorithm:deny-unless-permit"><Target/>
  <Rule RuleId="always" Effect="Permit"><Condition>
    <Apply FunctionId="urn:oasis:names:tc:xacml:1.0:function:time-greater-than-or-equal">
      <Apply FunctionId="urn:oasis:names:tc:xacml:1.0:function:time-one-and-only">
        <AttributeDesignator Category="urn:oasis:names:tc:xacml:3.0:attribute-category:environment"
          AttributeId="urn:oasis:names:tc:xacml:1.0:environment:current-time"
          DataType="http://www.w3.org/2001/XMLSchema#time" MustBePresent="true"/></Apply>
      <AttributeValue DataType="http://www.w3.org/2001/XMLSchema#time">00:00:00Z</AttributeValue>
    </Apply></Condition></Rule>
</Policy>"#;

const SETTINGS: &str = "
server.workers = 1
sapl.http = true
auth.danger_allow_no_auth = true
[[plan.columns.records.column]]
name = 'owner'
type = 'text'
";

/// As many as are made at once, and those that may wait.
const PLANS_MAX: usize = 2 + 32;

/// After so long a plan goes on though nobody let it: the test has failed by then, and is to end.
const PATIENCE: Duration = Duration::from_secs(20);

/// What holds plans up.
#[derive(Clone, Default)]
struct Gate(Arc<(Mutex<GateState>, Condvar)>);

#[derive(Default)]
struct GateState {
    plans: usize,
    is_open: bool,
    was_forced: bool,
}

impl Gate {
    fn pass(&self) {
        let (state, changed) = &*self.0;
        let mut state = state.lock().unwrap();
        state.plans += 1;
        changed.notify_all();
        let (mut state, waited) =
            changed.wait_timeout_while(state, PATIENCE, |state| !state.is_open).unwrap();
        state.was_forced |= waited.timed_out();
    }

    /// Waits until a plan is under way.
    fn await_plan(&self) {
        let (state, changed) = &*self.0;
        let state = state.lock().unwrap();
        let (state, _) = changed.wait_timeout_while(state, PATIENCE, |state| state.plans == 0).unwrap();
        assert!(state.plans > 0, "no plan has begun");
    }

    fn open(&self) {
        let (state, changed) = &*self.0;
        state.lock().unwrap().is_open = true;
        changed.notify_all();
    }

    fn was_forced(&self) -> bool {
        self.0.0.lock().unwrap().was_forced
    }
}

fn start(gate: &Gate) -> TestServer {
    let gate = gate.clone();
    let still = move || {
        gate.pass();
        SystemTime::UNIX_EPOCH
    };
    let pdp = Pdp::builder().policy("p.xml", POLICY).clock(still).build().unwrap();
    let tenants = Tenants::new(clock(), Vec::new()).unwrap();
    tenants.put("default", Some(&Arc::new(pdp)));
    TestServer::start_deciding(Directory::new(), SETTINGS, tenants).unwrap()
}

fn plan(server: &TestServer) -> Reply {
    let question = json!({"subject": "ada", "action": "read", "resource": {}, "columns": "records"});
    server.send("POST", "/v1/plan", &[], question.to_string().as_bytes())
}

/// The server has one thread that answers: were a plan made there, nobody would be answered until it is done.
#[test]
fn whoever_asks_is_answered_while_plans_are_under_way() {
    let gate = Gate::default();
    let server = start(&gate);
    thread::scope(|scope| {
        let plans: Vec<_> = (0..8).map(|_| scope.spawn(|| plan(&server))).collect();
        gate.await_plan();
        assert_eq!(server.get("/health/live").status, 200);
        assert_eq!(server.decide("doctor"), "Permit");
        gate.open();
        for plan in plans {
            let reply = plan.join().unwrap();
            assert_eq!((reply.status, reply.json()), (200, json!({"kind": "all", "exact": true})));
        }
    });
    assert!(!gate.was_forced(), "somebody waited for a plan");
}

#[test]
fn whoever_asks_for_one_plan_too_many_is_told_to_come_again() {
    let gate = Gate::default();
    let server = start(&gate);
    thread::scope(|scope| {
        let (tell, told) = mpsc::channel();
        for _ in 0..=PLANS_MAX {
            let (tell, server) = (tell.clone(), &server);
            scope.spawn(move || tell.send(plan(server)).unwrap());
        }
        let refused = told.recv().unwrap();
        assert_eq!(refused.status, 503, "{}", refused.text());
        assert_eq!(refused.json()["message"], "too many plans are being made; try again");
        assert_eq!(refused.header("retry-after"), "1");
        gate.open();
        for _ in 0..PLANS_MAX {
            assert_eq!(told.recv().unwrap().status, 200);
        }
    });
    assert!(!gate.was_forced());
    assert_eq!(server.metric("durward_limits_hit_total{limit=\"sapl.plans\"}"), 1.0);
}
