//! stub
pub struct RequestContent;
