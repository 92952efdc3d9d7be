//! Nodes start, answer, and stop; and what becomes of those that do not.

use std::time::{Duration, Instant};
use std::{env, fs, thread};

use durward_lab::target::{TargetError, TargetPart, TargetSpec};

use super::{command, get, map, name, spec, traces, until};

#[test]
fn nodes_start_answer_and_stop() {
    let spec = TargetSpec {
        env: map(&[("NODE", "{node} of {nodes} at {address}")]),
        files: map(&[("etc/settings", "listen {port}; all {addresses}")]),
        ready: "/up".to_owned(),
        nodes: vec![1, 3],
        ..spec("answer")
    };
    assert_eq!(spec.sweep(), [1, 3]);
    let running = spec.start(3).unwrap();
    let addresses = running.addresses();
    let bare: Vec<&str> = addresses.iter().map(|address| address.strip_prefix("http://").unwrap()).collect();
    assert_eq!(addresses.len(), 3);
    for (number, address) in addresses.iter().enumerate() {
        let wanted = format!("{} of 3 at {}", number + 1, bare[number]);
        assert_eq!(get(address, "/node"), (200, wanted));
        let port = address.rsplit_once(':').unwrap().1;
        assert_eq!(get(address, "/file").1, format!("listen {port}; all {}", bare.join(",")));
    }
    running.check().unwrap();
    let name = name(&running);
    assert!(traces(&name).len() >= 4, "three processes and a directory: {:?}", traces(&name));
    assert!(running.stop().is_empty());
    assert_eq!(traces(&name), Vec::<String>::new());
}

/// Agents on other machines cannot reach the loopback address.
#[test]
fn nodes_listen_where_they_are_told() {
    let spec = TargetSpec {
        host: "127.0.0.2".to_owned(),
        env: map(&[("LISTEN", "{address}")]),
        ready: "/up".to_owned(),
        ..spec("answer")
    };
    let running = spec.start(1).unwrap();
    let address = running.addresses().remove(0);
    assert!(address.starts_with("http://127.0.0.2:") && get(&address, "/up").0 == 200, "{address}");
    drop(running.stop());
    // TEST-NET-1 (RFC 5737) is no address of this machine.
    let error = TargetSpec { host: "192.0.2.1".to_owned(), ..spec }.start(1).unwrap_err();
    assert!(error.to_string().contains("no port of 192.0.2.1 is free"), "{error}");
}

#[test]
fn a_program_that_is_never_ready_is_an_error_in_time() {
    let begun = Instant::now();
    let error = TargetSpec { ready_within_s: 0.5, ..spec("never") }.start(2).unwrap_err();
    assert!(begun.elapsed() < Duration::from_secs(10));
    let text = error.to_string();
    assert!(text.contains("node 1 is not ready") && text.contains("takes no connection"), "{text}");
    assert!(text.contains("it was given 0.5 s"), "{text}");
}

#[test]
fn a_server_that_answers_otherwise_is_not_ready() {
    let error = TargetSpec { ready: "/nothing".to_owned(), ready_within_s: 0.5, ..spec("answer") }
        .start(1)
        .unwrap_err();
    assert!(error.to_string().contains("/nothing answers status 404"), "{error}");
}

#[test]
fn a_program_that_dies_at_once_is_told_with_status_and_log() {
    let file = env::temp_dir().join(format!("durward-lab-test-password-{}", std::process::id()));
    fs::write(&file, "s3cret-word\n").unwrap();
    let name = format!("${{file:{}}}", file.display());
    let error = TargetSpec { env: map(&[("PASSWORD", &name)]), ..spec("die") }.start(1).unwrap_err();
    fs::remove_file(&file).unwrap();
    let TargetError::Died { what, how, log } = &error else { panic!("{error}") };
    assert_eq!((what.as_str(), how.as_str()), ("node 1", "status 3"));
    assert!(log.contains(&"cannot read settings".to_owned()), "{log:?}");
    assert!(log.contains(&format!("password is {name}")), "a secret is hidden: {log:?}");
    assert!(!error.to_string().contains("s3cret"));
}

#[test]
fn a_node_that_dies_later_is_seen() {
    let running = spec("die-later").start(1).unwrap();
    until("the node's end", || running.check().is_err());
    let text = running.check().unwrap_err().to_string();
    assert!(text.contains("node 1 ended: status 7") && text.contains("that is it"), "{text}");
}

#[test]
fn a_program_that_forks_runs_on_and_is_stopped() {
    // The first process ends well; what it left in the background, in a session of its own, is the server.
    for keep in ["\"$@\" &", "setsid \"$@\" &"] {
        let mut words = vec!["sh".to_owned(), "-c".to_owned(), keep.to_owned(), "sh".to_owned()];
        words.extend(command("answer"));
        let running = TargetSpec { command: words, ..spec("answer") }.start(1).unwrap();
        assert_eq!(get(&running.addresses()[0], "/up").0, 200);
        thread::sleep(Duration::from_millis(100));
        running.check().unwrap();
        let name = name(&running);
        running.stop();
        assert_eq!(traces(&name), Vec::<String>::new(), "{keep}");
    }
}

#[test]
fn a_program_that_ignores_sigterm_is_killed() {
    let mut words =
        vec!["sh".to_owned(), "-c".to_owned(), "trap '' TERM; exec \"$@\"".to_owned(), "sh".to_owned()];
    words.extend(command("answer"));
    let running = TargetSpec { command: words, stop_within_s: 0.3, ..spec("answer") }.start(2).unwrap();
    let name = name(&running);
    let begun = Instant::now();
    running.stop();
    let took = begun.elapsed();
    assert!(took >= Duration::from_millis(300) && took < Duration::from_secs(4), "{took:?}");
    assert_eq!(traces(&name), Vec::<String>::new());
}

#[test]
fn programs_that_are_not_there_are_told() {
    let start = |program: &str| {
        TargetSpec { command: vec![program.to_owned()], ..TargetSpec::default() }
            .start(1)
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        start("no-such-program"),
        "node 1 did not start: there is no program `no-such-program` on the PATH"
    );
    assert!(start("/no/such").contains("the program `/no/such` is no file"));
    assert!(start("/etc/passwd").contains("node 1 ended: status 126"), "{}", start("/etc/passwd"));
    let mut wrong = spec("answer");
    wrong.command.push("{prot}".to_owned());
    assert!(
        wrong
            .start(1)
            .unwrap_err()
            .to_string()
            .contains("`target.command`: node 1: `{prot}` means nothing here")
    );
    let error = TargetSpec { env: map(&[("A", "${env.DURWARD_LAB_NOT_SET}")]), ..spec("answer") }
        .start(1)
        .unwrap_err();
    assert!(
        error.to_string().contains("`target.env`: node 1: the environment variable `DURWARD_LAB_NOT_SET`"),
        "{error}"
    );
    assert!(spec("answer").start(0).unwrap_err().to_string().contains("0 nodes were asked for"));
}

#[test]
fn parts_run_before_and_after_and_nodes_know_them() {
    let file = env::temp_dir().join(format!("durward-lab-test-order-{}", std::process::id()));
    let note = |what: &str| {
        let script = format!("echo {what} >> {}", file.display());
        TargetPart { command: ["sh", "-c", &script].map(str::to_owned).to_vec(), ..TargetPart::default() }
    };
    let shared = TargetPart {
        name: "shared".to_owned(),
        stays: true,
        ready: "/up".to_owned(),
        command: command("answer"),
        ..TargetPart::default()
    };
    let running = TargetSpec {
        before: vec![note("first {addresses}"), shared],
        after: vec![
            note("last {shared.address}"),
            TargetPart { command: vec!["false".to_owned()], ..TargetPart::default() },
        ],
        env: map(&[("NODE", "shared at {shared.address}, {shared.data}")]),
        version: vec!["sh".to_owned(), "-c".to_owned(), "echo; echo version 1.2".to_owned()],
        ..spec("answer")
    }
    .start(1)
    .unwrap();
    let (_, told) = get(&running.addresses()[0], "/node");
    let shared = told.strip_prefix("shared at ").unwrap().split(',').next().unwrap().to_owned();
    assert_eq!(get(&format!("http://{shared}"), "/up").0, 200);
    assert_eq!(running.info().version, "version 1.2");
    let (watch, name) = (running.watch(), name(&running));
    let (nodes, parts) = watch.end_with_parts();
    assert_eq!((nodes.len(), parts.len(), parts[0].0.as_str()), (1, 1, "shared"));
    let bare = running.addresses()[0].strip_prefix("http://").unwrap().to_owned();
    let notes = running.stop();
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert!(notes[0].contains("command 2 of `after` ended: status 1"), "{notes:?}");
    assert_eq!(fs::read_to_string(&file).unwrap(), format!("first {bare}\nlast {shared}\n"));
    fs::remove_file(&file).unwrap();
    assert_eq!(traces(&name), Vec::<String>::new());
}

#[test]
fn parts_that_fail_are_told() {
    let part = |script: &str| TargetPart {
        command: ["sh", "-c", script].map(str::to_owned).to_vec(),
        ..TargetPart::default()
    };
    let start = |part| TargetSpec { before: vec![part], ..spec("answer") }.start(1).unwrap_err().to_string();
    let text = start(TargetPart { name: "directory".to_owned(), ..part("echo no disk; exit 4") });
    assert!(text.contains("directory ended: status 4") && text.contains("no disk"), "{text}");
    let text = start(TargetPart { within_s: 0.3, ..part("sleep 100") });
    assert!(text.contains("command 1 of `before` is not ready: it still runs after 0.3 s"), "{text}");
}

#[test]
fn logs_are_kept_where_that_is_asked_for() {
    let logs = env::temp_dir().join(format!("durward-lab-test-logs-{}", std::process::id()));
    let _ = TargetSpec { logs: Some(logs.clone()), ..spec("die") }.start(1).unwrap_err();
    let log = fs::read_to_string(logs.join("1-node-1.log")).unwrap();
    fs::remove_dir_all(&logs).unwrap();
    assert!(log.contains("cannot read settings"), "{log}");
}
