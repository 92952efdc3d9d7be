//! Which rows may be read: the policies in force, folded with what is known of a question, as a filter over columns.
//!
//! A question about one row is decided; a question about all rows of a table is planned. Who asks and what they want to do
//! is known, and parts of the resource are columns ([`Columns`]). What does not depend on a column is computed by the plain
//! evaluator. The rest becomes formulas:
//!
//! - an expression three of them: when it is true, when it is false, when it is an error;
//! - a vote one for each verdict, an extended Indeterminate for each set of effects.
//!
//! The formulas are *definite*: of every row they are true or false, also where columns are NULL. Combining algorithms are
//! not written a second time: formulas follow the folds of [`durward_ir::combine`] over what votes there may be. What cannot
//! be said of columns (a regular expression, an attribute finder) has a lower and an upper bound, and the plan says that it
//! is not exact.
//!
//! The meaning of a plan: a row is in [`Plan::filter`] only if the question about that row ([`Columns::resource`]) is
//! decided Permit, with the obligations of the plan and no others, in whatever order and however often; and if the plan is
//! exact, exactly then.
//!
//! What a plan may cost is counted (`budget`): one that takes too many steps permits no row and excludes none.
//!
//! In the order of the flow: `columns`, `lower` (expressions into formulas), `vote` (elements into formulas), `plan`
//! (formulas into a filter), `dialect` (a filter in the words of databases and libraries). Beside the flow: `objects` (columns
//! for objects that nobody declared any for).

mod budget;
mod columns;
pub mod dialect;
mod factor;
mod filter;
mod formula;
mod interval;
mod lower;
mod objects;
mod plan;
mod vote;

pub use columns::{
    Cell, Collation, Column, ColumnError, ColumnId, ColumnType, Columns, Nulls, Row, Scalar, Unlisted,
};
pub use filter::{Filter, Order, TextTest};
pub use objects::ObjectShape;
pub use plan::{Kind, PermitGroup, Plan, PlanError, Planner};
