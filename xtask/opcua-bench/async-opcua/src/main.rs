//! async-opcua as a server, and as a client that connects again and again: `server PORT FOLDER`, `client URL COUNT FOLDER`.
//! The server says `ready`; the client says the microseconds of each connection, one a line.

use std::time::{Duration, Instant};

use opcua::client::{ClientBuilder, IdentityToken};
use opcua::crypto::SecurityPolicy;
use opcua::server::{ANONYMOUS_USER_TOKEN_ID, ServerBuilder};
use opcua::types::MessageSecurityMode;

/// Connections before the first that counts.
const WARM: usize = 20;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["server", port, folder] => server(port.parse()?, folder).await,
        ["client", url, count, folder] => client(url, count.parse()?, folder).await,
        _ => Err("server PORT FOLDER, or client URL COUNT FOLDER".into()),
    }
}

async fn server(port: u16, folder: &str) -> Result<(), Box<dyn std::error::Error>> {
    let users = [ANONYMOUS_USER_TOKEN_ID];
    let builder = ServerBuilder::new()
        .application_name("peer")
        .application_uri("urn:durward:peer:async-opcua:server")
        .product_uri("urn:durward:peer:async-opcua")
        .create_sample_keypair(true)
        .pki_dir(format!("{folder}/server"))
        .trust_client_certs(true)
        .host("127.0.0.1")
        .port(port)
        .discovery_urls(vec![format!("opc.tcp://127.0.0.1:{port}/")])
        .add_endpoint("none", ("/", SecurityPolicy::None, MessageSecurityMode::None, &users as &[&str]))
        .add_endpoint(
            "secure",
            ("/", SecurityPolicy::Basic256Sha256, MessageSecurityMode::SignAndEncrypt, &users as &[&str]),
        );
    let (server, _handle) = builder.build()?;
    println!("ready");
    server.run().await?;
    Ok(())
}

async fn client(url: &str, count: usize, folder: &str) -> Result<(), Box<dyn std::error::Error>> {
    let mut client = ClientBuilder::new()
        .application_name("peer")
        .application_uri("urn:durward:peer:async-opcua")
        .create_sample_keypair(true)
        .pki_dir(format!("{folder}/client"))
        .trust_server_certs(true)
        .verify_server_certs(false)
        .session_retry_limit(0)
        .client()
        .map_err(|errors| errors.join("; "))?;
    let endpoints = client.get_server_endpoints_from_url(url).await?;
    let secure = |mode| mode == MessageSecurityMode::SignAndEncrypt;
    let endpoint = endpoints.into_iter().find(|endpoint| secure(endpoint.security_mode)).ok_or("no endpoint")?;
    for number in 0..count + WARM {
        let begun = Instant::now();
        let (session, events) = client.connect_to_endpoint_directly(endpoint.clone(), IdentityToken::Anonymous)?;
        let events = events.spawn();
        if !session.wait_for_connection().await {
            return Err("no connection".into());
        }
        let time = begun.elapsed();
        if number >= WARM {
            println!("{}", time.as_micros());
        }
        session.disconnect().await?;
        events.await?;
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    Ok(())
}
