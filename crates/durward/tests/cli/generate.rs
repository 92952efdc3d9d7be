//! `durward generate`: what is printed lets callers in.

use std::io::{Read, Write};
use std::net::TcpStream;

use crate::durward;
use crate::serve::Running;

/// The rest of the line that begins so.
fn after<'t>(text: &'t str, start: &str) -> &'t str {
    text.lines().find_map(|line| line.strip_prefix(start)).unwrap_or_else(|| panic!("{text}"))
}

/// The setting, to be put into a file.
fn setting(text: &str) -> &str {
    &text[text.find("[[auth.users]]").unwrap()..]
}

fn base64(text: &str) -> String {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for three in text.as_bytes().chunks(3) {
        let bits =
            three.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - three.len()));
        for at in 0..4 {
            let digit = usize::try_from(bits >> (18 - 6 * at) & 63).unwrap();
            out.push(if at <= three.len() { char::from(DIGITS[digit]) } else { '=' });
        }
    }
    out
}

/// The status and the decision.
fn ask(server: &Running, authorization: &str) -> String {
    let body = r#"{"subject":"a","action":"b","resource":"c"}"#;
    let mut stream = TcpStream::connect(server.address()).unwrap();
    let head = format!(
        "POST /api/pdp/decide-once HTTP/1.1\r\nHost: x\r\nAuthorization: {authorization}\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    format!("{} {}", &answer[9..12], answer.split("\r\n\r\n").nth(1).unwrap())
}

#[test]
fn a_server_lets_in_whom_credentials_were_made_for() {
    let key = durward(&["generate", "apikey", "-i", "robots", "-p", "acme"]).exits(0).stdout;
    let login = durward(&["generate", "basic", "-i", "anna"]).exits(0).stdout;
    let (secret, password) =
        (after(&key, "API key, shown only now: "), after(&login, "password, shown only now: "));
    assert!(secret.starts_with("sapl_") && secret.len() == 5 + 10 + 1 + 32, "{secret}");
    // The plain secret is there once, and not in what is pasted.
    assert_eq!((key.matches(secret).count(), login.matches(password).count()), (1, 1));
    assert!(!setting(&key).contains(secret) && setting(&key).contains("tenant = \"acme\"\n"), "{key}");
    assert!(setting(&login).contains("password = \"$argon2id$v=19$m=16384,t=2,p=1$"), "{login}");

    let directory = std::env::temp_dir().join(format!("durward-generate-{}", std::process::id()));
    for (tenant, effect) in [("acme", "permit"), ("default", "deny")] {
        std::fs::create_dir_all(directory.join("policies").join(tenant)).unwrap();
        let policy = format!("policy \"all\" {effect}");
        std::fs::write(directory.join("policies").join(tenant).join("all.sapl"), policy).unwrap();
    }
    let config = directory.join("durward.toml");
    let text = format!(
        "server.listen = '127.0.0.1:0'\npolicies.source = 'directories'\nsapl.http = true\n{}\n{}",
        setting(&key),
        setting(&login)
    );
    std::fs::write(&config, text).unwrap();
    let server = Running::start(&["serve", "--config", &config.display().to_string()], "address=");
    assert_eq!(ask(&server, &format!("Bearer {secret}")), "200 {\"decision\":\"PERMIT\"}");
    assert_eq!(
        ask(&server, &format!("Basic {}", base64(&format!("anna:{password}")))),
        "200 {\"decision\":\"DENY\"}"
    );
    assert!(ask(&server, &format!("Bearer {secret}x")).starts_with("401 "));
    assert!(ask(&server, &format!("Basic {}", base64("anna:password"))).starts_with("401 "));
    drop(server);
    std::fs::remove_dir_all(directory).unwrap();
}

#[test]
fn names_are_made_where_none_are_given_and_never_the_same() {
    let [one, two] = [(), ()].map(|()| durward(&["generate", "apikey"]).exits(0).stdout);
    assert_eq!(after(&one, "id: ").len(), 10);
    assert_ne!(after(&one, "id: "), after(&two, "id: "));
    assert!(!one.contains("tenant"), "{one}");
    assert!(setting(&one).contains(&format!("api_key_id = \"{}\"", after(&one, "id: "))), "{one}");
    for wrong in [&["-i", "a\"b"], &["-i", "a:b"], &["-p", "../x"], &["-p", ".."]] {
        let words: Vec<&str> = ["generate", "basic"].iter().chain(wrong).copied().collect();
        durward(&words).exits(2);
    }
}

#[test]
fn every_command_has_a_man_page() {
    let directory = std::env::temp_dir().join(format!("durward-man-{}", std::process::id()));
    let pages = directory.join("man1");
    durward(&["generate", "man", &pages.display().to_string()]).exits(0);
    let page = |name: &str| std::fs::read_to_string(pages.join(name)).unwrap();
    assert!(page("durward.1").starts_with(".ie") && page("durward.1").contains("durward\\-serve(1)"));
    assert!(page("durward-serve.1").contains("\\-\\-config"));
    assert!(page("durward-generate-completions.1").contains("fish"));
    // A page for each line under `Commands:`.
    let help = durward(&["--help"]).exits(0).stdout;
    let lines =
        help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let starts = lines.filter_map(|line| line.strip_prefix("  ")).filter(|line| !line.starts_with(' '));
    let commands: Vec<&str> = starts.filter_map(|line| line.split_whitespace().next()).collect();
    assert!(commands.contains(&"serve"), "{help}");
    for command in commands {
        assert!(page(&format!("durward-{command}.1")).contains(".TH"), "{command}");
    }
    // A file is no directory.
    let file = pages.join("durward.1").display().to_string();
    let ran = durward(&["generate", "man", &file]).exits(2);
    assert!(ran.stderr.starts_with(&format!("durward: error: cannot write to {file}: ")), "{}", ran.stderr);
    std::fs::remove_dir_all(directory).unwrap();
}

#[test]
fn completions_name_commands_and_flags() {
    for (shell, sign) in
        [("bash", "complete -F _durward"), ("zsh", "#compdef durward"), ("fish", "complete -c durward")]
    {
        let script = durward(&["generate", "completions", shell]).exits(0).stdout;
        assert!(script.contains(sign), "{shell}: {script}");
        for word in ["serve", "decide", "completions", "policies", "explain"] {
            assert!(script.contains(word), "{shell} lacks `{word}`");
        }
    }
    durward(&["generate", "completions", "tcsh"]).exits(2);
}
