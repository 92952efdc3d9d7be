//! What an API server is told. It takes `allowed` and `denied` together for an error of its own, and neither for no opinion: no value of
//! [`Status`] has both.

use serde_json::{Map, Value, json};

/// One answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Status {
    Allowed {
        reason: Option<String>,
    },
    /// No other authorizer is asked; the reason is shown to the user.
    Denied {
        reason: String,
    },
    /// The next authorizer is asked.
    NoOpinion,
    /// Nothing was decided.
    Failed {
        error: String,
        is_denied: bool,
    },
}

impl Status {
    pub(super) fn to_json(&self) -> String {
        let review = json!({
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SubjectAccessReview",
            "status": self.to_value(),
        });
        review.to_string()
    }

    fn to_value(&self) -> Value {
        let mut status = Map::new();
        let mut say = |name: &str, value: Value| drop(status.insert(name.to_owned(), value));
        match self {
            Status::Allowed { reason } => {
                say("allowed", true.into());
                if let Some(reason) = reason {
                    say("reason", reason.as_str().into());
                }
            }
            Status::Denied { reason } => {
                say("allowed", false.into());
                say("denied", true.into());
                say("reason", reason.as_str().into());
            }
            Status::NoOpinion => say("allowed", false.into()),
            Status::Failed { error, is_denied } => {
                say("allowed", false.into());
                if *is_denied {
                    say("denied", true.into());
                    say("reason", "nothing could be decided".into());
                }
                say("evaluationError", error.as_str().into());
            }
        }
        Value::Object(status)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_both_allowed_and_denied() {
        let all = [
            Status::Allowed { reason: None },
            Status::Allowed { reason: Some("r".to_owned()) },
            Status::Denied { reason: "r".to_owned() },
            Status::NoOpinion,
            Status::Failed { error: "e".to_owned(), is_denied: false },
            Status::Failed { error: "e".to_owned(), is_denied: true },
        ];
        let told = all.map(|status| {
            let status = status.to_value();
            (status["allowed"] == true, status["denied"] == true)
        });
        let (allowed, denied, neither) = ((true, false), (false, true), (false, false));
        assert_eq!(told, [allowed, allowed, denied, neither, neither, denied]);
    }
}
