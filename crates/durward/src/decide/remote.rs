//! `durward decide --remote`: the same questions, to a server.

use std::env;
use std::io::{self, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use durward_files::{SecretReaders, read_secret_text};
use durward_net::client::{Client, ClientError, Credentials, Security, ServerAddress, Settings};
use durward_pdp::sapl::{self, Decision, Subscription};
use tokio::runtime::{self, Runtime};

use super::lines::{self, InputLine, LineAnswerer, LineDecision, LineResult};
use super::{Arguments, code, name_of, subscription};
use crate::failure::{BAD_INPUT, CommandError, CommandResult, SUCCESS, complain, without_number};
use crate::{ignore_closed, to_stdout};

/// Most bytes of a file with credentials.
const CREDENTIALS_BYTES_MAX: u64 = 64 * 1024;

/// Which server, and who asks.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "A server instead of policies (SAPL's protocols)")]
pub(super) struct RemoteArguments {
    /// Ask a server: durward, or a SAPL node
    #[arg(
        long,
        conflicts_with_all = ["policies", "root", "combining", "index", "explain", "format", "attributes", "hierarchy"]
    )]
    pub(super) remote: bool,
    /// The server's address over HTTP, such as https://pdp.example.org; without it and --rsocket, DURWARD_URL
    #[arg(long, value_name = "URL", requires = "remote", conflicts_with = "rsocket")]
    url: Option<String>,
    /// The server's address over RSocket, or the path of a Unix socket, with a `/` in it
    #[arg(long, value_name = "HOST:PORT|PATH", requires = "remote")]
    rsocket: Option<String>,
    /// Encrypt RSocket
    #[arg(long, requires = "rsocket")]
    rsocket_tls: bool,
    /// A bearer token or API key; better in DURWARD_BEARER_TOKEN or --token-file, since all users of a machine see flags
    #[arg(long, value_name = "TOKEN", requires = "remote", group = "credentials")]
    token: Option<String>,
    /// A file with the token or API key
    #[arg(long, value_name = "FILE", requires = "remote", group = "credentials")]
    token_file: Option<PathBuf>,
    /// A name and password; better in DURWARD_BASIC_AUTH, since all users of a machine see flags
    #[arg(long, value_name = "USER:PASSWORD", requires = "remote", group = "credentials")]
    basic_auth: Option<String>,
    /// Trust the certificate authorities of this file (PEM) besides the system's
    #[arg(long, value_name = "FILE", requires = "remote", conflicts_with = "danger_insecure")]
    authorities: Option<PathBuf>,
    /// Accept any certificate, and send credentials unencrypted: an attacker on the network can read and forge everything
    #[arg(long, requires = "remote")]
    danger_insecure: bool,
    /// How long a decision may take
    #[arg(long, value_name = "S", default_value_t = 10.0, value_parser = seconds)]
    timeout: f64,
}

fn seconds(text: &str) -> Result<f64, String> {
    let seconds: f64 = text.parse().map_err(|_| "a number of seconds".to_owned())?;
    if (0.001..=3_600.0).contains(&seconds) {
        Ok(seconds)
    } else {
        Err("between 0.001 and 3600 seconds".to_owned())
    }
}

/// Runs the command.
pub(super) fn run(arguments: &Arguments) -> CommandResult {
    let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
    let client = arguments.remote.client()?;
    let mut remote = RemotePdp { runtime, client };
    match (&arguments.requests, &arguments.expect) {
        (Some(requests), None) => lines::answer(&mut remote, requests),
        (Some(requests), Some(recorded)) => lines::compare(&mut remote, requests, recorded),
        (None, _) => {
            let subscription = match arguments.subscription.read()? {
                Some(subscription) => subscription,
                None => match read_subscription(arguments)? {
                    Ok(subscription) => subscription,
                    Err(problem) => return unanswered(&problem, arguments.error_code()),
                },
            };
            if arguments.watch { remote.watch(&subscription) } else { remote.one(&subscription, arguments) }
        }
    }
}

/// The subscription of a file; `Err` with what is wrong with it.
fn read_subscription(arguments: &Arguments) -> Result<Result<Subscription, String>, CommandError> {
    let path = arguments.request.as_deref().unwrap_or(Path::new("-"));
    let text = super::read(path)?;
    if !subscription::is_one(&text) {
        return Err(CommandError::new(format!("{}: not a subscription", name_of(path))).hint(
            "a server is asked with an object `{\"subject\": ..., \"action\": ..., \"resource\": ...}`",
        ));
    }
    Ok(Subscription::from_json(&text).map_err(|error| format!("{}: {error}", name_of(path))))
}

/// What is not clear is no decision: it is said so, and the exit code says so too.
fn unanswered(problem: &str, code: u8) -> CommandResult {
    to_stdout(&(Decision::plain(sapl::Outcome::Indeterminate).to_json() + "\n"))?;
    complain(problem);
    Ok(ExitCode::from(code))
}

/// A server, asked from a program that waits for it.
struct RemotePdp {
    runtime: Runtime,
    client: Client,
}

impl RemotePdp {
    fn one(&mut self, subscription: &Subscription, arguments: &Arguments) -> CommandResult {
        match self.runtime.block_on(self.client.decide_once(subscription)) {
            Ok(decision) => {
                to_stdout(&(decision.to_json() + "\n"))?;
                let code = if arguments.exit_code { code::of_decision(&decision) } else { SUCCESS };
                Ok(ExitCode::from(code))
            }
            Err(error) => {
                to_stdout(&(Decision::plain(sapl::Outcome::Indeterminate).to_json() + "\n"))?;
                failure(&error).report();
                Ok(ExitCode::from(arguments.error_code()))
            }
        }
    }

    fn watch(&mut self, subscription: &Subscription) -> CommandResult {
        let ended = self.runtime.block_on(async {
            self.client.watch(subscription).await?;
            while let Some(decision) = self.client.next().await? {
                if let Err(error) = writeln_now(&decision.to_json()) {
                    return Ok(Err(error));
                }
            }
            Ok(Ok(()))
        });
        let ended: Result<io::Result<()>, ClientError> = ended;
        match ended {
            // Whoever reads has seen enough.
            Ok(Err(error)) => ignore_closed(Err(error)).map(|()| ExitCode::SUCCESS),
            Ok(Ok(())) => unanswered("the server has ended the stream", BAD_INPUT),
            Err(error) => {
                to_stdout(&(Decision::plain(sapl::Outcome::Indeterminate).to_json() + "\n"))?;
                failure(&error).report();
                Ok(ExitCode::from(BAD_INPUT))
            }
        }
    }
}

fn writeln_now(line: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{line}").and_then(|()| out.flush())
}

impl LineAnswerer for RemotePdp {
    fn answer<'l>(&mut self, line: &'l [u8]) -> Result<LineResult<'l>, CommandError> {
        let unclear = |id, problem| {
            let what = LineDecision::Decision(Decision::plain(sapl::Outcome::Indeterminate));
            LineResult { id, what, problem: Some(problem), explanation: None }
        };
        let line = match InputLine::read(line) {
            Ok(line) => line,
            Err(problem) => return Ok(unclear("null", problem)),
        };
        let id = line.id();
        let Some(subscription) = line.subscription() else {
            return Ok(unclear(id, "there is no `subscription`: a server is asked nothing else".to_owned()));
        };
        let subscription = match Subscription::from_json(subscription.as_bytes()) {
            Ok(subscription) => subscription,
            Err(error) => return Ok(unclear(id, error.to_string())),
        };
        match self.runtime.block_on(self.client.decide_once(&subscription)) {
            Ok(decision) => Ok(LineResult {
                id,
                what: LineDecision::Decision(decision),
                problem: None,
                explanation: None,
            }),
            Err(error) if error.concerns_question_only() => Ok(unclear(id, error.to_string())),
            Err(error) => Err(failure(&error)),
        }
    }
}

/// What went wrong, and a way out.
fn failure(error: &ClientError) -> CommandError {
    let hint = match error {
        ClientError::Settings(message) if message.contains("unencrypted") => {
            "use `https://` or `--rsocket-tls`; `--danger-insecure` sends them all the same"
        }
        ClientError::Settings(_) => "see `durward decide --help`",
        ClientError::Question(_) => "the question is at fault: the server does not take it",
        ClientError::Credentials(_) => {
            "the credentials are at fault, or missing: DURWARD_BEARER_TOKEN, --token-file, DURWARD_BASIC_AUTH"
        }
        ClientError::Busy(_) => "the server has no room now; ask again later",
        ClientError::Server(_) => "the server is at fault, or none that speaks SAPL's protocols is there",
        ClientError::Network(_) => {
            "the server was not reached, or did not answer: is the address right, is it up?"
        }
    };
    CommandError::new(without_number(error.message())).hint(hint)
}

impl RemoteArguments {
    fn client(&self) -> Result<Client, CommandError> {
        let settings = Settings {
            credentials: self.credentials()?,
            answer_time_max: Duration::from_secs_f64(self.timeout),
            authorities: self.authorities.clone(),
            security: if self.danger_insecure { Security::DangerInsecure } else { Security::Verified },
        };
        if self.danger_insecure {
            // Whoever closed standard error does not want to know.
            let _ = writeln!(
                io::stderr(),
                "durward: warning: --danger-insecure: whoever is on the way to the server can read and forge"
            );
        }
        Client::new(self.server_address()?, &settings).map_err(|error| failure(&error))
    }

    fn server_address(&self) -> Result<ServerAddress, CommandError> {
        if let Some(address) = &self.rsocket {
            let read = ServerAddress::rsocket(address, self.rsocket_tls);
            return read.map_err(|error| CommandError::new(format!("--rsocket `{address}`: {error}")));
        }
        let (name, url) = match (&self.url, variable("DURWARD_URL")?) {
            (Some(url), _) => ("--url", url.clone()),
            (None, Some(url)) => ("DURWARD_URL", url),
            (None, None) => {
                return Err(CommandError::new("there is no address of a server")
                    .hint("give `--url URL` or `--rsocket HOST:PORT`, or set DURWARD_URL"));
            }
        };
        // Not repeated: it may hold a password.
        ServerAddress::http(&url).map_err(|error| CommandError::new(format!("{name}: {error}")))
    }

    fn credentials(&self) -> Result<Credentials, CommandError> {
        if let Some(token) = &self.token {
            return Ok(Credentials::Bearer(token.clone()));
        }
        if let Some(path) = &self.token_file {
            return Ok(Credentials::Bearer(read_token(path)?));
        }
        if let Some(pair) = &self.basic_auth {
            return basic("--basic-auth", pair);
        }
        match (variable("DURWARD_BEARER_TOKEN")?, variable("DURWARD_BASIC_AUTH")?) {
            (None, None) => Ok(Credentials::None),
            (Some(token), None) => Ok(Credentials::Bearer(token)),
            (None, Some(pair)) => basic("DURWARD_BASIC_AUTH", &pair),
            (Some(_), Some(_)) => {
                Err(CommandError::new("DURWARD_BEARER_TOKEN and DURWARD_BASIC_AUTH are both set")
                    .hint("a server takes one of them; unset the other"))
            }
        }
    }
}

/// An environment variable that is set to something.
fn variable(name: &str) -> Result<Option<String>, CommandError> {
    match env::var(name) {
        Ok(value) => Ok(Some(value).filter(|value| !value.is_empty())),
        Err(env::VarError::NotPresent) => Ok(None),
        Err(env::VarError::NotUnicode(_)) => Err(CommandError::new(format!("{name} is not UTF-8"))),
    }
}

fn basic(name: &str, pair: &str) -> Result<Credentials, CommandError> {
    let (user, password) = pair.split_once(':').ok_or_else(|| {
        CommandError::new(format!("{name} has no colon"))
            .hint("a name and a password are written `name:password`")
    })?;
    Ok(Credentials::Basic { user: user.to_owned(), password: password.to_owned() })
}

fn read_token(path: &Path) -> Result<String, CommandError> {
    let mut text = String::new();
    if path == Path::new("-") {
        let stdin = io::stdin().lock();
        if !stdin.is_terminal() {
            let read = stdin.take(CREDENTIALS_BYTES_MAX).read_to_string(&mut text);
            read.map_err(|error| CommandError::unreadable(path, &error))?;
        }
    } else {
        text = read_secret_text(path, SecretReaders::OwnerAndGroup, CREDENTIALS_BYTES_MAX)
            .map_err(|error| CommandError::unreadable(path, &error.into()))?;
    }
    Ok(text.trim().to_owned())
}
