//! The core function library (XPath 1.0, section 4).

use std::borrow::Cow;
use std::collections::HashSet;

use super::evaluate::{Evaluated, Evaluation, Focus};
use super::expression::{Expression, Function};
use super::lexer::is_space;
use super::read::XML_SPACE;
use super::tree::{Kind, NodeId};
use super::value::{Outcome, round};

impl<'a> Evaluation<'a> {
    pub(super) fn call(
        &mut self,
        function: Function,
        arguments: &'a [Expression],
        focus: Focus,
    ) -> Evaluated<Outcome<'a>> {
        Ok(match function {
            Function::Last => Outcome::Number(focus.size as f64),
            Function::Position => Outcome::Number(focus.position as f64),
            Function::Count => Outcome::Number(self.node_argument(arguments, focus)?.len() as f64),
            Function::Id => Outcome::Nodes(self.ids(arguments, focus)?),
            Function::LocalName => Outcome::from(self.name_argument(arguments, focus)?.0),
            Function::NamespaceUri => Outcome::from(self.name_argument(arguments, focus)?.1),
            Function::Name => Outcome::from(self.name_argument(arguments, focus)?.2),
            Function::String => Outcome::Text(self.argument_text(arguments, 0, focus)?),
            Function::Concat => self.concat(arguments, focus)?,
            Function::StartsWith => {
                let (text, part) = self.two_texts(arguments, focus)?;
                Outcome::Boolean(text.starts_with(&*part))
            }
            Function::Contains => {
                let (text, part) = self.two_texts(arguments, focus)?;
                Outcome::Boolean(text.contains(&*part))
            }
            Function::SubstringBefore => {
                let (text, part) = self.two_texts(arguments, focus)?;
                let found = text.split_once(&*part).map(|(before, _)| before.to_owned());
                Outcome::Text(Cow::Owned(found.unwrap_or_default()))
            }
            Function::SubstringAfter => {
                let (text, part) = self.two_texts(arguments, focus)?;
                let found = text.split_once(&*part).map(|(_, after)| after.to_owned());
                Outcome::Text(Cow::Owned(found.unwrap_or_default()))
            }
            Function::Substring => self.substring(arguments, focus)?,
            Function::StringLength => {
                let text = self.read_text(arguments, 0, focus)?;
                Outcome::Number(text.chars().count() as f64)
            }
            Function::NormalizeSpace => {
                let text = self.read_text(arguments, 0, focus)?;
                let words: Vec<&str> = text.split(is_space).filter(|word| !word.is_empty()).collect();
                Outcome::Text(Cow::Owned(words.join(" ")))
            }
            Function::Translate => self.translate(arguments, focus)?,
            Function::Boolean => Outcome::Boolean(self.argument(arguments, 0, focus)?.to_boolean()),
            Function::Not => Outcome::Boolean(!self.argument(arguments, 0, focus)?.to_boolean()),
            Function::True => Outcome::Boolean(true),
            Function::False => Outcome::Boolean(false),
            Function::Lang => self.lang(arguments, focus)?,
            Function::Number => Outcome::Number(self.argument_number(arguments, 0, focus)?),
            Function::Sum => {
                let mut sum = 0.0;
                for node in self.node_argument(arguments, focus)? {
                    sum += self.node_number(node)?;
                }
                Outcome::Number(sum)
            }
            Function::Floor => Outcome::Number(self.argument_number(arguments, 0, focus)?.floor()),
            Function::Ceiling => Outcome::Number(self.argument_number(arguments, 0, focus)?.ceil()),
            Function::Round => Outcome::Number(round(self.argument_number(arguments, 0, focus)?)),
        })
    }

    /// An argument; the context node where it is left out.
    fn argument(
        &mut self,
        arguments: &'a [Expression],
        index: usize,
        focus: Focus,
    ) -> Evaluated<Outcome<'a>> {
        match arguments.get(index) {
            Some(argument) => self.evaluate(argument, focus),
            None => Ok(Outcome::Nodes(vec![focus.node])),
        }
    }

    fn node_argument(&mut self, arguments: &'a [Expression], focus: Focus) -> Evaluated<Vec<NodeId>> {
        match arguments.first() {
            Some(argument) => self.nodes(argument, focus),
            None => Ok(vec![focus.node]),
        }
    }

    fn argument_text(
        &mut self,
        arguments: &'a [Expression],
        index: usize,
        focus: Focus,
    ) -> Evaluated<Cow<'a, str>> {
        let argument = self.argument(arguments, index, focus)?;
        self.text(argument)
    }

    /// An argument whose text is read from end to end.
    fn read_text(
        &mut self,
        arguments: &'a [Expression],
        index: usize,
        focus: Focus,
    ) -> Evaluated<Cow<'a, str>> {
        let text = self.argument_text(arguments, index, focus)?;
        self.charge_text(&text)?;
        Ok(text)
    }

    fn two_texts(
        &mut self,
        arguments: &'a [Expression],
        focus: Focus,
    ) -> Evaluated<(Cow<'a, str>, Cow<'a, str>)> {
        Ok((self.read_text(arguments, 0, focus)?, self.read_text(arguments, 1, focus)?))
    }

    fn argument_number(&mut self, arguments: &'a [Expression], index: usize, focus: Focus) -> Evaluated<f64> {
        let argument = self.argument(arguments, index, focus)?;
        self.number(&argument)
    }

    /// Local name, namespace and name as written of the first node; all "" where it has none.
    fn name_argument(
        &mut self,
        arguments: &'a [Expression],
        focus: Focus,
    ) -> Evaluated<(&'a str, &'a str, &'a str)> {
        let content = self.content;
        let nodes = self.node_argument(arguments, focus)?;
        let Some(&node) = nodes.first() else { return Ok(("", "", "")) };
        Ok(match (content.binding(node), content.name(node)) {
            // A namespace node is named by its prefix (section 5.4).
            (Some(binding), _) => (&binding.prefix, "", &binding.prefix),
            (None, Some(name)) => (&name.local, &name.space, &name.written),
            (None, None) => ("", "", ""),
        })
    }

    fn concat(&mut self, arguments: &'a [Expression], focus: Focus) -> Evaluated<Outcome<'a>> {
        let mut whole = String::new();
        for index in 0..arguments.len() {
            whole.push_str(&self.read_text(arguments, index, focus)?);
        }
        Ok(Outcome::Text(Cow::Owned(whole)))
    }

    /// Section 4.2: the characters whose position is at least the one and less than the sum of both numbers, rounded.
    fn substring(&mut self, arguments: &'a [Expression], focus: Focus) -> Evaluated<Outcome<'a>> {
        let text = self.read_text(arguments, 0, focus)?;
        let start = round(self.argument_number(arguments, 1, focus)?);
        let end = match arguments.len() {
            3 => start + round(self.argument_number(arguments, 2, focus)?),
            _ => f64::INFINITY,
        };
        let positioned = text.chars().enumerate();
        let kept = positioned.filter(|(index, _)| {
            let position = (index + 1) as f64;
            position >= start && position < end
        });
        Ok(Outcome::Text(Cow::Owned(kept.map(|(_, character)| character).collect())))
    }

    fn translate(&mut self, arguments: &'a [Expression], focus: Focus) -> Evaluated<Outcome<'a>> {
        let text = self.read_text(arguments, 0, focus)?;
        let from = self.read_text(arguments, 1, focus)?;
        let to = self.read_text(arguments, 2, focus)?;
        let mut meanings = std::collections::HashMap::new();
        let mut replacements = to.chars();
        for character in from.chars() {
            let replacement = replacements.next();
            meanings.entry(character).or_insert(replacement); // the first meaning counts
        }
        let translated = text.chars().filter_map(|character| match meanings.get(&character) {
            Some(replacement) => *replacement,
            None => Some(character),
        });
        Ok(Outcome::Text(Cow::Owned(translated.collect())))
    }

    /// Section 4.3: the nearest `xml:lang` is this language or one of its dialects.
    fn lang(&mut self, arguments: &'a [Expression], focus: Focus) -> Evaluated<Outcome<'a>> {
        let wanted = self.read_text(arguments, 0, focus)?;
        let mut next = Some(focus.node);
        while let Some(node) = next {
            self.charge(1)?;
            if let Some(found) = self.xml_attribute(node, "lang") {
                let (start, rest) = match found.split_at_checked(wanted.len()) {
                    Some(parts) => parts,
                    None => (found, "?"),
                };
                let is_dialect = rest.is_empty() || rest.starts_with('-');
                return Ok(Outcome::Boolean(is_dialect && start.eq_ignore_ascii_case(&wanted)));
            }
            next = self.content.parent(node);
        }
        Ok(Outcome::Boolean(false))
    }

    /// The value of an attribute `xml:local` of an element.
    fn xml_attribute(&self, node: NodeId, local: &str) -> Option<&'a str> {
        if self.content.kind(node) != Kind::Element {
            return None;
        }
        let numbers = node.node + 1..self.content.end(node);
        let attributes = numbers.map(NodeId::at).take_while(|id| self.content.kind(*id) == Kind::Attribute);
        let is_wanted = |id: &NodeId| {
            self.content.name(*id).is_some_and(|name| name.local == local && name.space == XML_SPACE)
        };
        attributes.into_iter().find(is_wanted).map(|id| self.content.text(id))
    }

    /// Section 4.1: the elements with one of the identifiers in a text, or in the texts of nodes.
    fn ids(&mut self, arguments: &'a [Expression], focus: Focus) -> Evaluated<Vec<NodeId>> {
        let mut wanted: HashSet<String> = HashSet::new();
        let texts = match self.argument(arguments, 0, focus)? {
            Outcome::Nodes(nodes) => {
                nodes.into_iter().map(|node| Cow::Borrowed(self.content.text(node))).collect()
            }
            other @ (Outcome::Text(_) | Outcome::Number(_) | Outcome::Boolean(_)) => vec![self.text(other)?],
        };
        for text in texts {
            self.charge_text(&text)?;
            wanted.extend(text.split(is_space).filter(|word| !word.is_empty()).map(str::to_owned));
        }
        self.charge(u64::from(self.content.node_count()))?;
        let elements = (0..self.content.node_count()).map(NodeId::at);
        let has_id =
            |id: &NodeId| self.xml_attribute(*id, "id").is_some_and(|found| wanted.contains(found.trim()));
        Ok(elements.filter(has_id).collect())
    }
}
