//! Expressions of SAPL by themselves, for people who try them and for programs that need one value.
//!
//! They are lowered and evaluated as in policies, by the plain evaluator. An error of an evaluation has no place in a program, which
//! shares equal expressions: it is looked for among the parts, which are evaluated again.

use std::fmt;

use durward_ir::Value;
use durward_ir::combine::{Algorithm, Effects};
use durward_ir::evaluate::{Evaluator, Everything, ListPolicies, Unwatched};
use durward_ir::fault::{Evaluated, Fault};
use durward_ir::finding::Finding;
use durward_ir::program::{Builder, ExprId, Program};
use durward_ir::question::{Attributes, NoContent, Question, UNENCODED};
use durward_sapl::check::Settings;
use durward_sapl::lower::lower_parts;
use durward_sapl::{Configuration, ExpressionPart, Problem};
use durward_xacml_policies::policy::PolicyError;
use smol_str::SmolStr;

use crate::documents::root;
use crate::documents::sapl::to_errors;

/// One expression of SAPL, ready to be evaluated.
#[derive(Debug)]
pub struct Expression {
    read: durward_sapl::Expression,
    configuration: Configuration,
    program: Program,
    id: ExprId,
}

/// Why an expression has no value.
#[derive(Clone, Debug)]
pub struct ExpressionFault {
    /// What went wrong.
    pub fault: Box<Fault>,
    /// The line of the smallest part that fails so, from 1.
    pub line: u32,
    /// Its column, in characters, from 1.
    pub column: u32,
}

impl fmt::Display for ExpressionFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.fault.whole_message())
    }
}

impl std::error::Error for ExpressionFault {}

impl Expression {
    /// Reads an expression; `source` is how messages call it, and the configuration's variables are those it can use. Functions
    /// are called by their full names, since nothing is imported.
    ///
    /// # Errors
    /// Everything that is wrong with the text.
    ///
    /// ```
    /// use durward_pdp::Expression;
    /// use durward_pdp::sapl::{Configuration, Subscription};
    ///
    /// let expression = Expression::read("role", "subject.role == \"doctor\"", &Configuration::default())
    ///     .map_err(|errors| errors[0].to_string())?;
    /// let doctor = br#"{"subject":{"role":"doctor"},"action":"read","resource":"record"}"#;
    /// let doctor = Subscription::from_json(doctor).map_err(|error| error.to_string())?;
    /// assert_eq!(expression.evaluate(&doctor).map(|value| value.to_json()).ok().as_deref(), Some("true"));
    /// # Ok::<(), String>(())
    /// ```
    pub fn read(
        source: &str,
        text: &str,
        configuration: &Configuration,
    ) -> Result<Expression, Vec<PolicyError>> {
        let read = durward_sapl::Expression::read(source, text).map_err(to_errors)?;
        Expression::new(read, configuration)
    }

    /// Reads the value of a variable, `var name = value;`, and gives its name, too.
    ///
    /// # Errors
    /// Everything that is wrong with the text.
    pub fn read_variable(
        source: &str,
        text: &str,
        configuration: &Configuration,
    ) -> Result<(SmolStr, Expression), Vec<PolicyError>> {
        let (name, read) = durward_sapl::Expression::read_variable(source, text).map_err(to_errors)?;
        Ok((name, Expression::new(read, configuration)?))
    }

    fn new(
        read: durward_sapl::Expression,
        configuration: &Configuration,
    ) -> Result<Expression, Vec<PolicyError>> {
        let (program, ids) = program(&[read.whole()], configuration).map_err(to_errors)?;
        let Some(id) = ids.first().copied() else { return Err(Vec::new()) };
        Ok(Expression { read, configuration: configuration.clone(), program, id })
    }

    /// What is odd in it, as [`crate::check`] tells of policies: warnings only.
    pub fn warnings(&self, settings: &Settings) -> Vec<Finding> {
        self.read.warnings(&self.configuration, settings)
    }

    /// Its value, with what is known. Attributes that nobody has said anything of yet are undefined.
    ///
    /// # Errors
    /// The expression fails.
    pub fn evaluate(&self, known: &dyn Attributes) -> Result<Value, ExpressionFault> {
        value_of(&self.program, self.id, known).map_err(|fault| {
            let (line, column) = self.failing(&fault, known).place();
            ExpressionFault { fault, line, column }
        })
    }

    /// The smallest part that fails for this reason. What `@` means something in is looked at as a whole.
    fn failing(&self, fault: &Fault, known: &dyn Attributes) -> ExpressionPart<'_> {
        let mut part = self.read.whole();
        while let Some(inner) = self.failing_in(part, fault, known) {
            part = inner;
        }
        part
    }

    fn failing_in<'e>(
        &self,
        part: ExpressionPart<'e>,
        fault: &Fault,
        known: &dyn Attributes,
    ) -> Option<ExpressionPart<'e>> {
        let parts = part.parts();
        let (program, ids) = program(&parts, &self.configuration).ok()?;
        let fails = |id: ExprId| value_of(&program, id, known).is_err_and(|it| it.message == fault.message);
        parts.into_iter().zip(ids).find(|(_, id)| fails(*id)).map(|(part, _)| part)
    }
}

/// A program without policies, and what each part became in it.
fn program(
    parts: &[ExpressionPart<'_>],
    configuration: &Configuration,
) -> Result<(Program, Vec<ExprId>), Vec<Problem>> {
    let mut builder = Builder::new();
    // Each is evaluated once, and whatever makes that faster takes longer to make.
    builder.stay_plain();
    let ids = lower_parts(parts, configuration, &mut builder)?;
    let root = root(Algorithm::Voting(configuration.voting), Vec::new(), Effects::NONE);
    Ok((builder.finish(root), ids))
}

fn value_of(program: &Program, id: ExprId, known: &dyn Attributes) -> Evaluated<Value> {
    let question = Question::new(&program.slots, known, &NoContent, &[], &UNENCODED);
    Evaluator::new(program, &question, &Everything, &Unwatched, ListPolicies::No).value(id)
}

#[cfg(test)]
mod tests {
    use durward_sapl::Subscription;

    use super::*;

    fn evaluate(text: &str) -> Result<String, String> {
        let subscription = br#"{"subject":{"name":"ada","wards":[3,4]},"action":"read","resource":7}"#;
        let subscription = Subscription::from_json(subscription).unwrap();
        let limit = [("limit", Value::Text("x".into()))].into_iter().collect();
        let configuration = Configuration::new(durward_ir::combine::Voting::DEFAULT, limit);
        let expression =
            Expression::read("e", text, &configuration).map_err(|errors| errors[0].to_string())?;
        let value = expression.evaluate(&subscription);
        value
            .map(|value| value.to_json())
            .map_err(|fault| format!("{}:{}: {fault}", fault.line, fault.column))
    }

    #[test]
    fn every_kind_of_value_is_given() {
        for (text, value) in [
            ("1 + 2 * 3", "7"),
            ("1.50", "1.50"),
            ("subject.wards[?(@ > 3)]", "[4]"),
            ("subject.wards :: { \"ward\": @ }", r#"[{"ward":3},{"ward":4}]"#),
            ("resource in [7, 8] && action == \"read\"", "true"),
            ("{ \"a\": limit, \"b\": null }", r#"{"a":"x","b":null}"#),
            ("environment.nothing", "undefined"),
            ("nobody", "undefined"),
            ("string.length(subject.name)", "3"),
            ("@", "undefined"),
        ] {
            assert_eq!(evaluate(text).as_deref(), Ok(value), "{text}");
        }
    }

    #[test]
    fn an_error_has_the_place_of_the_smallest_part_that_fails() {
        for (text, place) in [
            ("1 / 0", "1:1: "),
            ("[1,\n 2 + (1 / 0)]", "2:7: "),
            ("string.length(resource)", "1:1: "),
            ("{ \"a\": -limit }", "1:8: "),
            ("subject.wards[?(@ / 0 > 1)] == 1", "1:1: "),
            ("1 == 1 && string.lenght(\"a\") == 1", "1:11: "),
        ] {
            let error = evaluate(text).unwrap_err();
            assert!(error.starts_with(place), "{text}: {error}");
        }
    }

    #[test]
    fn a_text_that_is_wrong_is_refused_with_its_place() {
        assert!(evaluate("1 +").unwrap_err().starts_with("e:1:4: "));
        assert!(evaluate("<time.now[{\"retries\": -1}]>").unwrap_err().starts_with("e:1:"));
    }
}
