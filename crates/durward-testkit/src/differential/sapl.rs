//! Random policies of SAPL, and subscriptions for them.
//!
//! Some sets of policies are many that compare few parts of the subscription, as real ones do; others are few and as odd
//! as the language lets them be: type errors, undefined values, attribute finders, variables, sets with targets; and some
//! are sets beside policies that fail in every place.

use super::TestRandom;
use super::hostile;
use super::text::ShrinkableText;

const PARTS: [&str; 9] = [
    "subject",
    "subject.id",
    "subject.role",
    "subject.level",
    "resource.list",
    "resource.kind",
    "resource.owner",
    "action",
    "environment.zone",
];

/// The variables of `pdp.json`.
const VARIABLES: &str = r#"{
  "graph": {"v0": ["v1", "v2"], "v1": ["v2"], "v2": [], "v3": {"v1": 1}, "7": {"v0": null}},
  "lists": {"v1": {"owner": "v0", "readers": "v2", "kind": [{"a": "v1"}, {"a": "v2", "b": "v3"}]},
            "v2": {"owner": "v9", "readers": "v1", "kind": {"k": {"a": "v0"}}}, "v3": {"readers": null}, "v4": "v0"},
  "permissions": {"v0": [{"type": "v1", "action": "v2"}], "v1": [{"type": "v1", "action": "v0"}, "v1"]},
  "names": ["v0", "v2", "v4", 7],
  "limit": 3
}"#;

const VALUES: [&str; 15] = [
    r#""v0""#,
    r#""v1""#,
    r#""v2""#,
    r#""v3""#,
    r#""v4""#,
    r#""v0v1""#,
    r#""v0\nv1""#,
    r#""""#,
    "7",
    "3",
    "-1.5",
    "true",
    "null",
    r#"["v0", "v2"]"#,
    r#"{"a": "v1"}"#,
];

/// What is compared by order.
const NUMBERS: [&str; 8] = ["-2", "-1.5", "0", "2.5", "3", "3.0", "7", "1e20"];

const FINDERS: [&str; 4] =
    ["<test.now>", "<test.of(\"x\")>", "\"v1\".<test.about>", "subject.id.<test.about>"];

/// How a set of policies looks; itself random.
struct SaplShape {
    /// The parts they look at.
    parts: Vec<&'static str>,
    /// How many policies, and how often they are of odd form, in percent.
    policies: usize,
    odd: usize,
    /// In percent: how often there are comparisons by order and with prefixes, finders, duties, sets.
    ranges: usize,
    finders: usize,
    duties: usize,
    sets: usize,
    /// In percent: how often what could fail does, and functions are called with anything.
    failing: usize,
}

impl SaplShape {
    fn random(random: &mut TestRandom) -> SaplShape {
        if random.percent(25) {
            return SaplShape::failing(random);
        }
        let wide = random.percent(35);
        let parts = 1 + random.below(if wide { 5 } else { 4 });
        SaplShape {
            parts: (0..parts).map(|_| random.of(&PARTS)).collect(),
            policies: if wide { 12 + random.below(40) } else { 1 + random.below(5) },
            odd: random.of(if wide { &[0, 5, 20] } else { &[10, 50, 100] }),
            ranges: random.of(&[0, 0, 30, 80]),
            finders: random.of(&[0, 0, 0, 15]),
            duties: random.of(&[0, 0, 20, 60]),
            sets: random.of(&[0, 0, 20, 50]),
            failing: random.of(&[0, 0, 5, 20]),
        }
    }

    /// Sets beside policies, with errors in every place.
    fn failing(random: &mut TestRandom) -> SaplShape {
        let parts = 1 + random.below(3);
        SaplShape {
            parts: (0..parts).map(|_| random.of(&PARTS)).collect(),
            policies: 3 + random.below(10),
            odd: random.of(&[0, 5, 20]),
            ranges: 0,
            finders: random.of(&[0, 0, 30]),
            duties: random.of(&[20, 40]),
            sets: random.of(&[50, 80]),
            failing: random.of(&[20, 40]),
        }
    }
}

/// Random policies: `pdp.json` and documents, by name.
pub(super) fn policies(random: &mut TestRandom) -> Vec<(String, ShrinkableText)> {
    let shape = SaplShape::random(random);
    let mut writer = SaplWriter { random, shape };
    let mut documents = vec![("pdp.json".to_owned(), writer.configuration())];
    let mut left = writer.shape.policies;
    let mut number = 0;
    while left > 0 {
        let sets = writer.shape.sets;
        let (document, taken) = if writer.random.percent(sets) {
            let policies = 1 + writer.random.below(left.min(8));
            (writer.set(number, policies), policies)
        } else {
            (writer.policy(&number.to_string(), 0), 1)
        };
        documents.push((format!("{number:04}.sapl"), document));
        number += 1;
        left -= taken;
    }
    documents
}

/// A random subscription.
pub(super) fn subscription(random: &mut TestRandom) -> ShrinkableText {
    let mut text = ShrinkableText::of("{");
    for (place, element) in ["subject", "action", "resource"].into_iter().enumerate() {
        let comma = if place == 0 { "" } else { ", " };
        text = text.then(format!("{comma}\"{element}\": ")).and(part(random, element));
    }
    if random.percent(30) {
        text = text.maybe(ShrinkableText::of(", \"environment\": ").and(part(random, "environment")));
    }
    text.then("}")
}

fn part(random: &mut TestRandom, element: &str) -> ShrinkableText {
    let keys: &[&str] = match element {
        "subject" => &["id", "role", "level"],
        "resource" => &["list", "kind", "owner"],
        "environment" => &["zone"],
        _ => &[],
    };
    if keys.is_empty() || random.percent(15) {
        return ShrinkableText::of(constant(random));
    }
    let mut text = ShrinkableText::of("{\"_\": 0");
    for key in keys {
        if random.percent(80) {
            text = text.maybe(ShrinkableText::of(format!(", \"{key}\": {}", constant(random))));
        }
    }
    text.then("}")
}

/// A value: more often one of few texts than of the others, sometimes one that no policy names.
fn constant(random: &mut TestRandom) -> &'static str {
    if random.percent(15) {
        random.of(&NUMBERS)
    } else if random.percent(70) {
        random.of(VALUES.first_chunk::<5>().unwrap_or(&[""; 5]))
    } else {
        random.of(&VALUES)
    }
}

struct SaplWriter<'r> {
    random: &'r mut TestRandom,
    shape: SaplShape,
}

impl SaplWriter<'_> {
    fn configuration(&mut self) -> ShrinkableText {
        let mode = self.random.of(&[
            "PRIORITY_DENY",
            "PRIORITY_PERMIT",
            "PRIORITY_SUSPEND",
            "UNANIMOUS",
            "UNANIMOUS_STRICT",
            "UNIQUE",
        ]);
        let default = self.random.of(&["ABSTAIN", "DENY", "PERMIT", "SUSPEND"]);
        let errors = self.random.of(&["PROPAGATE", "PROPAGATE", "ABSTAIN"]);
        ShrinkableText::of(format!(
            "{{\"algorithm\": {{\"votingMode\": \"{mode}\", \"defaultDecision\": \"{default}\", \
             \"errorHandling\": \"{errors}\"}},\n\"variables\": {VARIABLES}}}"
        ))
    }

    fn set(&mut self, number: usize, policies: usize) -> ShrinkableText {
        let mode = self.random.of(&[
            "first",
            "first",
            "priority deny",
            "priority permit",
            "priority suspend",
            "unanimous",
            "unanimous strict",
            "unique",
        ]);
        let default = self.random.of(&["abstain", "abstain", "deny", "permit", "suspend"]);
        let errors = self.random.of(&["", " errors propagate", " errors abstain"]);
        let mut text = ShrinkableText::of(format!("set \"s{number}\" {mode} or {default}{errors}\n"));
        if self.random.percent(60) {
            text = text.maybe(ShrinkableText::of(format!("for {}\n", self.condition(1))));
        }
        if self.random.percent(30) {
            let value = self.value(1);
            text = text.maybe(ShrinkableText::of(format!("var shared = {value};\n")));
        }
        for policy in 0..policies {
            let policy = self.policy(&format!("{number}-{policy}"), 1);
            // A set has one policy at least.
            text = if text.parts() == 0 { text.and(policy) } else { text.maybe(policy) };
        }
        text
    }

    fn policy(&mut self, name: &str, depth: usize) -> ShrinkableText {
        let effect = self.random.of(&["permit", "permit", "deny", "suspend"]);
        let mut text = ShrinkableText::of(format!("policy \"{name}\" {effect}\n"));
        if depth == 0 && self.random.percent(self.shape.odd / 5) {
            let value = self.value(1);
            text = text.maybe(ShrinkableText::of(format!("var mine = {value};\n")));
        }
        for _ in 0..self.random.below(4) {
            text = text.maybe(ShrinkableText::of(format!("  {};\n", self.condition(2))));
        }
        for word in ["obligation", "advice"] {
            while self.random.percent(self.shape.duties) {
                text = text.maybe(ShrinkableText::of(format!("{word} {}\n", self.outcome(name))));
            }
        }
        if self.random.percent(self.shape.duties / 4) {
            let outcome = self.outcome("t");
            text = text.maybe(ShrinkableText::of(format!("transform {outcome}\n")));
        }
        text
    }

    /// What goes along with a decision.
    fn outcome(&mut self, name: &str) -> String {
        if self.random.percent(self.shape.failing) {
            return self.hostile();
        }
        match self.random.below(6) {
            0..3 => format!("{{\"do\": \"{name}\"}}"),
            3 => self.random.of(&VALUES).to_owned(),
            _ => self.value(1),
        }
    }

    /// What fails, or what is not expected to be asked.
    fn hostile(&mut self) -> String {
        let part = self.part();
        match self.random.below(4) {
            0 => format!("{part} / 0"),
            1 => hostile::call(self.random, &self.shape.parts),
            _ => hostile::failure(self.random, part),
        }
    }

    fn part(&mut self) -> &'static str {
        self.random.of(&self.shape.parts)
    }

    /// Something that has a value.
    fn value(&mut self, depth: usize) -> String {
        let part = self.part();
        match self.random.below(if depth == 0 { 4 } else { 15 }) {
            0..2 => part.to_owned(),
            2 => self.random.of(&VALUES).to_owned(),
            3 => self.random.of(&["limit", "names", "shared", "mine", "unknown"]).to_owned(),
            4 => format!("graph[({part})]"),
            5 => format!("lists[({part})].{}", self.random.of(&["owner", "readers", "kind"])),
            6 => format!("lists[({})]", self.value(depth - 1)),
            7 => format!("{{\"a\": {}, \"type\": {}}}", self.value(0), self.value(depth - 1)),
            8 => format!("[{}, {}]", self.value(0), self.value(depth - 1)),
            9 => {
                format!("({} {} {})", self.value(depth - 1), self.random.of(&["+", "-", "/"]), self.value(0))
            }
            10 => format!("string.length({})", self.value(depth - 1)),
            11 => format!("graph.reachable(graph, {})", self.value(0)),
            12 => format!("standard.length({})", self.value(depth - 1)),
            13 if self.random.percent(self.shape.finders) => self.random.of(&FINDERS).to_owned(),
            _ => format!("lists..{}", self.random.of(&["owner", "kind", "a"])),
        }
    }

    /// Something that is true or false, or ought to be.
    fn condition(&mut self, depth: usize) -> String {
        if self.random.percent(self.shape.failing) {
            return self.hostile();
        }
        if !self.random.percent(self.shape.odd) {
            return self.plain_condition();
        }
        match self.random.below(if depth == 0 { 8 } else { 12 }) {
            0 => self.plain_condition(),
            1 => self.value(1),
            2 => format!("{} =~ \"{}\"", self.value(1), self.random.of(&["v.*", "v[01]", ".*1"])),
            3 => format!("string.startsWith({}, \"{}\")", self.value(1), self.random.of(&["v", "v0", "x"])),
            4 if self.random.percent(self.shape.finders * 4) => self.random.of(&FINDERS).to_owned(),
            4..8 => {
                let operator = self.random.of(&[
                    "==", "!=", "in", "has", "<", "<=", ">", ">=", "any in", "all in", "has any", "in", "==",
                ]);
                format!("{} {operator} {}", self.value(2), self.value(2))
            }
            8 => format!("!({})", self.condition(depth - 1)),
            9 => format!("({} || {})", self.condition(depth - 1), self.condition(depth - 1)),
            10 => format!("({} & {})", self.condition(depth - 1), self.condition(depth - 1)),
            _ => format!("({} && {})", self.condition(depth - 1), self.condition(depth - 1)),
        }
    }

    /// What most real conditions are.
    fn plain_condition(&mut self) -> String {
        if self.random.percent(self.shape.ranges) {
            return self.range();
        }
        let part = self.part();
        let constant = constant(self.random);
        match self.random.below(14) {
            0..6 => format!("{part} == {constant}"),
            6..8 => format!("{part} in [{constant}, {}]", self.random.of(&VALUES)),
            8 => format!("{part} != {constant}"),
            9 => format!("({part} == {constant} || {} == {})", self.part(), self.random.of(&VALUES)),
            10 => {
                let pair = format!("{{\"type\": {part}, \"action\": {}}}", self.part());
                format!("{pair} in permissions[({})]", self.part())
            }
            11 => format!("{part} in graph[({})]", self.part()),
            12 => format!("{part} in names"),
            _ => format!(
                "{part} {} {}",
                self.random.of(&["<", "<=", ">", ">="]),
                self.random.of(&["3", "7", "limit"])
            ),
        }
    }

    /// A comparison by order or with a prefix.
    fn range(&mut self) -> String {
        let part = self.part();
        let number = self.random.of(&NUMBERS);
        let prefix = self.random.of(&["v", "v0", "v0v", "v1", "x"]);
        let operators = ["<", "<=", ">", ">="];
        let operator = self.random.of(&operators);
        match self.random.below(12) {
            0..4 => format!("{part} {operator} {number}"),
            4 => format!("{number} {operator} {part}"),
            5..7 => format!("({part} >= {number} && {part} < {})", self.random.of(&NUMBERS)),
            7 => format!("!({part} {operator} {number})"),
            8 => format!("({part} {operator} {number} || {} == \"v1\")", self.part()),
            9 => format!("string.startsWith({part}, \"{prefix}\")"),
            10 => format!("!string.startsWith({part}, \"{prefix}\")"),
            _ => format!("{part} =~ \"{prefix}{}\"", self.random.of(&[".*", ".*", ".+", "[01]?"])),
        }
    }
}
