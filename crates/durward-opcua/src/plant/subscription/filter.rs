//! Event filters (Part 4, 7.22.3): which fields, and of which events.

use std::borrow::Cow;
use std::cmp::Ordering;

use opcua_types::{
    AttributeId, ContentFilterElement, ElementOperand, EventFilter, EventFilterResult, ExtensionObject,
    FilterOperator, LiteralOperand, NodeId, SimpleAttributeOperand, StatusCode, Variant,
};

use super::event::PlantEvent;
use crate::plant::limits;
use crate::plant::space::AddressSpace;
use crate::plant::value;

/// An event filter that was checked.
#[derive(Clone, Debug)]
pub(crate) struct EventSelection {
    clauses: Vec<SimpleAttributeOperand>,
    condition: Vec<WhereElement>,
}

/// One element of the where clause.
#[derive(Clone, Debug)]
struct WhereElement {
    operator: FilterOperator,
    operands: Vec<WhereOperand>,
}

#[derive(Clone, Debug)]
enum WhereOperand {
    Literal(Variant),
    Field(SimpleAttributeOperand),
    /// The result of a later element.
    Element(usize),
}

impl EventSelection {
    /// Checks a filter. Clauses that name what no event has are told of in the result, and give null.
    ///
    /// # Errors
    /// `BadEventFilterInvalid` where there is no clause or too many; the where clause must be one this server can evaluate:
    /// `BadFilterOperatorUnsupported`, `BadFilterOperandInvalid`, `BadFilterElementInvalid`.
    pub(crate) fn new(
        filter: &EventFilter,
        space: &AddressSpace,
    ) -> Result<(EventSelection, EventFilterResult), StatusCode> {
        let clauses = filter.select_clauses.clone().unwrap_or_default();
        if clauses.is_empty() || clauses.len() > limits::SELECT_CLAUSES_MAX {
            return Err(StatusCode::BadEventFilterInvalid);
        }
        let elements = filter.where_clause.elements.as_deref().unwrap_or_default();
        if elements.len() > limits::WHERE_ELEMENTS_MAX {
            return Err(StatusCode::BadEventFilterInvalid);
        }
        let condition: Result<Vec<WhereElement>, StatusCode> = elements
            .iter()
            .enumerate()
            .map(|(place, element)| parse(element, place, elements.len()))
            .collect();
        let statuses: Vec<StatusCode> = clauses.iter().map(|clause| check_clause(clause, space)).collect();
        let all_good = statuses.iter().all(StatusCode::is_good);
        let result = EventFilterResult {
            select_clause_results: (!all_good).then_some(statuses),
            ..EventFilterResult::default()
        };
        Ok((EventSelection { clauses, condition: condition? }, result))
    }

    /// The fields that were asked for.
    pub(crate) fn select(&self, event: &PlantEvent) -> Vec<Variant> {
        self.clauses.iter().map(|clause| field(event, clause)).collect()
    }

    /// Whether the event is one that is looked for. Elements refer to later ones only: from the last to the first, each is evaluated once,
    /// however often others refer to it.
    pub(crate) fn matches(&self, event: &PlantEvent, space: &AddressSpace) -> bool {
        let mut known: Vec<Option<bool>> = vec![None; self.condition.len()];
        for (place, element) in self.condition.iter().enumerate().rev() {
            let truth = WhereEvaluation { event, space, known: &known }.evaluate(element);
            if let Some(slot) = known.get_mut(place) {
                *slot = truth;
            }
        }
        known.first().is_none_or(|first| *first == Some(true))
    }
}

/// An event, and what is known of the where clause so far.
struct WhereEvaluation<'a> {
    event: &'a PlantEvent,
    space: &'a AddressSpace,
    known: &'a [Option<bool>],
}

impl<'a> WhereEvaluation<'a> {
    /// The truth of an element, or nothing where that is not known.
    fn evaluate(&self, element: &'a WhereElement) -> Option<bool> {
        let value = |index: usize| {
            element.operands.get(index).map(|operand| self.operand(operand)).unwrap_or_default()
        };
        let truth =
            |index: usize| if let Variant::Boolean(truth) = *value(index) { Some(truth) } else { None };
        let order = || compare(&value(0), &value(1));
        match element.operator {
            FilterOperator::OfType => {
                let Variant::NodeId(type_id) = &*value(0) else { return None };
                Some(self.space.is_subtype(self.event.event_type(), type_id))
            }
            FilterOperator::IsNull => Some(value(0).is_empty()),
            FilterOperator::Equals => Some(is_equal(&value(0), &value(1))),
            FilterOperator::GreaterThan => order().map(Ordering::is_gt),
            FilterOperator::GreaterThanOrEqual => order().map(Ordering::is_ge),
            FilterOperator::LessThan => order().map(Ordering::is_lt),
            FilterOperator::LessThanOrEqual => order().map(Ordering::is_le),
            FilterOperator::Between => match (compare(&value(0), &value(1)), compare(&value(0), &value(2))) {
                (Some(low), Some(high)) => Some(low.is_ge() && high.is_le()),
                (None, _) | (_, None) => None,
            },
            FilterOperator::InList => {
                let wanted = value(0);
                Some((1..element.operands.len()).any(|index| is_equal(&wanted, &value(index))))
            }
            FilterOperator::Not => truth(0).map(|truth| !truth),
            FilterOperator::And => match (truth(0), truth(1)) {
                (Some(false), _) | (_, Some(false)) => Some(false),
                (Some(true), Some(true)) => Some(true),
                (None, _) | (_, None) => None,
            },
            FilterOperator::Or => match (truth(0), truth(1)) {
                (Some(true), _) | (_, Some(true)) => Some(true),
                (Some(false), Some(false)) => Some(false),
                (None, _) | (_, None) => None,
            },
            // `parse` refused these.
            FilterOperator::Like
            | FilterOperator::Cast
            | FilterOperator::InView
            | FilterOperator::RelatedTo
            | FilterOperator::BitwiseAnd
            | FilterOperator::BitwiseOr => None,
        }
    }

    fn operand(&self, operand: &'a WhereOperand) -> Cow<'a, Variant> {
        match operand {
            WhereOperand::Literal(value) => Cow::Borrowed(value),
            WhereOperand::Field(clause) => Cow::Owned(field(self.event, clause)),
            WhereOperand::Element(place) => {
                let truth = self.known.get(*place).copied().flatten();
                Cow::Owned(truth.map(Variant::from).unwrap_or_default())
            }
        }
    }
}

/// Equal values, or equal numbers of different types.
fn is_equal(left: &Variant, right: &Variant) -> bool {
    left == right || compare(left, right) == Some(Ordering::Equal)
}

/// The order of two numbers.
fn compare(left: &Variant, right: &Variant) -> Option<Ordering> {
    left.as_f64()?.partial_cmp(&right.as_f64()?)
}

/// The value of a field, or null where the event has none of that name.
fn field(event: &PlantEvent, clause: &SimpleAttributeOperand) -> Variant {
    let path = clause.browse_path.as_deref().unwrap_or_default();
    let found = match path {
        [name] if clause.attribute_id == AttributeId::Value as u32 => event.field(name),
        _ => None,
    };
    let part = found.map(|value| value::part(value, &clause.index_range).unwrap_or_default());
    part.unwrap_or_default()
}

fn check_clause(clause: &SimpleAttributeOperand, space: &AddressSpace) -> StatusCode {
    let known_type = clause.type_definition_id.is_null() || space.node(&clause.type_definition_id).is_some();
    if !known_type {
        return StatusCode::BadTypeDefinitionInvalid;
    }
    if AttributeId::from_u32(clause.attribute_id).is_err() {
        return StatusCode::BadAttributeIdInvalid;
    }
    StatusCode::Good
}

fn parse(element: &ContentFilterElement, place: usize, count: usize) -> Result<WhereElement, StatusCode> {
    let operands: Result<Vec<WhereOperand>, StatusCode> = element
        .filter_operands
        .as_deref()
        .unwrap_or_default()
        .iter()
        .map(|operand| parse_operand(operand, place, count))
        .collect();
    let operands = operands?;
    let (least, most) = match element.filter_operator {
        FilterOperator::OfType | FilterOperator::IsNull | FilterOperator::Not => (1, 1),
        FilterOperator::Between => (3, 3),
        FilterOperator::InList => (2, limits::LIST_OPERANDS_MAX),
        FilterOperator::Equals
        | FilterOperator::GreaterThan
        | FilterOperator::GreaterThanOrEqual
        | FilterOperator::LessThan
        | FilterOperator::LessThanOrEqual
        | FilterOperator::And
        | FilterOperator::Or => (2, 2),
        FilterOperator::Like
        | FilterOperator::Cast
        | FilterOperator::InView
        | FilterOperator::RelatedTo
        | FilterOperator::BitwiseAnd
        | FilterOperator::BitwiseOr => return Err(StatusCode::BadFilterOperatorUnsupported),
    };
    if operands.len() < least || operands.len() > most {
        return Err(StatusCode::BadFilterOperandCountMismatch);
    }
    // OfType takes a type, nothing that is known later only.
    let of_type = element.filter_operator == FilterOperator::OfType;
    let is_type = matches!(operands.as_slice(), [WhereOperand::Literal(Variant::NodeId(_))]);
    if of_type && !is_type {
        return Err(StatusCode::BadFilterOperandInvalid);
    }
    Ok(WhereElement { operator: element.filter_operator, operands })
}

fn parse_operand(operand: &ExtensionObject, place: usize, count: usize) -> Result<WhereOperand, StatusCode> {
    if let Some(literal) = operand.inner_as::<LiteralOperand>() {
        // Some clients send the id of a type as an expanded one.
        let value = if let Variant::ExpandedNodeId(id) = &literal.value {
            Variant::from(NodeId::clone(&id.node_id))
        } else {
            literal.value.clone()
        };
        return Ok(WhereOperand::Literal(value));
    }
    if let Some(field) = operand.inner_as::<SimpleAttributeOperand>() {
        return Ok(WhereOperand::Field(field.clone()));
    }
    let element = operand.inner_as::<ElementOperand>().ok_or(StatusCode::BadFilterOperandInvalid)?;
    let index = element.index as usize;
    if index > place && index < count {
        Ok(WhereOperand::Element(index))
    } else {
        Err(StatusCode::BadFilterElementInvalid)
    }
}
