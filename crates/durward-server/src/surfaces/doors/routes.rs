//! What a target is: an action on a resource, by `[[doors.routes]]`. The first route that matches counts, and what matches none is refused.

use std::collections::HashMap;

use durward_settings::doors_path::NamedSegments;
use durward_settings::{DoorRouteSettings, DoorsSettings};
use smallvec::SmallVec;
use smol_str::{SmolStr, SmolStrBuilder};

use super::Named;
use super::answer::Reason;
use super::target::{Oddities, Target};

impl Asked {
    /// The same, with what a gateway says of it in the place of what the settings say.
    pub(super) fn named(mut self, named: &Named<'_>) -> Asked {
        for (place, text) in [
            (&mut self.action, named.action),
            (&mut self.resource_kind, named.resource_type),
            (&mut self.tenant, named.tenant),
        ] {
            if let Some(text) = text {
                *place = text.into();
            }
        }
        self
    }
}

/// All routes.
pub(super) struct Routes {
    routes: Vec<Route>,
    index: Index,
    allowed: Oddities,
    default_tenant: SmolStr,
}

struct Route {
    settings: DoorRouteSettings,
    allowed: Oddities,
    tenant: SmolStr,
    /// Without one, the method says it.
    action: Option<SmolStr>,
    resource_kind: SmolStr,
}

/// The numbers of the routes that can match a path, by its first segment. Others need no look, and without it every answer is the same.
struct Index {
    /// By the text that a template begins with. INVARIANT: in each list, in their order, are the routes that begin so and all of `others`.
    by_first: HashMap<SmolStr, Vec<usize>, foldhash::fast::RandomState>,
    /// Those that begin otherwise.
    others: Vec<usize>,
}

impl Index {
    fn new(routes: &[DoorRouteSettings]) -> Index {
        let mut index = Index { by_first: HashMap::default(), others: Vec::new() };
        for (number, route) in routes.iter().enumerate() {
            match route.path.first() {
                Some(text) => {
                    let before = &index.others;
                    index.by_first.entry(text.into()).or_insert_with(|| before.clone()).push(number);
                }
                None => {
                    index.by_first.values_mut().for_each(|numbers| numbers.push(number));
                    index.others.push(number);
                }
            }
        }
        index
    }

    /// The numbers of those for paths that begin with this segment.
    fn of(&self, first: &str) -> &[usize] {
        self.by_first.get(first).unwrap_or(&self.others)
    }
}

/// What a target was found to be.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) tenant: SmolStr,
    pub(super) action: SmolStr,
    pub(super) resource_kind: SmolStr,
    pub(super) resource_id: SmolStr,
    /// The named parts of the path.
    pub(super) named: SmallVec<[(SmolStr, SmolStr); 2]>,
    /// Whether policies are asked about nobody.
    pub(super) is_for_anybody: bool,
    /// Whether fields that name another method or path are passed on.
    pub(super) allowed: Oddities,
}

impl Routes {
    pub(super) fn new(settings: &DoorsSettings, default_tenant: &str) -> Routes {
        let default_tenant = SmolStr::from(default_tenant);
        let route = |route: &DoorRouteSettings| Route {
            settings: route.clone(),
            allowed: Oddities::of(&route.allow),
            tenant: route.tenant.as_deref().map_or_else(|| default_tenant.clone(), SmolStr::from),
            action: route.action.as_deref().map(SmolStr::from),
            resource_kind: route.resource_type.as_str().into(),
        };
        Routes {
            routes: settings.routes.iter().map(route).collect(),
            index: Index::new(&settings.routes),
            allowed: Oddities::of(&settings.allow),
            default_tenant,
        }
    }

    /// # Errors
    /// No route matches, or the target is not clear enough for the one that does.
    pub(super) fn find(&self, target: &Target<'_>) -> Result<Asked, Reason> {
        if self.routes.is_empty() {
            check(target, self.allowed)?;
            return Ok(Asked {
                tenant: self.default_tenant.clone(),
                action: in_small_letters(target.method),
                resource_kind: SmolStr::new_static("http"),
                resource_id: target.path.as_ref().into(),
                named: SmallVec::new(),
                is_for_anybody: false,
                allowed: self.allowed,
            });
        }
        let segments = target.segments();
        let candidates = self.index.of(segments.first().copied().unwrap_or_default());
        let candidates = candidates.iter().filter_map(|number| self.routes.get(*number));
        let (route, named) = first_of(candidates, target, &segments).ok_or(Reason::Route)?;
        let allowed = self.allowed.and(route.allowed);
        check(target, allowed)?;
        let resource_id = filled(&route.settings.resource_id, target, &named);
        let named = named.iter().map(|(name, value)| (SmolStr::new(name), SmolStr::new(value))).collect();
        Ok(Asked {
            tenant: route.tenant.clone(),
            action: route.action.clone().unwrap_or_else(|| in_small_letters(target.method)),
            resource_kind: route.resource_kind.clone(),
            resource_id,
            named,
            is_for_anybody: route.settings.anonymous,
            allowed,
        })
    }
}

/// A route, and the named segments of the path.
type Matched<'r> = (&'r Route, NamedSegments<'r>);

/// The first of them that matches.
fn first_of<'r>(
    mut routes: impl Iterator<Item = &'r Route>,
    target: &Target<'_>,
    segments: &[&'r str],
) -> Option<Matched<'r>> {
    routes.find_map(|route| {
        if !is_for(&route.settings, target) {
            return None;
        }
        route.settings.path.of(segments).map(|named| (route, named))
    })
}

fn in_small_letters(method: &str) -> SmolStr {
    method.chars().map(|letter| letter.to_ascii_lowercase()).collect()
}

fn check(target: &Target<'_>, allowed: Oddities) -> Result<(), Reason> {
    if target.oddities.are_in(allowed) { Ok(()) } else { Err(Reason::Target) }
}

/// Whether a route is for this host and method.
fn is_for(route: &DoorRouteSettings, target: &Target<'_>) -> bool {
    let is_host = |host: &String| match host.strip_prefix("*.") {
        Some(domain) => {
            let before = target.host.strip_suffix(domain).and_then(|before| before.strip_suffix('.'));
            before.is_some_and(|before| !before.is_empty())
        }
        None => *host == target.host,
    };
    let is_method = route.methods.is_empty() || route.methods.iter().any(|method| method == target.method);
    is_method && (route.hosts.is_empty() || route.hosts.iter().any(is_host))
}

/// A template with what its names stand for; settings were checked to name nothing else.
fn filled(template: &str, target: &Target<'_>, named: &[(&str, &str)]) -> SmolStr {
    let mut text = SmolStrBuilder::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        let (name, behind) = after.split_once('}').unwrap_or((after, ""));
        text.push_str(before);
        text.push_str(match name {
            "path" => &target.path,
            "host" => &target.host,
            "method" => target.method,
            _ => named.iter().find(|(other, _)| *other == name).map_or("", |(_, value)| value),
        });
        rest = behind;
    }
    text.push_str(rest);
    text.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use durward_settings::Settings;

    const ROUTES: &str = r#"
[[doors.routes]]
hosts = ["papers.example.org"]
methods = ["GET", "HEAD"]
path = "/papers/{id}/**"
action = "read"
resource_type = "paper"
resource_id = "{id}"

[[doors.routes]]
hosts = ["*.example.org"]
path = "/files/{name}"
allow = ["semicolon"]
tenant = "other"
resource_id = "{host}:{name}"

[[doors.routes]]
path = "/public/**"
anonymous = true
"#;

    fn found(settings: &str, method: &str, host: &str, raw: &str) -> Result<String, Reason> {
        let settings = Settings::from_toml(settings, "t").unwrap();
        let target = Target::read(method, "https", host, raw).unwrap();
        let asked = Routes::new(&settings.doors, "default").find(&target)?;
        let Asked { tenant, action, resource_kind, resource_id, is_for_anybody, .. } = asked;
        Ok(format!("{tenant} {action} {resource_kind} {resource_id} {is_for_anybody}"))
    }

    #[test]
    fn the_first_route_that_matches_counts_and_nothing_else_is_asked_about() {
        for (method, host, raw, expected) in [
            ("GET", "papers.example.org", "/papers/7/pdf?x=1", Ok("default read paper 7 false")),
            ("POST", "papers.example.org", "/papers/7", Err(Reason::Route)),
            ("GET", "papers.example.org.evil.example", "/papers/7", Err(Reason::Route)),
            ("GET", "example.org", "/files/7", Err(Reason::Route)),
            ("GET", "evilexample.org", "/files/7", Err(Reason::Route)),
            ("PUT", "a.b.example.org", "/files/x;y", Ok("other put http a.b.example.org:x;y false")),
            ("GET", "any.example", "/public", Ok("default get http /public true")),
            ("GET", "any.example", "/public/a;b", Err(Reason::Target)),
            ("GET", "any.example", "/public%2fa", Err(Reason::Route)),
            ("GET", "papers.example.org", "/papers/7%2f8", Err(Reason::Target)),
        ] {
            assert_eq!(
                found(ROUTES, method, host, raw),
                expected.map(str::to_owned),
                "{method} {host} {raw}"
            );
        }
        assert_eq!(found("", "GET", "a", "/x").unwrap(), "default get http /x false");
        assert_eq!(found("", "GET", "a", "//x"), Err(Reason::Target));
        assert!(found("doors.allow = ['double-slash']", "GET", "a", "//x").is_ok());
    }

    /// Each route that a target matches by a look at all of them is found by the index, however routes stand.
    #[test]
    fn the_index_leaves_out_no_route_that_matches() {
        let paths = ["/a/{x}", "/{x}/b", "/a/b", "/**", "/b/**", "/*/c", "/", "/a/**"];
        let targets = ["/", "/a", "/a/", "/a/b", "/a/c", "/b", "/b/b", "/c/b", "/c/c", "/c/d/e"];
        for turn in 0..paths.len() {
            for count in 1..=paths.len() {
                let chosen: Vec<&str> = paths.iter().cycle().skip(turn).take(count).copied().collect();
                let route = |(number, path): (usize, &&str)| {
                    format!("[[doors.routes]]\npath = '{path}'\nresource_id = '{number}'\n")
                };
                let settings: String = chosen.iter().enumerate().map(route).collect();
                let settings = Settings::from_toml(&settings, "t").unwrap();
                let routes = Routes::new(&settings.doors, "default");
                for raw in targets {
                    let target = Target::read("GET", "https", "a", raw).unwrap();
                    let segments = target.segments();
                    let expected = first_of(routes.routes.iter(), &target, &segments);
                    let expected = expected.map(|(route, _)| route.settings.resource_id.as_str());
                    let found = routes.find(&target).map(|asked| asked.resource_id);
                    assert_eq!(found.ok().as_deref(), expected, "{chosen:?} {raw}");
                }
            }
        }
    }
}
