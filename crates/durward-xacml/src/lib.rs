//! XACML: requests and responses, as XML (3.0, 2.0) and JSON (profile 1.1).

pub mod request;
pub mod response;
mod xml;
