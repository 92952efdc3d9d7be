//! Codes of second steps in a simulated world: brought to nodes whose clocks differ, to several at once, again and again.
//!
//! What must hold: in the assured modes a code is good once, on whichever nodes it is brought; in the others once on each node, and
//! nowhere any more once all have heard of it. And nobody is refused whose code nobody has used.

use super::checker::Life;
use super::steps::user;
use super::world::{NODES, USERS, Waits, World};
use crate::Moment;
use crate::protocol::{AskOutcome, Mode, NodeEvent};
use crate::session::UsedCode;

const STEP_MS: u64 = 30_000;

/// A code was brought to a node.
#[derive(Clone, Debug)]
struct Brought {
    code: UsedCode,
    to: Life,
    asked: u64,
    /// When it was found good.
    good: Option<u64>,
}

#[derive(Debug, Default)]
pub(super) struct Codes {
    brought: Vec<Brought>,
    recovery: u8,
}

/// Whether one code uses up another.
fn uses_up(one: &UsedCode, other: &UsedCode) -> bool {
    match (one, other) {
        (UsedCode::Device { user, since, .. }, UsedCode::Device { user: whose, since: then, .. }) => {
            user == whose && then <= since
        }
        (UsedCode::Recovery(one), UsedCode::Recovery(other)) => one == other,
        (UsedCode::Grant(one), UsedCode::Grant(other)) => {
            (one.holder, one.grant) == (other.holder, other.grant) && other.turn <= one.turn
        }
        (UsedCode::Device { .. } | UsedCode::Recovery(_) | UsedCode::Grant(_), _) => false,
    }
}

impl Codes {
    /// Where nodes do not ask for the store's order, each answers for itself.
    fn must_know(mode: Mode, one: Life, other: Life) -> bool {
        match mode {
            Mode::None | Mode::BestEffort => one == other,
            Mode::AssuredWrite | Mode::AssuredRead => true,
        }
    }

    /// A code was found good. Of two that were found good, the one that was asked for after the other was answered came later.
    fn good(&mut self, mode: Mode, number: usize, now: u64) -> Result<(), String> {
        let Brought { code, to, asked, .. } = self.brought[number].clone();
        let before = self.brought.iter().find(|other| {
            let is_before = other.code == code || other.good.is_some_and(|good| good < asked);
            other.good.is_some()
                && is_before
                && uses_up(&other.code, &code)
                && Codes::must_know(mode, other.to, to)
        });
        if let Some(before) = before {
            return Err(format!("a code was good twice: {before:?}, and at {to:?}, asked {asked}: {code:?}"));
        }
        self.brought[number].good = Some(now);
        Ok(())
    }

    /// A code was found used.
    fn refused(&self, number: usize) -> Result<(), String> {
        let Brought { code, to, .. } = &self.brought[number];
        let mut others = self.brought.iter().enumerate().filter(|(other, _)| *other != number);
        let is_reason = |(_, other): (usize, &Brought)| uses_up(&other.code, code);
        if others.any(is_reason) {
            return Ok(());
        }
        Err(format!("refused, though nobody has used it: {code:?} at {to:?}"))
    }

    fn new_recovery(&mut self) -> UsedCode {
        self.recovery += 1;
        UsedCode::Recovery([self.recovery; 16])
    }
}

impl World {
    /// Somebody brings a code to a node, and perhaps somebody else to another one at the same time.
    pub(super) fn bring_codes(&mut self, node: usize) {
        let Some(code) = self.some_code(node) else { return };
        self.bring(node, code.clone());
        let other = self.chance.below(NODES as u64) as usize;
        if self.chance.once_in(2) && self.is_in_time(other, &code) {
            let ms = self.chance.below(30);
            self.pass(ms);
            self.bring(other, code);
        }
    }

    /// One that the node's users would take: by its clock, or a recovery code, new or not.
    fn some_code(&mut self, node: usize) -> Option<UsedCode> {
        if self.chance.once_in(3) {
            let back = self.chance.below(3) as u8;
            let is_old = back > 0 && back < self.codes.recovery;
            let old = UsedCode::Recovery([self.codes.recovery.saturating_sub(back); 16]);
            return Some(if is_old { old } else { self.codes.new_recovery() });
        }
        let user = user(self.chance.below(USERS as u64) as usize);
        let step = self.clock(node).ms() / STEP_MS + self.chance.below(3) - 1;
        let at = |step: u64| Moment::from_ms(step * STEP_MS);
        let code = UsedCode::Device { user, since: at(step), until: at(step + 2) };
        self.is_in_time(node, &code).then_some(code)
    }

    fn is_in_time(&self, node: usize, code: &UsedCode) -> bool {
        let now = self.clock(node);
        match code {
            UsedCode::Device { since, until, .. } => now < *until && now.ms() + STEP_MS >= since.ms(),
            UsedCode::Recovery(_) => true,
            UsedCode::Grant(turn) => now < turn.until,
        }
    }

    fn bring(&mut self, node: usize, code: UsedCode) {
        if !self.nodes[node].is_up {
            return;
        }
        let (to, asked) = (self.nodes[node].life, self.now);
        self.codes.brought.push(Brought { code: code.clone(), to, asked, good: None });
        let ask = self.ask(node, Waits::Code(self.codes.brought.len() - 1));
        self.handle(node, NodeEvent::UseCode { ask, code });
    }

    pub(super) fn heard_of_code(&mut self, number: usize, answer: &AskOutcome) -> Result<(), String> {
        match answer {
            AskOutcome::Done => self.codes.good(self.checker.mode, number, self.now),
            AskOutcome::Used => self.codes.refused(number),
            AskOutcome::Unavailable(_) | AskOutcome::Unknown => Ok(()),
            AskOutcome::Token { .. }
            | AskOutcome::Permit(_)
            | AskOutcome::NoSession
            | AskOutcome::Forgotten
            | AskOutcome::Full(_) => Err(format!("a code was answered {answer:?}")),
        }
    }

    /// All is well again. Each node refuses what it must know of, and takes a new code.
    pub(super) fn codes_are_kept(&mut self) -> Result<(), String> {
        let good: Vec<Brought> = self.codes.brought.iter().filter(|it| it.good.is_some()).cloned().collect();
        for brought in good {
            for node in 0..NODES {
                let life = self.nodes[node].life;
                let must_be_known = match self.checker.mode {
                    Mode::None => brought.to == life,
                    // What was behind the answer dies with the node.
                    Mode::BestEffort => self.nodes[brought.to.node].life == brought.to,
                    Mode::AssuredWrite | Mode::AssuredRead => true,
                };
                let first = self.codes.brought.len();
                if must_be_known && self.is_in_time(node, &brought.code) {
                    self.bring(node, brought.code.clone());
                    self.pass(2_000);
                    if self.codes.brought[first].good.is_some() {
                        return Err(format!("at the end a code was good twice: {brought:?} at {life:?}"));
                    }
                }
            }
        }
        for node in 0..NODES {
            let code = self.codes.new_recovery();
            let number = self.codes.brought.len();
            self.bring(node, code);
            self.pass(15_000);
            if self.codes.brought[number].good.is_none() {
                return Err(format!("a new code was not taken by {:?}", self.nodes[node].life));
            }
        }
        Ok(())
    }
}
