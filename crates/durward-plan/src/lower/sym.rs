//! What an expression is in one case.

use durward_ir::value::{DataType, Operand, Value};
use smol_str::SmolStr;

use crate::columns::ColumnId;

/// A value that may depend on the row.
#[derive(Clone, Debug)]
pub(crate) enum Sym {
    /// This one.
    Known(Value),
    /// What a column holds, which is not NULL, as a value of this type: [`DataType::Text`] or [`DataType::Number`] to SAPL.
    Column(ColumnId, DataType),
    /// The array that a column of many holds.
    Many(ColumnId),
    /// The object that the row stands for, or one in it.
    Object(Box<[SmolStr]>),
    /// An object of these entries, none of which is undefined or an error.
    Built(Vec<(SmolStr, Sym)>),
    /// An error.
    Failed,
    /// Any value, or an error.
    Opaque,
}

impl Sym {
    /// The value, if it is known.
    pub(crate) fn known(&self) -> Option<&Value> {
        if let Sym::Known(value) = self { Some(value) } else { None }
    }

    pub(crate) fn is_undefined(&self) -> bool {
        matches!(self, Sym::Known(Value::Undefined))
    }
}

/// What an expression of XACML is.
#[derive(Clone, Debug)]
pub(crate) enum SymOperand {
    /// One value.
    One(Sym),
    /// A bag of values that are known or columns.
    Bag(Vec<Sym>),
    /// The bag of a column of many, of this type; it has a value at least.
    ManyBag(ColumnId, DataType),
    /// An error.
    Failed,
    /// Anything.
    Opaque,
}

impl SymOperand {
    /// The operand, if all of it is known.
    pub(crate) fn known(&self) -> Option<Operand<'static>> {
        match self {
            SymOperand::One(Sym::Known(value)) => Some(Operand::one(value.clone())),
            SymOperand::Bag(values) => {
                let values: Option<Vec<Value>> = values.iter().map(|value| value.known().cloned()).collect();
                values.map(Operand::bag)
            }
            SymOperand::One(_) | SymOperand::ManyBag(..) | SymOperand::Failed | SymOperand::Opaque => None,
        }
    }
}

impl From<Operand<'static>> for SymOperand {
    fn from(operand: Operand<'static>) -> SymOperand {
        match operand {
            Operand::One(value) => SymOperand::One(Sym::Known(value.into_owned())),
            Operand::Bag(values) => {
                SymOperand::Bag(values.into_owned().into_iter().map(Sym::Known).collect())
            }
        }
    }
}
