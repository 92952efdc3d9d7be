//! `durward lab init`.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use durward_lab::load::{Probe, probe};

use crate::failure::{CommandError, CommandResult, without_number};
use crate::to_stdout;

/// A server that takes longer for one answer is told apart from one that does not answer.
const TIME_MAX: Duration = Duration::from_secs(10);

/// Write a scenario for a server of your own: asks the URL once
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// What is to be measured: `http://127.0.0.1:8080/path`
    #[arg(value_name = "URL", required_unless_present = "schema")]
    url: Option<String>,
    /// Print the JSON Schema of scenarios instead, by which editors complete and check them
    #[arg(long, conflicts_with_all = ["url", "out"])]
    schema: bool,
    /// The scenario to write; one that is there is not overwritten
    #[arg(long, value_name = "FILE", default_value = "lab.toml")]
    out: PathBuf,
}

/// Runs the command.
pub(super) fn run(arguments: &Arguments) -> CommandResult {
    let Some(url) = arguments.url.as_deref().filter(|_| !arguments.schema) else {
        to_stdout(&format!("{:#}\n", durward_lab::scenario::schema()))?;
        return Ok(ExitCode::SUCCESS);
    };
    let probe = probe(url, TIME_MAX).map_err(|error| {
        CommandError::new(error.to_string()).hint("is the server up, and does it speak HTTP there?")
    })?;
    let cannot = |error: std::io::Error| {
        CommandError::new(format!(
            "cannot write {}: {}",
            arguments.out.display(),
            without_number(&error.to_string())
        ))
        .hint("choose another file with `--out FILE`")
    };
    let mut file = OpenOptions::new().write(true).create_new(true).open(&arguments.out).map_err(cannot)?;
    file.write_all(scenario(&probe).as_bytes()).map_err(cannot)?;
    let leave = if probe.is_local { String::new() } else { format!(" --i-may-load {}", probe.host) };
    to_stdout(&format!(
        "{} answered {} in {:.1} ms\nwrote {}; now: durward lab run {}{leave}\n",
        url,
        probe.status,
        probe.time.as_secs_f64() * 1e3,
        arguments.out.display(),
        arguments.out.display()
    ))?;
    Ok(ExitCode::SUCCESS)
}

/// A text of TOML: basic strings are those of JSON, but for DEL.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string().replace('\u{7f}', "\\u007F")
}

fn scenario(probe: &Probe) -> String {
    let server = probe.server.as_deref().map(|server| format!(" ({server})")).unwrap_or_default();
    let media = probe.media.as_deref().unwrap_or("no media type");
    let seen = format!("{} bytes, {media}{server}", probe.body.len()).replace(char::is_control, " ");
    // A `$` with a brace would be a value to fill in.
    let path = quoted(&probe.path.replace("${", "$${"));
    let certificate = if probe.address.starts_with("https://") {
        "\n# [tls]\n# ca = \"ca.pem\"                     # certificates to trust instead of the system's\n# danger_any_certificate = true    # for a test server that signed its own\n"
    } else {
        ""
    };
    format!(
        r#"# A scenario of `durward lab run`. All keys: docs/lab-run.md.
name = {name}
seed = 1                           # the same seed makes the same load

[target]
addresses = [{address}]     # several nodes: several addresses; or start one: command = ["...", "{{port}}"]
{certificate}
[load]
users = [1, 2, 5, 10, 20, 50]      # one point each; each user waits for an answer before the next request
# think = "1s"                     # pause between an answer and the next request
# arrivals = {{ rate = [100, 200] }} # instead of users: so many requests a second, whether or not answers come
warm_up = "2s"                     # not measured; "auto": until rate and latency are level
measure = "5s"
# repeat = 3                       # each point three times: intervals get narrower
timeout = "10s"

[[steps]]
name = "get"
path = {path}
# headers.Authorization = "Bearer ${{env.TOKEN}}"     # secrets come from the environment and are not recorded
# json = {{ name = "user ${{user}}" }}                  # a body makes it a POST
# capture.token = {{ json = "/token" }}               # then ${{token}} in later steps
expect.status = {status}                # when this was written: {seen}

[thresholds]                       # the command exits 1 where one is not kept
errors = "1%"
# p99 = "100ms"
"#,
        name = quoted(&format!("{}{}", probe.host, probe.path)),
        address = quoted(&probe.address),
        status = probe.status,
    )
}
