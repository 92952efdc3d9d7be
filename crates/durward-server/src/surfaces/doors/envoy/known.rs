//! The question about a request as policies ask for it, in the default words of `[authzen.sapl]`: no subscription is made.

use std::borrow::Cow;
use std::cell::Cell;
use std::net::IpAddr;

use durward_common::access::subject::{Subject, document};
use durward_pdp::ir::Value;
use durward_pdp::ir::attribute::{AttributeName, NameKey};
use durward_pdp::ir::fault::Evaluated;
use durward_pdp::ir::path::{Element, Path, value_at};
use durward_pdp::ir::question::{Attributes, Invocation, Reading};
use smol_str::{SmolStr, format_smolstr};

use super::super::routes::Asked as AskedRoute;
use super::super::target::Target;
use super::super::{CLIENT, DOOR, Door, resource_properties};

/// What is known of a request and of who sent it.
pub(super) struct Known<'k> {
    subject: &'k Subject,
    target: &'k Target<'k>,
    route: &'k AskedRoute,
    client: IpAddr,
    is_enough: Cell<bool>,
}

impl<'k> Known<'k> {
    pub(super) fn new(
        subject: &'k Subject,
        target: &'k Target<'k>,
        route: &'k AskedRoute,
        client: IpAddr,
    ) -> Known<'k> {
        Known { subject, target, route, client, is_enough: Cell::new(true) }
    }

    /// Whether all that policies asked for could be given: not a whole object, an attribute finder's word, or an attribute of XACML.
    pub(super) fn is_enough(&self) -> bool {
        self.is_enough.get()
    }

    /// A member of one of the elements.
    fn member(&self, element: Element, name: &str) -> Option<Value> {
        match element {
            Element::Subject => document::member(self.subject, name),
            Element::Resource => self.of_resource(name).map(text),
            Element::Environment => match name {
                DOOR => Some(text(Door::Envoy.name())),
                CLIENT => Some(Value::Text(format_smolstr!("{}", self.client))),
                _ => None,
            },
            // It is a text.
            Element::Action => None,
        }
    }

    fn of_resource(&self, name: &str) -> Option<&str> {
        match name {
            "type" => Some(&self.route.resource_kind),
            // No property is an id or type.
            "id" => Some(&self.route.resource_id),
            _ => resource_properties(self.target, &self.route.named)
                .find(|(known, _)| *known == name)
                .map(|(_, value)| value),
        }
    }

    fn lacks<'a>(&self) -> Reading<'a> {
        self.is_enough.set(false);
        Reading::Absent
    }
}

fn text(text: &str) -> Value {
    Value::Text(SmolStr::new(text))
}

impl Attributes for Known<'_> {
    fn read<'a>(&'a self, _: &AttributeName, _: NameKey) -> Reading<'a> {
        self.lacks()
    }

    fn part<'a>(&'a self, path: &Path) -> Reading<'a> {
        match (path.element(), path.keys()) {
            (Element::Action, []) => Reading::Made(text(&self.route.action)),
            (_, []) => self.lacks(),
            (element, [name]) => self.member(element, name).map_or(Reading::Absent, Reading::Made),
            (element, [name, keys @ ..]) => match self.member(element, name) {
                Some(value) => Reading::found(Cow::Owned(value_at(&value, keys).into_owned())),
                None => Reading::Absent,
            },
        }
    }

    fn found(&self, _: &Invocation) -> Option<Evaluated<Value>> {
        None
    }
}
