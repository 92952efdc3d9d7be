//! The stream: made when it is not there, looked at when it is.

use std::time::Duration;

use async_nats::jetstream::context::GetStreamErrorKind;
use async_nats::jetstream::stream::{Config, DiscardPolicy, Info, RetentionPolicy, StorageType};
use async_nats::jetstream::{Context, ErrorCode};
use durward_identity::IdentityError;

use super::settings::{NatsSettings, Retention};
use super::subject::ClusterSubjects;

/// For so long the store knows a record again that comes twice. The protocol asks for two minutes.
const DUPLICATE_WINDOW: Duration = Duration::from_secs(120);

/// The first version that forgets single messages after a time of their own.
const VERSION_MIN: (u64, u64) = (2, 11);

/// Finds the stream, or makes it; what names this very stream, as opposed to one that was made in its place.
///
/// # Errors
/// It cannot be reached or made, or is not as it must be: what to do.
pub(super) async fn open(
    context: &Context,
    settings: &NatsSettings,
    retention: &Retention,
    subjects: &ClusterSubjects,
) -> Result<String, IdentityError> {
    check_version(&context.client().server_info().version)?;
    let wanted = wanted(settings, retention, subjects);
    let info = match context.get_stream(&settings.stream).await {
        Ok(stream) => stream.cached_info().clone(),
        Err(error) if is_missing(&error.kind()) => create(context, &wanted).await?,
        Err(error) => return Err(IdentityError::new(format!("stream `{}`: {error}", settings.stream))),
    };
    check(&info.config, &wanted)?;
    if info.config.max_age < wanted.max_age && !info.config.max_age.is_zero() {
        // Longer is always right: a node with shorter sessions does not take it back.
        let longer = Config { max_age: wanted.max_age, ..info.config };
        context.update_stream(longer).await.map_err(|error| {
            IdentityError::new(format!("stream `{}` must keep records for longer: {error}", wanted.name))
        })?;
    }
    Ok(format!("{:?}", info.created))
}

pub(super) fn check_version(version: &str) -> Result<(), IdentityError> {
    let mut parts = version.split('.').map(|part| part.parse::<u64>().unwrap_or(0));
    let found = (parts.next().unwrap_or(0), parts.next().unwrap_or(0));
    if found >= VERSION_MIN {
        return Ok(());
    }
    let (major, minor) = VERSION_MIN;
    Err(IdentityError::new(format!(
        "the server is nats-server {version}, and {major}.{minor} is the first that can be used"
    )))
}

pub(super) fn is_missing(kind: &GetStreamErrorKind) -> bool {
    matches!(kind, GetStreamErrorKind::JetStream(error) if error.error_code() == ErrorCode::STREAM_NOT_FOUND)
}

/// Several nodes may do so at once: for the server, all ask for the same.
pub(super) async fn create(context: &Context, wanted: &Config) -> Result<Info, IdentityError> {
    let created = context.create_stream(wanted.clone()).await;
    let stream = created.map_err(|error| {
        IdentityError::new(format!(
            "cannot make the stream `{}` with {} replicas (`identity.nats.replicas`): {error}; a cluster of so many servers \
             with JetStream is needed",
            wanted.name, wanted.num_replicas
        ))
    })?;
    Ok(stream.cached_info().clone())
}

fn wanted(settings: &NatsSettings, retention: &Retention, subjects: &ClusterSubjects) -> Config {
    Config {
        name: settings.stream.clone(),
        description: Some("sessions of durward".to_owned()),
        subjects: subjects.of_stream(),
        num_replicas: settings.replicas,
        storage: StorageType::File,
        retention: RetentionPolicy::Limits,
        max_age: retention.longest(),
        duplicate_window: DUPLICATE_WINDOW,
        allow_message_ttl: true,
        ..Config::default()
    }
}

/// Whether a stream that is there keeps what must be kept.
fn check(found: &Config, wanted: &Config) -> Result<(), IdentityError> {
    let wrong = |message: String| Err(IdentityError::new(format!("stream `{}` {message}", wanted.name)));
    let mut subjects = found.subjects.clone();
    subjects.sort();
    let mut wanted_subjects = wanted.subjects.clone();
    wanted_subjects.sort();
    if subjects != wanted_subjects {
        return wrong(format!(
            "has the subjects {subjects:?} and not {wanted_subjects:?}: name another one in `identity.nats.stream`"
        ));
    }
    if found.num_replicas != wanted.num_replicas {
        return wrong(format!(
            "has {} replicas, and `identity.nats.replicas` is {}: change one of them, the stream with `nats stream edit {} --replicas {}`",
            found.num_replicas, wanted.num_replicas, wanted.name, wanted.num_replicas
        ));
    }
    let has_limits = found.max_messages > 0
        || found.max_bytes > 0
        || found.max_messages_per_subject > 0
        || found.discard != DiscardPolicy::Old;
    if has_limits || found.retention != RetentionPolicy::Limits || found.no_ack || found.sealed {
        return wrong(
            "drops records before their time or takes none: it must have no limit but `max_age`".to_owned(),
        );
    }
    if found.storage != wanted.storage {
        return wrong(
            "is kept in memory: a cluster that stops would lose it; make it anew on files".to_owned(),
        );
    }
    if !found.allow_message_ttl {
        return wrong(format!(
            "must allow a TTL for messages: `nats stream edit {} --allow-msg-ttl`",
            wanted.name
        ));
    }
    if found.duplicate_window < wanted.duplicate_window {
        return wrong(
            "forgets after less than 2 minutes what it has seen: its `duplicate_window` must be 2 minutes"
                .to_owned(),
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use durward_identity::protocol::NodeSettings;
    use durward_identity::session::SessionSettings;

    #[test]
    fn a_stream_that_would_lose_records_is_refused() {
        let settings = NatsSettings::default();
        let retention = Retention::of(&NodeSettings::default(), &SessionSettings::default());
        let subjects = ClusterSubjects::new(&settings.stream, "a");
        let wanted = wanted(&settings, &retention, &subjects);
        check(&wanted, &wanted).unwrap();
        let refused = |change: fn(&mut Config)| {
            let mut found = wanted.clone();
            change(&mut found);
            check(&found, &wanted).unwrap_err().to_string()
        };
        assert!(refused(|it| it.num_replicas = 1).contains("`identity.nats.replicas` is 3"));
        assert!(refused(|it| it.max_messages = 1000).contains("max_age"));
        assert!(refused(|it| it.max_bytes = 1).contains("max_age"));
        assert!(refused(|it| it.storage = StorageType::Memory).contains("memory"));
        assert!(refused(|it| it.allow_message_ttl = false).contains("--allow-msg-ttl"));
        assert!(refused(|it| it.subjects = vec!["other".to_owned()]).contains("`identity.nats.stream`"));
        assert!(refused(|it| it.duplicate_window = Duration::from_secs(5)).contains("duplicate_window"));
    }

    #[test]
    fn servers_that_cannot_forget_single_records_are_refused() {
        check_version("2.11.0").unwrap();
        check_version("2.14.9").unwrap();
        check_version("3.0.0-dev").unwrap();
        for old in ["2.10.29", "1.4.1", "", "x"] {
            assert!(check_version(old).unwrap_err().to_string().contains("2.11"), "{old}");
        }
    }
}
