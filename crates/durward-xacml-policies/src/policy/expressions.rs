//! Reads expressions, and the elements that hold just one.

use std::borrow::Cow;

use smol_str::SmolStr;

use super::cursor::{Attribute, Element, Step};
use super::grammar;
use super::reader::{Children, Reader, append};
use crate::tree::{
    Apply, AttributeDesignator, AttributeSelector, AttributeValue, Condition, Expression, Function,
    SelectorBase, Standard, VariableDefinition, VariableReference, XmlAttribute,
};

const ACCESS_SUBJECT: &str = "urn:oasis:names:tc:xacml:1.0:subject-category:access-subject";
const RESOURCE: &str = "urn:oasis:names:tc:xacml:3.0:attribute-category:resource";
const ACTION: &str = "urn:oasis:names:tc:xacml:3.0:attribute-category:action";
const ENVIRONMENT: &str = "urn:oasis:names:tc:xacml:3.0:attribute-category:environment";

/// Content of an element that may hold anything.
pub(super) struct Mixed<'a> {
    /// Its own text, without that of child elements.
    pub(super) text: Cow<'a, str>,
    /// All of it, as written.
    pub(super) markup: &'a str,
    /// How many child elements it has.
    pub(super) elements: usize,
}

impl<'a> Reader<'a> {
    pub(super) fn read_condition(&mut self, element: &Element<'a>) -> Option<Condition> {
        // XACML 1: the condition is itself the application of a function.
        let expression = if self.standard == Standard::Xacml1 {
            Expression::Apply(self.read_apply(element))
        } else {
            self.check_attributes(element, &[]);
            self.read_one_expression(element)?
        };
        Some(Condition { place: element.place, expression })
    }

    pub(super) fn read_variable(&mut self, element: &Element<'a>) -> Option<VariableDefinition> {
        self.check_attributes(element, &["VariableId"]);
        let id = self.required(element, "VariableId");
        let expression = self.read_one_expression(element)?;
        Some(VariableDefinition { place: element.place, id, expression })
    }

    /// The content of an element that holds exactly one expression.
    pub(super) fn read_one_expression(&mut self, element: &Element<'a>) -> Option<Expression> {
        let mut expression = None;
        let mut children = Children::of(element, grammar::expression(self.standard));
        while let Some(child) = self.next_child(&mut children) {
            expression = self.read_expression(&child);
        }
        expression
    }

    pub(super) fn read_expression(&mut self, element: &Element<'a>) -> Option<Expression> {
        Some(match element.name {
            "Apply" => Expression::Apply(self.read_apply(element)),
            "AttributeValue" => Expression::Value(self.read_value(element)),
            "AttributeSelector" => Expression::Selector(self.read_selector(element)),
            "VariableReference" => Expression::Variable(self.read_variable_reference(element)),
            "Function" => Expression::Function(self.read_function(element)),
            "AttributeDesignator" => Expression::Designator(self.read_designator(element)),
            "SubjectAttributeDesignator" => Expression::Designator(self.read_subject_designator(element)),
            "ResourceAttributeDesignator" => {
                Expression::Designator(self.read_fixed_designator(element, RESOURCE))
            }
            "ActionAttributeDesignator" => {
                Expression::Designator(self.read_fixed_designator(element, ACTION))
            }
            "EnvironmentAttributeDesignator" => {
                Expression::Designator(self.read_fixed_designator(element, ENVIRONMENT))
            }
            _ => {
                self.xml.skip();
                return None;
            }
        })
    }

    fn read_apply(&mut self, element: &Element<'a>) -> Apply {
        self.check_attributes(element, &["FunctionId"]);
        let function = self.required_identifier(element, "FunctionId");
        let mut apply = Apply { place: element.place, function, description: None, arguments: Vec::new() };
        let mut children = Children::of(element, grammar::apply(self.standard));
        while let Some(child) = self.next_child(&mut children) {
            match child.name {
                "Description" => apply.description = Some(self.read_description(&child)),
                _ => apply.arguments.extend(self.read_expression(&child)),
            }
        }
        apply.arguments.shrink_to_fit();
        apply
    }

    fn read_designator(&mut self, element: &Element<'a>) -> AttributeDesignator {
        self.check_attributes(element, &["Category", "AttributeId", "DataType", "Issuer", "MustBePresent"]);
        let category = self.required_identifier(element, "Category");
        let must_be_present = self.required_boolean(element, "MustBePresent");
        self.finish_designator(element, category, must_be_present)
    }

    fn read_subject_designator(&mut self, element: &Element<'a>) -> AttributeDesignator {
        self.check_attributes(
            element,
            &["SubjectCategory", "AttributeId", "DataType", "Issuer", "MustBePresent"],
        );
        let category = self.optional_identifier(element, "SubjectCategory");
        let must_be_present = self.optional_boolean(element, "MustBePresent");
        let category = category.unwrap_or_else(|| self.xml.names.share(ACCESS_SUBJECT));
        self.finish_designator(element, category, must_be_present)
    }

    fn read_fixed_designator(&mut self, element: &Element<'a>, category: &str) -> AttributeDesignator {
        self.check_attributes(element, &["AttributeId", "DataType", "Issuer", "MustBePresent"]);
        let category = self.xml.names.share(category);
        let must_be_present = self.optional_boolean(element, "MustBePresent");
        self.finish_designator(element, category, must_be_present)
    }

    fn finish_designator(
        &mut self,
        element: &Element<'a>,
        category: SmolStr,
        must_be_present: bool,
    ) -> AttributeDesignator {
        let designator = AttributeDesignator {
            place: element.place,
            category,
            id: self.required_identifier(element, "AttributeId"),
            data_type: self.required_identifier(element, "DataType"),
            issuer: self.optional(element, "Issuer"),
            must_be_present,
        };
        self.read_empty(element);
        designator
    }

    fn read_selector(&mut self, element: &Element<'a>) -> AttributeSelector {
        let (over, path, must_be_present) = if self.standard == Standard::Xacml3 {
            let known = &["Category", "ContextSelectorId", "Path", "DataType", "MustBePresent"];
            self.check_attributes(element, known);
            let category = self.required_identifier(element, "Category");
            let context_selector = self.optional_identifier(element, "ContextSelectorId");
            let over = SelectorBase::Content { category, context_selector };
            (over, self.required(element, "Path"), self.required_boolean(element, "MustBePresent"))
        } else {
            self.check_attributes(element, &["RequestContextPath", "DataType", "MustBePresent"]);
            let path = self.required(element, "RequestContextPath");
            (SelectorBase::RequestContext, path, self.optional_boolean(element, "MustBePresent"))
        };
        let scope = self.xml.scope().clone();
        let data_type = self.required_identifier(element, "DataType");
        self.read_empty(element);
        AttributeSelector { place: element.place, over, path, data_type, must_be_present, scope }
    }

    fn read_variable_reference(&mut self, element: &Element<'a>) -> VariableReference {
        self.check_attributes(element, &["VariableId"]);
        let id = self.required(element, "VariableId");
        self.read_empty(element);
        VariableReference { place: element.place, id }
    }

    fn read_function(&mut self, element: &Element<'a>) -> Function {
        self.check_attributes(element, &["FunctionId"]);
        let id = self.required_identifier(element, "FunctionId");
        self.read_empty(element);
        Function { place: element.place, id }
    }

    pub(super) fn read_value(&mut self, element: &Element<'a>) -> AttributeValue {
        self.read_value_besides(element, &["DataType"])
    }

    /// A value whose element has attributes that are not the value's.
    pub(super) fn read_value_besides(
        &mut self,
        element: &Element<'a>,
        not_its: &[&'static str],
    ) -> AttributeValue {
        let data_type = self.required_identifier(element, "DataType");
        let others = element.attributes.iter();
        let others = others.filter(|one| !(one.prefix.is_empty() && not_its.contains(&one.name)));
        let xml_attributes = others.filter_map(|one| self.read_open_attribute(element, one)).collect();
        let scope = self.xml.scope().clone();
        let mixed = self.read_mixed(element);
        AttributeValue {
            place: element.place,
            data_type,
            text: self.xml.names.share(&mixed.text),
            markup: (mixed.elements > 0).then(|| mixed.markup.into()),
            xml_attributes,
            scope,
        }
    }

    fn read_open_attribute(
        &mut self,
        element: &Element<'a>,
        attribute: &Attribute<'a>,
    ) -> Option<XmlAttribute> {
        let namespace = match attribute.prefix {
            "" => None,
            _ => Some(self.attribute_namespace(element, attribute)?),
        };
        let (name, value) = (self.xml.names.share(attribute.name), self.xml.names.share(&attribute.value));
        Some(XmlAttribute { namespace, name, value })
    }

    /// The content of an element that may hold text and any elements.
    pub(super) fn read_mixed(&mut self, element: &Element<'a>) -> Mixed<'a> {
        let mut text = Cow::Borrowed("");
        let mut elements = 0;
        loop {
            match self.xml.step() {
                Step::Text(more) => append(&mut text, more),
                Step::Open(_) => {
                    elements += 1;
                    self.xml.skip();
                }
                Step::Close | Step::End => {
                    return Mixed { text, markup: self.xml.text_since(element.content), elements };
                }
            }
        }
    }
}
