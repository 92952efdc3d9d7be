//! A new process takes the place of an old one, and nobody who asks notices.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::command;
use crate::serve::Running;

/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(60);

const SERVE: [&str; 3] = ["serve", "--policies", "roots"];

/// One request over a connection of its own; what was answered.
fn ask(address: SocketAddr) -> std::io::Result<String> {
    let body = r#"{"Request": {"Action": {}}}"#;
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let request = format!(
        "POST /pdp HTTP/1.1\r\nHost: x\r\nContent-Type: application/xacml+json\r\nConnection: close\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

#[test]
fn no_request_fails_while_processes_take_turns() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (is_over, asked, begun) = (AtomicBool::new(false), AtomicUsize::new(0), Instant::now());
    let client = || {
        while !is_over.load(Ordering::Relaxed) && begun.elapsed() < PATIENCE {
            let answer = ask(address).unwrap();
            assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
            asked.fetch_add(1, Ordering::Relaxed);
        }
    };
    let wait_for_more = || {
        let before = asked.load(Ordering::Relaxed);
        while asked.load(Ordering::Relaxed) < before + 20 && begun.elapsed() < PATIENCE {
            thread::sleep(Duration::from_millis(5));
        }
    };
    thread::scope(|scope| {
        let clients: Vec<_> = (0..4).map(|_| scope.spawn(client)).collect();
        let mut running = Running::on(&listener, &SERVE, "address=");
        assert_eq!(running.address(), address.to_string());
        for _ in 0..3 {
            wait_for_more();
            let next = Running::on(&listener, &SERVE, "address=");
            wait_for_more();
            assert_eq!(running.end(), Some(0));
            running = next;
        }
        wait_for_more();
        is_over.store(true, Ordering::Relaxed);
        for client in clients {
            client.join().unwrap();
        }
        assert_eq!(running.end(), Some(0));
    });
    assert!(asked.load(Ordering::Relaxed) > 100);
}

/// Connections that come while no process is there wait for the next one.
#[test]
fn a_request_waits_for_the_process_that_answers_it() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::scope(|scope| {
        let early = scope.spawn(|| ask(address).unwrap());
        let running = Running::on(&listener, &SERVE, "address=");
        let answer = early.join().unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        assert_eq!(running.end(), Some(0));
    });
}

#[test]
fn what_is_no_socket_is_said_to_be_none() {
    let mut serve = command(&SERVE);
    // Standard error is a pipe.
    serve.env("LISTEN_FDS", "1").env("LISTEN_FDS_FIRST_FD", "2");
    let ran = crate::ran(serve.output().unwrap()).exits(2);
    let message = "a socket that was passed (LISTEN_FDS) cannot be used: fd 2 is not a socket";
    assert!(ran.stderr.contains(message), "{}", ran.stderr);
}
