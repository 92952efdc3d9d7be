//! Writes requests as XML, for clients of a decision point.

use std::borrow::Cow;

use super::{RawContent, Request};
use crate::response::write_attributes;
use crate::xml::{CORE3, XmlReader, write};

impl Request {
    /// The request as XML of XACML 3.0.
    pub fn to_xml(&self) -> String {
        let mut out = format!(
            "<Request xmlns=\"{CORE3}\" CombinedDecision=\"{}\" ReturnPolicyIdList=\"{}\">",
            self.combined_decision, self.return_policy_ids
        );
        if let Some(version) = &self.xpath_version {
            out.push_str("<RequestDefaults><XPathVersion>");
            write::text(&mut out, version);
            out.push_str("</XPathVersion></RequestDefaults>");
        }
        write_attributes(&mut out, &self.categories, &[]);
        if !self.multi_requests.is_empty() {
            out.push_str("<MultiRequests>");
            for reference in &self.multi_requests {
                out.push_str("<RequestReference>");
                for id in &reference.ids {
                    out.push_str("<AttributesReference ReferenceId=\"");
                    write::value(&mut out, id);
                    out.push_str("\"/>");
                }
                out.push_str("</RequestReference>");
            }
            out.push_str("</MultiRequests>");
        }
        out.push_str("</Request>");
        out
    }
}

impl RawContent {
    /// The content as a document of its own: the namespaces around it are declared on its root element.
    pub fn standalone(&self) -> Cow<'_, str> {
        if self.namespaces.is_empty() {
            return Cow::Borrowed(&self.xml);
        }
        self.with_namespaces().map_or(Cow::Borrowed(self.xml.as_str()), Cow::Owned)
    }

    fn with_namespaces(&self) -> Option<String> {
        let (name_end, declared) = XmlReader::root_tag(&self.xml)?;
        let (before, after) = self.xml.split_at_checked(name_end)?;
        let mut out = String::with_capacity(self.xml.len() + 64 * self.namespaces.len());
        out.push_str(before);
        for (prefix, uri) in &self.namespaces {
            let name = if prefix.is_empty() { "xmlns".to_owned() } else { format!("xmlns:{prefix}") };
            if !declared.contains(&name.as_str()) {
                out.push(' ');
                out.push_str(&name);
                out.push_str("=\"");
                write::value(&mut out, uri);
                out.push('"');
            }
        }
        out.push_str(after);
        Some(out)
    }
}
