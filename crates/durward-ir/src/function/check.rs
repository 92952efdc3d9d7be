//! Type checking of calls, done once when a policy is loaded: an ill-typed policy is refused, not evaluated.

use std::fmt;

use crate::datatype::Integer;
use crate::function::{BOOLEAN, Body, Function, HigherOrder, Signature, Type};
use crate::value::{DataType, Value};

/// What a call is given in one place.
#[derive(Clone, Copy, Debug)]
pub enum Argument {
    /// An expression of this type.
    Expression(Type),
    /// A function, named for another function to apply.
    Function(&'static Function),
}

/// A call that can never work: wrong number or types of arguments.
#[derive(Clone, Debug)]
pub struct TypeError {
    function: &'static str,
    problem: Problem,
}

#[derive(Clone, Debug)]
enum Problem {
    /// Wrong number of arguments.
    Count { expected: usize, or_more: bool, found: usize },
    /// An argument, counted from 1, of the wrong type.
    Argument { position: usize, expected: Type, found: Type },
    /// A function where an expression is expected.
    FunctionGiven { position: usize, name: &'static str },
    /// An expression where a function is expected.
    FunctionMissing,
    /// A function that cannot be applied value by value.
    NotApplicable { name: &'static str },
    /// The function applied does not fit the values it is applied to.
    Applied(Box<TypeError>),
    /// The function applied gives something else than needed.
    Result { name: &'static str, found: Type },
    /// A function over exactly one bag was given another number of them.
    Bags { found: usize },
    /// An argument, counted from 1, that has to be a bag.
    BagMissing { position: usize, found: Type },
    /// A constant, counted from 1, that makes every evaluation fail.
    Constant { position: usize, found: Integer, expected: &'static str },
}

impl fmt::Display for TypeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let function = self.function;
        match &self.problem {
            Problem::Count { expected, or_more, found } => {
                let more = if *or_more { "at least " } else { "" };
                let plural = if *expected == 1 { "" } else { "s" };
                write!(f, "`{function}` takes {more}{expected} argument{plural}, not {found}")
            }
            Problem::Argument { position, expected, found } => {
                write!(f, "argument {position} of `{function}` is {}{found}", article(*found))?;
                write!(f, " where {}{expected} is expected", article(*expected))?;
                match (expected, found) {
                    (Type::One(one), Type::Bag(bag)) if one == bag => {
                        write!(f, "; `{one}-one-and-only` takes the value out of a bag")
                    }
                    (Type::Bag(bag), Type::One(one)) if one == bag => {
                        write!(f, "; `{bag}-bag` makes a bag of values")
                    }
                    _ => Ok(()),
                }
            }
            Problem::FunctionGiven { position, name } => {
                write!(
                    f,
                    "argument {position} of `{function}` is the function `{name}` where an expression is expected"
                )
            }
            Problem::FunctionMissing => write!(f, "the first argument of `{function}` must be a function"),
            Problem::NotApplicable { name } => {
                write!(f, "`{name}` takes a function itself and cannot be applied by `{function}`")
            }
            Problem::Applied(inner) => write!(f, "in the calls that `{function}` makes, {inner}"),
            Problem::Result { name, found } => {
                let wanted = if function == "map" { "one value" } else { "a boolean" };
                let article = article(*found);
                write!(
                    f,
                    "`{function}` needs a function that gives {wanted}; `{name}` gives {article}{found}"
                )
            }
            Problem::Bags { found } => {
                write!(f, "`{function}` needs exactly one bag among its arguments, not {found}")
            }
            Problem::BagMissing { position, found } => {
                write!(
                    f,
                    "argument {position} of `{function}` is {}{found} where a bag is expected",
                    article(*found)
                )
            }
            Problem::Constant { position, found, expected } => {
                write!(
                    f,
                    "argument {position} of `{function}` is `{found}`, so that it always fails; {expected}"
                )
            }
        }
    }
}

impl std::error::Error for TypeError {}

/// The article, and the space after it, that a type takes in a sentence.
fn article(kind: Type) -> &'static str {
    match kind {
        Type::Bag(_) => "a ",
        Type::One(data_type) => data_type.article(),
    }
}

impl Function {
    /// The type of a call with these arguments.
    ///
    /// # Errors
    /// The arguments do not fit, by number, by type, or by the function given to a function over functions.
    pub fn check(&self, arguments: &[Argument]) -> Result<Type, TypeError> {
        match self.body {
            Body::HigherOrder(higher_order) => self.check_higher_order(higher_order, arguments),
            Body::Strict(..) | Body::Lazy(_) | Body::Contextual(_) => {
                let types = self.expressions(arguments, 1)?;
                self.check_types(&types)
            }
        }
    }

    /// Finds constants that make every evaluation of this call an error: a substring that begins before the text. They
    /// are no reason to refuse a policy: the call is an error when it is evaluated (A.3.9), and may never be. `constants`
    /// holds a value for every argument that is a literal.
    ///
    /// # Errors
    /// There is such a constant.
    pub fn check_constants(&self, constants: &[Option<&Value>]) -> Result<(), TypeError> {
        if !matches!(self.short_name(), "string-substring" | "anyURI-substring") {
            return Ok(());
        }
        let position_of = |at: usize| match constants.get(at).copied().flatten() {
            Some(Value::Integer(position)) => Some(position),
            Some(_) | None => None,
        };
        let (begin, end) = (position_of(1), position_of(2));
        let end_of_text = Integer::from(-1);
        if let Some(begin) = begin.filter(|begin| begin.is_negative()) {
            return Err(self.constant(2, begin, "the first character has position 0"));
        }
        match end {
            Some(end) if *end < end_of_text => Err(self.constant(3, end, "-1 is the end of the text")),
            Some(end) if !end.is_negative() && begin.is_some_and(|begin| begin > end) => {
                Err(self.constant(3, end, "the end must not stand before the beginning"))
            }
            Some(_) | None => Ok(()),
        }
    }

    fn constant(&self, position: usize, found: &Integer, expected: &'static str) -> TypeError {
        self.error(Problem::Constant { position, found: found.clone(), expected })
    }

    fn error(&self, problem: Problem) -> TypeError {
        TypeError { function: self.short_name(), problem }
    }

    /// The types of arguments that must all be expressions; `first` is the position of the first of them.
    fn expressions(&self, arguments: &[Argument], first: usize) -> Result<Vec<Type>, TypeError> {
        let mut types = Vec::with_capacity(arguments.len());
        for (at, argument) in arguments.iter().enumerate() {
            match argument {
                Argument::Expression(found) => types.push(*found),
                Argument::Function(function) => {
                    let name = function.short_name();
                    return Err(self.error(Problem::FunctionGiven { position: at + first, name }));
                }
            }
        }
        Ok(types)
    }

    fn check_types(&self, types: &[Type]) -> Result<Type, TypeError> {
        let Some(signature) = self.signature() else {
            return Err(self.error(Problem::NotApplicable { name: self.short_name() }));
        };
        self.check_count(signature, types.len())?;
        for (at, found) in types.iter().enumerate() {
            let parameter = signature.parameters.get(at).or(signature.parameters.last());
            if let Some(expected) = parameter.filter(|expected| *expected != found) {
                let (expected, found) = (*expected, *found);
                return Err(self.error(Problem::Argument { position: at + 1, expected, found }));
            }
        }
        Ok(signature.result)
    }

    fn check_count(&self, signature: Signature, found: usize) -> Result<(), TypeError> {
        let (expected, or_more) = match signature.variadic_min {
            Some(least) => (least, true),
            None => (signature.parameters.len(), false),
        };
        let fits = if or_more { found >= expected } else { found == expected };
        if fits { Ok(()) } else { Err(self.error(Problem::Count { expected, or_more, found })) }
    }

    fn check_higher_order(&self, kind: HigherOrder, arguments: &[Argument]) -> Result<Type, TypeError> {
        let (applied, rest) = match arguments {
            [Argument::Function(applied), rest @ ..] => (*applied, rest),
            _ => return Err(self.error(Problem::FunctionMissing)),
        };
        let types = self.expressions(rest, 2)?;
        self.check_bags(kind, &types)?;
        if matches!(applied.body, Body::HigherOrder(_)) {
            return Err(self.error(Problem::NotApplicable { name: applied.short_name() }));
        }
        let elements: Vec<Type> = types.iter().map(|found| Type::One(found.data_type())).collect();
        let result =
            applied.check_types(&elements).map_err(|inner| self.error(Problem::Applied(Box::new(inner))))?;
        match (kind, result) {
            (HigherOrder::Map, Type::One(data_type)) => Ok(Type::Bag(data_type)),
            (HigherOrder::Map, Type::Bag(_)) => Err(self.wrong_result(applied, result)),
            (_, Type::One(DataType::Boolean)) => Ok(BOOLEAN),
            (_, Type::One(_) | Type::Bag(_)) => Err(self.wrong_result(applied, result)),
        }
    }

    fn wrong_result(&self, applied: &Function, found: Type) -> TypeError {
        self.error(Problem::Result { name: applied.short_name(), found })
    }

    /// How many bags each function needs, and where (XACML 3.0, A.3.12).
    fn check_bags(&self, kind: HigherOrder, types: &[Type]) -> Result<(), TypeError> {
        let bag_count = types.iter().filter(|found| matches!(found, Type::Bag(_))).count();
        match kind {
            HigherOrder::AnyOf | HigherOrder::AllOf | HigherOrder::Map if bag_count == 1 => Ok(()),
            HigherOrder::AnyOf | HigherOrder::AllOf | HigherOrder::Map => {
                Err(self.error(Problem::Bags { found: bag_count }))
            }
            HigherOrder::AnyOfAny if types.is_empty() => {
                Err(self.error(Problem::Count { expected: 2, or_more: true, found: 1 }))
            }
            HigherOrder::AnyOfAny => Ok(()),
            HigherOrder::AllOfAny | HigherOrder::AnyOfAll | HigherOrder::AllOfAll => {
                self.check_two_bags(types)
            }
        }
    }

    fn check_two_bags(&self, types: &[Type]) -> Result<(), TypeError> {
        if types.len() != 2 {
            return Err(self.error(Problem::Count { expected: 3, or_more: false, found: types.len() + 1 }));
        }
        match types.iter().enumerate().find(|(_, found)| matches!(found, Type::One(_))) {
            Some((at, found)) => Err(self.error(Problem::BagMissing { position: at + 2, found: *found })),
            None => Ok(()),
        }
    }
}
