//! The question how fresh this node is, put as a write: see the module's head for why.

use std::time::Duration;

use async_nats::jetstream::message::PublishMessage;
use durward_identity::IdentityError;

use super::NatsShared;

/// How long the stream keeps a question. It has been sent back long before.
const KEPT_FOR: Duration = Duration::from_secs(5);

/// The number of a message that lies behind every record that was acknowledged when this began.
///
/// # Errors
/// No majority has answered in time.
pub(super) async fn ask(shared: &NatsShared) -> Result<u64, IdentityError> {
    let message = PublishMessage::build().expected_stream(&shared.settings.stream).ttl(KEPT_FOR);
    let sent = shared.context.send_publish(shared.subjects.own_fresh.clone(), message).await;
    let answer = sent.map_err(|error| IdentityError::new(error.to_string()))?;
    let ack = tokio::time::timeout(shared.settings.answer_within, answer).await;
    match ack {
        Ok(Ok(ack)) => Ok(ack.sequence),
        Ok(Err(error)) => Err(IdentityError::new(error.to_string())),
        Err(_) => Err(IdentityError::new("no answer in time")),
    }
}
