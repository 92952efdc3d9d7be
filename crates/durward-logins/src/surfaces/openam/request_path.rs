//! From a path to what is meant, and in which realm.

/// What a path means.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum RequestPath<'p> {
    /// `json/{realm}/authenticate`.
    Authenticate {
        realm: String,
    },
    /// A resource under `json/{realm}`, by the parts of its name. It may not exist.
    Json {
        realm: String,
        resource: Vec<String>,
    },
    /// `json/realms/...` with a name that no realm has.
    NoRealm {
        name: String,
    },
    /// A path under `json` with two slashes next to each other.
    Hollow,
    /// `identity/{operation}`, `identity/json/{operation}`, `identity/xml/{operation}`.
    Identity {
        form: Form,
        operation: &'p str,
    },
    /// A page for browsers.
    Browser(BrowserPath),
    /// `isAlive.jsp`.
    Alive,
    /// `sessionservice`.
    SessionService,
    Nowhere,
}

/// Pages for browsers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BrowserPath {
    /// `UI/Login`.
    Login,
    /// `UI/Logout`.
    Logout,
    /// `console`, where a login leads to by default.
    Console,
    /// The pages of OpenAM that scripts make, and the deployment itself: browsers keep what stands behind `#`, and it is not read.
    Pages,
}

/// How `identity` writes its answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Text,
    Json,
    Xml,
}

/// The names of the realms there are, `/` among them.
#[derive(Clone, Copy)]
pub(super) struct Realms<'r>(pub(super) &'r [&'r str]);

impl Realms<'_> {
    /// The realm of a name, such as `/sales`. Capitals make no difference, as with OpenAM, where no other realm is meant exactly.
    pub(super) fn find(self, name: &str) -> Option<String> {
        let exact = self.0.iter().find(|realm| **realm == name);
        let found = exact.or_else(|| self.0.iter().find(|realm| realm.eq_ignore_ascii_case(name)));
        found.map(|realm| (*realm).to_owned())
    }
}

impl RequestPath<'_> {
    /// Of a path after that of the deployment.
    pub(super) fn find<'p>(path: &'p str, realms: Realms<'_>) -> RequestPath<'p> {
        match path {
            "/isAlive.jsp" => return RequestPath::Alive,
            "/sessionservice" => return RequestPath::SessionService,
            "/UI/Login" => return RequestPath::Browser(BrowserPath::Login),
            "/UI/Logout" => return RequestPath::Browser(BrowserPath::Logout),
            "/console" | "/console/" => return RequestPath::Browser(BrowserPath::Console),
            "" | "/" | "/XUI" | "/XUI/" | "/XUI/index.html" => {
                return RequestPath::Browser(BrowserPath::Pages);
            }
            _ => {}
        }
        let mut parts = path.trim_start_matches('/').split('/');
        match parts.next() {
            Some("json") => of_json(&parts.collect::<Vec<_>>(), realms),
            Some("identity") => of_identity(&parts.collect::<Vec<_>>()),
            _ => RequestPath::Nowhere,
        }
    }
}

fn of_json(parts: &[&str], realms: Realms<'_>) -> RequestPath<'static> {
    // A slash at the end makes no difference to resources, of which `authenticate` is none.
    let is_ended = parts.last() == Some(&"");
    let parts = parts.strip_suffix(&[""]).unwrap_or(parts);
    if parts.contains(&"") {
        return RequestPath::Hollow;
    }
    let parts: Vec<String> = parts.iter().map(|part| super::query::decoded(part)).collect();
    let (realm, rest) = match of_realm(&parts, realms) {
        Ok(found) => found,
        Err(name) => return RequestPath::NoRealm { name },
    };
    match rest {
        [only] if only == "authenticate" && !is_ended => RequestPath::Authenticate { realm },
        resource => RequestPath::Json { realm, resource: resource.to_vec() },
    }
}

/// The realm that a path begins with, and what comes after it: `realms/root/realms/sales` or, in short, `sales`. The error is the
/// name of a realm that is not there; what is none in short is a resource.
fn of_realm<'p>(parts: &'p [String], realms: Realms<'_>) -> Result<(String, &'p [String]), String> {
    if matches!(parts, [first, _, ..] if first == "realms") {
        return of_long_realm(parts, realms);
    }
    for count in (1..=parts.len()).rev() {
        let (names, rest) = parts.split_at(count);
        if let Some(realm) = realms.find(&format!("/{}", names.join("/"))) {
            return Ok((realm, rest));
        }
    }
    Ok(("/".to_owned(), parts))
}

fn of_long_realm<'p>(parts: &'p [String], realms: Realms<'_>) -> Result<(String, &'p [String]), String> {
    let (mut realm, mut rest) = (String::new(), parts);
    while let [word, name, after @ ..] = rest
        && word == "realms"
    {
        rest = after;
        if name == "root" && matches!(realm.as_str(), "" | "/") {
            "/".clone_into(&mut realm);
            continue;
        }
        let path = format!("{}/{name}", realm.trim_end_matches('/'));
        // OpenAM calls a realm by its name alone where `root` was not said.
        let said = if realm.is_empty() { name } else { &path };
        realm = realms.find(&path).ok_or_else(|| said.clone())?;
    }
    Ok((realm, rest))
}

fn of_identity<'p>(parts: &[&'p str]) -> RequestPath<'p> {
    match parts {
        [] => RequestPath::Nowhere,
        ["json", .., operation] => RequestPath::Identity { form: Form::Json, operation },
        ["xml", .., operation] => RequestPath::Identity { form: Form::Xml, operation },
        [.., operation] => RequestPath::Identity { form: Form::Text, operation },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REALMS: Realms<'static> = Realms(&["/", "/sales", "/sales/east"]);

    fn shown(path: &str) -> String {
        match RequestPath::find(path, REALMS) {
            RequestPath::Authenticate { realm } => format!("login at {realm}"),
            RequestPath::Json { realm, resource } => format!("{} at {realm}", resource.join("+")),
            RequestPath::NoRealm { name } => format!("no realm {name}"),
            RequestPath::Identity { form, operation } => format!("{form:?} {operation}"),
            other @ (RequestPath::Hollow
            | RequestPath::Browser(_)
            | RequestPath::Alive
            | RequestPath::SessionService
            | RequestPath::Nowhere) => format!("{other:?}"),
        }
    }

    #[test]
    fn realms_are_named_in_two_ways() {
        for (path, meaning) in [
            ("/json/authenticate", "login at /"),
            ("/json/realms/root/authenticate", "login at /"),
            ("/json/realms/root/realms/root/authenticate", "login at /"),
            ("/json/sales/authenticate", "login at /sales"),
            ("/json/SALES/authenticate", "login at /sales"),
            ("/json/sales/east/authenticate", "login at /sales/east"),
            ("/json/realms/sales/authenticate", "login at /sales"),
            ("/json/realms/root/realms/sales/realms/east/authenticate", "login at /sales/east"),
            ("/json/authenticate/", "authenticate at /"),
            ("/json/realms/root/sales/authenticate", "sales+authenticate at /"),
            ("/json/nope/authenticate", "nope+authenticate at /"),
            ("/json/realms/other/authenticate", "no realm other"),
            ("/json/realms/authenticate", "no realm authenticate"),
            ("/json/realms/root/realms/nope/sessions", "no realm /nope"),
            ("/json/realms/root/realms/sales/realms/nope/sessions", "no realm /sales/nope"),
            ("/json/realms", "realms at /"),
        ] {
            assert_eq!(shown(path), meaning, "{path}");
        }
    }

    #[test]
    fn a_token_in_the_path_may_be_encoded() {
        for (path, meaning) in [
            ("/json/sessions", "sessions at /"),
            ("/json/sessions/", "sessions at /"),
            ("/json/sessions/a%2Ab", "sessions+a*b at /"),
            ("/json/sales/sessions/x", "sessions+x at /sales"),
            ("/json/sessions/a/b", "sessions+a+b at /"),
            ("/json", " at /"),
            ("/json//sessions", "Hollow"),
            ("/xui", "Nowhere"),
            ("/XUI/", "Browser(Pages)"),
            ("", "Browser(Pages)"),
            ("/UI/Login", "Browser(Login)"),
            ("/UI/Logout", "Browser(Logout)"),
            ("/console", "Browser(Console)"),
            ("/UI/Login/", "Nowhere"),
            ("/UI", "Nowhere"),
            ("/isAlive.jsp", "Alive"),
            ("/sessionservice", "SessionService"),
            ("/sessionservice/", "Nowhere"),
        ] {
            assert_eq!(shown(path), meaning, "{path}");
        }
    }

    #[test]
    fn what_comes_last_is_the_operation() {
        for (path, meaning) in [
            ("/identity/attributes", "Text attributes"),
            ("/identity/json/attributes", "Json attributes"),
            ("/identity/xml/attributes", "Xml attributes"),
            ("/identity/json", "Text json"),
            ("/identity/attributes/", "Text "),
            ("/identity", "Nowhere"),
        ] {
            assert_eq!(shown(path), meaning, "{path}");
        }
    }
}
