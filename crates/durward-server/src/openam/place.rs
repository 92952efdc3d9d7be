//! From a path to what is meant, and in which realm.

/// What a path means.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Place<'p> {
    /// `json/{realm}/authenticate`.
    Authenticate {
        realm: Realm,
    },
    /// `json/{realm}/sessions` and `json/{realm}/sessions/{token}`.
    Sessions {
        realm: Realm,
        token: Option<String>,
    },
    /// `identity/{operation}`, `identity/json/{operation}`, `identity/xml/{operation}`.
    Identity {
        form: Form,
        operation: &'p str,
    },
    /// Anything else under `json`.
    Json {
        name: String,
    },
    Nowhere,
}

/// A realm as a path names it. It may not exist.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Realm {
    /// `json/sales/...`: what is no realm is taken for a resource.
    Short(String),
    /// `json/realms/root/realms/sales/...`.
    Long(String),
}

impl Realm {
    pub(super) fn name(&self) -> &str {
        match self {
            Realm::Short(name) | Realm::Long(name) => name,
        }
    }
}

/// How `identity` writes its answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Text,
    Json,
    Xml,
}

impl Place<'_> {
    /// Of a path after that of the deployment.
    pub(super) fn find(path: &str) -> Place<'_> {
        let mut parts = path.trim_start_matches('/').split('/');
        match parts.next() {
            Some("json") => of_json(&parts.collect::<Vec<_>>()),
            Some("identity") => of_identity(&parts.collect::<Vec<_>>()),
            _ => Place::Nowhere,
        }
    }
}

fn of_json<'p>(parts: &[&str]) -> Place<'p> {
    // A slash at the end makes no difference.
    let parts = parts.strip_suffix(&[""]).unwrap_or(parts);
    let found = match parts {
        [realm @ .., "authenticate"] => of_realm(realm).map(|realm| Place::Authenticate { realm }),
        [realm @ .., "sessions"] => of_realm(realm).map(|realm| Place::Sessions { realm, token: None }),
        [realm @ .., "sessions", token] => of_realm(realm).map(|realm| {
            let token = Some(super::query::decoded(token));
            Place::Sessions { realm, token }
        }),
        _ => None,
    };
    found.unwrap_or_else(|| Place::Json { name: parts.join("/") })
}

fn of_realm(parts: &[&str]) -> Option<Realm> {
    if parts.is_empty() {
        return Some(Realm::Short("/".to_owned()));
    }
    let decoded = |part: &&str| super::query::decoded(part);
    let Some(["realms", rest @ ..]) = parts.get(..) else {
        let names: Vec<String> = parts.iter().map(decoded).collect();
        return Some(Realm::Short(format!("/{}", names.join("/"))));
    };
    // `realms/root`, then `realms/NAME` for each step down.
    let ["root", rest @ ..] = rest else { return None };
    let mut names = Vec::new();
    for step in rest.chunks(2) {
        let ["realms", name] = step else { return None };
        names.push(decoded(name));
    }
    Some(Realm::Long(format!("/{}", names.join("/"))))
}

fn of_identity<'p>(parts: &[&'p str]) -> Place<'p> {
    match parts {
        ["json", operation] => Place::Identity { form: Form::Json, operation },
        ["xml", operation] => Place::Identity { form: Form::Xml, operation },
        [operation] => Place::Identity { form: Form::Text, operation },
        _ => Place::Nowhere,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn realms_are_named_in_two_ways() {
        let of = |path| {
            let place = Place::find(path);
            if let Place::Authenticate { realm } = &place {
                realm.name().to_owned()
            } else {
                format!("{place:?}")
            }
        };
        assert_eq!(of("/json/authenticate"), "/");
        assert_eq!(of("/json/realms/root/authenticate"), "/");
        assert_eq!(of("/json/sales/authenticate"), "/sales");
        assert_eq!(of("/json/sales/east/authenticate"), "/sales/east");
        assert_eq!(of("/json/realms/root/realms/sales/realms/east/authenticate/"), "/sales/east");
        assert!(of("/json/realms/other/authenticate").starts_with("Json"));
        assert!(of("/json/realms/root/sales/authenticate").starts_with("Json"));
    }

    #[test]
    fn a_token_in_the_path_may_be_encoded() {
        let sessions = |path| {
            let Place::Sessions { realm, token } = Place::find(path) else { panic!("{path}") };
            (realm.name().to_owned(), token)
        };
        assert_eq!(sessions("/json/sessions"), ("/".to_owned(), None));
        assert_eq!(sessions("/json/sessions/"), ("/".to_owned(), None));
        assert_eq!(sessions("/json/sessions/a%2Ab"), ("/".to_owned(), Some("a*b".to_owned())));
        assert_eq!(sessions("/json/sales/sessions/x"), ("/sales".to_owned(), Some("x".to_owned())));
        assert_eq!(Place::find("/json/sessions/a/b"), Place::Json { name: "sessions/a/b".to_owned() });
        assert_eq!(Place::find("/xui"), Place::Nowhere);
    }
}
