//! Templates of paths in `[[doors.routes]]`: `/papers/{id}/**`.

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

/// Most segments of a template: far more than addresses have.
const SEGMENTS_MAX: usize = 64;

/// The named segments of a path, few of which need no memory of their own.
pub type NamedSegments<'t> = SmallVec<[(&'t str, &'t str); 4]>;

/// A template of paths. `{name}` stands for one segment and gives it a name, `*` for one without a name, and `**` at the end for any number of
/// them, none included.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PathTemplate {
    text: String,
    segments: Vec<Segment>,
    /// Whether more segments may follow.
    is_open: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Segment {
    Literal(String),
    Any,
    Named(String),
}

/// Why a text is no template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoPathTemplate(String);

impl std::fmt::Display for NoPathTemplate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for PathTemplate {
    type Error = NoPathTemplate;

    fn try_from(text: String) -> Result<PathTemplate, NoPathTemplate> {
        let wrong = |why: &str| Err(NoPathTemplate(format!("`{text}` is no template of paths: {why}")));
        let Some(rest) = text.strip_prefix('/') else { return wrong("it begins with `/`") };
        let mut parts: Vec<&str> = rest.split('/').collect();
        let is_open = parts.last() == Some(&"**");
        if is_open {
            parts.pop();
        }
        if parts.len() > SEGMENTS_MAX {
            return wrong("it has too many segments");
        }
        let mut segments = Vec::with_capacity(parts.len());
        let last = parts.len().saturating_sub(1);
        for (at, part) in parts.into_iter().enumerate() {
            let segment = match part {
                "" if at != last || is_open => return wrong("a segment is empty"),
                "*" => Segment::Any,
                _ => match named(part) {
                    Some(name) => Segment::Named(name.to_owned()),
                    None if part.contains(['{', '}', '*', '%', '?', '#', '\\']) => {
                        return wrong(
                            "a segment is text, `{name}` or `*`, and `**` only at the end; text is written as it is meant, without `%XX`",
                        );
                    }
                    None if matches!(part, "." | "..") => return wrong("no path has `.` and `..` here"),
                    None => Segment::Literal(part.to_owned()),
                },
            };
            let is_again = |one: &Segment| matches!(segment, Segment::Named(_)) && *one == segment;
            if segments.iter().any(is_again) {
                return wrong("a name is there twice");
            }
            segments.push(segment);
        }
        Ok(PathTemplate { segments, is_open, text })
    }
}

/// The name in braces: letters, digits and `_`.
fn named(part: &str) -> Option<&str> {
    let name = part.strip_prefix('{')?.strip_suffix('}')?;
    let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    is_name.then_some(name)
}

impl From<PathTemplate> for String {
    fn from(template: PathTemplate) -> String {
        template.text
    }
}

impl PathTemplate {
    /// The names that it gives.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.segments.iter().filter_map(|segment| match segment {
            Segment::Named(name) => Some(name.as_str()),
            Segment::Literal(_) | Segment::Any => None,
        })
    }

    /// The text of the first segment, where it has to be this one.
    #[inline]
    pub fn first(&self) -> Option<&str> {
        match self.segments.first() {
            Some(Segment::Literal(text)) => Some(text),
            Some(Segment::Any | Segment::Named(_)) | None => None,
        }
    }

    /// The named segments of a path that matches. A segment that is empty is none that a name or `*` stands for.
    #[inline]
    pub fn of<'t>(&'t self, segments: &[&'t str]) -> Option<NamedSegments<'t>> {
        let is_long_enough = match self.is_open {
            true => segments.len() >= self.segments.len(),
            false => segments.len() == self.segments.len(),
        };
        if !is_long_enough {
            return None;
        }
        let mut named = NamedSegments::new();
        for (segment, text) in self.segments.iter().zip(segments) {
            match segment {
                Segment::Literal(literal) if literal == text => {}
                Segment::Any if !text.is_empty() => {}
                Segment::Named(name) if !text.is_empty() => named.push((name.as_str(), *text)),
                Segment::Literal(_) | Segment::Any | Segment::Named(_) => return None,
            }
        }
        Some(named)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn template(text: &str) -> PathTemplate {
        PathTemplate::try_from(text.to_owned()).unwrap()
    }

    fn matched(text: &str, path: &str) -> Option<String> {
        let segments: Vec<&str> = path.strip_prefix('/').unwrap().split('/').collect();
        let template = template(text);
        let named = template.of(&segments)?;
        Some(named.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(","))
    }

    #[test]
    fn a_template_matches_whole_paths_only() {
        for (text, path, found) in [
            ("/", "/", Some("")),
            ("/", "/a", None),
            ("/**", "/", Some("")),
            ("/**", "/a/b", Some("")),
            ("/papers/{id}", "/papers/7", Some("id=7")),
            ("/papers/{id}", "/papers/7/", None),
            ("/papers/{id}", "/papers/", None),
            ("/papers/{id}", "/Papers/7", None),
            ("/papers/{id}/**", "/papers/7", Some("id=7")),
            ("/papers/{id}/**", "/papers/7/reviews/1", Some("id=7")),
            ("/papers/{id}/reviews/{n}", "/papers/7/reviews/1", Some("id=7,n=1")),
            ("/papers/*/pdf", "/papers/7/pdf", Some("")),
            ("/papers/*/pdf", "/papers//pdf", None),
            ("/papers/", "/papers/", Some("")),
            ("/papers/", "/papers", None),
        ] {
            assert_eq!(matched(text, path).as_deref(), found, "{text} {path}");
        }
    }

    #[test]
    fn what_is_no_template_is_refused() {
        for text in
            ["", "papers", "/a//b", "/**/a", "/a*", "/{}", "/{a}/{a}", "/{a-b}", "/a%20b", "/../a", "/a?b"]
        {
            assert!(PathTemplate::try_from(text.to_owned()).is_err(), "{text}");
        }
        assert_eq!(template("/{a}/b/{c}/**").names().collect::<Vec<_>>(), ["a", "c"]);
    }
}
