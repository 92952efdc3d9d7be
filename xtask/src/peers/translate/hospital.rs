//! The policies of the hospital, read line by line. A line that is not known is an error: nothing gets lost on the way.

use super::source::Source;

/// A policy.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Policy<'t> {
    /// Members of the department in this role may do this with this type of its resources.
    Permission { department: &'t str, role: &'t str, kind: &'t str, actions: Vec<&'t str> },
    /// Nobody sees of the department what is more sensitive than their clearance.
    Sensitivity { department: &'t str },
    /// Whoever has this role may do this with this type of resources of any department.
    Emergency { role: &'t str, kind: &'t str, actions: Vec<&'t str> },
}

/// All policies, in order.
pub(super) fn policies(source: &Source) -> Result<Vec<Policy<'_>>, String> {
    source.policies.iter().map(|text| policy(text)).collect()
}

#[derive(Default)]
struct Lines<'t> {
    effect: &'t str,
    role: Option<&'t str>,
    kind: Option<&'t str>,
    actions: Vec<&'t str>,
    department: Option<&'t str>,
    /// The department of which one is to be a member.
    membership: Option<&'t str>,
    is_too_sensitive: bool,
}

fn policy(text: &str) -> Result<Policy<'_>, String> {
    let mut lines = Lines::default();
    for line in text.lines().map(|line| line.trim().trim_end_matches(';')) {
        lines.see(line).ok_or_else(|| format!("cannot translate `{line}` of\n{text}"))?;
    }
    let Lines { effect, role, kind, actions, department, membership, is_too_sensitive } = lines;
    match (effect, department, role, kind, membership, is_too_sensitive) {
        ("permit", Some(department), Some(role), Some(kind), Some(member), false) if member == department => {
            Ok(Policy::Permission { department, role, kind, actions })
        }
        ("deny", Some(department), None, None, None, true) if actions.is_empty() => {
            Ok(Policy::Sensitivity { department })
        }
        ("permit", None, Some(role), Some(kind), None, false) => {
            Ok(Policy::Emergency { role, kind, actions })
        }
        _ => Err(format!("cannot translate\n{text}")),
    }
}

impl<'t> Lines<'t> {
    /// Takes a line; nothing where it is not known.
    fn see(&mut self, line: &'t str) -> Option<()> {
        if let "permit" | "deny" = line {
            self.effect = line;
        } else if line == "resource.sensitivity > subject.clearance" {
            self.is_too_sensitive = true;
        } else if let Some(role) = line.strip_prefix("subject.role == ") {
            self.role = Some(quoted(role)?);
        } else if let Some(kind) = line.strip_prefix("resource.type == ") {
            self.kind = Some(quoted(kind)?);
        } else if let Some(department) = line.strip_prefix("resource.department == ") {
            self.department = Some(quoted(department)?);
        } else if let Some(action) = line.strip_prefix("action == ") {
            self.actions = vec![quoted(action)?];
        } else if let Some(actions) = line.strip_prefix("action in [") {
            let actions = actions.strip_suffix(']')?.split(", ").map(quoted);
            self.actions = actions.collect::<Option<_>>()?;
        } else if let Some(department) = line.strip_prefix("memberOf[(subject.id)] has ") {
            self.membership = Some(quoted(department)?);
        } else if !["policy \"", "var memberOf = graph.transitiveClosureSet(staffGraph)"]
            .iter()
            .any(|known| line.starts_with(known))
            && !line.is_empty()
        {
            return None;
        }
        Some(())
    }
}

fn quoted(text: &str) -> Option<&str> {
    text.strip_prefix('"')?.strip_suffix('"').filter(|inner| !inner.contains('"'))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PERMISSION: &str = "policy \"p\"\npermit\n    subject.role == \"r\";\n    resource.type == \"T\";\n    \
        action in [\"a\", \"b\"];\n    resource.department == \"d\";\n    var memberOf = \
        graph.transitiveClosureSet(staffGraph);\n    memberOf[(subject.id)] has \"d\";\n";

    #[test]
    fn a_policy_is_read_with_all_its_lines() {
        let expected = Policy::Permission { department: "d", role: "r", kind: "T", actions: vec!["a", "b"] };
        assert_eq!(policy(PERMISSION).unwrap(), expected);
    }

    #[test]
    fn what_is_not_known_is_not_left_out() {
        let added = PERMISSION.to_owned() + "    subject.id != \"x\";\n";
        assert!(policy(&added).unwrap_err().contains("`subject.id != \"x\"`"));
        let missing = PERMISSION.replace("    resource.type == \"T\";\n", "");
        assert!(policy(&missing).is_err());
        let elsewhere = PERMISSION.replace("has \"d\"", "has \"e\"");
        assert!(policy(&elsewhere).is_err());
    }
}
