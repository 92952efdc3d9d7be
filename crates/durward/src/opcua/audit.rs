//! Audit of the authorization service and of the gate: each event is a line of the log and, where the settings name a directory, a
//! line of the chained record that logins have as well (`durward audit verify`).

use std::path::Path;
use std::sync::Arc;

use durward_opcua::authority::{AuthorityAudit, AuthorityAuditNote, AuthorityLogAudit};
use durward_opcua::gate::{GateAudit, GateAuditEvent as GateEvent, GateAuditKind, GateAuditLog as GateLog};
use durward_opcua::token::CutoffTarget;
use durward_opcua::wire::datetime;
use durward_server::IdentitySettings;
use durward_session::identity::Moment;
use durward_session::identity::audit::{AuditEvent, Kind};
use durward_session::identity::session::User;
use durward_session::{Counters, SessionAuditLog};

use crate::failure::{CommandError, without_number};

/// The realm of users who name none.
const REALM: &str = "/";

/// Writes the chained record, beside the log.
#[derive(Clone)]
pub(super) struct ChainedAudit(SessionAuditLog);

impl ChainedAudit {
    /// Opens the record of a directory, and goes on with its chain.
    ///
    /// # Errors
    /// The directory cannot be used, or its last line is none.
    pub(super) fn open(
        path: &Path,
        settings: &IdentitySettings,
        now: Moment,
    ) -> Result<ChainedAudit, CommandError> {
        let opened = SessionAuditLog::open(settings.audit_at(path), now, Arc::new(Counters::default()));
        opened.map(ChainedAudit).map_err(|error| CommandError::new(without_number(&error.to_string())))
    }

    /// Writes what was noted so far, to the disk.
    pub(super) async fn close(&self) {
        self.0.close().await;
    }
}

/// Adds whose rights it is about. A name that no user can have stands in the detail.
fn about(event: AuditEvent, subject: &str, detail: &str) -> AuditEvent {
    if subject.is_empty() {
        return event.detail(detail);
    }
    match User::new(REALM, subject) {
        Ok(user) => event.of(&user).detail(detail),
        Err(_) => event.detail(&format!("{subject}: {detail}")),
    }
}

fn of_authority(note: &AuthorityAuditNote<'_>) -> Option<AuditEvent> {
    Some(match note {
        AuthorityAuditNote::Issued { subject, resource, client, policy, expires } => {
            let until = datetime(*expires).to_rfc3339();
            let detail = format!("for {resource} until {until}, by policies {policy}");
            about(AuditEvent::new(Kind::TokenIssued).by(client), subject, &detail)
        }
        AuthorityAuditNote::Refused { application, resource, reason, words } => {
            let detail = format!("for {resource}: {} ({})", words, reason.name());
            AuditEvent::new(Kind::TokenRefused).by(application).detail(&detail)
        }
        AuthorityAuditNote::Recalled { target, kept } => {
            let detail = match kept {
                true => format!("tokens of {target}"),
                false => format!("tokens of {target}; not on disk yet"),
            };
            let subject = match target {
                CutoffTarget::Subject(subject) => subject,
                CutoffTarget::All
                | CutoffTarget::Session(_)
                | CutoffTarget::Client(_)
                | CutoffTarget::Policy(_) => "",
            };
            about(AuditEvent::new(Kind::Revoked), subject, &detail)
        }
        AuthorityAuditNote::LoginRefused { application, credential } => {
            AuditEvent::new(Kind::LoginFailed).by(application).detail(credential)
        }
        // Nobody's rights: for the log.
        AuthorityAuditNote::TablePublished { .. } => return None,
    })
}

fn of_gate(event: &GateEvent<'_>) -> AuditEvent {
    let kind = match event.what {
        GateAuditKind::Activated { .. } | GateAuditKind::Renewed { .. } => Kind::Login,
        GateAuditKind::ActivationRefused { .. } => Kind::LoginFailed,
        GateAuditKind::RequestRefused { .. } => Kind::RequestRefused,
        GateAuditKind::Ended { .. } => Kind::Revoked,
        GateAuditKind::Note { .. } => Kind::Noted,
    };
    let detail = match event.session {
        0 => event.what.to_string(),
        session => format!("session {session}: {}", event.what),
    };
    let new = AuditEvent::new(kind);
    let new = if event.client.is_empty() { new } else { new.by(event.client) };
    about(new, event.subject, &detail)
}

impl AuthorityAudit for ChainedAudit {
    fn note(&self, now: Moment, note: &AuthorityAuditNote<'_>) {
        AuthorityLogAudit.note(now, note);
        if let Some(event) = of_authority(note) {
            self.0.note(now, event);
        }
    }
}

impl GateAudit for ChainedAudit {
    fn record(&self, event: &GateEvent<'_>) {
        GateLog.record(event);
        self.0.note(event.moment, of_gate(event));
    }
}

#[cfg(test)]
mod tests {
    use durward_opcua::authority::RefusalReason;
    use durward_opcua::gate::mediate::service::ServiceKind;
    use opcua_types::StatusCode;

    use super::*;

    const NOW: Moment = Moment::from_ms(1_780_272_000_000);

    /// What, who, by which client, and why.
    fn told(event: &AuditEvent) -> (Kind, &str, &str, &str) {
        (
            event.kind,
            event.user.as_deref().unwrap_or_default(),
            event.by.as_deref().unwrap_or_default(),
            event.detail.as_deref().unwrap_or_default(),
        )
    }

    #[test]
    fn lines_of_the_authorization_service_say_who_what_and_why() {
        let issued = AuthorityAuditNote::Issued {
            subject: "anna",
            resource: "urn:gate",
            client: "thumb",
            policy: "1-a",
            expires: NOW,
        };
        let event = of_authority(&issued).unwrap();
        let expected = "for urn:gate until 2026-06-01T00:00:00.000Z, by policies 1-a";
        assert_eq!(told(&event), (Kind::TokenIssued, "anna", "thumb", expected));
        let refused = AuthorityAuditNote::Refused {
            application: "urn:hmi",
            resource: "urn:gate",
            reason: RefusalReason::NoTable,
            words: "is it running?",
        };
        let event = of_authority(&refused).unwrap();
        assert_eq!(
            told(&event),
            (Kind::TokenRefused, "", "urn:hmi", "for urn:gate: is it running? (no_table)")
        );
        let target = CutoffTarget::Subject(Arc::from("anna"));
        let event = of_authority(&AuthorityAuditNote::Recalled { target: &target, kept: false }).unwrap();
        assert_eq!((event.kind, event.user.as_deref()), (Kind::Revoked, Some("anna")));
        assert!(event.detail.unwrap().ends_with("not on disk yet"));
        assert_eq!(
            of_authority(&AuthorityAuditNote::TablePublished { resource: "urn:gate", nodes: 3 }),
            None
        );
    }

    #[test]
    fn lines_of_the_gate_say_who_which_service_and_why() {
        let what = GateAuditKind::RequestRefused {
            service: ServiceKind::Write,
            status: StatusCode::BadUserAccessDenied,
            reason: "the right was recalled",
        };
        let event = of_gate(&GateEvent { moment: NOW, session: 5, client: "urn:hmi", subject: "anna", what });
        let (kind, user, by, detail) = told(&event);
        assert_eq!((kind, user, by), (Kind::RequestRefused, "anna", "urn:hmi"));
        assert!(detail.starts_with("session 5: Write refused: the right was recalled"), "{detail}");
        let what = GateAuditKind::Note { text: "compare the clocks" };
        let event = of_gate(&GateEvent { moment: NOW, session: 0, client: "", subject: "", what });
        assert_eq!(told(&event), (Kind::Noted, "", "", "compare the clocks"));
    }

    #[tokio::test]
    async fn the_record_is_a_chain_that_can_be_verified() {
        let folder = std::env::temp_dir().join(format!("durward-opcua-audit-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        let chained = ChainedAudit::open(&folder, &IdentitySettings::default(), NOW).unwrap();
        let what = GateAuditKind::Activated { token: "t1" };
        chained.record(&GateEvent { moment: NOW, session: 1, client: "urn:hmi", subject: "anna", what });
        chained.close().await;
        let file = std::fs::read_dir(&folder).unwrap().next().unwrap().unwrap().path();
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(text.contains("\"user\":\"anna\"") && text.contains("t1"), "{text}");
        let mut verifier = durward_session::identity::audit::ChainVerifier::new(None);
        verifier.file(text.as_bytes()).unwrap();
        assert_eq!(verifier.end().unwrap().unwrap().number(), 2);
        std::fs::remove_dir_all(folder).unwrap();
    }
}
