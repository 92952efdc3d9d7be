//! How long it takes until nodes serve again. It is measured and told, and nothing depends on it.

use std::fmt;
use std::time::Duration;

use futures_util::future::join_all;
use tokio::time::Instant;

use crate::caller::Said;
use crate::load::Nodes;

/// After what happened, until all of these nodes did it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Recovery {
    validation: Duration,
    login: Duration,
    logout: Duration,
}

impl fmt::Display for Recovery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Recovery { validation, login, logout } = self;
        write!(f, "validations after {validation:.2?}, logins after {login:.2?}, logouts after {logout:.2?}")
    }
}

/// Asks these nodes until they answer. `token` is of a session that lives.
pub(crate) async fn recovered(nodes: &Nodes, which: &[usize], token: &str, since: Instant) -> Recovery {
    let all = which.iter().map(|at| one(nodes, *at, token, since));
    join_all(all).await.into_iter().fold(Recovery::default(), |slowest, one| Recovery {
        validation: slowest.validation.max(one.validation),
        login: slowest.login.max(one.login),
        logout: slowest.logout.max(one.logout),
    })
}

async fn one(nodes: &Nodes, at: usize, token: &str, since: Instant) -> Recovery {
    let node = &nodes[at];
    let validates = async {
        node.eventually("a node validates again", async || node.validate(token).await == Said::Yes(())).await;
        since.elapsed()
    };
    let logs_in_and_out = async {
        let mut login = None;
        node.eventually("a node takes logouts again", async || {
            let token = node.session().await;
            login.get_or_insert_with(|| since.elapsed());
            node.logout(&token).await == Said::Yes(())
        })
        .await;
        (login.unwrap_or_default(), since.elapsed())
    };
    let (validation, (login, logout)) = tokio::join!(validates, logs_in_and_out);
    Recovery { validation, login, logout }
}
