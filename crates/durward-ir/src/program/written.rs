//! How policies were written, for explanations. No decision depends on it.

use smol_str::SmolStr;

use super::{Effect, ExprId, NodeId, SourceLocation};

/// A policy or a set as its author sees it, whatever became of it.
#[derive(Clone, Debug)]
pub struct Written {
    /// Its name.
    pub id: SmolStr,
    /// What a policy says when it applies; `None` for a set.
    pub effect: Option<Effect>,
    /// Its element; `None` where it can never apply, and was left out.
    pub node: Option<NodeId>,
    /// What must hold for it to apply, in order.
    pub conditions: Vec<WrittenCondition>,
    /// The policies of a set, in order.
    pub policies: Vec<Written>,
    /// Where it stands.
    pub place: SourceLocation,
}

/// A condition, an enforced schema, or the target of a set.
#[derive(Clone, Debug)]
pub struct WrittenCondition {
    /// What it came to.
    pub expr: ExprId,
    /// Its text, in one line, cut when it is long.
    pub text: SmolStr,
    /// Where it stands.
    pub place: SourceLocation,
    /// Whether it is an enforced schema: the first of these that does not hold decides for all of them.
    pub is_schema: bool,
}
