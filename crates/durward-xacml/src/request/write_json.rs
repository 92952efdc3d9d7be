//! Writes requests as JSON, for clients of a decision point.

use super::Request;
use crate::json::write::{array, key, member, text};
use crate::json::write_categories;

impl Request {
    /// The request as JSON.
    pub fn to_json(&self) -> String {
        let mut out = String::from("{\"Request\":{");
        for (name, given) in
            [("ReturnPolicyIdList", self.return_policy_ids), ("CombinedDecision", self.combined_decision)]
        {
            key(&mut out, name);
            out.push_str(if given { "true" } else { "false" });
        }
        if let Some(version) = &self.xpath_version {
            member(&mut out, "XPathVersion", version);
        }
        key(&mut out, "Category");
        write_categories(&mut out, &self.categories);
        if !self.multi_requests.is_empty() {
            out.push_str(",\"MultiRequests\":{\"RequestReference\":");
            array(&mut out, &self.multi_requests, |out, reference| {
                out.push_str("{\"ReferenceId\":");
                array(out, &reference.ids, |out, id| text(out, id));
                out.push('}');
            });
            out.push('}');
        }
        out.push_str("}}");
        out
    }
}
