//! The OpenAM study (Heyman, Preuveneers, Joosen, FiCloud 2014), run again with durward in OpenAM's place: users who log in, verify
//! their token again and again and log out, on one node and several, sticky and not, with four promises about sessions.

mod fits;
mod page;
pub mod paper;
mod pictures;
mod scenario;

use super::{Study, StudyRun};
use scenario::{
    IdentityMode, PasswordHash, PointTimes, StudyNodes, StudyUsers, of_nobody, of_nodes, of_server,
};

/// Cores' worth of processor time of each node under users who pause.
pub const SLICE: f64 = 0.2;
/// The same where up to eight nodes share a machine with their users and stores.
pub const SLICE_OF_MANY: f64 = 0.08;
/// Numbers of nodes of which the law of nodes is made.
pub const NODES: [usize; 6] = [1, 2, 3, 4, 6, 8];
/// Users of each node there, who do not pause.
const USERS_OF_MANY: u64 = 16;
/// Users of each node, as in the paper: about ten loads, up to the 2400 of its text.
const USERS_FULL: [u64; 10] = [100, 300, 600, 800, 1000, 1200, 1400, 1700, 2000, 2400];
/// Users of each node where time is short: the paper's 1200 and 2400 are among them.
const USERS_QUICK: [u64; 7] = [100, 300, 600, 900, 1200, 1800, 2400];
/// Users who do not pause, to be fitted by concurrency.
const USERS_WITHOUT_PAUSE: [u64; 8] = [1, 2, 4, 8, 16, 32, 64, 128];

/// OpenAM 16.0.5 as recorded for this project (one server core, one client core, users who do not pause): calls, users, requests a
/// second.
pub const OPENAM_RECORDED: [(&str, u32, u32); 11] = [
    ("validate", 1, 1591),
    ("validate", 8, 3593),
    ("validate", 32, 2877),
    ("validate", 128, 2424),
    ("mix, 5 % logout", 1, 685),
    ("mix, 5 % logout", 8, 1040),
    ("mix, 5 % logout", 32, 1181),
    ("mix, 5 % logout", 128, 1057),
    ("login", 1, 63),
    ("login", 8, 147),
    ("login", 32, 138),
];

/// What this machine has for the study, and how long it may take.
#[derive(Clone, Debug, Default)]
pub struct OpenAmSetup {
    /// The program `durward`.
    pub durward: String,
    /// The program `nats-server`; without it only runs of one node are made.
    pub nats_server: Option<String>,
    /// The address of a server that does nothing, for dummy users; without it, no run of them.
    pub nobody: Option<String>,
    /// An OpenAM that runs already, to be measured by the same users.
    pub openam: Option<OpenAm>,
    /// Whether the paper's own times are kept.
    pub is_full: bool,
    /// Users of each node, in place of the study's own.
    pub users: Option<Vec<u64>>,
    /// Seconds of warm-up and of measuring, in place of the study's own.
    pub seconds: Option<(f64, f64)>,
    /// Numbers of nodes, in place of [`NODES`].
    pub nodes: Option<Vec<usize>>,
}

/// An OpenAM that runs already.
#[derive(Clone, Debug, Default)]
pub struct OpenAm {
    /// Such as `http://127.0.0.1:8080/openam`.
    pub url: String,
    /// Who logs in there; the password is `OPENAM_PASSWORD` of the environment.
    pub user: String,
}

/// The study for this machine.
pub fn study(setup: &OpenAmSetup) -> Study {
    let mut runs = Vec::new();
    setup.add_generator(&mut runs);
    setup.add_users(&mut runs);
    setup.add_law(&mut runs);
    setup.add_openam(&mut runs);
    let runs = runs.into_iter().map(StudyRun::without_samples).collect();
    let form = if setup.is_full { "full" } else { "quick" };
    Study { name: "openam", form: form.to_owned(), runs, document: page::document }
}

/// The users of the paper: one request every 250 ms, 5 % logouts, all at one node.
fn of_paper(counts: Vec<u64>) -> StudyUsers {
    StudyUsers {
        counts,
        think_ms: 250,
        logout_percent: vec![5],
        calls: "openam",
        balance: vec!["sticky"],
        repeat: 1,
    }
}

impl OpenAmSetup {
    fn users(&self) -> Vec<u64> {
        let own = if self.is_full { USERS_FULL.to_vec() } else { USERS_QUICK.to_vec() };
        self.users.clone().unwrap_or(own)
    }

    /// The paper's times: 15 s to settle, of which users begin over five; 60 s; 30 s of rest.
    fn times(&self) -> PointTimes {
        match (self.seconds, self.is_full) {
            (Some((warm_up, measure)), _) => {
                PointTimes { ramp: warm_up / 2.0, warm_up: warm_up / 2.0, measure, cool_down: 0.0 }
            }
            (None, true) => PointTimes { ramp: 5.0, warm_up: 10.0, measure: 60.0, cool_down: 30.0 },
            (None, false) => PointTimes { ramp: 2.0, warm_up: 1.0, measure: 3.0, cool_down: 0.0 },
        }
    }

    fn nodes(&self) -> Vec<usize> {
        self.nodes.clone().unwrap_or_else(|| NODES.to_vec())
    }

    /// One node in a slice of a core, with everything as in the paper's first figure.
    fn one(&self) -> StudyNodes<'_> {
        StudyNodes {
            durward: &self.durward,
            nats_server: self.nats_server.as_deref(),
            count: 1,
            slice: SLICE,
            mode: IdentityMode::AssuredRead,
            hash: PasswordHash::Cheap,
        }
    }

    /// Adds a run of nodes, or why it is left out.
    fn add(
        &self,
        runs: &mut Vec<StudyRun>,
        name: &str,
        about: &str,
        nodes: &StudyNodes<'_>,
        users: &StudyUsers,
    ) {
        if nodes.count > 1 && self.nats_server.is_none() {
            let why = "several nodes need `nats-server`, which was not found; name it with --nats-server";
            runs.push(StudyRun::left_out(name, about, why));
        } else {
            // Users who do not pause are a few, and need not begin one after the other.
            let ramp = if users.think_ms == 0 { 0.0 } else { self.times().ramp };
            let times = PointTimes { ramp, ..self.times() };
            runs.push(StudyRun::new(name, about, of_nodes(name, nodes, users, times)));
        }
    }

    /// What the generator does by itself, as the paper's dummy users.
    fn add_generator(&self, runs: &mut Vec<StudyRun>) {
        let Some(url) = &self.nobody else { return };
        let about = "dummy users, empty requests to a server that does nothing";
        runs.push(StudyRun::new(
            "dummy-users",
            about,
            of_nobody("dummy-users", url, &of_paper(self.users()), self.times()),
        ));
    }

    /// Figures 3 to 9: users who pause.
    fn add_users(&self, runs: &mut Vec<StudyRun>) {
        let one = self.one();
        let mixes = StudyUsers { logout_percent: vec![0, 5, 10, 20], ..of_paper(self.users()) };
        self.add(runs, "logout", "one node, 0, 5, 10 and 20 % logouts", &one, &mixes);
        for (name, count) in [("two-nodes", 2), ("three-nodes", 3)] {
            let counts = self.users().into_iter().map(|users| users * count as u64).collect();
            let users = StudyUsers { balance: vec!["sticky", "random"], ..of_paper(counts) };
            let about = format!("{count} nodes, 5 % logouts, sticky and not");
            self.add(runs, name, &about, &StudyNodes { count, ..one }, &users);
        }
        for mode in [IdentityMode::AssuredWrite, IdentityMode::BestEffort, IdentityMode::None] {
            let about = format!("one node, 5 % logouts, identity.mode = \"{}\"", mode.name());
            self.add(runs, mode.name(), &about, &StudyNodes { mode, ..one }, &of_paper(self.users()));
        }
        let about = "one node with a whole core, 5 % logouts, passwords as durward keeps them by default";
        let usual = StudyNodes { hash: PasswordHash::Usual, slice: 1.0, ..one };
        self.add(runs, "argon2id", about, &usual, &of_paper(self.few()));
    }

    /// Half of the loads, the lower ones.
    fn few(&self) -> Vec<u64> {
        let users = self.users();
        users.iter().take(users.len().div_ceil(2)).copied().collect()
    }

    /// What the paper does not have: the law by concurrency and by nodes, of users who do not pause.
    fn add_law(&self, runs: &mut Vec<StudyRun>) {
        let one = self.one();
        let counts = self.users.clone().unwrap_or_else(|| USERS_WITHOUT_PAUSE.to_vec());
        let users = StudyUsers { think_ms: 0, ..of_paper(counts) };
        self.add(runs, "concurrency", "one node, 5 % logouts, users without pause", &one, &users);
        for (prefix, mode) in
            [("nodes", IdentityMode::AssuredRead), ("nodes-best-effort", IdentityMode::BestEffort)]
        {
            for count in self.nodes() {
                let name = format!("{prefix}-{count}");
                let about = format!(
                    "{}, each in {SLICE_OF_MANY} of a core with {USERS_OF_MANY} users without pause, {}",
                    crate::record::nodes_in_words(count),
                    mode.name()
                );
                let users = StudyUsers {
                    think_ms: 0,
                    balance: vec!["sticky", "random"],
                    repeat: 2,
                    ..of_paper(vec![USERS_OF_MANY * count as u64])
                };
                self.add(
                    runs,
                    &name,
                    &about,
                    &StudyNodes { count, slice: SLICE_OF_MANY, mode, ..one },
                    &users,
                );
            }
        }
    }

    /// A real OpenAM, and durward by the same calls, which are those of OpenAM today.
    fn add_openam(&self, runs: &mut Vec<StudyRun>) {
        let Some(openam) = &self.openam else { return };
        let counts = self.users.clone().unwrap_or_else(|| vec![10, 25, 50, 100, 200, 400]);
        let users = StudyUsers { calls: "openam-json", logout_percent: vec![0, 5, 20], ..of_paper(counts) };
        let text = of_server("openam", &openam.url, &openam.user, &users, self.times());
        runs.push(StudyRun::new("openam", "a real OpenAM by its REST calls, 0, 5 and 20 % logouts", text));
        let about = "durward by the same calls";
        self.add(runs, "durward-rest", about, &self.one(), &users);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setup() -> OpenAmSetup {
        OpenAmSetup {
            durward: "durward".to_owned(),
            nats_server: Some("nats-server".to_owned()),
            nobody: Some("http://127.0.0.1:1".to_owned()),
            ..OpenAmSetup::default()
        }
    }

    #[test]
    fn quick_takes_a_quarter_of_an_hour_and_full_takes_hours() {
        let minutes = |setup: &OpenAmSetup| study(setup).expected().unwrap().as_secs_f64() / 60.0;
        let quick = minutes(&setup());
        assert!((8.0..16.0).contains(&quick), "{quick}");
        let full = minutes(&OpenAmSetup { is_full: true, ..setup() });
        assert!((200.0..400.0).contains(&full), "{full}");
    }

    #[test]
    fn every_curve_of_the_paper_has_a_run_of_ours() {
        let study = study(&setup());
        for curve in paper::CURVES {
            let run = study.runs.iter().find(|run| run.name == curve.ours.run).unwrap();
            let scenario = crate::scenario::Scenario::read(run.scenario.as_ref().unwrap()).unwrap();
            assert_eq!(scenario.target.nodes, [curve.instances], "{curve:?}");
        }
    }

    #[test]
    fn without_stores_several_nodes_are_left_out_and_said() {
        let study = study(&OpenAmSetup { nats_server: None, ..setup() });
        let left_out = |name: &str| study.runs.iter().find(|run| run.name == name).unwrap().scenario.is_err();
        assert!(left_out("two-nodes") && left_out("nodes-8") && !left_out("logout") && !left_out("nodes-1"));
    }
}
