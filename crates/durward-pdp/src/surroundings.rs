//! What surrounds the attributes of a request: its content, and the way to ask another question about it.

use durward_ir::Value;
use durward_ir::combine::Verdict;
use durward_ir::fault::{Evaluated, Fault};
use durward_ir::program::Selector;
use durward_ir::question::Surroundings;
use durward_xacml::request::{Categories, Request};

use crate::decide::Asking;

/// The surroundings of one individual request.
pub(crate) struct RequestSurroundings<'a> {
    asking: &'a Asking<'a>,
    request: &'a Request,
}

impl<'a> RequestSurroundings<'a> {
    pub(crate) fn new(asking: &'a Asking<'a>, request: &'a Request) -> RequestSurroundings<'a> {
        RequestSurroundings { asking, request }
    }
}

impl Surroundings for RequestSurroundings<'_> {
    fn select(&self, selector: &Selector) -> Evaluated<Vec<Value>> {
        self.asking.contents().select(self.request, selector)
    }

    fn node_count(&self, path: &Value) -> Evaluated<u64> {
        self.asking.contents().node_count(self.request, path)
    }

    fn node_equal(&self, first: &Value, second: &Value) -> Evaluated<bool> {
        self.asking.contents().node_equal(self.request, first, second)
    }

    fn node_match(&self, first: &Value, second: &Value) -> Evaluated<bool> {
        self.asking.contents().node_match(self.request, first, second)
    }

    /// XACML 3.0, A.3.16: the whole of the policies is asked about this request with one category replaced. A nested
    /// decision that is not Permit, for whatever reason, is no permission.
    fn access_permitted(&self, category: &str, attributes: &str) -> Evaluated<bool> {
        // Before anything is read or copied for it.
        self.asking.check_nested()?;
        let replacement = Categories::from_xml_attributes(category, attributes).map_err(|error| {
            Fault::syntax(format!("the second argument of `access-permitted` cannot be read: {error}"))
        })?;
        let Some(wanted) = replacement.find(category) else {
            return Err(Fault::processing(format!(
                "the second argument of `access-permitted` must be the attributes of the category `{category}`"
            )));
        };
        let mut request = Request::new(self.request.version, self.request.format);
        for kept in self.request.categories.iter().filter(|kept| kept.category != category) {
            request.categories.copy_category(kept);
        }
        request.categories.copy_category(wanted);
        Ok(self.asking.nested(&request)?.verdict == Verdict::Permit)
    }

    fn is_spent(&self) -> bool {
        self.asking.is_spent()
    }
}
