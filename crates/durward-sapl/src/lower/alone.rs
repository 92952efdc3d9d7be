//! Expressions outside of documents.

use durward_ir::program::{Builder, ExprId};

use super::memory::{Memory, Variables};
use super::{Configuration, Lowering, Problem};
use crate::expression::ExpressionPart;

/// Lowers expressions into the program being built, and gives what each became.
///
/// # Errors
/// Every problem found, each with its place.
pub fn lower_parts(
    parts: &[ExpressionPart<'_>],
    configuration: &Configuration,
    builder: &mut Builder,
) -> Result<Vec<ExprId>, Vec<Problem>> {
    let mut problems = Vec::new();
    let mut memory = Memory::default();
    let mut lowered = Vec::with_capacity(parts.len());
    for (number, part) in parts.iter().enumerate() {
        let document = part.document();
        let source = builder.source(&document.source);
        let mut lowering = Lowering {
            document,
            number,
            rehearsal: None,
            configuration,
            memory: &mut memory,
            builder,
            source,
            problems: &mut problems,
            variables: Variables::default(),
        };
        lowered.push(lowering.checked(part.tree()));
    }
    if problems.is_empty() { Ok(lowered) } else { Err(problems) }
}
