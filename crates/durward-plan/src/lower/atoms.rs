//! Columns compared with values and with each other, as formulas. `None` is what cannot be said, though it is true or false
//! of every row.
//!
//! Columns here are not NULL: that they are is another case.

use durward_ir::datatype::{Decimal, Integer};
use durward_ir::value::{DataType, Value};

use super::{Folding, Sym};
use crate::columns::{ColumnId, ColumnType, Nulls, Scalar};
use crate::filter::{Order, TextTest};
use crate::formula::{F, Test};

/// Doubles below are whole numbers exactly where they are whole.
const EXACT_MAX: f64 = 9_007_199_254_740_992.0;

/// A text has up to so many parts that a column may be compared with one by one.
const PARTS_MAX: usize = 150;

impl Folding<'_> {
    /// That the column is not NULL.
    pub(super) fn present(&mut self, id: ColumnId) -> F {
        match self.columns.get(id).map(|column| column.nulls) {
            Some(Nulls::Never) => F::TRUE,
            Some(Nulls::Absent | Nulls::Null) | None => self.formulas.test(Test::Present(id)),
        }
    }

    pub(super) fn kind(&self, id: ColumnId) -> Option<ColumnType> {
        self.columns.get(id).map(|column| column.kind)
    }

    /// That both are equal. Neither is an error, or unknown.
    pub(super) fn same(&mut self, a: &Sym, b: &Sym) -> Option<F> {
        if !self.formulas.budget.spend(1) {
            return None;
        }
        match (a, b) {
            (Sym::Known(a), Sym::Known(b)) => {
                self.formulas.budget.spend_on(a);
                Some(F::constant(a.equals(b)))
            }
            (Sym::Column(id, data_type), Sym::Known(value))
            | (Sym::Known(value), Sym::Column(id, data_type)) => self.column_equals(*id, *data_type, value),
            (Sym::Column(a, a_type), Sym::Column(b, b_type)) => {
                self.columns_equal((*a, *a_type), (*b, *b_type))
            }
            (Sym::Many(_), Sym::Known(value)) | (Sym::Known(value), Sym::Many(_)) => {
                value.as_array().is_none().then_some(F::FALSE)
            }
            (Sym::Object(_), Sym::Known(value)) | (Sym::Known(value), Sym::Object(_)) => {
                value.as_object().is_none().then_some(F::FALSE)
            }
            (Sym::Built(entries), Sym::Known(value)) | (Sym::Known(value), Sym::Built(entries)) => {
                self.built_equals(entries, value)
            }
            (Sym::Many(a), Sym::Many(b)) if a == b => Some(F::TRUE),
            (Sym::Many(_), Sym::Many(_))
            | (Sym::Object(_) | Sym::Built(_), Sym::Object(_) | Sym::Built(_))
            | (Sym::Failed | Sym::Opaque, _)
            | (_, Sym::Failed | Sym::Opaque) => None,
            (Sym::Column(..) | Sym::Many(_) | Sym::Object(_) | Sym::Built(_), _) => Some(F::FALSE),
        }
    }

    fn built_equals(&mut self, entries: &[(smol_str::SmolStr, Sym)], value: &Value) -> Option<F> {
        let Some(object) = value.as_object() else { return Some(F::FALSE) };
        if object.len() != entries.len() {
            return Some(F::FALSE);
        }
        let mut parts = Vec::with_capacity(entries.len());
        let mut is_known = true;
        for (key, entry) in entries {
            let Some(found) = object.get(key) else { return Some(F::FALSE) };
            match self.same(entry, &Sym::Known(found.clone())) {
                Some(F::FALSE) => return Some(F::FALSE),
                Some(f) => parts.push(f),
                None => is_known = false,
            }
        }
        is_known.then(|| self.formulas.all(parts))
    }

    /// That any of these is the same.
    pub(super) fn same_as_any(&mut self, sym: &Sym, values: &[Value]) -> Option<F> {
        let mut parts = Vec::with_capacity(values.len());
        for value in values {
            parts.push(self.same(sym, &Sym::Known(value.clone()))?);
        }
        Some(self.formulas.any(parts))
    }

    fn column_equals(&mut self, id: ColumnId, data_type: DataType, value: &Value) -> Option<F> {
        let kind = self.kind(id)?;
        let scalar = match (data_type, value) {
            (DataType::Text, Value::Text(text)) => Scalar::Text(text.clone()),
            (DataType::Number, Value::Number(number)) => match number_as(kind, number) {
                Some(scalar) => scalar,
                None => return Some(F::FALSE),
            },
            (DataType::Integer, Value::Integer(Integer::Small(integer))) => match kind {
                ColumnType::Integer => Scalar::Integer(*integer),
                ColumnType::Text | ColumnType::Boolean | ColumnType::Decimal | ColumnType::Double => {
                    return None;
                }
            },
            (DataType::Integer, Value::Integer(Integer::Big(_))) if kind == ColumnType::Integer => {
                return Some(F::FALSE);
            }
            (DataType::Double, Value::Double(double)) => return self.double_equals(id, kind, *double),
            _ if data_type == value.data_type() => return None,
            _ => return Some(F::FALSE),
        };
        Some(self.formulas.test(Test::Equal(id, scalar)))
    }

    fn double_equals(&mut self, id: ColumnId, kind: ColumnType, double: f64) -> Option<F> {
        if !double.is_finite() {
            return Some(F::FALSE);
        }
        let scalar = match kind {
            ColumnType::Double => Scalar::Double(double),
            ColumnType::Integer if double.abs() < EXACT_MAX => {
                let number = Decimal::from_f64(double)?;
                match number.to_i64() {
                    Some(integer) => Scalar::Integer(integer),
                    None => return Some(F::FALSE),
                }
            }
            ColumnType::Integer | ColumnType::Decimal | ColumnType::Text | ColumnType::Boolean => {
                return None;
            }
        };
        Some(self.formulas.test(Test::Equal(id, scalar)))
    }

    fn columns_equal(&mut self, a: (ColumnId, DataType), b: (ColumnId, DataType)) -> Option<F> {
        if a == b {
            return Some(F::TRUE);
        }
        if a.1 != b.1 {
            return Some(F::FALSE);
        }
        if self.kind(a.0)? != self.kind(b.0)? {
            return None;
        }
        let (first, second) = if a.0 < b.0 { (a.0, b.0) } else { (b.0, a.0) };
        Some(self.formulas.test(Test::Same(first, second)))
    }

    /// How a value of a column stands to another value; both are of the same ordered type.
    pub(super) fn ordered(&mut self, a: &Sym, order: Order, b: &Sym) -> Option<F> {
        match (a, b) {
            (Sym::Column(id, data_type), Sym::Known(value)) => {
                self.column_order(*id, *data_type, order, value)
            }
            (Sym::Known(value), Sym::Column(id, data_type)) => {
                self.column_order(*id, *data_type, mirrored(order), value)
            }
            (Sym::Column(a, a_type), Sym::Column(b, b_type)) if a_type == b_type => {
                self.column_orders(*a, order, *b)
            }
            _ => None,
        }
    }

    fn column_orders(&mut self, a: ColumnId, order: Order, b: ColumnId) -> Option<F> {
        if self.kind(a)? != self.kind(b)? {
            return None;
        }
        let (less, greater) = match a == b {
            true => (F::FALSE, F::FALSE),
            false => (self.formulas.test(Test::Smaller(a, b)), self.formulas.test(Test::Smaller(b, a))),
        };
        let present = [self.present(a), self.present(b)];
        Some(match order {
            Order::Less => less,
            Order::Greater => greater,
            Order::LessOrEqual => self.formulas.all([greater.negated(), present[0], present[1]]),
            Order::GreaterOrEqual => self.formulas.all([less.negated(), present[0], present[1]]),
            Order::Equal | Order::NotEqual => return None,
        })
    }

    fn column_order(&mut self, id: ColumnId, data_type: DataType, order: Order, value: &Value) -> Option<F> {
        let kind = self.kind(id)?;
        match (data_type, value) {
            (DataType::Text, Value::Text(text)) => Some(self.compared(id, order, Scalar::Text(text.clone()))),
            (DataType::Number, Value::Number(number)) => self.number_order(id, kind, order, number),
            (DataType::Integer, Value::Integer(integer)) if kind == ColumnType::Integer => {
                let number = Decimal::parse(&integer.to_string());
                match number {
                    Ok(number) => self.number_order(id, kind, order, &number),
                    Err(_) => Some(self.beyond(id, order, integer.is_negative())),
                }
            }
            (DataType::Double, Value::Double(double)) => self.double_order(id, kind, order, *double),
            _ => None,
        }
    }

    fn double_order(&mut self, id: ColumnId, kind: ColumnType, order: Order, double: f64) -> Option<F> {
        if double.is_nan() {
            return Some(F::FALSE);
        }
        if double.is_infinite() {
            return matches!(kind, ColumnType::Integer | ColumnType::Double)
                .then(|| self.beyond(id, order, double < 0.0));
        }
        match kind {
            ColumnType::Double => Some(self.compared(id, order, Scalar::Double(double))),
            ColumnType::Integer if double.abs() < EXACT_MAX => {
                self.number_order(id, kind, order, &Decimal::from_f64(double)?)
            }
            ColumnType::Integer | ColumnType::Decimal | ColumnType::Text | ColumnType::Boolean => None,
        }
    }

    fn number_order(&mut self, id: ColumnId, kind: ColumnType, order: Order, number: &Decimal) -> Option<F> {
        let is_negative = number.signum() < 0;
        match kind {
            ColumnType::Decimal => Some(self.compared(id, order, Scalar::Decimal(number.clone()))),
            ColumnType::Integer => {
                if let Some(integer) = number.to_i64() {
                    return Some(self.compared(id, order, Scalar::Integer(integer)));
                }
                let Some(floor) = floor(number) else { return Some(self.beyond(id, order, is_negative)) };
                // Between two whole numbers.
                let order = match order {
                    Order::Less | Order::LessOrEqual => Order::LessOrEqual,
                    Order::Greater | Order::GreaterOrEqual => Order::Greater,
                    Order::Equal | Order::NotEqual => return None,
                };
                Some(self.compared(id, order, Scalar::Integer(floor)))
            }
            ColumnType::Double => {
                let double = number.to_f64();
                let Some(nearest) = Decimal::from_f64(double) else {
                    return Some(self.beyond(id, order, is_negative));
                };
                // Policies see the shortest decimal of a double, and nearer to the number than this one there is none.
                let order = match (nearest.cmp(number), order) {
                    (std::cmp::Ordering::Equal, order) => order,
                    (std::cmp::Ordering::Less, Order::Less | Order::LessOrEqual) => Order::LessOrEqual,
                    (std::cmp::Ordering::Less, Order::Greater | Order::GreaterOrEqual) => Order::Greater,
                    (std::cmp::Ordering::Greater, Order::Less | Order::LessOrEqual) => Order::Less,
                    (std::cmp::Ordering::Greater, Order::Greater | Order::GreaterOrEqual) => {
                        Order::GreaterOrEqual
                    }
                    (_, Order::Equal | Order::NotEqual) => return None,
                };
                Some(self.compared(id, order, Scalar::Double(double)))
            }
            ColumnType::Text | ColumnType::Boolean => None,
        }
    }

    fn compared(&mut self, id: ColumnId, order: Order, value: Scalar) -> F {
        let present = self.present(id);
        match order {
            Order::Equal => self.formulas.test(Test::Equal(id, value)),
            Order::NotEqual => {
                let equal = self.formulas.test(Test::Equal(id, value));
                self.formulas.all([present, equal.negated()])
            }
            Order::Less => self.formulas.test(Test::Less(id, value)),
            Order::LessOrEqual => self.formulas.test(Test::LessOrEqual(id, value)),
            Order::Greater => {
                let other = self.formulas.test(Test::LessOrEqual(id, value));
                self.formulas.all([present, other.negated()])
            }
            Order::GreaterOrEqual => {
                let other = self.formulas.test(Test::Less(id, value));
                self.formulas.all([present, other.negated()])
            }
        }
    }

    /// Compared with what is greater than all that the column can hold, or with what is less.
    fn beyond(&mut self, id: ColumnId, order: Order, is_below: bool) -> F {
        match order {
            Order::Less | Order::LessOrEqual if !is_below => self.present(id),
            Order::Greater | Order::GreaterOrEqual if is_below => self.present(id),
            Order::Equal
            | Order::NotEqual
            | Order::Less
            | Order::LessOrEqual
            | Order::Greater
            | Order::GreaterOrEqual => F::FALSE,
        }
    }

    /// That one text has another one as a part.
    pub(super) fn part_of_text(&mut self, test: TextTest, whole: &Sym, part: &Sym) -> Option<F> {
        match (whole, part) {
            (Sym::Column(id, DataType::Text), Sym::Known(Value::Text(part))) => Some(match part.is_empty() {
                true => self.present(*id),
                false => self.formulas.test(Test::Text(*id, test, part.clone())),
            }),
            (Sym::Known(Value::Text(whole)), Sym::Column(id, DataType::Text)) => {
                let parts = parts_of(whole, test)?;
                let parts = parts.into_iter().map(|part| Test::Equal(*id, Scalar::Text(part.into())));
                let parts: Vec<F> = parts.map(|part| self.formulas.test(part)).collect();
                Some(self.formulas.any(parts))
            }
            (Sym::Known(Value::Text(whole)), Sym::Known(Value::Text(part))) => {
                Some(F::constant(test.holds(whole, part)))
            }
            (Sym::Column(a, DataType::Text), Sym::Column(b, DataType::Text)) if a == b => Some(F::TRUE),
            _ => None,
        }
    }

    /// That one of the values of a column of many is this. Only what a column of such a type can hold is found.
    pub(super) fn holds(&mut self, id: ColumnId, value: &Value) -> F {
        let scalar = match (self.kind(id), value) {
            (Some(ColumnType::Text), Value::Text(text)) => Some(Scalar::Text(text.clone())),
            (Some(ColumnType::Integer), Value::Number(number)) => number.to_i64().map(Scalar::Integer),
            (Some(ColumnType::Integer), Value::Integer(integer)) => integer.to_i64().map(Scalar::Integer),
            _ => None,
        };
        scalar.map_or(F::FALSE, |scalar| self.formulas.test(Test::Holds(id, scalar)))
    }
}

/// A number as a column of this type holds it; `None` where none can.
fn number_as(kind: ColumnType, number: &Decimal) -> Option<Scalar> {
    match kind {
        ColumnType::Integer => number.to_i64().map(Scalar::Integer),
        ColumnType::Decimal => Some(Scalar::Decimal(number.clone())),
        ColumnType::Double => {
            let double = number.to_f64();
            (Decimal::from_f64(double)? == *number).then_some(Scalar::Double(double))
        }
        ColumnType::Text | ColumnType::Boolean => None,
    }
}

/// The greatest whole number below a number that is not whole, where 64 bits hold it.
fn floor(number: &Decimal) -> Option<i64> {
    if number.is_integer() {
        return number.to_i64();
    }
    let plain = number.to_plain();
    let whole = plain.split('.').next().unwrap_or_default();
    let truncated: i64 = match whole {
        "" | "-" | "-0" => 0,
        whole => whole.parse().ok()?,
    };
    if number.signum() < 0 { truncated.checked_sub(1) } else { Some(truncated) }
}

/// What the order is seen from the other side.
pub(super) fn mirrored(order: Order) -> Order {
    match order {
        Order::Equal | Order::NotEqual => order,
        Order::Less => Order::Greater,
        Order::LessOrEqual => Order::GreaterOrEqual,
        Order::Greater => Order::Less,
        Order::GreaterOrEqual => Order::LessOrEqual,
    }
}

/// All texts that are such a part of this one.
fn parts_of(whole: &str, test: TextTest) -> Option<Vec<&str>> {
    let places: Vec<usize> = whole.char_indices().map(|(at, _)| at).chain([whole.len()]).collect();
    let count = match test {
        TextTest::Begins | TextTest::Ends => places.len(),
        TextTest::Contains => places.len() * places.len() / 2,
    };
    if count > PARTS_MAX {
        return None;
    }
    Some(match test {
        TextTest::Begins => places.iter().filter_map(|to| whole.get(..*to)).collect(),
        TextTest::Ends => places.iter().filter_map(|from| whole.get(*from..)).collect(),
        TextTest::Contains => {
            places.iter().flat_map(|from| places.iter().filter_map(move |to| whole.get(*from..*to))).collect()
        }
    })
}
