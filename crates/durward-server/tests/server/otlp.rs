//! A collector of OpenTelemetry that is not there. A real one is asked in `cargo xtask clients`.

#[cfg(feature = "otlp")]
use crate::one_way::{Everywhere, ways};
#[cfg(not(feature = "otlp"))]
use crate::support::{DOCTORS_READ, Directory, TestServer};

/// Decisions do not wait; what does not fit is dropped, what cannot be sent is given up, and both are counted.
#[cfg(feature = "otlp")]
#[test]
fn a_collector_that_is_gone_stops_nobody_and_what_is_lost_is_counted() {
    let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let server = Everywhere::new(&format!(
        "otlp.endpoint = 'http://{gone}'\notlp.queue_bytes_max = 10000\notlp.batch_time_ms = 0\n"
    ));
    let items = |signal: &str, result: &str| {
        server
            .server()
            .metric(&format!("durward_otlp_items_total{{signal=\"{signal}\",result=\"{result}\"}}"))
    };
    let lost = |signal: &str| items(signal, "dropped") + items(signal, "failed");
    // Of the login that found out that the server is there.
    let before = || lost("traces");
    server.server().eventually("what came before is lost", |_| before() > 0.0);
    let pdp = &ways()[0];
    for _ in 0..40 {
        assert_eq!(server.ask(pdp, &[]).status, 200);
    }
    server.server().eventually("each line is lost", |_| lost("logs") == 40.0);
    server.server().eventually("each span is lost", |_| lost("traces") >= 80.0);
    assert!(items("traces", "dropped") + items("logs", "dropped") > 0.0, "the queue was full");
    assert!(items("traces", "failed") + items("logs", "failed") > 0.0, "and what was in it is given up");
    assert_eq!((items("traces", "sent"), items("logs", "sent")), (0.0, 0.0));
}

#[cfg(feature = "otlp")]
#[test]
fn addresses_and_fields_that_cannot_be_used_stop_the_start() {
    use crate::support::{DOCTORS_READ, Directory, TestServer};
    for (text, why) in [
        ("otlp.endpoint = 'collector:4318'", "`otlp.endpoint`"),
        ("otlp.endpoint = 'ws://localhost:4318'", "`otlp.endpoint`"),
        ("otlp.endpoint = 'http://localhost:4318/?a=b'", "has a `?`"),
        ("otlp.endpoint = 'http://localhost:4318'\notlp.batch_max = 0", "`otlp.batch_max`"),
        ("otlp.endpoint = 'http://localhost:4318'\notlp.headers_path = '/nowhere'", "`otlp.headers_path`"),
        ("otlp.endpoint = 'http://localhost:4318'\notlp.authorities = '/nowhere'", "`otlp.authorities`"),
    ] {
        let directory = Directory::new();
        directory.write("policies/doctors.xml", DOCTORS_READ);
        let error = match durward_server::Settings::from_toml(text, "t") {
            Err(error) => error.to_string(),
            Ok(_) => {
                TestServer::start_in(directory, text).err().unwrap_or_else(|| panic!("{text}")).to_string()
            }
        };
        assert!(error.contains(why), "{why}: {error}");
    }
    let directory = Directory::new();
    directory.write("policies/doctors.xml", DOCTORS_READ);
    directory.write_secret("headers", "authorization Bearer s3cr3t\n");
    let text = format!(
        "otlp.endpoint = 'http://localhost:4318'\notlp.headers_path = '{}'",
        directory.path("headers").display()
    );
    let error = TestServer::start_in(directory, &text).err().unwrap().to_string();
    assert!(error.contains("line 1 is no `name: value`") && !error.contains("s3cr3t"), "{error}");
}

/// Whoever expects records at a collector must not run without them.
#[cfg(not(feature = "otlp"))]
#[test]
fn a_build_without_it_does_not_start_with_a_collector() {
    let directory = Directory::new();
    directory.write("policies/doctors.xml", DOCTORS_READ);
    let error = TestServer::start_in(directory, "otlp.endpoint = 'http://localhost:4318'").err().unwrap();
    assert!(error.to_string().contains("the feature `otlp`"), "{error}");
}
