//! A stand-in for CONTINUE, the conference policies of the paper, which this program may not carry: policies of another
//! conference with the same numbers of sets, policies and rules in the same arrangement, and questions about them.
//!
//! CONTINUE has 25 kinds of resources. For each there is a set with its own policies, in which lies the set of the resource
//! that it is part of, and so on; the first policy that applies decides. That is what is imitated; who may do what is drawn by
//! lot. As the policies are made here, so is the right decision of every question, without any engine.

use std::fmt::Write;

use super::policies::StudyQuestion;
use crate::random::LabRandom;

/// Kind of resource, how many sets there are for it, one within the other, and how many policies in all of them: the numbers
/// of CONTINUE, which come to 111 sets with the one around all, and 266 policies.
const RESOURCES: [(&str, usize, usize); 25] = [
    ("venue", 2, 4),
    ("venue-map", 3, 5),
    ("reviewer", 3, 8),
    ("reviewer-load", 4, 11),
    ("reviewer-bids", 4, 11),
    ("reviewer-quota", 4, 8),
    ("reviewer-profile", 4, 11),
    ("reviewer-profile-secret", 5, 14),
    ("reviewer-profile-rank", 5, 15),
    ("talk", 3, 7),
    ("talk-abstract", 5, 9),
    ("talk-draft", 4, 9),
    ("talk-draft-source", 5, 9),
    ("talk-verdict", 4, 8),
    ("talk-bids", 4, 11),
    ("talk-load", 4, 12),
    ("talk-report", 4, 12),
    ("talk-report-head", 5, 13),
    ("talk-report-body", 5, 14),
    ("talk-report-head-state", 6, 14),
    ("talk-report-body-grade", 6, 14),
    ("talk-report-body-open", 6, 14),
    ("talk-report-body-closed", 6, 14),
    ("talk-report-head-author", 6, 13),
    ("session-flag", 3, 6),
];
/// The first of so many sets for talks' reports has a policy of five rules: 32 rules beside one for each policy, 298 in all.
const LONG_POLICIES: usize = 8;
const LONG: usize = 5;
const ROLES: [&str; 4] = ["organiser", "chair", "reviewer", "helper"];
const ACTIONS: [&str; 4] = ["read", "write", "create", "delete"];
/// What may be known of whoever asks; each is true or false.
const RELATIONS: [&str; 7] =
    ["is-own", "in-session", "is-rival", "reviews-talk", "has-reported", "leads-session", "sees-open"];

const STRING: &str = "http://www.w3.org/2001/XMLSchema#string";
const NAMESPACE: &str = "urn:oasis:names:tc:xacml:3.0:core:schema:wd-17";
const SUBJECT: &str = "urn:oasis:names:tc:xacml:1.0:subject-category:access-subject";
const RESOURCE: &str = "urn:oasis:names:tc:xacml:3.0:attribute-category:resource";
const ACTION: &str = "urn:oasis:names:tc:xacml:3.0:attribute-category:action";
const RESOURCE_ID: &str = "urn:oasis:names:tc:xacml:1.0:resource:resource-id";
const ACTION_ID: &str = "urn:oasis:names:tc:xacml:1.0:action:action-id";
const FIRST_POLICY: &str = "urn:oasis:names:tc:xacml:1.0:policy-combining-algorithm:first-applicable";
const FIRST_RULE: &str = "urn:oasis:names:tc:xacml:1.0:rule-combining-algorithm:first-applicable";
const EQUAL: &str = "urn:oasis:names:tc:xacml:1.0:function:string-equal";

/// Policies and questions about them.
#[derive(Clone, Debug)]
pub(super) struct Conference {
    resources: Vec<ConferenceResource>,
}

#[derive(Clone, Debug)]
struct ConferenceResource {
    name: &'static str,
    /// From the outermost set to the innermost.
    levels: Vec<Vec<ConferencePolicy>>,
}

/// Applies to one of its roles (to all where it has none) with one of its actions, where its relation is as it says.
#[derive(Clone, Debug, Default)]
struct ConferencePolicy {
    role: Option<&'static str>,
    actions: Vec<&'static str>,
    relation: Option<(&'static str, bool)>,
    rules: Vec<ConferenceRule>,
}

#[derive(Clone, Debug)]
struct ConferenceRule {
    relation: Option<(&'static str, bool)>,
    is_permit: bool,
}

/// What is asked.
struct ConferenceQuestion {
    resource: &'static str,
    role: &'static str,
    action: &'static str,
    known: Vec<(&'static str, bool)>,
}

impl Conference {
    /// The policies that follow from this seed.
    pub(super) fn new(seed: u64) -> Conference {
        let mut random = LabRandom::of_part(seed, 1);
        let mut long_left = LONG_POLICIES;
        let mut resource = |(name, sets, policies): (&'static str, usize, usize)| {
            let is_report = name.starts_with("talk-report");
            let mut has_long = is_report && long_left > 0;
            long_left -= usize::from(has_long);
            // The outermost set holds but the target.
            let levels = sets - 1;
            let share = |level: usize| policies / levels + usize::from(level < policies % levels);
            let level = |level: usize| {
                let is_last = level + 1 == levels;
                let mut all: Vec<ConferencePolicy> = (0..share(level)).map(|_| policy(&mut random)).collect();
                if std::mem::take(&mut has_long)
                    && let Some(first) = all.first_mut()
                {
                    first.rules = (0..LONG).map(|_| rule(&mut random)).collect();
                }
                if is_last && let Some(last) = all.last_mut() {
                    // What nothing else decides is denied.
                    *last = ConferencePolicy {
                        rules: vec![ConferenceRule { relation: None, is_permit: false }],
                        ..ConferencePolicy::default()
                    };
                }
                all
            };
            ConferenceResource { name, levels: (0..levels).map(level).collect() }
        };
        Conference { resources: RESOURCES.into_iter().map(&mut resource).collect() }
    }

    /// So many questions, with what is right.
    pub(super) fn questions(&self, seed: u64, count: usize) -> Vec<StudyQuestion> {
        let mut random = LabRandom::of_part(seed, 2);
        let one = |number: usize| {
            let known = |random: &mut LabRandom, name: &'static str| {
                (pick(random, 2) == 0).then(|| (name, pick(random, 2) == 0))
            };
            let asked = ConferenceQuestion {
                resource: RESOURCES.get(pick(&mut random, RESOURCES.len())).map_or("", |one| one.0),
                role: choice(&mut random, &ROLES),
                action: choice(&mut random, &ACTIONS),
                known: RELATIONS.into_iter().filter_map(|name| known(&mut random, name)).collect(),
            };
            StudyQuestion {
                id: format!("conference-{number:05}"),
                xml: asked.xml(number),
                decision: self.decide(&asked).map(str::to_owned),
            }
        };
        (0..count).map(one).collect()
    }

    /// The first policy that applies decides, and of it the first rule that does.
    fn decide(&self, asked: &ConferenceQuestion) -> Option<&'static str> {
        let resource = self.resources.iter().find(|resource| resource.name == asked.resource)?;
        let policies = resource.levels.iter().flatten().filter(|policy| policy.applies(asked));
        let mut rules = policies.flat_map(|policy| &policy.rules).filter(|rule| asked.has(rule.relation));
        rules.next().map(|rule| if rule.is_permit { "Permit" } else { "Deny" })
    }

    /// All of it as one policy set of XACML 3.0.
    pub(super) fn xml(&self) -> String {
        let mut out = format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<PolicySet xmlns=\"{NAMESPACE}\" PolicySetId=\"conference\" \
             PolicyCombiningAlgId=\"{FIRST_POLICY}\" Version=\"1.0\">\n<Target/>\n"
        );
        for resource in &self.resources {
            let id = resource.name;
            begin_set(&mut out, id, &target(&[vec![(RESOURCE, RESOURCE_ID, id)]]));
            for (number, level) in resource.levels.iter().enumerate() {
                begin_set(&mut out, &format!("{id}.{number}"), "<Target/>");
                for (place, policy) in level.iter().enumerate() {
                    policy.write(&mut out, &format!("{id}.{number}.{place}"));
                }
            }
            out.push_str(&"</PolicySet>\n".repeat(resource.levels.len() + 1));
        }
        out + "</PolicySet>\n"
    }
}

/// By lot: a role, one or two actions, now and then a relation.
fn policy(random: &mut LabRandom) -> ConferencePolicy {
    let mut actions = vec![choice(random, &ACTIONS)];
    if pick(random, 3) == 0 {
        actions.push(choice(random, &ACTIONS));
        actions.dedup();
    }
    let relation = (pick(random, 2) == 0).then(|| (choice(random, &RELATIONS), pick(random, 4) > 0));
    let rules = vec![ConferenceRule { relation: None, is_permit: pick(random, 4) > 0 }];
    ConferencePolicy { role: Some(choice(random, &ROLES)), actions, relation, rules }
}

fn rule(random: &mut LabRandom) -> ConferenceRule {
    ConferenceRule { relation: Some((choice(random, &RELATIONS), true)), is_permit: pick(random, 2) == 0 }
}

fn pick(random: &mut LabRandom, count: usize) -> usize {
    random.below(count)
}

fn choice(random: &mut LabRandom, of: &[&'static str]) -> &'static str {
    of.get(pick(random, of.len())).copied().unwrap_or_default()
}

impl ConferencePolicy {
    fn applies(&self, asked: &ConferenceQuestion) -> bool {
        self.role.is_none_or(|role| role == asked.role)
            && (self.actions.is_empty() || self.actions.contains(&asked.action))
            && asked.has(self.relation)
    }

    /// Writing to a string cannot fail, here and below.
    fn write(&self, out: &mut String, id: &str) {
        let mut any_of = Vec::new();
        if let Some(role) = self.role {
            let mut all_of = vec![(SUBJECT, "role", role)];
            all_of.extend(self.relation.map(|(name, is)| (SUBJECT, name, word(is))));
            any_of.push(match_all(&all_of));
        }
        if !self.actions.is_empty() {
            any_of
                .push(self.actions.iter().map(|action| match_all(&[(ACTION, ACTION_ID, action)])).collect());
        }
        let _ = write!(
            out,
            "<Policy PolicyId=\"{id}\" RuleCombiningAlgId=\"{FIRST_RULE}\" Version=\"1.0\">\n{}\n",
            written(&any_of)
        );
        for (number, rule) in self.rules.iter().enumerate() {
            let target = rule.relation.map(|(name, is)| target(&[vec![(SUBJECT, name, word(is))]]));
            let effect = if rule.is_permit { "Permit" } else { "Deny" };
            let _ = writeln!(
                out,
                "<Rule RuleId=\"{id}.{number}\" Effect=\"{effect}\">{}</Rule>",
                target.as_deref().unwrap_or("<Target/>")
            );
        }
        out.push_str("</Policy>\n");
    }
}

fn begin_set(out: &mut String, id: &str, target: &str) {
    let _ = write!(
        out,
        "<PolicySet PolicySetId=\"{id}\" PolicyCombiningAlgId=\"{FIRST_POLICY}\" Version=\"1.0\">\n{target}\n"
    );
}

/// A target that wants one match of each of these.
fn target(any_of: &[Vec<(&str, &str, &str)>]) -> String {
    let all: Vec<String> = any_of.iter().map(|matches| match_all(matches)).collect();
    written(&all)
}

fn written(any_of: &[String]) -> String {
    let all: String = any_of.iter().map(|all_of| format!("<AnyOf>{all_of}</AnyOf>")).collect();
    if all.is_empty() { "<Target/>".to_owned() } else { format!("<Target>{all}</Target>") }
}

/// Category, attribute, value, of which all must be there.
fn match_all(matches: &[(&str, &str, &str)]) -> String {
    let one = |(category, id, value): &(&str, &str, &str)| {
        format!(
            "<Match MatchId=\"{EQUAL}\"><AttributeValue DataType=\"{STRING}\">{value}</AttributeValue><AttributeDesignator \
             Category=\"{category}\" AttributeId=\"{id}\" DataType=\"{STRING}\" MustBePresent=\"false\"/></Match>"
        )
    };
    format!("<AllOf>{}</AllOf>", matches.iter().map(one).collect::<String>())
}

fn word(is: bool) -> &'static str {
    if is { "true" } else { "false" }
}

impl ConferenceQuestion {
    fn has(&self, relation: Option<(&'static str, bool)>) -> bool {
        relation.is_none_or(|relation| self.known.contains(&relation))
    }

    /// The request of XACML 3.0, in one line.
    fn xml(&self, number: usize) -> String {
        let attribute = |id: &str, value: &str| {
            format!(
                "<Attribute AttributeId=\"{id}\" IncludeInResult=\"false\"><AttributeValue DataType=\"{STRING}\">{value}\
                 </AttributeValue></Attribute>"
            )
        };
        let known: String = self.known.iter().map(|(name, is)| attribute(name, word(*is))).collect();
        let user = attribute("urn:oasis:names:tc:xacml:1.0:subject:subject-id", &format!("user{number}"));
        format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?><Request xmlns=\"{NAMESPACE}\" CombinedDecision=\"false\" \
             ReturnPolicyIdList=\"false\"><Attributes Category=\"{SUBJECT}\">{user}{}{known}</Attributes><Attributes \
             Category=\"{RESOURCE}\">{}</Attributes><Attributes Category=\"{ACTION}\">{}</Attributes></Request>",
            attribute("role", self.role),
            attribute(RESOURCE_ID, self.resource),
            attribute(ACTION_ID, self.action),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_as_large_as_continue() {
        let xml = Conference::new(2020).xml();
        let count = |what: &str| xml.matches(what).count();
        assert_eq!((count("<PolicySet "), count("<Policy "), count("<Rule ")), (111, 266, 298));
        assert!(count("<Match ").abs_diff(671) < 70, "{} matches", count("<Match "));
    }

    #[test]
    fn it_follows_from_the_seed_and_decides_both_ways() {
        let conference = Conference::new(2020);
        assert_eq!(conference.xml(), Conference::new(2020).xml());
        assert_ne!(conference.xml(), Conference::new(2021).xml());
        let questions = conference.questions(2020, 1000);
        let permits = questions.iter().filter(|one| one.decision.as_deref() == Some("Permit")).count();
        assert!(questions.iter().all(|one| one.decision.is_some()));
        assert!((100..900).contains(&permits), "{permits} of 1000 permit");
    }
}
