//! `durward users`: who may log in, in the file that `identity.users` names.
//!
//! A server that runs takes in what was changed within a second, and before the next login.

pub(crate) mod password;
mod second_step;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use durward_server::{IdentitySettings, read_cluster_secret};
use durward_session::ResetLinks;
use durward_session::identity::passkey::Passkeys;
use durward_session::identity::session::User;
use durward_session::identity::user::{Account, AccountLink, Directory, ImportLine, Password, UserStore};
use durward_session::identity::{IdentityError, Moment, SystemEntropy};

use crate::failure::{CommandError, CommandResult, without_number};
use crate::serve::{clock, read_settings};
use crate::to_stdout;
use second_step::SecondStepArguments;

const EXAMPLES: &str = "\
Examples:
  durward users add anna --users users.journal --group staff
  durward users add root --users users.journal --group administrators --password-file secret.txt
  durward users passwd anna
  durward users passwd anna --must-change --password-file first.txt
  durward users reset-link anna
  durward users import accounts.jsonl
  durward users second-step anna
  durward users second-step anna --remove
  durward users passkeys anna
  durward users passkeys anna --remove 4f1c2a9b77e0d135
  durward users link anna --issuer https://idp.example.org --subject 4711
  durward users list

Passwords are asked for on the terminal, or read from standard input or a file, never from the command line. Without
--users, the file is the one that durward.toml names as `identity.users`. A running server applies changes
by itself, within a second: users who are disabled, removed or given another password lose their sessions.";

/// Add, list, change and import users
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, subcommand_required = true, arg_required_else_help = true)]
#[command(disable_help_subcommand = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    what: UsersCommand,
}

#[derive(Debug, clap::Subcommand)]
enum UsersCommand {
    /// Add a user, with a password
    Add(AddArguments),
    /// List the users
    List(UserDirectoryArguments),
    /// Keep a user from logging in; their sessions end
    Disable(NamedUser),
    /// Let a user log in again
    Enable(NamedUser),
    /// Remove a user; their sessions end
    Remove(NamedUser),
    /// Give a user another password; their sessions end
    Passwd(PasswdArguments),
    /// Require another password at a user's next login; their sessions go on
    MustChange(MustChangeArguments),
    /// Print a link by which a user chooses a password, good once: see `[identity.reset]`
    ResetLink(NamedUser),
    /// Give a user a second step: prints what their device reads, and recovery codes, once. Or remove it; then their sessions end
    SecondStep(SecondStepArguments),
    /// List a user's passkeys, or remove some for those who have lost them; then their sessions end
    Passkeys(PasskeysArguments),
    /// Let an account at another OpenID provider log in as a user
    Link(LinkArguments),
    /// Keep an account at another OpenID provider from logging in as a user
    Unlink(LinkArguments),
    /// Add and change users by a file of JSON lines, with hashes of passwords as directories keep them
    Import(ImportArguments),
}

#[derive(Debug, clap::Args)]
struct UserDirectoryArguments {
    /// The file of the users
    #[arg(long, value_name = "FILE")]
    users: Option<PathBuf>,
    /// The configuration that names it
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
struct NamedUser {
    /// The user's name
    name: String,
    /// The realm
    #[arg(long, value_name = "REALM", default_value = "/")]
    realm: String,
    #[command(flatten)]
    place: UserDirectoryArguments,
}

#[derive(Debug, clap::Args)]
struct LinkArguments {
    #[command(flatten)]
    named: NamedUser,
    /// The issuer of the provider, as in `[[identity.upstreams]]`
    #[arg(long, value_name = "ISSUER")]
    issuer: String,
    /// What the provider calls the account: the claim `sub` of its tokens
    #[arg(long, value_name = "SUB")]
    subject: String,
}

#[derive(Debug, clap::Args)]
struct PasswdArguments {
    #[command(flatten)]
    named: NamedUser,
    /// A file with the password, its first line
    #[arg(long, value_name = "FILE")]
    password_file: Option<PathBuf>,
    /// Require another password at the next login
    #[arg(long)]
    must_change: bool,
}

#[derive(Debug, clap::Args)]
struct MustChangeArguments {
    #[command(flatten)]
    named: NamedUser,
    /// Let them keep their password after all
    #[arg(long)]
    undo: bool,
}

#[derive(Debug, clap::Args)]
struct PasskeysArguments {
    #[command(flatten)]
    named: NamedUser,
    /// Remove the passkey with this id, as the list shows it
    #[arg(long, value_name = "ID", conflicts_with = "remove_all")]
    remove: Option<String>,
    /// Remove all of them
    #[arg(long)]
    remove_all: bool,
}

#[derive(Debug, clap::Args)]
struct AddArguments {
    #[command(flatten)]
    passwd: PasswdArguments,
    /// A group that they belong to; may be repeated
    #[arg(long = "group", value_name = "GROUP")]
    groups: Vec<String>,
    /// An attribute, for decisions; may be repeated
    #[arg(long = "attribute", value_name = "NAME=VALUE", value_parser = attribute)]
    attributes: Vec<(String, String)>,
}

#[derive(Debug, clap::Args)]
struct ImportArguments {
    /// One user a line: {"subject":"anna","password":"{SSHA}...","groups":["staff"]}; also realm, attributes, disabled,
    /// must_change_password. For a user who exists, fields that a line
    /// leaves out stay as they are
    file: PathBuf,
    #[command(flatten)]
    place: UserDirectoryArguments,
}

fn attribute(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("a name, `=` and a value")?;
    if name.is_empty() {
        Err("the name is empty".to_owned())
    } else {
        Ok((name.to_owned(), value.to_owned()))
    }
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> CommandResult {
    match &arguments.what {
        UsersCommand::Add(add) => add.run()?,
        UsersCommand::List(place) => list(&place.open()?.0)?,
        UsersCommand::Disable(named) => named.change(|account| account.disabled = true)?,
        UsersCommand::Enable(named) => named.change(|account| account.disabled = false)?,
        UsersCommand::Remove(named) => named.remove()?,
        UsersCommand::Passwd(passwd) => passwd.run()?,
        UsersCommand::MustChange(must) => {
            must.named.change(|account| account.must_change_password = !must.undo)?;
        }
        UsersCommand::ResetLink(named) => named.reset_link()?,
        UsersCommand::SecondStep(second_step) => second_step.run()?,
        UsersCommand::Passkeys(passkeys) => passkeys.run()?,
        UsersCommand::Link(link) => link.link()?,
        UsersCommand::Unlink(link) => link.unlink()?,
        UsersCommand::Import(import) => import.run()?,
    }
    Ok(ExitCode::SUCCESS)
}

fn failed(error: IdentityError) -> CommandError {
    CommandError::new(without_number(&error.to_string()))
}

impl UserDirectoryArguments {
    /// The users of a file that is there, and the settings that say what a hash costs.
    fn open(&self) -> Result<(Directory, IdentitySettings), CommandError> {
        self.open_file(|path| {
            if path.exists() {
                return Ok(());
            }
            let failure = CommandError::new("there is no such file").at(path);
            Err(failure.hint("`durward users add` and `durward users import` begin one; is the name right?"))
        })
    }

    /// The same, of a file that is begun if it is not there.
    fn open_or_begin(&self) -> Result<(Directory, IdentitySettings), CommandError> {
        self.open_file(|_| Ok(()))
    }

    fn open_file(
        &self,
        check: impl FnOnce(&Path) -> Result<(), CommandError>,
    ) -> Result<(Directory, IdentitySettings), CommandError> {
        let settings = read_settings(self.config.as_deref())?.identity;
        let Some(path) = self.users.as_ref().or(settings.users.as_ref()) else {
            return Err(CommandError::new("there is no file of users")
                .hint("name it with `--users FILE`, or in durward.toml as `identity.users`"));
        };
        check(path)?;
        let opened = Directory::open(path, settings.costs(), Arc::new(SystemEntropy));
        Ok((opened.map_err(failed)?, settings))
    }
}

/// The same users, whose new passwords must be what the settings want. Who only removes or disables somebody needs no list of
/// passwords for it.
fn with_rules(directory: Directory, settings: &IdentitySettings) -> Result<Directory, CommandError> {
    Ok(directory.with_password_rules(settings.password_rules().map_err(failed)?))
}

/// A new password that is not taken, or cannot be kept.
fn not_set(error: IdentityError) -> CommandError {
    failed(error).hint(
        "`identity.password_length_min` and `identity.breached_passwords_path` say what a password must be",
    )
}

impl NamedUser {
    fn user(&self) -> Result<User, CommandError> {
        User::new(&self.realm, &self.name).map_err(failed)
    }

    fn nobody(&self) -> CommandError {
        CommandError::new(format!("there is no user `{}` in the realm `{}`", self.name, self.realm))
            .hint("`durward users list` shows who there is")
    }

    fn change(&self, change: impl FnOnce(&mut Account)) -> Result<(), CommandError> {
        let (directory, _) = self.place.open()?;
        if directory.change(&self.user()?, change).map_err(failed)? { Ok(()) } else { Err(self.nobody()) }
    }

    fn remove(&self) -> Result<(), CommandError> {
        let (directory, _) = self.place.open()?;
        if directory.remove(now(), &self.user()?).map_err(failed)? { Ok(()) } else { Err(self.nobody()) }
    }

    fn reset_link(&self) -> Result<(), CommandError> {
        let (directory, settings) = self.place.open()?;
        if !settings.reset.is_on() {
            return Err(CommandError::new("there are no links here")
                .hint("set `link` in `[identity.reset]`, and give this command that file with `--config`"));
        }
        let Some(secret) = read_cluster_secret(&settings).map_err(failed)? else {
            return Err(CommandError::new("each start of the server has a secret of its own, which makes no link outside of it")
                .hint("set `identity.cluster_key_path` or `identity.data`; or ask the server: `POST /v1/users/{user}/reset`"));
        };
        let account = directory.account(&self.user()?).map_err(failed)?.ok_or_else(|| self.nobody())?;
        if account.disabled {
            return Err(CommandError::new(format!("the user `{}` is disabled", self.name))
                .hint("`durward users enable` lets them log in again"));
        }
        let until = now().plus(Duration::from_secs(settings.reset.lifetime_s));
        let link = ResetLinks::new(&secret).make(&account, now(), until).map_err(failed)?;
        to_stdout(&format!("{}\n", settings.reset.link_with(&link.token)))
    }
}

impl PasskeysArguments {
    fn run(&self) -> Result<(), CommandError> {
        match (&self.remove, self.remove_all) {
            (None, false) => self.list(),
            (Some(id), _) => self.remove(|passkeys| usize::from(passkeys.remove(id))),
            (None, true) => self.remove(Passkeys::remove_all),
        }
    }

    fn list(&self) -> Result<(), CommandError> {
        let (directory, _) = self.named.place.open()?;
        let account = directory.account(&self.named.user()?).map_err(failed)?;
        let account = account.ok_or_else(|| self.named.nobody())?;
        let mut text = String::new();
        for passkey in account.passkeys.iter() {
            let place = if passkey.is_backup_eligible() { "on several devices" } else { "on one device" };
            // Writing into a `String` cannot fail.
            let _ =
                writeln!(text, "{}\t{}\t{}, {place}", passkey.reference(), passkey.name, passkey.algorithm());
        }
        to_stdout(&text)
    }

    fn remove(&self, remove: impl FnOnce(&mut Passkeys) -> usize) -> Result<(), CommandError> {
        let mut removed = 0;
        self.named.change(|account| {
            removed = remove(&mut account.passkeys);
            if removed > 0 {
                // Sessions that began with them are over.
                account.end_sessions(now());
            }
        })?;
        if removed == 0 {
            return Err(CommandError::new(format!("`{}` has no such passkey", self.named.name))
                .hint("`durward users passkeys NAME` lists them"));
        }
        to_stdout(&format!("{removed} {}\n", if removed == 1 { "passkey" } else { "passkeys" }))
    }
}

impl LinkArguments {
    fn account(&self) -> AccountLink {
        AccountLink { issuer: self.issuer.clone(), subject: self.subject.clone() }
    }

    fn link(&self) -> Result<(), CommandError> {
        let (link, (directory, _)) = (self.account(), self.named.place.open()?);
        let is_other =
            |account: &&Account| account.realm != self.named.realm || account.subject != self.named.name;
        if let Some(other) = directory.list().iter().filter(is_other).find(|account| account.is_linked(&link))
        {
            let message =
                format!("the account logs in as `{}` in the realm `{}`", other.subject, other.realm);
            return Err(CommandError::new(message).hint("`durward users unlink` ends that"));
        }
        drop(directory);
        self.named.change(|account| {
            if !account.is_linked(&link) {
                account.links.push(link);
            }
        })
    }

    fn unlink(&self) -> Result<(), CommandError> {
        let link = self.account();
        self.named.change(|account| account.links.retain(|known| *known != link))
    }
}

impl PasswdArguments {
    fn run(&self) -> Result<(), CommandError> {
        let (directory, settings) = self.named.place.open()?;
        let directory = with_rules(directory, &settings)?;
        let user = self.named.user()?;
        if directory.account(&user).map_err(failed)?.is_none() {
            return Err(self.named.nobody());
        }
        let text = password::read(self.password_file.as_deref())?;
        let password = Password::new(&text).map_err(failed)?;
        let stored = directory.hash_new(&password).map_err(not_set)?;
        let set = |account: &mut Account| {
            account.set_password(stored, now());
            account.must_change_password |= self.must_change;
        };
        if directory.change(&user, set).map_err(failed)? { Ok(()) } else { Err(self.named.nobody()) }
    }
}

impl AddArguments {
    fn run(&self) -> Result<(), CommandError> {
        let named = &self.passwd.named;
        let (directory, settings) = named.place.open_or_begin()?;
        let directory = with_rules(directory, &settings)?;
        let user = named.user()?;
        let is_there = || {
            CommandError::new(format!("there is a user `{}` already", named.name))
                .hint("`durward users passwd` gives another password")
        };
        if directory.account(&user).map_err(failed)?.is_some() {
            return Err(is_there());
        }
        let text = password::read(self.passwd.password_file.as_deref())?;
        let password = Password::new(&text).map_err(failed)?;
        let mut account = Account::new(&user);
        account.set_password(directory.hash_new(&password).map_err(not_set)?, now());
        account.must_change_password = self.passwd.must_change;
        account.groups.clone_from(&self.groups);
        for (name, value) in &self.attributes {
            account.attributes.entry(name.clone()).or_default().push(value.clone());
        }
        // Somebody else may have added the user while the password was typed.
        if directory.add(account).map_err(failed)? { Ok(()) } else { Err(is_there()) }
    }
}

impl ImportArguments {
    fn run(&self) -> Result<(), CommandError> {
        let (directory, _) = self.place.open_or_begin()?;
        let text = std::fs::read_to_string(&self.file)
            .map_err(|error| CommandError::unreadable(&self.file, &error))?;
        let mut lines = Vec::new();
        for (number, line) in (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty()) {
            let line: ImportLine =
                serde_json::from_str(line).map_err(|error| unread(&self.file, number, &error))?;
            lines.push(line);
        }
        let imported = directory.import_lines(now(), lines);
        let count = imported.map_err(|error| CommandError::new(error.to_string()).at(&self.file))?;
        to_stdout(&format!("{count} {}\n", if count == 1 { "user" } else { "users" }))
    }
}

/// A line that is no user: the place is in the file, and the line of JSON has no other.
fn unread(file: &Path, number: usize, error: &serde_json::Error) -> CommandError {
    let (text, column) = (error.to_string(), error.column());
    let said = text.strip_suffix(&format!(" at line {} column {column}", error.line())).unwrap_or(&text);
    CommandError::new(format!("{}:{number}:{column}: {said}", file.display()))
}

/// The time, as sessions count.
fn now() -> Moment {
    Moment::of(clock()())
}

fn list(directory: &Directory) -> Result<(), CommandError> {
    let mut text = String::new();
    for account in directory.list() {
        let mut words = Vec::new();
        if account.disabled {
            words.push("disabled".to_owned());
        }
        if account.must_change_password {
            words.push("must change the password".to_owned());
        }
        if account.password.is_none() {
            words.push("no password".to_owned());
        }
        if let Some(second) = &account.second_step {
            words.push(format!("second step, {} recovery codes", second.recovery.left()));
        }
        match account.passkeys.len() {
            0 => {}
            1 => words.push("1 passkey".to_owned()),
            count => words.push(format!("{count} passkeys")),
        }
        if !account.groups.is_empty() {
            words.push(account.groups.join(", "));
        }
        let links = account.links.iter();
        words.extend(links.map(|link| format!("linked to {} of {}", link.subject, link.issuer)));
        // Writing into a `String` cannot fail.
        let _ = writeln!(text, "{}\t{}\t{}", account.realm, account.subject, words.join("; "));
    }
    to_stdout(&text)
}
