//! Responses in XML: what is read, written and read again means the same.

use durward_xacml::request::Version;
use durward_xacml::response::{Response, differences};

pub(crate) fn run(text: &[u8]) {
    let Ok(response) = Response::from_xml(text) else { return };
    let written = response.to_xml(Version::V3);
    match Response::from_xml(written.as_bytes()) {
        Ok(again) => assert_eq!(differences(&response, &again), Vec::<String>::new(), "{written}"),
        Err(error) => panic!("{error}\n{written}"),
    }
}
