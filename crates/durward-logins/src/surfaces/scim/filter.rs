//! Filters (RFC 7644, 3.4.2.2), as far as provisioning systems use them: what is equal to what, joined by `and`.

use super::error::ScimError;

/// The longest filter that is read, in bytes.
const LENGTH_MAX: usize = 4096;

/// `userName eq "anna"`; in a path, what stands in brackets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Clause {
    /// In small letters, without the name of a schema and what stands in brackets: `emails.value`.
    pub(super) name: String,
    /// A text without its quotes, or a word such as `true`.
    pub(super) value: String,
}

/// The name of an attribute as a path has it: `emails[type eq "work"].value`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Path {
    /// In small letters, without the name of a core schema.
    pub(super) name: String,
    /// What stands in brackets.
    pub(super) filter: Vec<Clause>,
    /// In small letters.
    pub(super) sub: Option<String>,
}

/// Names of schemas that may stand before an attribute.
const CORE: [&str; 2] =
    ["urn:ietf:params:scim:schemas:core:2.0:user:", "urn:ietf:params:scim:schemas:core:2.0:group:"];

/// Reads a filter of a query.
pub(super) fn read(text: &str) -> Result<Vec<Clause>, ScimError> {
    let wrong = |why: &str| {
        let known = "filters are `ATTRIBUTE eq \"VALUE\"`, joined by `and`";
        ScimError::bad("invalidFilter", format!("the filter `{text}` cannot be answered: {why}; {known}"))
    };
    if text.len() > LENGTH_MAX {
        return Err(ScimError::bad("invalidFilter", format!("the filter is longer than {LENGTH_MAX} bytes")));
    }
    let mut reader = Reader(text.trim());
    let mut clauses = Vec::new();
    loop {
        clauses.push(reader.clause().map_err(wrong)?);
        if reader.0.is_empty() {
            return Ok(clauses);
        }
        if !reader.word().eq_ignore_ascii_case("and") {
            return Err(wrong("`and` is expected"));
        }
    }
}

impl Path {
    /// Reads the path of an operation.
    pub(super) fn read(text: &str) -> Result<Path, ScimError> {
        let wrong = || ScimError::bad("invalidPath", format!("the path `{text}` cannot be understood"));
        if text.len() > LENGTH_MAX {
            return Err(ScimError::bad("invalidPath", format!("the path is longer than {LENGTH_MAX} bytes")));
        }
        let Some((name, rest)) = text.split_once('[') else {
            let plain = without_schema(text.trim());
            // The name of another schema has dots in its version.
            let parts = if plain.starts_with("urn:") { None } else { plain.split_once('.') };
            let (name, sub) =
                parts.map_or((plain.as_str(), None), |(name, sub)| (name, Some(sub.to_owned())));
            let (name, is_name) = (name.to_owned(), !name.is_empty());
            return if is_name { Ok(Path { name, filter: Vec::new(), sub }) } else { Err(wrong()) };
        };
        let (inner, behind) = rest.rsplit_once(']').ok_or_else(wrong)?;
        let sub = match behind.trim() {
            "" => None,
            sub => Some(
                sub.strip_prefix('.').filter(|sub| !sub.is_empty()).ok_or_else(wrong)?.to_ascii_lowercase(),
            ),
        };
        let filter = read(inner).map_err(|_| wrong())?;
        Ok(Path { name: without_schema(name.trim()), filter, sub })
    }
}

/// In small letters.
fn without_schema(name: &str) -> String {
    let name = name.to_ascii_lowercase();
    CORE.iter().find_map(|schema| name.strip_prefix(schema).map(str::to_owned)).unwrap_or(name)
}

struct Reader<'t>(&'t str);

impl<'t> Reader<'t> {
    fn clause(&mut self) -> Result<Clause, &'static str> {
        let name = self.name()?;
        if !self.word().eq_ignore_ascii_case("eq") {
            return Err("only `eq` is supported");
        }
        let value = self.value()?;
        Ok(Clause { name, value })
    }

    /// The name of an attribute, without what stands in brackets: of each we keep one kind.
    fn name(&mut self) -> Result<String, &'static str> {
        let end = self.0.find([' ', '[']).ok_or("an operator is missing")?;
        let (name, rest) = self.0.split_at_checked(end).ok_or("an operator is missing")?;
        let mut name = without_schema(name);
        self.0 = rest;
        if let Some(inner) = rest.strip_prefix('[') {
            let (_, behind) = inner.split_once(']').ok_or("a bracket is not closed")?;
            let end = behind.find(' ').ok_or("an operator is missing")?;
            let (sub, rest) = behind.split_at_checked(end).ok_or("an operator is missing")?;
            name.push_str(&sub.to_ascii_lowercase());
            self.0 = rest;
        }
        if name.is_empty() { Err("an attribute is missing") } else { Ok(name) }
    }

    fn word(&mut self) -> &'t str {
        let text = self.0.trim_start();
        let end = text.find(' ').unwrap_or(text.len());
        let (word, rest) = text.split_at_checked(end).unwrap_or((text, ""));
        self.0 = rest.trim_start();
        word
    }

    /// A text in quotes, as JSON writes it, or a word.
    fn value(&mut self) -> Result<String, &'static str> {
        if !self.0.starts_with('"') {
            let word = self.word();
            let is_word = matches!(word.to_ascii_lowercase().as_str(), "true" | "false" | "null")
                || word.parse::<f64>().is_ok();
            return if is_word {
                Ok(word.to_ascii_lowercase())
            } else {
                Err("a value is a string in double quotes")
            };
        }
        let mut values = serde_json::Deserializer::from_str(self.0).into_iter::<String>();
        let value =
            values.next().and_then(Result::ok).ok_or("a string is not closed, or not as JSON writes it")?;
        let rest = self.0.get(values.byte_offset()..).unwrap_or_default();
        if !rest.is_empty() && !rest.starts_with(' ') {
            return Err("a blank is missing behind a value");
        }
        self.0 = rest.trim_start();
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        match read(text) {
            Ok(clauses) => clauses
                .iter()
                .map(|Clause { name, value }| format!("{name}={value}"))
                .collect::<Vec<_>>()
                .join("&"),
            Err(_) => "wrong".to_owned(),
        }
    }

    #[test]
    fn filters_say_what_is_equal_to_what() {
        for (text, expected) in [
            (r#"userName eq "anna""#, "username=anna"),
            (r#"USERNAME Eq "a \"b\" \u00e4 and c eq d""#, "username=a \"b\" ä and c eq d"),
            (r#"urn:ietf:params:scim:schemas:core:2.0:User:userName eq "anna""#, "username=anna"),
            (r#"emails[type eq "work"].value eq "a@b""#, "emails.value=a@b"),
            (r#"id eq "1" and members eq "2""#, "id=1&members=2"),
            ("active eq true", "active=true"),
            ("userName co \"a\"", "wrong"),
            ("userName", "wrong"),
            ("userName eq", "wrong"),
            ("userName eq anna", "wrong"),
            ("userName eq \"anna", "wrong"),
            ("userName eq \"a\"x", "wrong"),
            ("userName eq \"a\" or id eq \"b\"", "wrong"),
            ("userName eq \"a\" and", "wrong"),
            (" eq \"a\"", "wrong"),
            ("emails[type eq \"work\" eq \"a\"", "wrong"),
            ("", "wrong"),
        ] {
            assert_eq!(shown(text), expected, "{text}");
        }
    }

    #[test]
    fn paths_have_names_filters_and_parts() {
        let path = |text: &str| match Path::read(text) {
            Ok(Path { name, filter, sub }) => {
                let filter: Vec<String> =
                    filter.iter().map(|Clause { name, value }| format!("{name}={value}")).collect();
                format!("{name} {} {}", filter.join("&"), sub.unwrap_or_default())
            }
            Err(_) => "wrong".to_owned(),
        };
        for (text, expected) in [
            ("active", "active  "),
            ("name.givenName", "name  givenname"),
            (r#"emails[type eq "work"].value"#, "emails type=work value"),
            (r#"members[value eq "a]b"]"#, "members value=a]b "),
            ("urn:ietf:params:scim:schemas:core:2.0:User:name.familyName", "name  familyname"),
            (
                "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:department",
                "urn:ietf:params:scim:schemas:extension:enterprise:2.0:user:department  ",
            ),
            ("", "wrong"),
            ("emails[type eq", "wrong"),
            ("emails[]", "wrong"),
            (r#"emails[type eq "work"]value"#, "wrong"),
        ] {
            assert_eq!(path(text), expected, "{text}");
        }
    }
}
