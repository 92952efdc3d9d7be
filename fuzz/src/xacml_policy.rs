//! Policy text: whatever can be read is lowered, and neither panics, hangs or recurses without end.

use durward_xacml_policies::lower::{Options, lower};
use durward_xacml_policies::policy::{Limits, read_policy};

pub(crate) fn run(text: &[u8]) {
    match read_policy("fuzz.xml", text, &Limits::default()) {
        Ok(document) => {
            let _ = lower(&[document], &Options::default());
        }
        Err(problems) => assert!(!problems.is_empty(), "refused without a reason"),
    }
}
