//! Faults of nodes and stores, and bursts of users.

use super::deployment::{BalancePolicy, DeploymentEvent};
use super::future::{FutureEvent, Requester};
use super::users::{LoadSource, SimulatedUser};
use super::world::{Simulation, UserCrowd, ns};

impl DeploymentEvent {
    /// When it begins, in seconds since measuring began.
    pub fn at_s(&self) -> f64 {
        match self {
            DeploymentEvent::Fail { at_s, .. } | DeploymentEvent::Flood { at_s, .. } => *at_s,
        }
    }
}

#[expect(
    clippy::indexing_slicing,
    reason = "INVARIANT: events, crowds and stations are numbered by what the world numbered them with"
)]
impl Simulation<'_> {
    pub(super) fn begins(&mut self, number: u32) {
        match self.deployment.events[number as usize] {
            DeploymentEvent::Flood { users, within_s, .. } => {
                let session = !self.has_login;
                let stays = self.deployment.load.users.is_some();
                self.crowd(UserCrowd { left: users, until: self.now + ns(within_s), stays, session });
            }
            DeploymentEvent::Fail { nodes, detect_s, back_after_s, .. } => {
                let mut up: Vec<u32> = self.balancer.up().to_vec();
                up.retain(|node| self.stations[*node as usize].is_up);
                up.sort_unstable();
                // The last one stays, whatever other events took.
                up.truncate(up.len().saturating_sub(1).min(nodes as usize));
                for node in &up {
                    self.dies(*node);
                }
                self.down[number as usize] = up;
                self.future.plan(self.now + ns(detect_s), FutureEvent::Detected { event: number });
                if let Some(back) = back_after_s {
                    self.future.plan(self.now + ns(back), FutureEvent::Back { event: number });
                }
            }
        }
    }

    /// A node dies: what it had fails, messages are lost.
    fn dies(&mut self, node: u32) {
        let station = &mut self.stations[node as usize];
        station.clear(self.now);
        station.is_up = false;
        for id in self.jobs.at(node) {
            match self.jobs.get(id).map(|job| job.who) {
                Some(Requester::Message(question)) => {
                    self.jobs.remove(id);
                    // Nobody waits for a node that is down: the store's protocol goes on without it.
                    self.message_arrived(question);
                }
                Some(_) => self.fail(id, "closed"),
                None => {}
            }
        }
    }

    /// Balancing knows: users of those nodes go elsewhere.
    pub(super) fn detected(&mut self, number: u32) {
        let DeploymentEvent::Fail { reconnect_within_s, .. } = self.deployment.events[number as usize] else {
            return;
        };
        let down = self.down[number as usize].clone();
        let before = self.balancer.up().len();
        down.iter().for_each(|node| self.balancer.remove(*node));
        let loses = self.loses_sessions();
        let is_sticky = self.deployment.balance == BalancePolicy::Sticky;
        if let LoadSource::Pool(pool) = &mut self.users
            && !is_sticky
            && loses
        {
            pool.lose_sessions(down.len() as f64 / before.max(1) as f64);
        }
        for node in down {
            self.move_users(node, loses, is_sticky, reconnect_within_s);
        }
    }

    /// Users of a node that is down go to the others, without a session where it was lost.
    fn move_users(&mut self, node: u32, loses: bool, is_sticky: bool, storm: Option<f64>) {
        let up = self.balancer.up().to_vec();
        let until = self.now + ns(storm.unwrap_or(0.0));
        match &mut self.users {
            LoadSource::Arrivals(_) => {}
            LoadSource::Pool(pool) if is_sticky => {
                let [without, with] = pool.leave(node);
                let groups = if loses {
                    [(without + with, false), (0, true)]
                } else {
                    [(without, false), (with, true)]
                };
                for (count, session) in groups {
                    if storm.is_some() {
                        self.crowd(UserCrowd { left: count, until, stays: true, session });
                    } else if let LoadSource::Pool(pool) = &mut self.users {
                        let (each, more) = (count / up.len() as u64, count % up.len() as u64);
                        for (home, at) in up.iter().zip(0..) {
                            pool.put(*home, session, each + u64::from(at < more));
                        }
                    }
                }
            }
            LoadSource::Pool(_) => {}
            LoadSource::Each(each) => {
                for (user, number) in each.all.iter_mut().zip(0u32..).filter(|(user, _)| user.home == node) {
                    user.home = up[self.random.below(up.len())];
                    user.session &= !loses;
                    if is_sticky && storm.is_some() && user.is_thinking {
                        user.version = user.version.wrapping_add(1);
                        let at = self.now + (self.random.unit() * (until - self.now) as f64) as u64;
                        user.due = at;
                        self.future.plan(at, FutureEvent::Wake { user: number, version: user.version });
                    }
                }
            }
        }
    }

    /// Nodes are back, with nothing to do.
    pub(super) fn back(&mut self, number: u32) {
        for node in std::mem::take(&mut self.down[number as usize]) {
            let station = &mut self.stations[node as usize];
            station.advance(self.now);
            station.is_up = true;
            self.balancer.add(node);
        }
    }

    fn crowd(&mut self, crowd: UserCrowd) {
        if crowd.left > 0 {
            let number = self.crowds.len() as u32;
            self.crowds.push(crowd);
            self.plan_crowd(number);
        }
    }

    /// The first of those who are left comes at the least of as many even moments until the end.
    fn plan_crowd(&mut self, number: u32) {
        let crowd = &self.crowds[number as usize];
        let left = crowd.until.saturating_sub(self.now) as f64;
        let part = 1.0 - (1.0 - self.random.unit()).powf(1.0 / crowd.left.max(1) as f64);
        self.future.plan(self.now + (left * part) as u64, FutureEvent::Crowd { crowd: number });
    }

    pub(super) fn crowd_comes(&mut self, number: u32) {
        let crowd = &mut self.crowds[number as usize];
        crowd.left -= 1;
        let (more, stays, session) = (crowd.left > 0, crowd.stays, crowd.session);
        if more {
            self.plan_crowd(number);
        }
        let any = self.balancer.any(&mut self.random);
        let who = match &mut self.users {
            LoadSource::Pool(_) if self.deployment.balance == BalancePolicy::Sticky => {
                Requester::OneOf { home: any, session }
            }
            LoadSource::Pool(_) => Requester::OneOf { home: 0, session },
            LoadSource::Each(each) if stays => {
                each.all.push(SimulatedUser {
                    home: any,
                    session,
                    is_thinking: false,
                    version: 0,
                    due: self.now,
                });
                Requester::Each(each.all.len() as u32 - 1)
            }
            LoadSource::Each(_) | LoadSource::Arrivals(_) => Requester::Passing { login: !session },
        };
        self.ask(who, self.now);
    }
}
