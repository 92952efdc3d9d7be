//! Reads targets: those of XACML 3.0, and the sectioned ones of XACML 1 and 2 into the same form.

use super::cursor::Element;
use super::grammar::{self, Model, SECTIONS, Section};
use super::reader::{Children, Reader};
use crate::tree::{AllOf, AnyOf, Expression, Match, MatchAttribute, Standard, Target};

impl<'a> Reader<'a> {
    pub(super) fn read_target(&mut self, element: &Element<'a>) -> Target {
        self.check_attributes(element, &[]);
        let mut target = Target { place: element.place, any_of: Vec::new() };
        let mut children = Children::of(element, grammar::target(self.standard));
        while let Some(child) = self.next_child(&mut children) {
            match SECTIONS.iter().find(|section| section.name == child.name) {
                Some(section) => target.any_of.extend(self.read_section(&child, section)),
                None => target.any_of.push(self.read_any_of(&child)),
            }
        }
        target.any_of.shrink_to_fit();
        target
    }

    fn read_any_of(&mut self, element: &Element<'a>) -> AnyOf {
        self.check_attributes(element, &[]);
        let mut any_of = AnyOf { place: element.place, all_of: Vec::new() };
        let mut children = Children::of(element, grammar::ANY_OF);
        while let Some(child) = self.next_child(&mut children) {
            any_of.all_of.push(self.read_all_of(&child, grammar::ALL_OF, grammar::MATCH));
        }
        any_of.all_of.shrink_to_fit();
        any_of
    }

    /// `Subjects` and its like. `None` for one of XACML 1 that matches everything: `<AnySubject/>`.
    fn read_section(&mut self, element: &Element<'a>, section: &Section) -> Option<AnyOf> {
        self.check_attributes(element, &[]);
        let model = match self.standard {
            Standard::Xacml1 => section.alternatives_1,
            Standard::Xacml2 | Standard::Xacml3 => section.alternatives_2,
        };
        let mut any_of = AnyOf { place: element.place, all_of: Vec::new() };
        let mut matches_all = false;
        let mut children = Children::of(element, model);
        while let Some(child) = self.next_child(&mut children) {
            if child.name.starts_with("Any") {
                matches_all = true;
                self.check_attributes(&child, &[]);
                self.read_empty(&child);
            } else {
                any_of.all_of.push(self.read_all_of(&child, section.matches, section.parts));
            }
        }
        if matches_all && !any_of.all_of.is_empty() {
            let message = format!("`{}` holds both anything and something in particular", element.name);
            self.report(element.place, message, None);
        }
        any_of.all_of.shrink_to_fit();
        (!matches_all).then_some(any_of)
    }

    fn read_all_of(&mut self, element: &Element<'a>, matches: Model, parts: Model) -> AllOf {
        self.check_attributes(element, &[]);
        let mut all_of = AllOf { place: element.place, matches: Vec::new() };
        let mut children = Children::of(element, matches);
        while let Some(child) = self.next_child(&mut children) {
            all_of.matches.extend(self.read_match(&child, parts));
        }
        // A vector begins with room for four, most hold one, and there are very many of these.
        all_of.matches.shrink_to_fit();
        all_of
    }

    fn read_match(&mut self, element: &Element<'a>, parts: Model) -> Option<Match> {
        self.check_attributes(element, &["MatchId"]);
        let function = self.required_identifier(element, "MatchId");
        let (mut value, mut attribute) = (None, None);
        let mut children = Children::of(element, parts);
        while let Some(child) = self.next_child(&mut children) {
            match self.read_expression(&child) {
                Some(Expression::Value(found)) => value = Some(found),
                Some(Expression::Designator(found)) => attribute = Some(MatchAttribute::Designator(found)),
                Some(Expression::Selector(found)) => attribute = Some(MatchAttribute::Selector(found)),
                // No model of a match admits these.
                Some(Expression::Apply(_) | Expression::Variable(_) | Expression::Function(_)) | None => {}
            }
        }
        Some(Match { place: element.place, function, value: value?, attribute: attribute? })
    }
}
