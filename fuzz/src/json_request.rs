//! Requests in JSON: whatever can be read gives the same attributes however often it is walked.

use durward_xacml::request::Request;

pub(crate) fn run(text: &[u8]) {
    if let Ok(request) = Request::from_json(text) {
        let values: usize = request.categories.attributes().map(|attribute| attribute.values().len()).sum();
        assert_eq!(values, request.categories.value_count());
    }
}
