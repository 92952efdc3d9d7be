//! Objects as rows: columns for what the members of many objects have in common, such that a plan over columns is one over
//! the objects.

use std::collections::BTreeMap;

use durward_ir::value::{Object, Value};
use smol_str::SmolStr;

use crate::columns::{
    COLUMNS_MAX, Cell, Column, ColumnId, ColumnType, Columns, Nulls, Row, Scalar, Unlisted,
};

/// What the members of many objects hold.
#[derive(Clone, Debug, Default)]
pub struct ObjectShape {
    objects: usize,
    members: BTreeMap<SmolStr, Member>,
}

/// A member by its name.
#[derive(Clone, Copy, Debug, Default)]
struct Member {
    /// How many objects have it.
    objects: usize,
    kinds: Kinds,
}

/// What was found in a member.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Kinds(u8);

impl Kinds {
    const TEXT: Kinds = Kinds(1);
    const BOOLEAN: Kinds = Kinds(2);
    const NUMBER: Kinds = Kinds(4);
    const TEXTS: Kinds = Kinds(8);
    const INTEGERS: Kinds = Kinds(16);
    const EMPTY: Kinds = Kinds(32);
    const NULL: Kinds = Kinds(64);
    /// What no column holds.
    const OTHER: Kinds = Kinds(128);

    fn of(value: &Value) -> Kinds {
        if let Some(values) = value.as_array() {
            return Kinds::of_array(values);
        }
        if value.as_text().is_some() {
            return if is_normal(value) { Kinds::TEXT } else { Kinds::OTHER };
        }
        if value.as_boolean().is_some() {
            Kinds::BOOLEAN
        } else if value.as_number().is_some() {
            Kinds::NUMBER
        } else if matches!(value, Value::Null) {
            Kinds::NULL
        } else {
            Kinds::OTHER
        }
    }

    fn of_array(values: &[Value]) -> Kinds {
        if values.is_empty() {
            Kinds::EMPTY
        } else if values.iter().all(is_normal) {
            Kinds::TEXTS
        } else if values.iter().all(|value| integer(value).is_some()) {
            Kinds::INTEGERS
        } else {
            Kinds::OTHER
        }
    }

    const fn and(self, other: Kinds) -> Kinds {
        Kinds(self.0 | other.0)
    }

    const fn without(self, other: Kinds) -> Kinds {
        Kinds(self.0 & !other.0)
    }
}

/// Whether it is a text in normalization form C: policies of XACML compare such, and columns hold such.
fn is_normal(value: &Value) -> bool {
    value.as_text().is_some_and(|text| text.is_ascii() || value.clone().in_normal_form().equals(value))
}

fn integer(value: &Value) -> Option<i64> {
    value.as_number().filter(|number| number.is_integer())?.to_i64()
}

impl ObjectShape {
    /// Takes one more object into account.
    pub fn add(&mut self, object: &Object) {
        self.objects += 1;
        for (name, value) in object.iter() {
            let found = Kinds::of(value);
            match self.members.get_mut(name) {
                Some(member) => {
                    member.objects += 1;
                    member.kinds = member.kinds.and(found);
                }
                None => {
                    self.members.insert(name.clone(), Member { objects: 1, kinds: found });
                }
            }
        }
    }

    /// Whether any of the objects has this member.
    pub fn has(&self, name: &str) -> bool {
        self.members.contains_key(name)
    }

    /// Columns for members, behind `first`, which are of other things. Members that `is_left_out` names get none: what is
    /// known of them is said elsewhere. `unlisted` says what is known of attributes that are no member of any object; where a
    /// member holds what no column does, nothing is known of it either. `None` where columns cannot be told apart.
    pub fn columns(
        &self,
        first: Vec<Column>,
        unlisted: Unlisted,
        is_left_out: impl Fn(&str) -> bool,
    ) -> Option<Columns> {
        let (mut columns, mut unlisted) = (first, unlisted);
        for (name, member) in &self.members {
            if is_left_out(name.as_str()) {
                continue;
            }
            match self.column(name, *member).filter(|_| columns.len() < COLUMNS_MAX) {
                Some(column) => columns.push(column),
                None => unlisted = Unlisted::Unknown,
            }
        }
        Columns::new(columns, unlisted).ok()
    }

    fn column(&self, name: &SmolStr, member: Member) -> Option<Column> {
        let is_null = member.kinds.without(Kinds::NULL) != member.kinds;
        let nulls = match (is_null, member.objects < self.objects) {
            (false, false) => Nulls::Never,
            (false, true) => Nulls::Absent,
            (true, false) => Nulls::Null,
            // A column has one NULL.
            (true, true) => return None,
        };
        let values = member.kinds.without(Kinds::NULL);
        let column = match values {
            Kinds::TEXT => Column::new(name, ColumnType::Text),
            Kinds::BOOLEAN => Column::new(name, ColumnType::Boolean),
            Kinds::NUMBER => Column::new(name, ColumnType::Decimal),
            _ if values.without(Kinds::EMPTY) == Kinds::INTEGERS => {
                Column::new(name, ColumnType::Integer).many()
            }
            _ if values != Kinds::default()
                && values.without(Kinds::EMPTY.and(Kinds::TEXTS)) == Kinds::default() =>
            {
                Column::new(name, ColumnType::Text).many()
            }
            _ => return None,
        };
        Some(column.nulls(nulls))
    }
}

impl Columns {
    /// Writes the cells of these columns, each read from the member that its path names. False where a member holds
    /// something else than its column: nothing is known of such an object then.
    pub fn write_row(&self, object: &Object, wanted: &[ColumnId], row: &mut Row) -> bool {
        wanted.iter().all(|id| {
            let Some(column) = self.get(*id) else { return false };
            let member = match column.path.as_slice() {
                [name] => object.get(name),
                _ => return false,
            };
            let Some(cell) = column.cell(member) else { return false };
            let at = usize::from(id.0);
            if row.0.len() <= at {
                row.0.resize(at + 1, Cell::Null);
            }
            if let Some(place) = row.0.get_mut(at) {
                *place = cell;
            }
            true
        })
    }
}

impl Column {
    /// The cell that stands for a member of an object, if it is such a one.
    fn cell(&self, member: Option<&Value>) -> Option<Cell> {
        let value = match member {
            None => return (self.nulls == Nulls::Absent).then_some(Cell::Null),
            Some(Value::Null) => return (self.nulls == Nulls::Null).then_some(Cell::Null),
            Some(value) => value,
        };
        if !self.many {
            return self.scalar(value).map(Cell::One);
        }
        let elements = value.as_array()?;
        elements.iter().map(|element| self.scalar(element)).collect::<Option<Vec<_>>>().map(Cell::Many)
    }

    fn scalar(&self, value: &Value) -> Option<Scalar> {
        match (self.kind, value) {
            (ColumnType::Text, Value::Text(text)) => Some(Scalar::Text(text.clone())),
            (ColumnType::Boolean, Value::Boolean(boolean)) => Some(Scalar::Boolean(*boolean)),
            (ColumnType::Decimal, Value::Number(number)) => Some(Scalar::Decimal(number.clone())),
            (ColumnType::Integer, value) => integer(value).map(Scalar::Integer),
            (ColumnType::Text | ColumnType::Boolean | ColumnType::Decimal | ColumnType::Double, _) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(json: &str) -> Object {
        let value = durward_ir::json::read(json).unwrap();
        Object::clone(value.as_object().unwrap())
    }

    fn shape(objects: &[&str]) -> ObjectShape {
        let mut shape = ObjectShape::default();
        objects.iter().for_each(|text| shape.add(&object(text)));
        shape
    }

    fn said(objects: &[&str]) -> Vec<String> {
        let columns = shape(objects).columns(Vec::new(), Unlisted::Absent, |_| false).unwrap();
        let shown = |column: &Column| {
            let many = if column.many { " many" } else { "" };
            format!("{} {:?} {:?}{many}", column.shown(), column.kind, column.nulls)
        };
        let mut said: Vec<String> = columns.all().iter().map(shown).collect();
        said.push(format!("{:?}", columns.unlisted()));
        said
    }

    #[test]
    fn a_member_of_one_kind_is_a_column() {
        assert_eq!(
            said(&[r#"{"a":"x","b":1,"c":true,"d":["y"],"e":[1]}"#, r#"{"a":"","b":1.5,"d":[],"e":[]}"#]),
            [
                "a Text Never",
                "b Decimal Never",
                "c Boolean Absent",
                "d Text Never many",
                "e Integer Never many",
                "Absent"
            ]
        );
        assert_eq!(said(&[r#"{"a":null}"#, r#"{"a":"x"}"#]), ["a Text Null", "Absent"]);
    }

    /// Of what is not said by a column nothing may be believed.
    #[test]
    fn of_any_other_member_nothing_is_known() {
        for objects in [
            &[r#"{"a":1}"#, r#"{"a":"1"}"#][..],
            &[r#"{"a":{"b":1}}"#],
            &[r#"{"a":[1,"x"]}"#],
            &[r#"{"a":[1.5]}"#],
            &[r#"{"a":null}"#],
            &[r#"{"a":"x"}"#, r#"{"a":null}"#, "{}"],
            &["{\"a\":\"e\u{301}\"}"],
        ] {
            assert_eq!(said(objects), ["Unknown"], "{objects:?}");
        }
    }

    #[test]
    fn a_row_is_what_the_object_holds_or_nothing_is_known_of_it() {
        let columns = shape(&[r#"{"a":"x","b":1}"#, r#"{"b":2}"#])
            .columns(vec![Column::new("id", ColumnType::Text)], Unlisted::Absent, |_| false)
            .unwrap();
        let mut row = Row(vec![Cell::One(Scalar::Text("7".into()))]);
        let wanted = [ColumnId(1), ColumnId(2)];
        assert!(columns.write_row(&object(r#"{"a":"y","b":3}"#), &wanted, &mut row));
        assert_eq!(row.get(ColumnId(0)), &Cell::One(Scalar::Text("7".into())));
        assert_eq!(row.get(ColumnId(1)), &Cell::One(Scalar::Text("y".into())));
        assert!(columns.write_row(&object(r#"{"b":3}"#), &wanted, &mut row));
        assert_eq!(row.get(ColumnId(1)), &Cell::Null);
        for other in [r#"{"a":1,"b":3}"#, r#"{"a":null,"b":3}"#, r#"{"a":"y"}"#, r#"{"b":[3]}"#] {
            assert!(!columns.write_row(&object(other), &wanted, &mut row), "{other}");
        }
    }

    #[test]
    fn what_is_left_out_has_no_column_and_is_no_gap() {
        let shape = shape(&[r#"{"a":"x","b":{}}"#]);
        let columns = shape.columns(Vec::new(), Unlisted::Absent, |name| name == "b").unwrap();
        assert_eq!((columns.all().len(), columns.unlisted()), (1, Unlisted::Absent));
        assert!(shape.has("b") && !shape.has("c"));
    }
}
