//! What docs/authzen.md says is answered so.

use std::fs;

use super::world::OPEN;
use crate::support::{Directory, TestServer, workspace};

/// The path and the body of a `curl` line.
fn question(block: &str) -> Option<(String, String)> {
    let (_, rest) = block.split_once("curl -s http://127.0.0.1:8080")?;
    let (path, rest) = rest.split_once(' ')?;
    let (_, body) = rest.split_once("-d '")?;
    Some((path.to_owned(), body.rsplit_once('\'')?.0.to_owned()))
}

/// Blocks of the page: their kind and their text.
fn blocks(page: &str) -> Vec<(&str, &str)> {
    let parts = page.split("\n```").skip(1).step_by(2);
    parts.map(|block| block.split_once('\n').unwrap()).collect()
}

/// Files that a shell would write: `cat > NAME <<'END'`.
fn files(block: &str) -> Vec<(&str, &str)> {
    let texts = block.split("cat > ").skip(1);
    texts
        .map(|text| {
            let (name, text) = text.split_once(" <<'END'\n").unwrap();
            (name, text.split_once("END\n").unwrap().0)
        })
        .collect()
}

fn demo(directory: &Directory) -> String {
    for name in ["conference.xml", "hospital.xml", "pdp.json", "ward.sapl"] {
        let path = workspace(&format!("crates/durward/policies/demo/{name}"));
        directory.write(&format!("policies/{name}"), &fs::read_to_string(path).unwrap());
    }
    "authzen.language = 'xacml'\n".to_owned()
}

fn tools(directory: &Directory) -> String {
    for (from, to) in [
        ("tools.sapl", "policies/tools.sapl"),
        ("pdp.json", "policies/pdp.json"),
        ("entities.jsonl", "entities.jsonl"),
    ] {
        let path = workspace(&format!("crates/durward/policies/mcp/{from}"));
        directory.write(to, &fs::read_to_string(path).unwrap());
    }
    let path = directory.path("entities.jsonl").display().to_string();
    format!(
        "[authzen]\ntypes_elsewhere = ['identity']\nstored_properties = 'override'\nentities = [{{ path = '{path}' }}]\n"
    )
}

fn start(prepare: impl FnOnce(&Directory) -> String) -> TestServer {
    let directory = Directory::new();
    let settings = prepare(&directory);
    TestServer::start_in(directory, &format!("{OPEN}{settings}")).unwrap()
}

#[test]
fn every_line_of_the_manual_is_answered_as_it_says() {
    let page = fs::read_to_string(workspace("docs/authzen.md")).unwrap();
    let blocks = blocks(&page);
    let papers = blocks.iter().find(|(_, text)| text.contains("cat > policies/papers.sapl")).unwrap().1;
    let servers = [
        start(demo),
        start(|directory| {
            let mut settings = String::new();
            for (name, text) in files(papers) {
                directory.write(name, text);
                if name == "durward.toml" {
                    settings =
                        text.replace("path = \"", &format!("path = \"{}/", directory.path("").display()));
                }
            }
            settings
        }),
        start(tools),
    ];
    let mut count = 0;
    for pair in blocks.windows(2) {
        let [(kind, text), (_, answer)] = pair else { continue };
        let Some((path, body)) = question(text).filter(|_| *kind == "sh") else { continue };
        let server = match &text {
            text if text.contains("tools/call") => &servers[2],
            text if text.contains("\"paper\", \"id\": \"p2\"") || text.contains("{\"type\": \"paper\"}") => {
                &servers[1]
            }
            _ => &servers[0],
        };
        let reply = server.send("POST", &path, &[("Content-Type", "application/json")], body.as_bytes());
        assert_eq!((reply.status, reply.text().trim()), (200, answer.trim()), "{text}");
        count += 1;
    }
    assert_eq!(count, 7);
}
