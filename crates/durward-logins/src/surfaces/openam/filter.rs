//! `_queryFilter`: what is wanted of a list, such as `username eq "demo" and realm eq "/"`.

use serde_json::Value;

/// How deep a filter may nest; a deeper one is refused.
const DEPTH_MAX: usize = 32;

/// A filter, as far as anything here asks for it.
#[derive(Debug, PartialEq)]
pub(super) enum Filter {
    Equals {
        /// Without the slash that it may begin with.
        field: String,
        value: Value,
    },
    All(Vec<Filter>),
    /// Well formed, and none of those.
    Other,
}

impl Filter {
    /// Nothing where it is no filter.
    pub(super) fn read(text: &str) -> Option<Filter> {
        let mut reader = Reader { rest: text };
        let filter = reader.either(0)?;
        reader.skip();
        reader.rest.is_empty().then_some(filter)
    }

    /// The fields and texts that must be equal; nothing where it asks for anything else.
    pub(super) fn equalities(&self) -> Option<Vec<(&str, &str)>> {
        match self {
            Filter::Equals { field, value } => Some(vec![(field, value.as_str()?)]),
            Filter::All(parts) => {
                let parts: Option<Vec<_>> = parts.iter().map(Filter::equalities).collect();
                Some(parts?.concat())
            }
            Filter::Other => None,
        }
    }
}

struct Reader<'t> {
    rest: &'t str,
}

impl<'t> Reader<'t> {
    fn skip(&mut self) {
        self.rest = self.rest.trim_start();
    }

    /// Takes a sign that stands next.
    fn takes(&mut self, sign: char) -> bool {
        self.skip();
        let rest = self.rest.strip_prefix(sign);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    /// A run of what is neither space, bracket nor quote.
    fn word(&mut self) -> &'t str {
        self.skip();
        let ends = |character: char| character.is_whitespace() || "()\"'!".contains(character);
        let (word, rest) = self.rest.split_at(self.rest.find(ends).unwrap_or(self.rest.len()));
        self.rest = rest;
        word
    }

    fn takes_word(&mut self, word: &str) -> bool {
        let before = self.rest;
        let is_it = self.word() == word;
        if !is_it {
            self.rest = before;
        }
        is_it
    }

    fn either(&mut self, depth: usize) -> Option<Filter> {
        let mut first = self.both(depth)?;
        while self.takes_word("or") {
            self.both(depth)?;
            first = Filter::Other;
        }
        Some(first)
    }

    fn both(&mut self, depth: usize) -> Option<Filter> {
        let first = self.one(depth)?;
        let mut parts = vec![first];
        while self.takes_word("and") {
            parts.push(self.one(depth)?);
        }
        let is_alone = parts.len() == 1;
        if is_alone { parts.pop() } else { Some(Filter::All(parts)) }
    }

    fn one(&mut self, depth: usize) -> Option<Filter> {
        let depth = (depth < DEPTH_MAX).then_some(depth + 1)?;
        if self.takes('!') {
            self.one(depth)?;
            return Some(Filter::Other);
        }
        if self.takes('(') {
            let inner = self.either(depth)?;
            return self.takes(')').then_some(inner);
        }
        match self.word() {
            "" => None,
            "true" | "false" => Some(Filter::Other),
            field => self.comparison(field),
        }
    }

    fn comparison(&mut self, field: &str) -> Option<Filter> {
        let field = field.trim_start_matches('/').to_owned();
        match self.word() {
            "" => None,
            "pr" => Some(Filter::Other),
            "eq" => Some(Filter::Equals { field, value: self.value()? }),
            _ => self.value().map(|_| Filter::Other),
        }
    }

    fn value(&mut self) -> Option<Value> {
        for quote in ['"', '\''] {
            if self.takes(quote) {
                return self.quoted(quote).map(Value::String);
            }
        }
        serde_json::from_str(self.word()).ok()
    }

    /// What stands before the next quote that no backslash stands before.
    fn quoted(&mut self, quote: char) -> Option<String> {
        let mut text = String::new();
        let mut characters = self.rest.chars();
        loop {
            match characters.next()? {
                '\\' => text.push(characters.next()?),
                end if end == quote => break,
                other => text.push(other),
            }
        }
        self.rest = characters.as_str();
        Some(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn equalities(text: &str) -> Option<Vec<(String, String)>> {
        let filter = Filter::read(text)?;
        let pairs = filter.equalities()?;
        Some(pairs.into_iter().map(|(field, value)| (field.to_owned(), value.to_owned())).collect())
    }

    #[test]
    fn what_must_be_equal_is_found() {
        let both =
            Some(vec![("username".to_owned(), "demo".to_owned()), ("realm".to_owned(), "/".to_owned())]);
        for text in [
            r#"username eq "demo" and realm eq "/""#,
            r"username eq 'demo' and realm eq '/'",
            r#"(/username eq "demo") and (((realm eq "/")))"#,
            r#"  username  eq "\demo"and realm eq "/"  "#,
        ] {
            assert_eq!(equalities(text), both, "{text}");
        }
    }

    #[test]
    fn other_filters_are_read_and_are_no_equalities() {
        for text in [
            "true",
            "username pr",
            "!(username eq \"x\")",
            "a eq 1",
            "a co \"b\"",
            "a eq \"b\" or c eq \"d\"",
        ] {
            assert!(Filter::read(text).is_some(), "{text}");
            assert_eq!(equalities(text), None, "{text}");
        }
    }

    #[test]
    fn what_is_no_filter_is_none() {
        let deep = "(".repeat(10_000);
        for text in
            ["", "garbage(", "a eq b", "a eq \"b", "a eq", "a", "(true", "true)", "true true", "!", &deep]
        {
            assert_eq!(Filter::read(text), None, "{text:.20}");
        }
    }
}
