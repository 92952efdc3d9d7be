//! Sockets that whoever started the process listens on already, such as those of a `.socket` unit of systemd (`LISTEN_FDS`).

use durward_server::{Listeners, Settings};
use listenfd::ListenFd;

use crate::failure::CommandError;

/// What each is for, in their order.
const ORDER: &str =
    "the first is for HTTP, the second for RSocket, further ones are for `[[listen]]` in its order";

/// The first is for HTTP, the second for RSocket, and each further one for one of `[[listen]]`. To be called before there are threads: it
/// takes variables out of the environment, such that no child thinks that they are meant for it.
///
/// # Errors
/// Something that is no socket of TCP.
pub(crate) fn inherited() -> Result<Listeners, CommandError> {
    let mut passed = ListenFd::from_env();
    let count = passed.len();
    let mut take = |at| {
        let unfit = |error: std::io::Error| {
            CommandError::new(format!("a socket that was passed (LISTEN_FDS) cannot be used: {error}"))
                .hint(format!("pass sockets that listen on TCP: {ORDER}"))
        };
        passed.take_tcp_listener(at).map_err(unfit)
    };
    let (http, rsocket) = (take(0)?, take(1)?);
    let more = (2..count).filter_map(|at| take(at).transpose()).collect::<Result<_, _>>()?;
    Ok(Listeners { http, rsocket, more })
}

/// Whether there is use for all of them.
///
/// # Errors
/// More sockets than the settings have listeners.
pub(crate) fn check(listeners: &Listeners, settings: &Settings) -> Result<(), CommandError> {
    let (passed, known) = (listeners.more.len(), settings.listen.len());
    if passed > known {
        let message =
            format!("{} sockets were passed (LISTEN_FDS); there is use for {}", passed + 2, known + 2);
        return Err(CommandError::new(message).hint(ORDER));
    }
    Ok(())
}
