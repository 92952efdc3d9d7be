//! `durward bench opcua`: the experiments of the paper on access control enforcement for OPC UA, and what is promised beside them.
//!
//! | file | holds |
//! |---|---|
//! | `role`, `load` | the processes that are measured, and who makes load beside the measurement |
//! | `world` | these processes, started and found |
//! | `session` | what a client does, step by step |
//! | `connect` | tables 1, 4 and 5, signatures of tokens, decisions |
//! | `access` | table 2, what the gate adds, subscriptions, asking for a right |
//! | `renew` | table 3, renewals, figure 5 |
//! | `crowd` | 1,000 sessions |
//! | `recall` | recalled rights |
//! | `paper` | what the paper prints |
//! | `times`, `report` | what came of it |

mod access;
mod connect;
mod crowd;
mod load;
mod paper;
mod recall;
mod renew;
mod report;
mod role;
mod session;
mod times;
mod world;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use super::application;
use crate::failure::{CommandError, CommandResult, DIFFERENT};
use crate::serve::raise_open_files;
use crate::to_stdout;
use report::OpcuaBenchReport;
use role::ProcessRole;
use world::{BenchGround, BenchProcesses, BenchSetup};

const EXAMPLES: &str = "\
Examples:
  durward bench opcua
  durward bench opcua --json > opcua.json && durward bench report --in opcua.json --out report/
  durward bench opcua --part recall --recalls 10000
  durward bench opcua --quick

Starts a plant, an authorization service and gates as processes of their own, and connects, reads, writes, calls, renews and revokes as
the paper's clients do. All channels: Basic256Sha256, RSA-2048, SignAndEncrypt, over the loopback. Figures of the paper stand beside ours as ratios:
milliseconds of other machines and stacks say nothing here. Exit code 1: an aim was not reached.";

/// Access control for OPC UA: the paper's experiments, the gate, renewals, many sessions, revoked rights
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// What to measure; without it everything
    #[arg(long = "part", value_name = "PART,...", value_enum, value_delimiter = ',')]
    parts: Vec<PartName>,
    /// A short form that shows that everything works; its figures say little, and no aim is judged
    #[arg(long)]
    quick: bool,
    /// How often a right is revoked; without it 1000, or 20 with --quick
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    recalls: Option<u32>,
    /// Print an object instead of tables
    #[arg(long)]
    json: bool,
    /// What a process of this benchmark is to be
    #[arg(long, value_name = "FILE", hide = true, exclusive = true)]
    role: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum PartName {
    /// Tables 1 and 5: connecting without and with a token, at low and high load
    Connect,
    /// Table 2: reads, writes and calls without and with a token
    Access,
    /// Table 3: reads, by how soon tokens end
    Expiry,
    /// Table 4: a slower resource server
    Slow,
    /// Figure 5: activation, by the size of the token
    Size,
    /// RS256, ES256, `EdDSA`
    Algorithms,
    /// What a real decision costs
    Decisions,
    /// Connecting to a server itself, without a gate
    Direct,
    /// What the gate adds to a request, and how many reads a core mediates
    Gate,
    /// What asking for a right costs
    Rights,
    /// Values of subscriptions
    Subscriptions,
    /// Reads while the token is renewed
    Renewal,
    /// 1,000 sessions with renewals every 10 s
    Crowd,
    /// Revoked rights
    Recall,
}

impl PartName {
    /// Whether it takes the processes that most parts share.
    fn is_shared(self) -> bool {
        match self {
            PartName::Connect
            | PartName::Access
            | PartName::Expiry
            | PartName::Size
            | PartName::Gate
            | PartName::Subscriptions
            | PartName::Renewal => true,
            PartName::Slow
            | PartName::Algorithms
            | PartName::Decisions
            | PartName::Direct
            | PartName::Rights
            | PartName::Crowd
            | PartName::Recall => false,
        }
    }
}

/// How much is measured.
#[derive(Clone, Copy, Debug)]
struct BenchScale {
    is_quick: bool,
    recalls: usize,
}

impl BenchScale {
    fn of(self, full: usize, quick: usize) -> usize {
        if self.is_quick { quick } else { full }
    }

    fn seconds(self, full: f64, quick: f64) -> f64 {
        if self.is_quick { quick } else { full }
    }
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> CommandResult {
    if let Some(role) = &arguments.role {
        return read_role(role)?.run();
    }
    raise_open_files();
    let report = application::run(arguments.measure())?;
    to_stdout(&if arguments.json { report.json() } else { report.text() })?;
    let is_judged = !arguments.quick && !report.is_every_aim_reached();
    Ok(if is_judged { ExitCode::from(DIFFERENT) } else { ExitCode::SUCCESS })
}

fn read_role(path: &Path) -> Result<ProcessRole, CommandError> {
    let text = fs::read_to_string(path).map_err(|error| CommandError::unreadable(path, &error))?;
    serde_json::from_str(&text).map_err(|error| CommandError::new(format!("it is no role: {error}")).at(path))
}

impl Arguments {
    fn scale(&self) -> BenchScale {
        let usual = if self.quick { 20 } else { 1_000 };
        let recalls = self.recalls.and_then(|count| usize::try_from(count).ok());
        BenchScale { is_quick: self.quick, recalls: recalls.unwrap_or(usual) }
    }

    fn wants(&self, part: PartName) -> bool {
        self.parts.is_empty() || self.parts.contains(&part)
    }

    async fn measure(&self) -> Result<OpcuaBenchReport, CommandError> {
        let (ground, scale) = (BenchGround::new()?, self.scale());
        let mut report = OpcuaBenchReport { is_quick: self.quick, ..OpcuaBenchReport::default() };
        let mut shared = <PartName as clap::ValueEnum>::value_variants().iter();
        if shared.any(|part| part.is_shared() && self.wants(*part)) {
            self.measure_shared(&ground, scale, &mut report).await?;
        }
        if self.wants(PartName::Slow) {
            connect::table_4(&ground, scale, &mut report).await?;
        }
        if self.wants(PartName::Algorithms) {
            connect::algorithms(&ground, scale, &mut report).await?;
        }
        if self.wants(PartName::Decisions) {
            connect::decisions(&ground, scale, &mut report).await?;
        }
        if self.wants(PartName::Direct) {
            connect::direct(&ground, scale, &mut report).await?;
        }
        if self.wants(PartName::Rights) {
            access::rights(scale, &mut report)?;
        }
        if self.wants(PartName::Crowd) {
            crowd::run(&ground, scale, &mut report).await?;
        }
        if self.wants(PartName::Recall) {
            recall::run(&ground, scale, &mut report).await?;
        }
        Ok(report)
    }

    /// What is measured with one set of processes.
    async fn measure_shared(
        &self,
        ground: &BenchGround,
        scale: BenchScale,
        report: &mut OpcuaBenchReport,
    ) -> Result<(), CommandError> {
        let users = renew::SIZES.map(renew::sized_user).into();
        let world = BenchProcesses::start(ground, &BenchSetup { users, ..BenchSetup::default() }).await?;
        if self.wants(PartName::Connect) {
            connect::tables_1_and_5(&world, scale, report).await?;
        }
        if self.wants(PartName::Access) {
            access::table_2(&world, scale, report).await?;
        }
        if self.wants(PartName::Expiry) {
            renew::table_3(&world, scale, report).await?;
        }
        if self.wants(PartName::Size) {
            renew::figure_5(&world, scale, report).await?;
        }
        if self.wants(PartName::Gate) {
            access::gate(&world, scale, report).await?;
        }
        if self.wants(PartName::Subscriptions) {
            access::subscriptions(&world, scale, report).await?;
        }
        if self.wants(PartName::Renewal) {
            renew::renewal(&world, scale, report).await?;
        }
        Ok(())
    }
}
