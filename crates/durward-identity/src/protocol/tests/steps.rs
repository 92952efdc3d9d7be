//! What people and fate do in a simulated world, and what is heard of it.

use std::collections::BTreeSet;

use super::checker::{IssuedSession, Life, Scope};
use super::world::{Fault, NODES, USERS, Waiting, Waits, World};
use crate::protocol::{AskOutcome, Mode, NodeEvent};
use crate::session::{
    FreshnessProof, Level, Properties, Scratch, SessionChange, SessionId, TableWriter, User,
};

pub(super) fn user(number: usize) -> User {
    User::new("/", &format!("user{number}")).unwrap()
}

impl World {
    /// Something happens, and a little time passes.
    pub(super) fn step(&mut self) {
        let node = self.chance.below(NODES as u64) as usize;
        match self.chance.below(40) {
            0..=7 => self.login(node),
            8..=13 => self.logout(node),
            14 => self.revoke_user(node),
            15 if self.chance.once_in(4) => self.revoke_all(node),
            16 if self.chance.once_in(3) => self.crash(node),
            17..=19 if !self.nodes[node].is_up => self.restart(node),
            20 if self.chance.once_in(2) => self.cut(node),
            21..=23 if self.nodes[node].is_cut => self.heal(node),
            18 | 19 => self.change(node),
            24 if self.nodes[node].is_up && self.chance.once_in(10) => {
                let ask = self.ask(node, Waits::Nothing);
                self.handle(node, NodeEvent::Rotate { ask });
            }
            25..=28 => self.bring_codes(node),
            // For longer than the store knows what it was sent.
            29 if self.chance.once_in(8) => self.pass(130_000),
            _ => self.validate(node),
        }
        let most = [1, 5, 40, 1_000][self.chance.below(4) as usize];
        let ms = self.chance.below(most + 1);
        self.pass(ms);
    }

    fn login(&mut self, node: usize) {
        if !self.nodes[node].is_up {
            return;
        }
        let number = self.chance.below(USERS as u64) as usize;
        let ask = self.ask(node, Waits::Login { user: number });
        let login =
            NodeEvent::Login { ask, user: user(number), level: Level(0), properties: Properties::new() };
        self.handle(node, login);
    }

    /// Mostly one of the newest.
    fn some_session(&mut self) -> Option<usize> {
        let count = self.checker.sessions.len() as u64;
        let back = if self.chance.once_in(4) { count } else { count.min(4) };
        (count > 0).then(|| (count - 1 - self.chance.below(back)) as usize)
    }

    fn logout(&mut self, node: usize) {
        let Some(session) = self.some_session().filter(|_| self.nodes[node].is_up) else { return };
        // Whoever ends a session looks whether it is gone elsewhere, where others may be asking.
        let other = self.chance.below(NODES as u64) as usize;
        self.validate_one(other, session);
        let scope = self.scope_of(session);
        let end = self.checker.ends(scope, self.nodes[node].life, self.now);
        let ask = self.ask(node, Waits::End(end));
        let issued = &self.checker.sessions[session];
        let (user, id) = (user(issued.user), issued.id);
        let ends = self.clock(node).plus(std::time::Duration::from_secs(3 * 3600));
        self.handle(node, NodeEvent::Logout { ask, user, id, ends });
        let ms = self.chance.below(60);
        self.pass(ms);
        self.validate_one(other, session);
    }

    fn change(&mut self, node: usize) {
        let Some(session) = self.some_session().filter(|_| self.nodes[node].is_up) else { return };
        let ask = self.ask(node, Waits::Change { session });
        let issued = &self.checker.sessions[session];
        let (user, id, shown) = (user(issued.user), issued.id, Level(0));
        let change = SessionChange { level: Level(1), properties: Vec::new() };
        self.handle(node, NodeEvent::Change { ask, user, id, shown, change });
    }

    fn revoke_user(&mut self, node: usize) {
        if !self.nodes[node].is_up {
            return;
        }
        let number = self.chance.below(USERS as u64) as usize;
        let end = self.checker.ends(Scope::User(number), self.nodes[node].life, self.now);
        let ask = self.ask(node, Waits::End(end));
        self.handle(node, NodeEvent::RevokeUser { ask, user: user(number) });
    }

    fn revoke_all(&mut self, node: usize) {
        if !self.nodes[node].is_up {
            return;
        }
        let end = self.checker.ends(Scope::All, self.nodes[node].life, self.now);
        let ask = self.ask(node, Waits::End(end));
        self.handle(node, NodeEvent::RevokeAll { ask });
    }

    fn validate(&mut self, node: usize) {
        // Several at once, so that questions are shared.
        for _ in 0..=self.chance.below(3) {
            let Some(session) = self.some_session() else { return };
            self.validate_one(node, session);
            let ms = self.chance.below(10);
            self.pass(ms);
        }
    }

    fn validate_one(&mut self, node: usize, session: usize) {
        if !self.nodes[node].is_up {
            return;
        }
        if self.checker.mode == Mode::AssuredRead && self.fault != Fault::NeverAsks {
            let ask = self.ask(node, Waits::Validation { session });
            self.handle(node, NodeEvent::Validate { ask });
            return;
        }
        let permit = (self.fault == Fault::NeverAsks).then(|| self.permit(node));
        let (at, now) = (self.nodes[node].life, self.now);
        if self.is_accepted(node, session, permit)
            && let Err(violation) = self.checker.accepted(&self.checker.sessions[session], at, now)
        {
            self.violation = Some(violation);
        }
    }

    /// A permit that nobody asked the store for.
    fn permit(&self, node: usize) -> FreshnessProof {
        TableWriter::new(self.nodes[node].sessions.clone()).permit()
    }

    fn is_accepted(&self, node: usize, session: usize, permit: Option<FreshnessProof>) -> bool {
        let (simulated, mut scratch) = (&self.nodes[node], Scratch::new());
        let (now, token) = (self.clock(node), &self.checker.sessions[session].token);
        match permit {
            Some(permit) => simulated.sessions.validate_fresh(now, token, &mut scratch, permit).is_ok(),
            None => simulated.sessions.validate(now, token, &mut scratch).is_ok(),
        }
    }

    /// An answer from a node.
    pub(super) fn heard(&mut self, waiting: Waiting, answer: AskOutcome) -> Result<(), String> {
        let Waiting { waits, at, asked } = waiting;
        match (waits, answer) {
            (Waits::Login { user }, AskOutcome::Token { id, token }) => {
                self.checker.sessions.push(IssuedSession { id, user, token, asked, answered: self.now });
            }
            (Waits::End(end), AskOutcome::Done) => self.checker.done(end, self.now),
            (Waits::Validation { session }, AskOutcome::Permit(permit)) => {
                if self.is_accepted(at.node, session, Some(permit)) {
                    return self.checker.accepted(&self.checker.sessions[session], at, asked);
                }
            }
            (Waits::Change { session }, AskOutcome::Token { id, token }) => {
                let issued = self.checker.sessions[session].clone();
                if id != issued.id {
                    return Err(format!("a change of {issued:?} gave the token of {id}"));
                }
                self.checker.sessions[session].token = token;
            }
            (Waits::Change { .. }, AskOutcome::NoSession) => {}
            (Waits::Code(code), answer) => return self.heard_of_code(code, &answer),
            (Waits::Nothing, _) => {}
            (Waits::Login { .. }, answer @ (AskOutcome::Unavailable(_) | AskOutcome::Unknown)) => {
                self.last_refusal = Some(format!("{at:?}: {answer:?}"));
            }
            (_, AskOutcome::Unavailable(_) | AskOutcome::Unknown) => {}
            (waits, answer) => return Err(format!("{waits:?} was answered {answer:?}")),
        }
        Ok(())
    }

    /// All faults end. Everybody must come to agree, answer what was asked, and serve.
    pub(super) fn settle(&mut self) -> Result<(), String> {
        self.is_rough = false;
        for node in 0..NODES {
            self.heal(node);
            if !self.nodes[node].is_up {
                self.restart(node);
            }
        }
        self.pass(60_000);
        for simulated in &self.nodes {
            if let Some(lack) = simulated.node.outlook().lack {
                return Err(format!("{:?} still says: {lack}", simulated.life));
            }
        }
        if let Some(waiting) = self.waiting.values().next() {
            return Err(format!("never answered: {waiting:?}"));
        }
        let before = self.checker.sessions.len();
        (0..NODES).for_each(|node| self.login(node));
        self.pass(15_000);
        if self.checker.sessions.len() != before + NODES {
            return Err(format!("a login was not answered with a token: {:?}", self.last_refusal));
        }
        self.everybody_agrees()?;
        self.codes_are_kept()?;
        self.violation.take().map_or(Ok(()), Err)
    }

    fn everybody_agrees(&self) -> Result<(), String> {
        let lives: Vec<u64> = self.nodes.iter().map(|simulated| simulated.life.count).collect();
        for simulated in &self.nodes {
            for (number, issued) in self.checker.sessions.iter().enumerate() {
                let Life { node, .. } = simulated.life;
                let is_accepted = self.is_accepted(node, number, Some(self.permit(node)));
                let is_excused = self.fault == Fault::ClocksApart && !is_accepted;
                let checked = if is_excused {
                    Ok(())
                } else {
                    self.checker.at_the_end(issued, is_accepted, simulated.life, &lives)
                };
                checked
                    .map_err(|violation| format!("{violation}; the store has:{}", self.story(issued.id)))?;
                if self.fault == Fault::ClocksApart {
                    continue;
                }
                if number + NODES >= self.checker.sessions.len() && !is_accepted {
                    return Err(format!("{:?} refuses a new session: {issued:?}", simulated.life));
                }
            }
        }
        // Without the store's order, what happened at the same time may be seen in another one elsewhere.
        let is_unordered = self.checker.mode == Mode::None || self.checker.mode == Mode::BestEffort;
        // Nor do nodes agree on what lives that refuse each other's tokens.
        if is_unordered || self.fault == Fault::ClocksApart {
            return Ok(());
        }
        (1..NODES).try_for_each(|node| {
            let (one, other) = (self.listed(0), self.listed(node));
            one.symmetric_difference(&other).next().map_or(Ok(()), |id| {
                let by = if one.contains(id) { 0 } else { node };
                let story = self.story(*id);
                Err(format!("of nodes 0 and {node}, only {by} lists {id}; the store has:{story}"))
            })
        })
    }

    fn listed(&self, node: usize) -> BTreeSet<SessionId> {
        let sessions = &self.nodes[node].sessions;
        (0..USERS).flat_map(|number| sessions.list(&user(number))).map(|session| session.id).collect()
    }
}
