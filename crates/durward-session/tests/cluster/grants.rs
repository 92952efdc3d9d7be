//! Turns of grants over real servers: authorization codes and refresh tokens are good once, whichever node they are brought to.

use durward_identity::protocol::Mode;
use durward_identity::session::GrantTurn;
use durward_session::TurnUse;

use crate::nodes::{Node, Plan, clock};
use crate::servers::Servers;
use crate::turn;

fn of(grant: u64, turn: u32) -> GrantTurn {
    let until = clock(0)().plus(std::time::Duration::from_secs(600));
    GrantTurn { holder: [7; 16], grant, turn, until }
}

async fn uses(node: &Node, turn: GrantTurn) -> TurnUse {
    node.service.use_turn(turn).await.unwrap()
}

async fn is_used_once(mode: Mode, name: &str) {
    let _turn = turn().await;
    let Some(servers) = Servers::start_one(name, "").await else { return };
    let plan = Plan::one(servers.addresses(), name, mode);
    let (one, two) = (plan.ready().await, plan.ready().await);
    for grant in 1..20 {
        // At the same moment: the order of the store says who is the first.
        let used = tokio::join!(uses(&one, of(grant, 0)), uses(&two, of(grant, 0)));
        assert!(
            matches!(used, (TurnUse::First, TurnUse::Again) | (TurnUse::Again, TurnUse::First)),
            "{used:?}"
        );
        assert_eq!(uses(&two, of(grant, 1)).await, TurnUse::First);
        assert_eq!(uses(&one, of(grant, 1)).await, TurnUse::Again);
        assert_eq!(uses(&one, of(grant, 0)).await, TurnUse::Again);
    }
    // A node that starts later knows what was used.
    let late = plan.ready().await;
    assert_eq!(uses(&late, of(19, 1)).await, TurnUse::Again);
    assert_eq!(uses(&late, of(19, 2)).await, TurnUse::First);
    // What one seals the others read.
    let sealed = one.service.seal("test", b"content").unwrap();
    assert_eq!(two.service.unseal("test", &sealed).as_deref(), Some(b"content".as_slice()));
    assert_eq!(two.service.unseal("else", &sealed), None);
}

#[tokio::test]
async fn a_turn_is_used_once_on_all_nodes_in_assured_write() {
    is_used_once(Mode::AssuredWrite, "grants-write").await;
}

#[tokio::test]
async fn a_turn_is_used_once_on_all_nodes_in_assured_read() {
    is_used_once(Mode::AssuredRead, "grants-read").await;
}
