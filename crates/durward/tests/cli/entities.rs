//! `durward serve` with entities of a database: what it says, and that it never says the password.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use durward_testdata::Postgres;

use crate::serve::Running;
use crate::{data, durward, write_secret};

/// How long anything may take: machines that run tests are busy, and what never comes never comes.
const PATIENCE: Duration = Duration::from_secs(60);

/// Files that are gone when dropped.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn metrics(address: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    write!(stream, "GET /metrics HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

#[test]
fn a_database_that_goes_is_told_of_without_its_password() {
    let Some(program) = Postgres::program() else {
        durward_testdata::skip("no PostgreSQL: apt-get install postgresql");
        return;
    };
    let folder = Folder(std::env::temp_dir().join(format!("durward-entities-{}", std::process::id())));
    std::fs::create_dir_all(&folder.0).unwrap();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let settings = ["listen_addresses=127.0.0.1", &format!("port={port}"), "shared_buffers=16MB"];
    let mut database = Postgres::start(&program, &folder.0.join("pg"), &settings).unwrap();
    database.ask("CREATE ROLE ada LOGIN PASSWORD 's3cr3t-word'").unwrap();
    database.demand_passwords().unwrap();
    let config = |password: &str| {
        write_secret(folder.0.join("password"), password);
        let text = format!(
            "policies.path = '{}'\nlog.level = 'trace'\n[[authzen.entities]]\n\
             database = 'postgres://ada@127.0.0.1:{port}/postgres'\npassword_path = 'password'\n\
             query = \"SELECT 'user' AS type, 'ada' AS id\"\n",
            data("wards").display()
        );
        let config = folder.0.join("durward.toml");
        std::fs::write(&config, text).unwrap();
        config.display().to_string()
    };
    let refused = durward(&["serve", "--config", &config("wr0ng-word"), "--listen", "127.0.0.1:0"]).exits(2);
    assert!(refused.stderr.contains("password authentication failed"), "{}", refused.stderr);
    assert!(!refused.stderr.contains("wr0ng-word"), "{}", refused.stderr);
    let running =
        Running::start(&["serve", "--config", &config("s3cr3t-word"), "--listen", "127.0.0.1:0"], "address=");
    database.end();
    let begun = Instant::now();
    while !metrics(running.address()).contains("durward_entities_stale 1") {
        assert!(begun.elapsed() < PATIENCE, "never stale");
        thread::sleep(Duration::from_millis(20));
    }
    let said = running.end_and_read();
    assert!(said.contains("the entities cannot be used; those read before stay"), "{said}");
    assert!(!said.contains("s3cr3t-word"), "{said}");
}
