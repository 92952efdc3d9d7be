//! Connections, and what is asked over them: TLS as it is offered (`tls::Acceptor`) and as it is wanted (`tls::Connector`), addresses
//! (`url`), connections to services (`connect`), requests over HTTP (`http`), a client of SAPL's protocols
//! (`client`), and the trace that goes along (`trace`).
//!
//! One of each: whoever asks somebody over the network does it with these. What is asked, and what follows from the answer, is for
//! callers to say. Needs a runtime of tokio with I/O and time.

pub mod client;
pub mod connect;
pub mod http;
pub mod tls;
pub mod trace;
pub mod url;
