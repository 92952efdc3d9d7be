//! Reads obligations and advice.

use super::cursor::Element;
use super::grammar::{self, NoticeNames};
use super::reader::{Children, Reader};
use crate::tree::{AttributeAssignmentExpression, Expression, NoticeExpression};

impl<'a> Reader<'a> {
    pub(super) fn read_obligations(&mut self, element: &Element<'a>) -> Vec<NoticeExpression> {
        self.read_notices(element, grammar::obligations(self.standard))
    }

    pub(super) fn read_advice(&mut self, element: &Element<'a>) -> Vec<NoticeExpression> {
        self.read_notices(element, &grammar::ADVICE)
    }

    fn read_notices(&mut self, element: &Element<'a>, names: &NoticeNames) -> Vec<NoticeExpression> {
        self.check_attributes(element, &[]);
        let mut notices = Vec::new();
        let mut children = Children::of(element, names.list);
        while let Some(child) = self.next_child(&mut children) {
            notices.push(self.read_notice(&child, names));
        }
        notices
    }

    fn read_notice(&mut self, element: &Element<'a>, names: &NoticeNames) -> NoticeExpression {
        self.check_attributes(element, names.known);
        let mut notice = NoticeExpression {
            place: element.place,
            id: self.required_identifier(element, names.id),
            on: self.required_effect(element, names.on),
            assignments: Vec::new(),
        };
        let mut children = Children::of(element, names.notice);
        while let Some(child) = self.next_child(&mut children) {
            match child.name {
                "AttributeAssignment" => notice.assignments.push(self.read_assignment(&child)),
                _ => notice.assignments.extend(self.read_assignment_expression(&child)),
            }
        }
        notice.assignments.shrink_to_fit();
        notice
    }

    fn read_assignment_expression(&mut self, element: &Element<'a>) -> Option<AttributeAssignmentExpression> {
        self.check_attributes(element, &["AttributeId", "Category", "Issuer"]);
        let id = self.required_identifier(element, "AttributeId");
        let category = self.optional_identifier(element, "Category");
        let issuer = self.optional(element, "Issuer");
        let expression = self.read_one_expression(element)?;
        Some(AttributeAssignmentExpression { place: element.place, id, category, issuer, expression })
    }

    /// `AttributeAssignment` of XACML 1 and 2: a value with an attribute id.
    fn read_assignment(&mut self, element: &Element<'a>) -> AttributeAssignmentExpression {
        let id = self.required_identifier(element, "AttributeId");
        let value = self.read_value_besides(element, &["AttributeId", "DataType"]);
        let expression = Expression::Value(value);
        AttributeAssignmentExpression { place: element.place, id, category: None, issuer: None, expression }
    }
}
