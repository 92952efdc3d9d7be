//! What scenarios are refused, and in which words.

use super::*;

const GOOD: &str = r#"
[target]
addresses = ["http://127.0.0.1:1"]
[load]
users = 5
[[steps]]
name = "login"
path = "/login"
json = { user = "${data.users.name}" }
capture.token = { json = "/token" }
only_if = "!token"
[[steps]]
path = "/check"
headers.Authorization = "Bearer ${token}"
[data.users]
file = "users.csv"
"#;

fn error(from: &str, to: &str) -> String {
    assert!(GOOD.contains(from), "{from}");
    Scenario::read(&GOOD.replacen(from, to, 1)).unwrap_err().to_string()
}

#[test]
fn a_good_scenario_is_read() {
    let scenario = Scenario::read(GOOD).unwrap();
    assert_eq!((scenario.load.users.0.as_slice(), scenario.seed), ([5].as_slice(), 1));
    let names: Vec<String> = scenario.all_steps().iter().map(|(_, step)| step.label()).collect();
    assert_eq!(names, ["login", "GET /check"]);
}

#[test]
fn errors_tell_line_key_and_a_way_out() {
    let table = [
        ("users = 5", "usesr = 5", "line 5: `usesr` is unknown; did you mean `users`?"),
        ("users = 5", "balance = \"stiky\"", "line 5: `stiky` is unknown; did you mean `sticky`?"),
        ("users = 5", "think = \"1 year\"", "line 5: `1 year` is no time: write `250ms`, `1.5s` or `2m`"),
        ("users = 5", "users = 0", "`load.users` is a number from 1 to 1000000"),
        ("users = 5", "", "`load.users` is missing: say `users = 10`, or `arrivals = { rate = 100 }`"),
        ("users = 5", "users = -5", "line 5: invalid value: integer `-5`, expected a whole number from 0 on"),
        (
            "users = 5",
            "arrivals = { rate = 1, burst = 2 }",
            "`load.arrivals` says one of `rate`, `steps`, `burst` and `replay`",
        ),
        ("users = 5", "arrivals = { rate = 1, bursts = 2 }", "`load.arrivals.bursts` is for `burst`"),
        ("users = 5", "arrivals = { burst = 1, bursts = 0 }", "`load.arrivals.bursts` must be above 0"),
        (
            "users = 5",
            "users = 5\npace = \"1s\"\nthink = \"1s\"",
            "`load.pace` and `think` exclude each other",
        ),
        (
            "capture.token",
            "capture.tokn",
            "line 6: `login` needs `token`, which no step captures; did you mean `tokn`?",
        ),
        (
            "data.users.name",
            "data.usrs.name",
            "line 6: `login` refers to `data.usrs`, which is not there; did you mean `users`?",
        ),
        (
            "path = \"/check\"",
            "path = \"check\"",
            "line 12: `GET check` has the path `check`, which does not begin with `/`",
        ),
        (
            "Bearer ${token}",
            "Bearer ${token",
            "line 12: `GET /check` has a text in which `${token` lacks its closing brace",
        ),
        (
            "headers.Authorization",
            "headers.Host",
            "line 12: `GET /check` sets the header `Host`, which the generator writes itself",
        ),
        (
            "path = \"/check\"",
            "use = \"durward-lgin\"",
            "line 12: `durward-lgin` is unknown; did you mean `durward-login`?",
        ),
        ("path = \"/check\"", "use = \"durward-login\"", "line 12: `durward-login` needs `with.user`"),
        (
            "path = \"/check\"",
            "name = \"login\"\npath = \"/check\"",
            "line 12: `login` is the name of two steps; give one of them another `name`",
        ),
        (
            "[data.users]",
            "[thresholds]\nerrors = 1\n[data.users]",
            "line 15: threshold `errors` is a share such as \"1%\"",
        ),
        (
            "[data.users]",
            "[thresholds.steps.lgin]\nmax = \"1s\"\n[data.users]",
            "`thresholds.steps.lgin` names no step; did you mean `login`?",
        ),
    ];
    for (from, to, expected) in table {
        assert_eq!(error(from, to), expected, "{to}");
    }
}

#[test]
fn thresholds_are_read() {
    let scenario = GOOD.to_owned()
        + "[thresholds]\n\"p99.9\" = \"50ms\"\nerrors = \"1%\"\nrate = 1000\nsteps.login.max = \"2s\"\n";
    let thresholds = Scenario::read(&scenario).unwrap().thresholds;
    let said: Vec<String> =
        thresholds.all.iter().chain(&thresholds.steps["login"]).map(ToString::to_string).collect();
    assert_eq!(said, ["errors <= 1%", "p99.9 <= 50ms", "rate >= 1000/s", "max <= 2s"]);
}

#[test]
fn what_is_varied_makes_curves() {
    let scenario = GOOD.to_owned() + "[vary]\nlogout = [0, 5]\nsize = [\"s\", \"l\"]\n";
    let variants = Scenario::read(&scenario).unwrap().variants();
    let labels: Vec<&str> = variants.iter().map(|(label, _)| label.as_str()).collect();
    assert_eq!(labels, ["logout 0, size s", "logout 0, size l", "logout 5, size s", "logout 5, size l"]);
    assert_eq!(variants[2].1["logout"], "5");
}

#[test]
fn every_built_in_step_is_a_request() {
    for (name, must, _) in BUILT_INS {
        let with: Vec<String> = must.iter().map(|key| format!("{key} = \"x\"")).collect();
        let login = "[[steps]]\nuse = \"durward-login\"\nwith = { user = \"a\", password = \"b\" }\nname = \"before\"";
        let step = format!("[[steps]]\nuse = \"{name}\"\nwith = {{ {} }}", with.join(", "));
        let text = format!("[load]\nusers = 1\n{login}\n{step}");
        let scenario = Scenario::read(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        let steps = scenario.all_steps();
        let has_path = steps[1].1.path.as_deref().is_some_and(|path| path.starts_with('/'));
        assert!(has_path != steps[1].1.rsocket.is_some(), "{name}");
        assert_eq!((steps[1].1.method(), steps[1].1.label()), ("POST", (*name).to_owned()));
    }
}

#[test]
fn a_step_of_ones_own_comes_before_the_built_in_one() {
    let text = "[load]\nusers = 1\n[[steps]]\nuse = \"openam-login\"\nwith = { user = \"u ${user}\", password = \"p&\", base = \"/am\" }\nexpect.status = 200";
    let scenario = Scenario::read(text).unwrap();
    let step = scenario.all_steps()[0].1;
    assert_eq!(step.path.as_deref(), Some("/am/identity/authenticate?username=u%20${user}&password=p%26"));
    assert_eq!(step.expect.status.0, [200]);
}
