//! One set of policies and one question, as texts: what a difference is shown with, and made small.

use std::fmt;

use durward_pdp::{IndexSettings, Pdp, PdpBuilder};

use super::contest::{ContestQuestion, Disagreement, EvaluatorContest};
use super::text::ShrinkableText;

/// Policies by name, and a question.
#[derive(Clone, Debug)]
pub struct DifferentialCase {
    /// The documents, in order.
    pub documents: Vec<(String, ShrinkableText)>,
    /// What is asked.
    pub question: ShrinkableText,
}

/// What a decision point has besides its policies.
pub(super) type PdpExtras<'b> = &'b dyn Fn(PdpBuilder) -> PdpBuilder;

/// Making a difference small tries no more cases: each puts policies in force a dozen times.
const ATTEMPTS_MAX: usize = 400;

/// A builder with these documents.
pub(super) fn builder(documents: &[(String, ShrinkableText)], besides: PdpExtras<'_>) -> PdpBuilder {
    let builder = documents.iter().fold(Pdp::builder(), |builder, (name, text)| {
        let text = text.to_string();
        if text.is_empty() { builder } else { builder.policy(name, text) }
    });
    besides(builder)
}

impl DifferentialCase {
    /// What is wrong, if anything.
    pub fn disagreement(&self, besides: PdpExtras<'_>, settings: &IndexSettings) -> Option<Disagreement> {
        let make = || builder(&self.documents, besides);
        let contest = match EvaluatorContest::build(&make, Some(settings)) {
            Ok(contest) => contest?,
            Err(disagreement) => return Some(disagreement),
        };
        contest.ask(&ContestQuestion::read(&self.question.to_string()).ok()?).err()
    }

    /// As little of it as still shows a difference.
    #[must_use]
    pub fn smaller(mut self, besides: PdpExtras<'_>, settings: &IndexSettings) -> DifferentialCase {
        let mut attempts = ATTEMPTS_MAX;
        loop {
            let before = self.parts();
            let mut at = 0;
            while at < self.parts() && attempts > 0 {
                attempts -= 1;
                let without = self.without(at);
                if without.disagreement(besides, settings).is_some() {
                    self = without;
                } else {
                    at += 1;
                }
            }
            if attempts == 0 || self.parts() == before {
                return self;
            }
        }
    }

    fn parts(&self) -> usize {
        self.texts().map(ShrinkableText::parts).sum::<usize>() + self.documents.len()
    }

    fn texts(&self) -> impl Iterator<Item = &ShrinkableText> {
        self.documents.iter().map(|(_, text)| text).chain([&self.question])
    }

    /// Without the part of this number: whole documents first.
    fn without(&self, number: usize) -> DifferentialCase {
        let mut smaller = self.clone();
        if number < self.documents.len() {
            smaller.documents.remove(number);
            return smaller;
        }
        let mut left = number - self.documents.len();
        let texts = smaller.documents.iter_mut().map(|(_, text)| text).chain([&mut smaller.question]);
        for text in texts {
            if left < text.parts() {
                *text = text.without(left);
                break;
            }
            left -= text.parts();
        }
        smaller
    }
}

impl fmt::Display for DifferentialCase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, text) in &self.documents {
            writeln!(f, "--- {name}\n{}", text.to_string().trim_end())?;
        }
        write!(f, "--- question\n{}", self.question)
    }
}
