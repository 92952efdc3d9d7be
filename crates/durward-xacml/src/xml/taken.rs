//! The attributes of the element a reader is at: taken by name, everything else refused.

use std::borrow::Cow;

use smol_str::SmolStr;

use super::attributes::RawAttribute;
use super::characters;
use super::names::Space;
use super::reader::{Element, Read, XmlReader, excerpt, split_name};

impl<'a> XmlReader<'a> {
    /// The attributes of the element just started that have these names. Any other is refused, except namespace
    /// declarations, `xsi:` and `xml:`.
    pub(crate) fn take<const N: usize>(
        &self,
        element: &Element<'_>,
        names: [&str; N],
    ) -> Read<[Option<RawAttribute<'a>>; N]> {
        let mut taken = [None; N];
        for &attribute in &self.attributes {
            match names.iter().position(|name| *name == attribute.name).and_then(|index| taken.get_mut(index))
            {
                Some(place) => *place = Some(attribute),
                None => self.allow(element, attribute)?,
            }
        }
        Ok(taken)
    }

    /// The attributes with these names, whatever others there are.
    pub(crate) fn pick<const N: usize>(&self, names: [&str; N]) -> [Option<RawAttribute<'a>>; N] {
        names.map(|name| self.attributes.iter().copied().find(|attribute| attribute.name == name))
    }

    fn allow(&self, element: &Element<'_>, attribute: RawAttribute<'a>) -> Read<()> {
        if attribute.name == "xmlns" || attribute.name.starts_with("xmlns:") {
            return Ok(());
        }
        match self.attribute_space(attribute)? {
            Space::Xml | Space::SchemaInstance => Ok(()),
            Space::None
            | Space::Core3
            | Space::Context2
            | Space::Context1
            | Space::Policy2
            | Space::Policy1
            | Space::Other => {
                let message = format!("`<{}>` has no attribute `{}`", element.name, attribute.name);
                Err(self.structure_at(attribute.name, message))
            }
        }
    }

    /// The value of an attribute that must be there.
    pub(crate) fn required(
        &self,
        element: &Element<'_>,
        name: &str,
        attribute: Option<RawAttribute<'a>>,
    ) -> Read<Cow<'a, str>> {
        match attribute {
            Some(attribute) => self.value(attribute),
            None => {
                let message = format!("`<{}>` needs the attribute `{name}`", element.name);
                Err(self.structure_at(element.name, message))
            }
        }
    }

    /// The value of an attribute that may be missing.
    pub(crate) fn optional(&self, attribute: Option<RawAttribute<'a>>) -> Read<Option<Cow<'a, str>>> {
        attribute.map(|attribute| self.value(attribute)).transpose()
    }

    /// The value of a truth attribute that must be there.
    pub(crate) fn boolean(
        &self,
        element: &Element<'_>,
        name: &str,
        attribute: Option<RawAttribute<'a>>,
    ) -> Read<bool> {
        let value = self.required(element, name, attribute)?;
        match value.trim_matches([' ', '\t', '\n', '\r']) {
            "true" | "1" => Ok(true),
            "false" | "0" => Ok(false),
            other => {
                let at = attribute.map_or(element.name, |attribute| attribute.value);
                let message =
                    format!("`{}` is not a value of `{name}`: write `true` or `false`", excerpt(other));
                Err(self.structure_at(at, message))
            }
        }
    }

    /// The value of an attribute, decoded.
    pub(crate) fn value(&self, attribute: RawAttribute<'a>) -> Read<Cow<'a, str>> {
        characters::attribute_value(attribute.value).map_err(|offset| {
            let message = format!("an unknown reference in the value of `{}`", attribute.name);
            self.ill_formed(self.offset_of(attribute.value) + offset, message)
        })
    }

    /// The namespace of an attribute: none without a prefix.
    pub(crate) fn attribute_space(&self, attribute: RawAttribute<'a>) -> Read<Space> {
        match split_name(attribute.name) {
            None => Ok(Space::None),
            Some((prefix, _)) => {
                self.scopes.space(prefix).ok_or_else(|| self.unbound(prefix, attribute.name))
            }
        }
    }

    /// The prefixes and namespaces in force, as owned text; the default namespace has the prefix "".
    pub(crate) fn namespaces(&self) -> Vec<(SmolStr, SmolStr)> {
        let owned = |(prefix, uri)| (SmolStr::new(prefix), SmolStr::new(uri));
        self.scopes.in_force().into_iter().map(owned).collect()
    }
}
