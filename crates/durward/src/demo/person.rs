//! The demo's user, and what to try as them.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use durward_session::identity::session::User;
use durward_session::identity::user::{Account, Directory, HashCosts, Password, StoredPassword};
use durward_session::identity::{Entropy, IdentityError, SystemEntropy, hex};
use serde_json::json;

use super::folder::TemporaryFolder;
use crate::failure::{CommandError, without_number};

const NAME: &str = "anna";

/// The group that the example policy asks for.
const GROUP: &str = "staff";

/// A person of this run alone, in a directory that goes with it.
pub(super) struct DemoPerson {
    password: String,
    folder: TemporaryFolder,
}

impl DemoPerson {
    /// Makes a password and a directory of users.
    ///
    /// # Errors
    /// There is no randomness, or no room for files.
    pub(super) fn new() -> Result<DemoPerson, CommandError> {
        let password = random().map_err(failed)?;
        let folder = TemporaryFolder::new(&std::env::temp_dir(), &random().map_err(failed)?)?;
        let person = DemoPerson { password, folder };
        person.add().map_err(failed)?;
        Ok(person)
    }

    fn add(&self) -> Result<(), IdentityError> {
        let (costs, entropy) = (HashCosts::default(), Arc::new(SystemEntropy));
        let password = StoredPassword::hash(&Password::new(&self.password)?, costs, &*entropy)?;
        let account = Account::new(&User::new("/", NAME)?);
        let account = Account { password: Some(password), groups: vec![GROUP.to_owned()], ..account };
        Directory::open(&self.users(), costs, entropy)?.put(account)
    }

    /// The file that she is in.
    pub(super) fn users(&self) -> PathBuf {
        self.folder.path().join("users.journal")
    }

    /// Lines to type one after the other: what each shows, and the line.
    pub(super) fn lines(&self, address: SocketAddr) -> [(&'static str, String); 4] {
        let login = json!({"user": NAME, "password": self.password});
        let json = "-H 'Content-Type: application/json'";
        let bearer = r#"-H "Authorization: Bearer $TOKEN""#;
        [
            (
                "Anna logs in, and her shell keeps the token of her session",
                format!(
                    r#"TOKEN=$(curl -s http://{address}/v1/login {json} -d '{login}' | sed 's/.*"token":"\([^"]*\)".*/\1/')"#
                ),
            ),
            (
                "Whose session it is",
                format!("curl -s -X POST http://{address}/v1/sessions/validate {bearer}"),
            ),
            (
                "PERMIT, as she is of the staff: the token is the subject. The decision is watched from now on",
                format!(
                    r#"curl -sN http://{address}/api/pdp/decide {json} -d '{{"subject":{{"session":"'$TOKEN'"}},"action":"read","resource":"ward list"}}' &"#
                ),
            ),
            (
                "Anna logs out, and what is watched turns to DENY",
                format!("curl -s -X POST http://{address}/v1/sessions/logout {bearer}"),
            ),
        ]
    }
}

/// 12 digits of chance.
fn random() -> Result<String, IdentityError> {
    let mut bytes = [0; 6];
    SystemEntropy.fill(&mut bytes)?;
    Ok(hex(&bytes))
}

fn failed(error: IdentityError) -> CommandError {
    CommandError::new(without_number(&error.to_string()))
}
