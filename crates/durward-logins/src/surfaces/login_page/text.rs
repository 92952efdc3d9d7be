//! A text of a language with holes in it, such as `Sign in to go on to {client}`, and the same filled.

use std::fmt;

use askama::Template;
use askama::filters::HtmlSafe;

/// What a text may leave open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hole {
    Product,
    Client,
    User,
    Scope,
    Resource,
    Length,
    Wait,
    Reference,
    Title,
    Passkey,
    Provider,
    Count,
}

impl Hole {
    const ALL: [Hole; 12] = [
        Hole::Product,
        Hole::Client,
        Hole::User,
        Hole::Scope,
        Hole::Resource,
        Hole::Length,
        Hole::Wait,
        Hole::Reference,
        Hole::Title,
        Hole::Passkey,
        Hole::Provider,
        Hole::Count,
    ];

    fn name(self) -> &'static str {
        match self {
            Hole::Product => "product",
            Hole::Client => "client",
            Hole::User => "user",
            Hole::Scope => "scope",
            Hole::Resource => "resource",
            Hole::Length => "length",
            Hole::Wait => "wait",
            Hole::Reference => "reference",
            Hole::Title => "title",
            Hole::Passkey => "passkey",
            Hole::Provider => "provider",
            Hole::Count => "count",
        }
    }
}

/// What fills the holes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Values<'v> {
    pub(super) product: &'v str,
    pub(super) client: &'v str,
    pub(super) user: &'v str,
    pub(super) scope: &'v str,
    pub(super) resource: &'v str,
    pub(super) length: &'v str,
    pub(super) wait: &'v str,
    pub(super) reference: &'v str,
    pub(super) title: &'v str,
    pub(super) passkey: &'v str,
    pub(super) provider: &'v str,
    pub(super) count: &'v str,
}

impl<'v> Values<'v> {
    fn of(&self, hole: Hole) -> &'v str {
        match hole {
            Hole::Product => self.product,
            Hole::Client => self.client,
            Hole::User => self.user,
            Hole::Scope => self.scope,
            Hole::Resource => self.resource,
            Hole::Length => self.length,
            Hole::Wait => self.wait,
            Hole::Reference => self.reference,
            Hole::Title => self.title,
            Hole::Passkey => self.passkey,
            Hole::Provider => self.provider,
            Hole::Count => self.count,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Said(String),
    Hole(Hole),
}

/// A text with holes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Text {
    pieces: Vec<Piece>,
    /// The language it is in, where that is not the language of the page.
    spoken: Option<Spoken>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Spoken {
    tag: String,
    direction: &'static str,
}

/// What is wrong with a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TextError(String);

impl fmt::Display for TextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Text {
    /// Reads a text, which must have these holes and may name the product.
    pub(super) fn parse(text: &str, holes: &[Hole]) -> Result<Text, TextError> {
        if text.trim().is_empty() {
            return Err(TextError("is empty".to_owned()));
        }
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some((said, behind)) = rest.split_once('{') {
            let Some((name, after)) = behind.split_once('}') else {
                return Err(TextError("has a `{` without a `}`".to_owned()));
            };
            let hole = Hole::ALL.into_iter().find(|hole| hole.name() == name);
            let Some(hole) = hole.filter(|hole| *hole == Hole::Product || holes.contains(hole)) else {
                return Err(TextError(unknown(name, holes)));
            };
            if !said.is_empty() {
                pieces.push(Piece::Said(said.to_owned()));
            }
            pieces.push(Piece::Hole(hole));
            rest = after;
        }
        if !rest.is_empty() {
            pieces.push(Piece::Said(rest.to_owned()));
        }
        match holes.iter().find(|hole| !pieces.contains(&Piece::Hole(**hole))) {
            Some(lacking) => Err(TextError(format!("does not say `{{{}}}`", lacking.name()))),
            None => Ok(Text { pieces, spoken: None }),
        }
    }

    /// The same on a page in another language: it says which one it is in (WCAG 2.2, 3.1.2).
    pub(super) fn spoken_in(&self, tag: &str, direction: &'static str) -> Text {
        let spoken = self.spoken.clone().unwrap_or_else(|| Spoken { tag: tag.to_owned(), direction });
        Text { pieces: self.pieces.clone(), spoken: Some(spoken) }
    }

    /// The text with its holes filled.
    pub(super) fn fill<'t>(&'t self, values: &Values<'t>) -> Line<'t> {
        let part = |piece: &'t Piece| match piece {
            Piece::Said(text) => Part { text, is_value: false },
            Piece::Hole(hole) => Part { text: values.of(*hole), is_value: true },
        };
        Line { parts: self.pieces.iter().map(part).collect(), spoken: self.spoken.as_ref() }
    }
}

fn unknown(name: &str, holes: &[Hole]) -> String {
    let known: Vec<String> =
        holes.iter().chain(&[Hole::Product]).map(|hole| format!("`{{{}}}`", hole.name())).collect();
    format!("has `{{{name}}}`; there is {} here", known.join(" and "))
}

/// A filled text, as HTML: escaped, and each value apart from the direction in which the text around it is read.
#[derive(Template)]
#[template(path = "login_page/line.html")]
pub(super) struct Line<'t> {
    parts: Vec<Part<'t>>,
    spoken: Option<&'t Spoken>,
}

/// It is a template with its own escaping.
impl HtmlSafe for Line<'_> {}

struct Part<'t> {
    text: &'t str,
    is_value: bool,
}

impl Line<'_> {
    /// Without marks: for `<title>` and attributes, in which there can be none.
    pub(super) fn plain(&self) -> String {
        self.parts.iter().map(|part| part.text).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holes_are_filled_and_what_fills_them_is_escaped() {
        let text = Text::parse("{product}: <b>{client}</b>", &[Hole::Client]).unwrap();
        let values = Values { product: "A&B", client: "\"<script>'", ..Values::default() };
        assert_eq!(
            text.fill(&values).to_string(),
            "<bdi>A&#38;B</bdi>: &#60;b&#62;<bdi>&#34;&#60;script&#62;&#39;</bdi>&#60;/b&#62;"
        );
        assert_eq!(text.fill(&values).plain(), "A&B: <b>\"<script>'</b>");
    }

    #[test]
    fn a_text_has_the_holes_of_its_key() {
        let wrong = |text: &str| Text::parse(text, &[Hole::Client]).unwrap_err().to_string();
        assert_eq!(wrong("to {cleint}"), "has `{cleint}`; there is `{client}` and `{product}` here");
        assert_eq!(wrong("to {user} of {client}"), "has `{user}`; there is `{client}` and `{product}` here");
        assert_eq!(wrong("to {client"), "has a `{` without a `}`");
        assert_eq!(wrong("go on"), "does not say `{client}`");
        assert_eq!(wrong(" "), "is empty");
    }
}
