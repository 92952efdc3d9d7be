//! Which attributes the finders of a server have values for.

use durward_pdp::check::Attribute;
use durward_pdp::stream::finders;

use super::custom;
use crate::settings::SourceSettings;

/// The methods of `http`, of a value or of the environment.
const HTTP: [&str; 6] = ["get", "post", "put", "patch", "delete", "websocket"];

/// The attributes that policies can ask for, but for those that a file publishes. `has_subjects` where there are sessions
/// or tokens.
pub fn attributes(settings: &SourceSettings, has_subjects: bool) -> Vec<Attribute> {
    let attribute = |name: &str, of_value, arguments| Attribute { name: name.into(), of_value, arguments };
    let mut known = finders::attributes();
    for name in HTTP.map(|name| format!("http.{name}")) {
        known.extend([attribute(&name, false, 1..=1), attribute(&name, true, 0..=1)]);
    }
    known.push(attribute("mqtt.messages", true, 0..=2));
    if has_subjects {
        known.extend(["session.subject", "session.valid"].map(|name| attribute(name, true, 0..=0)));
    }
    known.extend(settings.attributes.iter().filter_map(|(name, settings)| custom::known(name, settings)));
    known
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::SystemTime;

    use durward_pdp::Value;
    use durward_pdp::stream::{Finder, Invocation};

    use super::*;
    use crate::Clock;
    use crate::Sources;

    fn serves(finders: &[Finder], attribute: &Attribute, of_value: bool, count: usize) -> bool {
        let invocation = Invocation {
            entity: of_value.then(|| Value::Text("x".into())),
            ..Invocation::environment(attribute.name.clone(), (0..count).map(|_| Value::Null))
        };
        finders.iter().any(|finder| match finder {
            Finder::Outside(finder) => finder.serves(&invocation),
            Finder::Timed(finder) => finder.serves(&invocation),
        })
    }

    /// What a check takes for known is what the finders serve: with no argument more, and none less.
    #[test]
    fn known_attributes_are_those_that_finders_serve() {
        let toml = "[attributes.\"hr.department\"]\nurl = 'https://hr/{entity}?on={0}'\n\
                    [attributes.\"house.open\"]\nurl = 'https://house/open'";
        let settings: SourceSettings = toml::from_str(toml).unwrap();
        let clock: Clock = Arc::new(|| SystemTime::UNIX_EPOCH);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let sources = Sources::new(&settings, runtime.handle(), &clock).unwrap();
        let finders = sources.all_finders();
        let all = attributes(&settings, false);
        assert!(all.len() > 25);
        for attribute in &all {
            for of_value in [false, true] {
                for count in 0..5 {
                    let same =
                        |other: &&Attribute| other.name == attribute.name && other.of_value == of_value;
                    let is_known = all.iter().filter(same).any(|it| it.arguments.contains(&count));
                    let what = format!("{} {of_value} {count}", attribute.name);
                    assert_eq!(serves(&finders, attribute, of_value, count), is_known, "{what}");
                }
            }
        }
    }
}
