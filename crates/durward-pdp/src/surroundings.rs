//! What surrounds the attributes of a request: its content, and the way to ask another question about it.

use durward_ir::Value;
use durward_ir::fault::{Evaluated, Fault};
use durward_ir::program::Selector;
use durward_ir::question::Surroundings;
use durward_xacml::request::Request;

use crate::decide::Asking;

/// How many decisions the function `access-permitted` may ask for within one request, nested ones included
/// (XACML 3.0, A.3.16 asks for a bound).
pub const NESTED_DECISIONS_MAX: u32 = 32;

/// The surroundings of one request.
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
    fn select(&self, _: &Selector) -> Evaluated<Vec<Value>> {
        Ok(Vec::new())
    }
    fn node_count(&self, _: &Value) -> Evaluated<u64> {
        Ok(0)
    }
    fn node_equal(&self, _: &Value, _: &Value) -> Evaluated<bool> {
        Ok(false)
    }
    fn node_match(&self, _: &Value, _: &Value) -> Evaluated<bool> {
        Ok(false)
    }
    fn access_permitted(&self, _: &str, _: &str) -> Evaluated<bool> {
        let _ = (self.asking, self.request);
        Err(Fault::processing("`access-permitted` needs a whole request, and there is none here"))
    }
}
