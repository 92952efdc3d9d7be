//! Reads the attributes of an element, held to the schema.

use std::str::FromStr;

use durward_xacml::wording::quote;
use smol_str::SmolStr;

use super::{Reader, is_xml_space};
use crate::policy::cursor::{Attribute, Element};
use crate::policy::error::suggestion;
use crate::tree::{Effect, Standard, Version, VersionError};

impl<'a> Reader<'a> {
    /// Reports the attributes of an element that the schema does not know.
    pub(in crate::policy) fn check_attributes(&mut self, element: &Element<'a>, known: &[&'static str]) {
        for attribute in &element.attributes {
            if attribute.prefix.is_empty() && !known.contains(&attribute.name) {
                self.refuse_attribute(element, attribute, known);
            } else if !attribute.prefix.is_empty() {
                self.check_prefix(element, attribute);
            }
        }
    }

    fn refuse_attribute(&mut self, element: &Element<'a>, attribute: &Attribute<'a>, known: &[&'static str]) {
        let free = known.iter().copied().filter(|name| element.attribute(name).is_none());
        let help = suggestion(attribute.name, free);
        let message = format!("unknown attribute {} of `{}`", quote(attribute.name), element.name);
        self.report_attribute(element, attribute, message, help);
    }

    /// Attributes of other namespaces are none of ours; those of XACML have no prefix.
    fn check_prefix(&mut self, element: &Element<'a>, attribute: &Attribute<'a>) {
        if self.attribute_namespace(element, attribute).is_some_and(|uri| uri == self.xml.namespace) {
            let message = format!("attribute {} of `{}` has a prefix", quote(attribute.name), element.name);
            self.report_attribute(element, attribute, message, Some("write it without".to_owned()));
        }
    }

    /// The namespace an attribute's prefix stands for.
    pub(in crate::policy) fn attribute_namespace(
        &mut self,
        element: &Element<'a>,
        attribute: &Attribute<'a>,
    ) -> Option<SmolStr> {
        let namespace = self.xml.scope().resolve(attribute.prefix).map(SmolStr::new);
        if namespace.is_none() {
            let message = format!("namespace prefix {} is not declared", quote(attribute.prefix));
            self.report_attribute(element, attribute, message, None);
        }
        namespace
    }

    /// The value of an attribute that must be there, exactly as written.
    pub(in crate::policy) fn required(&mut self, element: &Element<'a>, name: &str) -> SmolStr {
        self.optional(element, name).unwrap_or_else(|| {
            self.report(element.place, format!("`{}` lacks the attribute `{name}`", element.name), None);
            SmolStr::default()
        })
    }

    /// The value of an attribute, exactly as written.
    pub(in crate::policy) fn optional(&mut self, element: &Element<'a>, name: &str) -> Option<SmolStr> {
        element.attribute(name).map(|attribute| self.xml.names.share(&attribute.value))
    }

    /// The value of an attribute that must be there and is an identifier: white space around is not part of it.
    pub(in crate::policy) fn required_identifier(&mut self, element: &Element<'a>, name: &str) -> SmolStr {
        match element.attribute(name) {
            Some(attribute) => self.xml.names.share(attribute.value.trim_matches(is_xml_space)),
            None => self.required(element, name),
        }
    }

    /// The value of an attribute that is an identifier.
    pub(in crate::policy) fn optional_identifier(
        &mut self,
        element: &Element<'a>,
        name: &str,
    ) -> Option<SmolStr> {
        element
            .attribute(name)
            .map(|attribute| self.xml.names.share(attribute.value.trim_matches(is_xml_space)))
    }

    /// The truth value of an attribute that must be there.
    pub(in crate::policy) fn required_boolean(&mut self, element: &Element<'a>, name: &str) -> bool {
        match element.attribute(name) {
            Some(_) => self.optional_boolean(element, name),
            None => {
                let help = format!("write `{name}=\"false\"` or `{name}=\"true\"`");
                let message = format!("`{}` lacks the attribute `{name}`", element.name);
                self.report(element.place, message, Some(help));
                false
            }
        }
    }

    /// The truth value of an attribute, false if it is not there.
    pub(in crate::policy) fn optional_boolean(&mut self, element: &Element<'a>, name: &str) -> bool {
        let Some(attribute) = element.attribute(name) else { return false };
        match attribute.value.trim_matches(is_xml_space) {
            "true" | "1" => true,
            "false" | "0" => false,
            _ => {
                self.report_value(element, attribute, Some("it is `true` or `false`".to_owned()));
                false
            }
        }
    }

    /// The effect an attribute names.
    pub(in crate::policy) fn required_effect(&mut self, element: &Element<'a>, name: &str) -> Effect {
        match element.attribute(name).map(|attribute| (attribute, &*attribute.value)) {
            Some((_, "Permit")) => Effect::Permit,
            Some((_, "Deny")) => Effect::Deny,
            Some((attribute, _)) => {
                self.report_value(element, attribute, Some("it is `Permit` or `Deny`".to_owned()));
                Effect::Deny
            }
            None => {
                self.required(element, name);
                Effect::Deny
            }
        }
    }

    /// The version of a policy or policy set.
    pub(in crate::policy) fn version(&mut self, element: &Element<'a>) -> Version {
        let version = self.parsed(element, "Version");
        if version.is_none() && self.standard == Standard::Xacml3 && element.attribute("Version").is_none() {
            let message = format!("`{}` lacks the attribute `Version`", element.name);
            self.report(element.place, message, Some("write `Version=\"1.0\"`".to_owned()));
        }
        version.unwrap_or_else(Version::one_zero)
    }

    /// A version or version pattern, if the attribute is there.
    pub(in crate::policy) fn parsed<T: FromStr<Err = VersionError>>(
        &mut self,
        element: &Element<'a>,
        name: &str,
    ) -> Option<T> {
        let attribute = element.attribute(name)?;
        match attribute.value.parse() {
            Ok(value) => Some(value),
            Err(error) => {
                self.report_value(element, attribute, Some(error.to_string()));
                None
            }
        }
    }

    /// `MaxDelegationDepth`, an `xs:integer`: what is too large to count to is as good as unlimited.
    pub(in crate::policy) fn max_delegation_depth(&mut self, element: &Element<'a>) -> Option<i64> {
        let attribute = element.attribute("MaxDelegationDepth")?;
        let text = attribute.value.trim_matches(is_xml_space);
        let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            self.report_value(element, attribute, Some("it is a number".to_owned()));
            return None;
        }
        Some(text.parse().unwrap_or(if text.starts_with('-') { i64::MIN } else { i64::MAX }))
    }

    pub(in crate::policy) fn report_value(
        &mut self,
        element: &Element<'a>,
        attribute: &Attribute<'a>,
        help: Option<String>,
    ) {
        let message =
            format!("attribute `{}` of `{}` is {}", attribute.name, element.name, quote(&attribute.value));
        self.report_attribute(element, attribute, message, help);
    }

    pub(in crate::policy) fn report_attribute(
        &mut self,
        element: &Element<'a>,
        attribute: &Attribute<'a>,
        message: String,
        help: Option<String>,
    ) {
        let place = self.xml.attribute_place(element, attribute);
        self.report(place, message, help);
    }
}

impl<'a> Element<'a> {
    /// The attribute of this name, without prefix.
    pub(in crate::policy) fn attribute(&self, name: &str) -> Option<&Attribute<'a>> {
        self.attributes.iter().find(|attribute| attribute.prefix.is_empty() && attribute.name == name)
    }
}
