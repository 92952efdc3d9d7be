//! `durward users second-step`: gives a user a device for codes, or takes it from who has lost it. Of a user in an LDAP directory it is kept
//! beside that, under the name as the directory compares names.

use durward_server::{IdentitySettings, account_in};
use durward_session::identity::SystemEntropy;
use durward_session::identity::passkey::Passkeys;
use durward_session::identity::session::User;
use durward_session::identity::user::{Account, Directory, RecoveryCodes, SecondStep, Totp};

use super::{NamedUser, clock, failed, now};
use crate::failure::CommandError;
use crate::serve::read_settings;
use crate::to_stdout;

#[derive(Debug, clap::Args)]
pub(super) struct SecondStepArguments {
    #[command(flatten)]
    named: NamedUser,
    /// Remove it, with its recovery codes, for those who have lost their device
    #[arg(long)]
    remove: bool,
}

/// A user, and the file that keeps their second step.
struct Kept {
    user: User,
    directory: Directory,
    /// What is kept where there is nothing yet: nothing of a user of the file itself, who must be there.
    new: Option<Account>,
}

impl SecondStepArguments {
    pub(super) fn run(&self) -> Result<(), CommandError> {
        let kept = self.kept()?;
        if self.remove { self.remove_from(&kept) } else { self.give(kept) }
    }

    fn kept(&self) -> Result<Kept, CommandError> {
        let NamedUser { place, .. } = &self.named;
        let user = self.named.user()?;
        let settings = read_settings(place.config.as_deref())?.identity;
        if !settings.ldap.iter().any(|ldap| ldap.realms.iter().any(|realm| realm == user.realm())) {
            return Ok(Kept { user, directory: place.open()?.0, new: None });
        }
        let account = self.found_outside(&settings, &user)?;
        let user = account.user().map_err(failed)?;
        let directory = place.open_or_begin()?.0;
        let new = Account { entry: account.entry, ..Account::new(&user) };
        Ok(Kept { new: Some(new), user, directory })
    }

    /// The user in the directory of their realm.
    fn found_outside(&self, settings: &IdentitySettings, user: &User) -> Result<Account, CommandError> {
        let serves = |realms: &[String]| realms.iter().any(|realm| realm == user.realm());
        let ldap =
            settings.ldap.iter().find(|ldap| serves(&ldap.realms)).ok_or_else(|| self.named.nobody())?;
        if ldap.realms.len() > 1 {
            return Err(CommandError::new("no second steps are kept of users in this directory")
                .hint("it serves several realms: name one in `identity.ldap.realms`"));
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let found = runtime.block_on(account_in(ldap, user, &clock())).map_err(failed)?;
        found.ok_or_else(|| {
            CommandError::new(format!(
                "the directory of the realm `{}` has no user `{}`",
                user.realm(),
                user.subject()
            ))
        })
    }

    fn give(&self, kept: Kept) -> Result<(), CommandError> {
        let Kept { user, directory, new } = kept;
        let totp = Totp::generate(&SystemEntropy).map_err(failed)?;
        let (codes, recovery) = RecoveryCodes::generate(&SystemEntropy).map_err(failed)?;
        let uri = totp.to_uri("durward", user.subject());
        let entry = new.as_ref().and_then(|account| account.entry.clone());
        let is_outside = new.is_some();
        let set = |account: &mut Account| {
            if is_outside && !account.is_of_entry(entry.as_deref()) {
                // Of whoever had the name before.
                account.passkeys = Passkeys::default();
            }
            account.entry = entry.clone().or(account.entry.take());
            account.second_step =
                Some(SecondStep { totp: totp.clone(), used: None, recovery: recovery.clone() });
            // Sessions that began without it are over.
            account.end_sessions(now());
        };
        if !directory.change(&user, set).map_err(failed)? {
            let mut account = new.ok_or_else(|| self.named.nobody())?;
            set(&mut account);
            // Somebody else may have begun to keep something of the user meanwhile.
            if !directory.add(account).map_err(failed)? {
                return Err(CommandError::new(format!(
                    "`{}` was changed in this moment: try again",
                    user.subject()
                )));
            }
        }
        let codes = codes.join("\n  ");
        to_stdout(&format!(
            "for the device, shown only now:\n  {uri}\nrecovery codes, each good once:\n  {codes}\n"
        ))
    }

    fn remove_from(&self, kept: &Kept) -> Result<(), CommandError> {
        let mut has_had = false;
        let remove = |account: &mut Account| {
            has_had = account.second_step.take().is_some();
            if has_had {
                account.end_sessions(now());
            }
        };
        let is_known = kept.directory.change(&kept.user, remove).map_err(failed)?;
        if !is_known && kept.new.is_none() {
            return Err(self.named.nobody());
        }
        if !has_had {
            return Err(CommandError::new(format!("`{}` has no second step", self.named.name))
                .hint("`durward users list` shows who has one"));
        }
        Ok(())
    }
}
