//! The configuration of `durward opcua authority` and `durward opcua gate`.

use std::net::SocketAddr;
use std::path::Path;

use durward_files::{SecretReaders, read_secret_text};
use durward_server::Settings;
use tokio::net::TcpListener;

use crate::failure::{CommandError, without_number};
use crate::serve::read_settings;

/// The longest file with a password.
const SECRET_BYTES_MAX: u64 = 64 * 1024;

/// The settings of this file, or of `durward.toml` where there is one.
///
/// # Errors
/// The file cannot be read, or says something that no setting means.
pub(super) fn read(config: Option<&Path>) -> Result<Settings, CommandError> {
    Ok(read_settings(config)?)
}

/// A setting that has no default.
///
/// # Errors
/// It is not given.
pub(super) fn needed<T: Clone>(value: Option<&T>, name: &str, flag: &str) -> Result<T, CommandError> {
    value.cloned().ok_or_else(|| {
        CommandError::new(format!("`{name}` is not set"))
            .hint(format!("set it in durward.toml, or give `{flag}`"))
    })
}

/// A socket, and the URL by which it is reached.
///
/// # Errors
/// The address is taken, or not of this machine.
pub(super) async fn bind(
    listen: SocketAddr,
    url: Option<&str>,
) -> Result<(TcpListener, String), CommandError> {
    let listener = TcpListener::bind(listen).await.map_err(|error| {
        let why = without_number(&error.to_string());
        CommandError::new(format!("cannot listen on {listen}: {why}"))
            .hint("choose another address with `--listen`")
    })?;
    let url = match url {
        Some(url) => url.to_owned(),
        None => format!("opc.tcp://{}", listener.local_addr()?),
    };
    Ok((listener, url))
}

/// A file of the operator's.
///
/// # Errors
/// It cannot be read.
pub(super) fn text(path: &Path) -> Result<String, CommandError> {
    std::fs::read_to_string(path).map_err(|error| CommandError::unreadable(path, &error))
}

/// A file of the operator's with a secret, which nobody else can read.
///
/// # Errors
/// It cannot be read, or others may read it.
pub(super) fn secret_text(path: &Path) -> Result<String, CommandError> {
    read_secret_text(path, SecretReaders::OwnerAndGroup, SECRET_BYTES_MAX)
        .map_err(|error| CommandError::unreadable(path, &error.into()))
}
