//! A policy and a request: whatever both can be read is decided, and every index answers the same.
//!
//! An input is the policy, a line `---`, and the request, in JSON where it begins with `{`, else in XML.

use std::time::{Duration, SystemTime};

use durward_pdp::xacml::request::Version;
use durward_pdp::{IndexKind, Pdp, Request};

const SEPARATOR: &str = "\n---\n";

pub(crate) fn run(input: &[u8]) {
    let input = crate::text(input);
    let Some((policy, request)) = input.split_once(SEPARATOR) else { return };
    let text = request.as_bytes();
    let read = if request.starts_with('{') { Request::from_json(text) } else { Request::from_xml(text) };
    let Ok(request) = read else { return };
    let Some(truth) = answer(policy, &request, IndexKind::Scan) else { return };
    for index in [IndexKind::Bloom, IndexKind::Canonical, IndexKind::Diagram] {
        assert_eq!(answer(policy, &request, index).as_ref(), Some(&truth), "{index}");
    }
}

/// The response, when the policy can be put in force.
fn answer(policy: &str, request: &Request, index: IndexKind) -> Option<String> {
    let noon = || SystemTime::UNIX_EPOCH + Duration::from_secs(12 * 3600);
    let pdp = Pdp::builder().policy("fuzz.xml", policy).clock(noon).index(index).build().ok()?;
    Some(pdp.decide(request).to_xml(Version::V3))
}
