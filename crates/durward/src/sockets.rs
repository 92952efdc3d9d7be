//! Sockets that whoever started the process listens on already, such as those of a `.socket` unit of systemd (`LISTEN_FDS`).

use durward_server::Listeners;
use listenfd::ListenFd;

use crate::failure::CommandError;

/// How many sockets are of use: for HTTP, and for RSocket.
const SOCKETS_MAX: usize = 2;

/// The first is for HTTP, the second for RSocket. To be called before there are threads: it takes variables out of the environment, such
/// that no child thinks that they are meant for it.
///
/// # Errors
/// More sockets than are of use, or something that is no socket of TCP.
pub(crate) fn inherited() -> Result<Listeners, CommandError> {
    let mut passed = ListenFd::from_env();
    if passed.len() > SOCKETS_MAX {
        let message =
            format!("{} sockets were passed (LISTEN_FDS); there is use for {SOCKETS_MAX}", passed.len());
        return Err(CommandError::new(message).hint("the first is for HTTP, the second for RSocket"));
    }
    let mut take = |at| {
        let unfit = |error: std::io::Error| {
            CommandError::new(format!("a socket that was passed (LISTEN_FDS) cannot be used: {error}"))
                .hint("pass sockets that listen on TCP: the first for HTTP, the second for RSocket")
        };
        passed.take_tcp_listener(at).map_err(unfit)
    };
    Ok(Listeners { http: take(0)?, rsocket: take(1)? })
}
