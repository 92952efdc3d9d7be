//! The language of `.sapltest` files: requirements, each with scenarios that say which decision a question gets.
//!
//! It has the words of SAPL itself; which of them are keywords, its grammar says alone. What it does not say:
//! names are unique ([`parse_tests`] checks that), and which documents a scenario is about, which the one who runs it
//! has to find.

mod expectation;
mod matcher;
mod scenario;
pub mod tree;
mod unique;
#[expect(clippy::wildcard_enum_match_arm, reason = "what the grammar does not name is refused")]
mod value;

use super::parser::{Parsed, Parser};
use tree::TestFile;

/// Reads a file of tests. Never fails: what is wrong stands in the diagnostics, and any error there refuses the file.
///
/// ```
/// use durward_sapl::syntax::sapltest::parse_tests;
///
/// let parsed = parse_tests(
///     "requirement \"readers read\" {
///         given - document \"readers\"
///         scenario \"a doctor\" when { \"role\": \"doctor\" } attempts \"read\" on \"record\" expect permit;
///     }",
/// );
/// assert!(parsed.diagnostics.is_empty());
/// assert_eq!(parsed.tree.requirements[0].scenarios[0].name.text, "a doctor");
/// ```
pub fn parse_tests(text: &str) -> Parsed<TestFile> {
    let mut parser = Parser::new(text);
    let tree = parser.test_file();
    unique::check(&tree, &mut parser);
    Parsed { tree, diagnostics: parser.into_diagnostics() }
}
