//! Individual requests by the nodes of a resource's content (section 2.2).

use durward_ir::Fault;

use super::Apart;
use crate::request::{AttributeView, Request, identifiers};

/// One individual request for each node that `multiple:content-selector` selects.
pub(super) fn by_content(request: Request, out: &mut Vec<Request>) -> Apart<()> {
    let asks = |attribute: AttributeView<'_>| attribute.id == identifiers::MULTIPLE_CONTENT_SELECTOR;
    if request.categories.attributes().any(asks) {
        return Err(Fault::processing("`multiple:content-selector` is not supported yet"));
    }
    out.push(request);
    Ok(())
}
