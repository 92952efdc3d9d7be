//! Random configurations, of parts whose values the model knows.

use std::fmt;

use durward_testkit::differential::TestRandom;

/// What everything is asked.
pub(super) const SUBSCRIPTION: &str =
    r#"{"subject":{"z":0,"t":true,"f":false,"n":5},"action":"read","resource":{"a":1}}"#;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Effect {
    Deny,
    Permit,
    Suspend,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Mode {
    First,
    Priority(Effect),
    Unanimous,
    Strict,
    Unique,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Algorithm {
    pub(super) mode: Mode,
    pub(super) default: Option<Effect>,
    pub(super) propagates: bool,
}

/// What conditions that ask no finder come to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Condition {
    /// There is none.
    None,
    /// Of a constant.
    Never,
    AlwaysFails,
    /// Of the subscription.
    True,
    False,
    Fails,
}

/// What a condition over an attribute comes to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum AttributeCondition {
    True,
    False,
    Fails,
}

/// What is computed when a policy applies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Outcome {
    Constant(&'static str),
    /// 5, out of the subscription.
    Part,
    Fails,
    /// An attribute that is undefined.
    Attribute,
}

#[derive(Clone, Debug)]
pub(super) struct Policy {
    pub(super) name: String,
    pub(super) effect: Effect,
    pub(super) condition: Condition,
    pub(super) asked: Option<AttributeCondition>,
    pub(super) obligation: Option<Outcome>,
    pub(super) transform: Option<Outcome>,
}

#[derive(Clone, Debug)]
pub(super) enum Document {
    Policy(Policy),
    Set { name: String, algorithm: Algorithm, target: Condition, policies: Vec<Policy> },
}

#[derive(Clone, Debug)]
pub(super) struct Configuration {
    pub(super) algorithm: Algorithm,
    pub(super) documents: Vec<Document>,
}

const EFFECTS: [Effect; 3] = [Effect::Deny, Effect::Permit, Effect::Suspend];

impl Configuration {
    pub(super) fn random(random: &mut TestRandom) -> Configuration {
        let algorithm = Algorithm::random(random, false);
        let count = 1 + random.below(5);
        let documents = (0..count).map(|number| Document::random(random, number)).collect();
        Configuration { algorithm, documents }
    }

    /// `pdp.json`.
    pub(super) fn settings(&self) -> String {
        let Algorithm { mode, default, propagates } = self.algorithm;
        let mode = mode_words(mode).to_uppercase().replace(' ', "_");
        let default = default_word(default).to_uppercase();
        let errors = if propagates { "PROPAGATE" } else { "ABSTAIN" };
        super::super::configuration([&mode, &default, errors], "{}")
    }
}

impl Algorithm {
    fn random(random: &mut TestRandom, is_of_set: bool) -> Algorithm {
        let mut mode = match random.below(8) {
            0..4 => Mode::Priority(random.of(&EFFECTS)),
            4 => Mode::Unanimous,
            5 => Mode::Strict,
            6 => Mode::Unique,
            _ => Mode::First,
        };
        if mode == Mode::First && !is_of_set {
            mode = Mode::Priority(Effect::Deny);
        }
        let default = if random.percent(40) { None } else { Some(random.of(&EFFECTS)) };
        Algorithm { mode, default, propagates: random.percent(75) }
    }
}

impl Document {
    fn random(random: &mut TestRandom, number: usize) -> Document {
        if random.percent(45) {
            return Document::Policy(Policy::random(random, format!("p{number}")));
        }
        let target = match random.below(10) {
            0 => Condition::True,
            1 => Condition::False,
            2 => Condition::Fails,
            3 => Condition::Never,
            _ => Condition::None,
        };
        let count = 1 + random.below(4);
        let policies = (0..count).map(|at| Policy::random(random, format!("p{number}-{at}"))).collect();
        Document::Set {
            name: format!("s{number}"),
            algorithm: Algorithm::random(random, true),
            target,
            policies,
        }
    }
}

impl Policy {
    fn random(random: &mut TestRandom, name: String) -> Policy {
        use Condition::{AlwaysFails, Fails, False, Never, None as Nothing, True};
        let outcomes = [
            Outcome::Constant("\"a\""),
            Outcome::Constant("\"a\""),
            Outcome::Constant("\"b\""),
            Outcome::Part,
            Outcome::Fails,
            Outcome::Attribute,
        ];
        let condition =
            random.of(&[Nothing, Nothing, True, True, True, False, Fails, Fails, AlwaysFails, Never]);
        let asked = random.percent(20).then(|| {
            random.of(&[AttributeCondition::True, AttributeCondition::False, AttributeCondition::Fails])
        });
        let obligation = random.percent(30).then(|| random.of(&outcomes));
        let transform = random.percent(20).then(|| random.of(&outcomes));
        Policy { name, effect: random.of(&EFFECTS), condition, asked, obligation, transform }
    }
}

impl fmt::Display for Document {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Document::Policy(policy) => write!(f, "{policy}"),
            Document::Set { name, algorithm, target, policies } => {
                let Algorithm { mode, default, propagates } = algorithm;
                let errors = if *propagates { "propagate" } else { "abstain" };
                let (mode, default) = (mode_words(*mode), default_word(*default));
                writeln!(f, "set \"{name}\" {mode} or {default} errors {errors}")?;
                if let Some(target) = condition_text(*target) {
                    writeln!(f, "for {target}")?;
                }
                policies.iter().try_for_each(|policy| write!(f, "{policy}"))
            }
        }
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "policy \"{}\" {}", self.name, effect_word(self.effect))?;
        if let Some(condition) = condition_text(self.condition) {
            write!(f, " {condition};")?;
        }
        match self.asked {
            None => {}
            Some(AttributeCondition::True) => write!(f, " <foo.bar> == undefined;")?,
            Some(AttributeCondition::False) => write!(f, " <foo.bar> != undefined;")?,
            Some(AttributeCondition::Fails) => write!(f, " 1 / <foo.bar> > 0;")?,
        }
        if let Some(obligation) = self.obligation {
            write!(f, " obligation {}", outcome_text(obligation))?;
        }
        if let Some(transform) = self.transform {
            write!(f, " transform {}", outcome_text(transform))?;
        }
        writeln!(f)
    }
}

fn condition_text(condition: Condition) -> Option<&'static str> {
    match condition {
        Condition::None => None,
        Condition::Never => Some("false"),
        Condition::AlwaysFails => Some("1 / 0 > 0"),
        Condition::True => Some("subject.t"),
        Condition::False => Some("subject.f"),
        Condition::Fails => Some("1 / subject.z > 0"),
    }
}

fn outcome_text(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Constant(text) => text,
        Outcome::Part => "subject.n",
        Outcome::Fails => "subject.n / 0",
        Outcome::Attribute => "<foo.bar>",
    }
}

fn effect_word(effect: Effect) -> &'static str {
    match effect {
        Effect::Deny => "deny",
        Effect::Permit => "permit",
        Effect::Suspend => "suspend",
    }
}

fn default_word(default: Option<Effect>) -> &'static str {
    default.map_or("abstain", effect_word)
}

fn mode_words(mode: Mode) -> &'static str {
    match mode {
        Mode::First => "first",
        Mode::Priority(Effect::Deny) => "priority deny",
        Mode::Priority(Effect::Permit) => "priority permit",
        Mode::Priority(Effect::Suspend) => "priority suspend",
        Mode::Unanimous => "unanimous",
        Mode::Strict => "unanimous strict",
        Mode::Unique => "unique",
    }
}
