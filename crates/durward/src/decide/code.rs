//! `--exit-code`: the decision as an exit code, for scripts.
//!
//! The codes are those of SAPL's `sapl check`. 0 means: go ahead, and nothing else has to be done. A permit that comes with
//! an obligation or another resource is not 0, since a script that only looks at the code would not carry it out.

use durward_pdp::sapl::{self, Decision};
use durward_pdp::{Decision as Word, Response};

/// Nothing was decided: bad input, a server that is not reached, bad flags.
pub(crate) const ERROR: u8 = 1;

const PERMIT: u8 = 0;
const DENY: u8 = 2;
const NOT_APPLICABLE: u8 = 3;
const UNCLEAR: u8 = 4;
const SUSPEND: u8 = 5;

/// The flag, for those who look for it before flags are read.
pub(crate) const FLAG: &str = "--exit-code";

/// The code of a decision.
pub(super) fn of_decision(decision: &Decision) -> u8 {
    let is_plain = decision.obligations().len() == 0 && decision.resource().is_none();
    match decision.outcome {
        sapl::Outcome::Permit if is_plain => PERMIT,
        sapl::Outcome::Permit | sapl::Outcome::Indeterminate => UNCLEAR,
        sapl::Outcome::Deny => DENY,
        sapl::Outcome::NotApplicable => NOT_APPLICABLE,
        sapl::Outcome::Suspend => SUSPEND,
    }
}

/// The code of a response; one with several decisions is not clear.
pub(super) fn of_response(response: &Response) -> u8 {
    let [result] = response.results.as_slice() else { return UNCLEAR };
    match result.decision {
        Word::Permit if result.obligations.is_empty() => PERMIT,
        Word::Permit | Word::Indeterminate => UNCLEAR,
        Word::Deny => DENY,
        Word::NotApplicable => NOT_APPLICABLE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_permit_without_a_duty_is_success() {
        for (decision, code) in [
            (r#"{"decision":"PERMIT"}"#, 0),
            (r#"{"decision":"PERMIT","advice":["drink tea"]}"#, 0),
            (r#"{"decision":"PERMIT","obligations":["log"]}"#, 4),
            (r#"{"decision":"PERMIT","resource":null}"#, 4),
            (r#"{"decision":"DENY"}"#, 2),
            (r#"{"decision":"DENY","obligations":["log"]}"#, 2),
            (r#"{"decision":"NOT_APPLICABLE"}"#, 3),
            (r#"{"decision":"INDETERMINATE"}"#, 4),
            (r#"{"decision":"SUSPEND"}"#, 5),
        ] {
            assert_eq!(of_decision(&Decision::from_json(decision.as_bytes()).unwrap()), code, "{decision}");
        }
    }
}
