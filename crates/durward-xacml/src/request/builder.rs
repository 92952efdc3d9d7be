//! Requests made in code, by programs that embed the decision point.

use std::sync::Arc;

use durward_ir::Value;
use durward_ir::datatype::Integer;
use smol_str::SmolStr;

use super::identifiers::{self, shared};
use super::{Format, RawContent, Request, Version};

/// Collects attributes category by category; see [`Request::builder`].
#[derive(Clone, Debug, Default)]
pub struct RequestBuilder {
    categories: Vec<Collected>,
    return_policy_ids: bool,
    combined_decision: bool,
}

#[derive(Clone, Debug)]
struct Collected {
    category: SmolStr,
    content: Option<Arc<RawContent>>,
    attributes: Vec<(SmolStr, Vec<Value>, bool)>,
}

/// What may be given as an attribute value.
pub trait IntoValue {
    /// The value, of the data type that fits the Rust type.
    fn into_value(self) -> Value;
}

impl Request {
    /// Starts a request made in code.
    ///
    /// ```
    /// use durward_xacml::request::Request;
    ///
    /// let request = Request::builder().subject("role", "doctor").action("action-id", "read").build();
    /// assert_eq!(request.categories.len(), 2);
    /// ```
    pub fn builder() -> RequestBuilder {
        RequestBuilder::default()
    }
}

impl RequestBuilder {
    /// An attribute of the access subject.
    #[must_use]
    pub fn subject(self, id: &str, value: impl IntoValue) -> RequestBuilder {
        self.attribute(identifiers::ACCESS_SUBJECT, id, value)
    }

    /// An attribute of the resource.
    #[must_use]
    pub fn resource(self, id: &str, value: impl IntoValue) -> RequestBuilder {
        self.attribute(identifiers::RESOURCE, id, value)
    }

    /// An attribute of the action.
    #[must_use]
    pub fn action(self, id: &str, value: impl IntoValue) -> RequestBuilder {
        self.attribute(identifiers::ACTION, id, value)
    }

    /// An attribute of the environment.
    #[must_use]
    pub fn environment(self, id: &str, value: impl IntoValue) -> RequestBuilder {
        self.attribute(identifiers::ENVIRONMENT, id, value)
    }

    /// An attribute of any category. Named again, the attribute gets a further value.
    #[must_use]
    pub fn attribute(mut self, category: &str, id: &str, value: impl IntoValue) -> RequestBuilder {
        let attributes = &mut self.category(category).attributes;
        match attributes.iter_mut().find(|(name, _, _)| name == id) {
            Some((_, values, _)) => values.push(value.into_value()),
            None => attributes.push((shared(id), vec![value.into_value()], false)),
        }
        self
    }

    /// Asks for an attribute given before to be echoed in the result.
    #[must_use]
    pub fn include_in_result(mut self, category: &str, id: &str) -> RequestBuilder {
        let attributes = &mut self.category(category).attributes;
        for (_, _, include) in attributes.iter_mut().filter(|(name, _, _)| name == id) {
            *include = true;
        }
        self
    }

    /// The content of a category, an XML element as text.
    #[must_use]
    pub fn content(mut self, category: &str, xml: &str) -> RequestBuilder {
        let content = RawContent { xml: SmolStr::new(xml), namespaces: Vec::new() };
        self.category(category).content = Some(Arc::new(content));
        self
    }

    /// Asks for the identifiers of the policies that applied.
    #[must_use]
    pub fn return_policy_ids(mut self) -> RequestBuilder {
        self.return_policy_ids = true;
        self
    }

    /// Asks for one combined decision where the request means several.
    #[must_use]
    pub fn combined_decision(mut self) -> RequestBuilder {
        self.combined_decision = true;
        self
    }

    /// The request.
    pub fn build(self) -> Request {
        let mut request = Request::new(Version::V3, Format::Built);
        request.return_policy_ids = self.return_policy_ids;
        request.combined_decision = self.combined_decision;
        for collected in self.categories {
            request.categories.begin_category(collected.category, None);
            if let Some(content) = collected.content {
                request.categories.set_content(content);
            }
            for (id, values, include_in_result) in collected.attributes {
                request.categories.begin_attribute(id, None, include_in_result);
                values.into_iter().for_each(|value| request.categories.push_value(value));
            }
        }
        request
    }

    fn category(&mut self, category: &str) -> &mut Collected {
        let found = self.categories.iter().position(|collected| collected.category == category);
        let index = found.unwrap_or_else(|| {
            let category = shared(category);
            self.categories.push(Collected { category, content: None, attributes: Vec::new() });
            self.categories.len() - 1
        });
        #[expect(clippy::indexing_slicing, reason = "the index was just found or just pushed")]
        &mut self.categories[index]
    }
}

// Texts are equal however they were typed, in code as in messages (XACML 3.0, 7.1.1).
impl IntoValue for Value {
    fn into_value(self) -> Value {
        self.in_normal_form()
    }
}

impl IntoValue for &str {
    fn into_value(self) -> Value {
        Value::text(self)
    }
}

impl IntoValue for String {
    fn into_value(self) -> Value {
        Value::text(self)
    }
}

impl IntoValue for SmolStr {
    fn into_value(self) -> Value {
        Value::Text(self).in_normal_form()
    }
}

impl IntoValue for bool {
    fn into_value(self) -> Value {
        Value::Boolean(self)
    }
}

impl IntoValue for i32 {
    fn into_value(self) -> Value {
        Value::Integer(Integer::Small(i64::from(self)))
    }
}

impl IntoValue for i64 {
    fn into_value(self) -> Value {
        Value::Integer(Integer::Small(self))
    }
}

impl IntoValue for f64 {
    fn into_value(self) -> Value {
        Value::Double(self)
    }
}
