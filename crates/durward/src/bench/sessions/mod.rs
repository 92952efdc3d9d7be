//! `durward bench sessions`: what logins, validations and logouts cost, at one node or several.

mod place;
mod row;
mod table;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use durward_bench::Bare;
use durward_bench::sessions::{
    LoginFlood, LogoutDelays, SessionBenchError, SessionLoad, SessionMeasurement, SessionMemory,
    ValidationMeasurement, flood, login, logouts, memory, mix, validate, validation_body,
};

use super::node::{CoreSplit, cores};
use super::seconds;
use crate::failure::{CommandError, CommandResult, DIFFERENT, complain};
use crate::to_stdout;
use place::{LoginQueueTime, PasswordHashing, SessionBenchNodes};

const EXAMPLES: &str = "\
Examples:
  durward bench sessions
  durward bench sessions --measure memory --sessions 1000000
  durward bench sessions --measure validate,logout --nodes 3 --mode assured-write --nats nats://127.0.0.1:4222
  durward bench sessions --at http://10.0.0.1:8080 --at http://10.0.0.2:8080 --logins people.jsonl

Without --at, nodes are started for each measurement, with people of their own, one worker each, and pinned to one core
(by `taskset`), the load to the other. Validations are measured beside those of a bare server of the same HTTP library,
on the same core in turns. As many people as --users wait for an answer at any moment; each request goes to any node.
Passwords are hashed at next to no cost, so that sessions are measured and not Argon2id, which bounds logins: those are
measured both ways, and a flood with Argon2id. Answers that are wrong are not counted as speed, and end in exit code 1.";

/// People that a node of its own knows beside those who are needed.
const PEOPLE: usize = 1_000;

/// Connections on which sessions are made by the million.
const MANY_CONNECTIONS: usize = 64;

/// Sessions over the network: logins, validations, the study's mix, a flood of logins, logouts, memory
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// What to measure; without it validate, login, mix and flood
    #[arg(long, value_name = "WHAT,...", value_enum, value_delimiter = ',')]
    measure: Vec<SessionMeasure>,
    /// A node that is running, `http://host:port`; may be repeated
    #[arg(long, value_name = "URL", requires = "logins")]
    at: Vec<String>,
    /// The process of such a node on this machine, to see what it takes; may be repeated
    #[arg(long, value_name = "PID", requires = "at")]
    pid: Vec<u32>,
    /// Start a node with these settings
    #[arg(long, value_name = "FILE", conflicts_with = "at", requires = "logins")]
    config: Option<PathBuf>,
    /// Who can log in there, one JSON object with `user` and `password` per line
    #[arg(long, value_name = "FILE.jsonl")]
    logins: Option<PathBuf>,
    /// How many nodes to start; several need --nats
    #[arg(long, value_name = "N", default_value_t = 1, conflicts_with_all = ["at", "config"])]
    #[arg(value_parser = clap::value_parser!(u8).range(1..=16))]
    nodes: u8,
    /// What they promise: `identity.mode`
    #[arg(long, value_enum, default_value_t = SessionModeName::None, conflicts_with_all = ["at", "config"])]
    mode: SessionModeName,
    /// A NATS server that they share sessions over; may be repeated. With three or more, three keep copies
    #[arg(long, value_name = "URL", conflicts_with_all = ["at", "config"])]
    nats: Vec<String>,
    /// How many users wait for an answer at any moment; several numbers are measured one after the other
    #[arg(long, value_name = "N,...", value_delimiter = ',', default_values_t = [8, 32, 128])]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=10_000))]
    users: Vec<u16>,
    /// How many sessions to look at the memory of
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    sessions: u32,
    /// How many sessions a person has of these
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    sessions_each: u32,
    /// How many logouts to wait for on other nodes
    #[arg(long, value_name = "N", default_value_t = 500, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    logouts: u32,
    /// How many of a hundred requests in a session are logouts in the mix
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u8).range(0..=100))]
    logout_percent: u8,
    /// How long each figure is measured
    #[arg(long, value_name = "S", default_value_t = 5.0, value_parser = seconds)]
    seconds: f64,
    /// The cores of the nodes and of the load; `none` pins nothing
    #[arg(long, value_name = "SERVER,LOAD", default_value = "0,1", value_parser = cores)]
    cores: CoreSplit,
    /// Print an object instead of tables
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum SessionMeasure {
    /// Validations a second
    Validate,
    /// Logins a second
    Login,
    /// Logins, validations and logouts, as the study had them
    Mix,
    /// Validations while ten times as many log in as can
    Flood,
    /// How long after its logout a session is accepted on other nodes
    Logout,
    /// What a session takes of memory
    Memory,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum SessionModeName {
    /// Sessions die with the nodes
    None,
    /// Logins and logouts are stored behind the answer
    BestEffort,
    /// They are answered when they are stored
    AssuredWrite,
    /// And validations see all that were answered before
    AssuredRead,
}

impl SessionModeName {
    fn name(self) -> &'static str {
        match self {
            SessionModeName::None => "none",
            SessionModeName::BestEffort => "best-effort",
            SessionModeName::AssuredWrite => "assured-write",
            SessionModeName::AssuredRead => "assured-read",
        }
    }
}

/// Something measured with so many users at once.
struct AtUserCount<T> {
    users: u16,
    measured: T,
}

/// All that was measured.
#[derive(Default)]
struct SessionBenchReport {
    validate: Vec<AtUserCount<ValidationMeasurement>>,
    login: Vec<(Option<PasswordHashing>, AtUserCount<SessionMeasurement>)>,
    mix: Vec<AtUserCount<SessionMeasurement>>,
    flood: Option<AtUserCount<LoginFlood>>,
    logouts: Option<LogoutDelays>,
    memory: Option<SessionMemory>,
}

/// Runs the command.
pub(super) fn run(arguments: &Arguments) -> CommandResult {
    let mut report = SessionBenchReport::default();
    let usual = [SessionMeasure::Validate, SessionMeasure::Login, SessionMeasure::Mix, SessionMeasure::Flood];
    let wanted = if arguments.measure.is_empty() { &usual } else { &*arguments.measure };
    for measure in wanted {
        report.measure(*measure, arguments)?;
    }
    let text = if arguments.json { row::of(&report, arguments) } else { table::of(&report, arguments) };
    to_stdout(&text)?;
    let wrong = report.wrong();
    for what in &wrong {
        complain(format_args!("{what}"));
    }
    Ok(if wrong.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(DIFFERENT) })
}

impl SessionBenchReport {
    fn measure(&mut self, measure: SessionMeasure, arguments: &Arguments) -> Result<(), CommandError> {
        match measure {
            SessionMeasure::Validate => self.measure_validate(arguments),
            SessionMeasure::Login => self.measure_login(arguments),
            SessionMeasure::Mix => {
                let place =
                    SessionBenchNodes::open(arguments, PasswordHashing::Cheap, LoginQueueTime::Long, PEOPLE)?;
                for users in &arguments.users {
                    let measured = mix(&place.site(), &arguments.load(*users), arguments.logout_percent);
                    self.mix.push(AtUserCount { users: *users, measured: measured.map_err(failure)? });
                }
                Ok(())
            }
            SessionMeasure::Flood => {
                let place = SessionBenchNodes::open(
                    arguments,
                    PasswordHashing::Argon2id,
                    LoginQueueTime::Usual,
                    PEOPLE,
                )?;
                let users = arguments.users.iter().copied().max().unwrap_or(1).min(32);
                let measured = flood(&place.site(), &arguments.load(users)).map_err(failure)?;
                self.flood = Some(AtUserCount { users, measured });
                Ok(())
            }
            SessionMeasure::Logout => {
                let place =
                    SessionBenchNodes::open(arguments, PasswordHashing::Cheap, LoginQueueTime::Long, PEOPLE)?;
                let count = usize::try_from(arguments.logouts).unwrap_or(usize::MAX);
                self.logouts = Some(logouts(&place.site(), count).map_err(failure)?);
                Ok(())
            }
            SessionMeasure::Memory => {
                let people = arguments.sessions.div_ceil(arguments.sessions_each);
                let people = usize::try_from(people).unwrap_or(usize::MAX);
                let place =
                    SessionBenchNodes::open(arguments, PasswordHashing::Cheap, LoginQueueTime::Long, people)?;
                let sessions = usize::try_from(arguments.sessions).unwrap_or(usize::MAX);
                self.memory = Some(memory(&place.site(), sessions, MANY_CONNECTIONS).map_err(failure)?);
                Ok(())
            }
        }
    }

    fn measure_validate(&mut self, arguments: &Arguments) -> Result<(), CommandError> {
        let place = SessionBenchNodes::open(arguments, PasswordHashing::Cheap, LoginQueueTime::Long, PEOPLE)?;
        let body = validation_body(&place.site()).map_err(failure)?;
        arguments.cores.pin_server();
        let bare = Bare::start(&body)?;
        arguments.cores.pin_load();
        for users in &arguments.users {
            let measured = validate(&place.site(), &arguments.load(*users), Some(&bare));
            self.validate.push(AtUserCount { users: *users, measured: measured.map_err(failure)? });
        }
        Ok(())
    }

    fn measure_login(&mut self, arguments: &Arguments) -> Result<(), CommandError> {
        let is_own = arguments.at.is_empty() && arguments.config.is_none();
        let hashes: &[PasswordHashing] = if is_own {
            &[PasswordHashing::Argon2id, PasswordHashing::Cheap]
        } else {
            &[PasswordHashing::Argon2id]
        };
        for hash in hashes {
            let place = SessionBenchNodes::open(arguments, *hash, LoginQueueTime::Long, PEOPLE)?;
            for users in &arguments.users {
                let measured = login(&place.site(), &arguments.load(*users)).map_err(failure)?;
                self.login.push((is_own.then_some(*hash), AtUserCount { users: *users, measured }));
            }
        }
        Ok(())
    }

    /// What was answered wrongly, in words.
    fn wrong(&self) -> Vec<String> {
        let validate = self.validate.iter().map(|with| ("validate", &with.measured.nodes));
        let bare = self.validate.iter().filter_map(|with| Some(("bare", with.measured.bare.as_ref()?)));
        let login = self.login.iter().map(|(_, with)| ("login", &with.measured));
        let mix = self.mix.iter().map(|with| ("mix", &with.measured));
        let flood = self.flood.iter().flat_map(|with| [&with.measured.calm, &with.measured.flooded]);
        let all = validate.chain(bare).chain(login).chain(mix).chain(flood.map(|one| ("flood", one)));
        let mut wrong: Vec<String> = all
            .filter(|(_, one)| one.failed() > 0)
            .map(|(name, one)| {
                let example = one.wrong.as_ref().map_or_else(String::new, |wrong| format!(": {wrong}"));
                format!("{name}: {} requests were answered wrongly or not at all{example}", one.failed())
            })
            .collect();
        let failed = self.flood.as_ref().map_or(0, |with| with.measured.logins_failed);
        if failed > 0 {
            wrong.push(format!(
                "flood: {failed} logins were answered neither 200 nor 429 nor 503, or not at all"
            ));
        }
        wrong
    }
}

impl Arguments {
    fn load(&self, users: u16) -> SessionLoad {
        SessionLoad { users: usize::from(users), duration: Duration::from_secs_f64(self.seconds) }
    }
}

fn failure(error: SessionBenchError) -> CommandError {
    let hint = match &error {
        SessionBenchError::NoPeople => "see `--logins`",
        SessionBenchError::Connection(_) => "is the node up, and does it take so many connections?",
        SessionBenchError::Nonsense(_) => "does durward listen there, without TLS?",
        SessionBenchError::Wrong(_) | SessionBenchError::NoAnswers => {
            "are there users (`[identity]`), are they those of `--logins`, and without a second step?"
        }
        SessionBenchError::OneNode => "see `--nodes` and `--at`",
        SessionBenchError::NotSeen { .. } => "do the nodes share a store, and the cluster's secret?",
        SessionBenchError::NoProcess => "see `--pid`; only Linux tells it",
    };
    CommandError::new(crate::failure::without_number(&error.to_string())).hint(hint)
}
