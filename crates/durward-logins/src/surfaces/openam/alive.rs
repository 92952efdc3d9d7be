//! `isAlive.jsp`: what load balancers and agents ask of a server before they use it.

use durward_common::surfaces::http::Answer;
use durward_session::Service;
use hyper::StatusCode;

use super::answers::text_of_type;
use super::empty;

/// The page of a server that can take logins; without one, another server is to be asked.
pub(super) fn answer(service: &Service) -> Answer {
    if service.outlook().lack.is_some() {
        return empty(StatusCode::SERVICE_UNAVAILABLE);
    }
    let page = "<html>\n<head><title>Server is ALIVE</title></head>\n<body><h1>Server is ALIVE: </h1></body>\n</html>\n";
    text_of_type("text/html;charset=UTF-8", page)
}
