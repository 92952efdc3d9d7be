//! Random policies of XACML 3.0 as texts, and requests for them.

use durward_pdp::{AttributeName, AttributeSource, Request, SourceError, Value};

use super::TestRandom;
use super::text::ShrinkableText;

const NAMESPACE: &str = "urn:oasis:names:tc:xacml:3.0:core:schema:wd-17";
const SCHEMA: &str = "http://www.w3.org/2001/XMLSchema#";
const FUNCTION: &str = "urn:oasis:names:tc:xacml:1.0:function:";

/// An attribute: category, identifier, data type.
type RandomAttribute = (&'static str, &'static str, &'static str);

const SUBJECT: &str = "urn:oasis:names:tc:xacml:1.0:subject-category:access-subject";
const RESOURCE: &str = "urn:oasis:names:tc:xacml:3.0:attribute-category:resource";
const ACTION: &str = "urn:oasis:names:tc:xacml:3.0:attribute-category:action";
const CATEGORIES: [&str; 3] = [SUBJECT, RESOURCE, ACTION];

const ATTRIBUTES: [RandomAttribute; 9] = [
    (SUBJECT, "role", "string"),
    (SUBJECT, "department", "string"),
    (SUBJECT, "level", "integer"),
    (SUBJECT, "sourced", "string"),
    (RESOURCE, "type", "string"),
    (RESOURCE, "size", "integer"),
    (RESOURCE, "weight", "double"),
    (RESOURCE, "opened", "time"),
    (ACTION, "id", "anyURI"),
];

/// Their ends as in identifiers, those that rules have too first.
const ALGORITHMS: [&str; 10] = [
    "3.0:K-combining-algorithm:deny-overrides",
    "3.0:K-combining-algorithm:permit-overrides",
    "3.0:K-combining-algorithm:ordered-deny-overrides",
    "3.0:K-combining-algorithm:deny-unless-permit",
    "3.0:K-combining-algorithm:permit-unless-deny",
    "1.0:K-combining-algorithm:first-applicable",
    "1.0:K-combining-algorithm:deny-overrides",
    "1.0:K-combining-algorithm:permit-overrides",
    "1.0:K-combining-algorithm:first-applicable",
    "1.0:policy-combining-algorithm:only-one-applicable",
];

/// How values of one type are ordered.
const ORDERS: [&str; 4] = ["less-than", "greater-than", "less-than-or-equal", "greater-than-or-equal"];

/// Knows the attribute `sourced` of some subjects.
#[derive(Clone, Copy, Debug)]
pub(super) struct SubjectSource;

impl AttributeSource for SubjectSource {
    fn provides(&self, name: &AttributeName) -> bool {
        name.id == "sourced"
    }

    /// Depends on what else the request says, as a real source's answer does.
    fn values(&self, _: &AttributeName, request: &Request) -> Result<Vec<Value>, SourceError> {
        match request.categories.value_count() % 10 {
            0..3 => Ok(Vec::new()),
            3 => Err(SourceError::new("the source is closed")),
            count => Ok((0..count - 3).map(|number| Value::text(format!("v{number}"))).collect()),
        }
    }
}

/// How policies look; itself random.
struct XacmlShape {
    attributes: Vec<RandomAttribute>,
    values: usize,
    children: usize,
    /// In percent: how often a target is open, an attribute must be present, a rule has a condition, there are duties.
    open: usize,
    must: usize,
    conditions: usize,
    duties: usize,
    algorithm: Option<&'static str>,
}

impl XacmlShape {
    fn random(random: &mut TestRandom) -> XacmlShape {
        let wide = random.percent(30);
        let attributes = 1 + random.below(4);
        XacmlShape {
            attributes: (0..attributes).map(|_| random.of(&ATTRIBUTES)).collect(),
            values: random.of(&[2, 3, if wide { 20 } else { 5 }]),
            children: if wide { 10 + random.below(20) } else { 1 + random.below(4) },
            open: random.of(&[0, 20, 60]),
            must: random.of(&[0, 0, 10, 40]),
            conditions: random.of(&[0, 30, 70]),
            duties: random.of(&[0, 10, 40]),
            algorithm: random.percent(40).then(|| random.of(&ALGORITHMS)),
        }
    }
}

/// Random policies: one document each for one to three policies or sets.
pub(super) fn policies(random: &mut TestRandom) -> Vec<(String, ShrinkableText)> {
    let shape = XacmlShape::random(random);
    let mut writer = XacmlWriter { random, shape, count: 0 };
    let documents = 1 + writer.random.below(3);
    let document = |writer: &mut XacmlWriter<'_>, number: usize| {
        let depth = writer.random.below(3);
        let text = if depth == 0 { writer.policy() } else { writer.set(depth) };
        (format!("{number}.xml"), text)
    };
    (0..documents).map(|number| document(&mut writer, number)).collect()
}

/// A random request.
pub(super) fn request(random: &mut TestRandom) -> ShrinkableText {
    let list = random.percent(30);
    let mut text = ShrinkableText::of(format!(
        "<Request xmlns=\"{NAMESPACE}\" CombinedDecision=\"false\" ReturnPolicyIdList=\"{list}\">"
    ));
    for category in CATEGORIES {
        text = text.then(format!("<Attributes Category=\"{category}\">"));
        for (_, id, data_type) in ATTRIBUTES.iter().filter(|attribute| attribute.0 == category) {
            if *id != "sourced" || random.percent(30) {
                text = text.and(attribute(random, id, data_type));
            }
        }
        text = text.then("</Attributes>");
    }
    text.then("</Request>")
}

fn attribute(random: &mut TestRandom, id: &str, data_type: &str) -> ShrinkableText {
    let count = match random.below(100) {
        0..20 => 0,
        20..75 => 1,
        _ => 2 + random.below(3),
    };
    if count == 0 {
        return ShrinkableText::default();
    }
    let include = random.percent(10);
    let mut inside =
        ShrinkableText::of(format!("<Attribute AttributeId=\"{id}\" IncludeInResult=\"{include}\">"));
    let first = value(random, data_type, 24);
    inside = inside.then(first);
    for _ in 1..count {
        // Now and then of another data type.
        let data_type = if random.percent(5) { "boolean" } else { data_type };
        let value = value(random, data_type, 6);
        inside = inside.maybe(ShrinkableText::of(value));
    }
    ShrinkableText::default().maybe(inside.then("</Attribute>"))
}

/// An `<AttributeValue>`; those at the lower end are more frequent.
fn value(random: &mut TestRandom, data_type: &str, values: usize) -> String {
    let bound = 1 + random.below(values);
    let number = random.below(bound);
    let text = match data_type {
        "integer" => number.to_string(),
        "double" => format!("{number}.5"),
        "time" => format!("{:02}:30:00{}", number % 24, if number.is_multiple_of(3) { "Z" } else { "" }),
        "boolean" => number.is_multiple_of(2).to_string(),
        _ => format!("v{number}"),
    };
    format!("<AttributeValue DataType=\"{SCHEMA}{data_type}\">{text}</AttributeValue>")
}

struct XacmlWriter<'r> {
    random: &'r mut TestRandom,
    shape: XacmlShape,
    count: usize,
}

impl XacmlWriter<'_> {
    fn set(&mut self, depth: usize) -> ShrinkableText {
        self.count += 1;
        let algorithm = self.algorithm("policy");
        let mut text = ShrinkableText::of(format!(
            "<PolicySet xmlns=\"{NAMESPACE}\" PolicySetId=\"set{}\" Version=\"1.0\" PolicyCombiningAlgId=\"{algorithm}\">\n",
            self.count
        ));
        text = text.and(self.target());
        for _ in 0..1 + self.random.below(self.shape.children.min(8)) {
            let child =
                if depth > 1 && self.random.percent(40) { self.set(depth - 1) } else { self.policy() };
            text = text.maybe(child);
        }
        text.and(self.duties()).then("</PolicySet>\n")
    }

    fn policy(&mut self) -> ShrinkableText {
        self.count += 1;
        let algorithm = self.algorithm("rule");
        let mut text = ShrinkableText::of(format!(
            "<Policy xmlns=\"{NAMESPACE}\" PolicyId=\"policy{}\" Version=\"1.0\" RuleCombiningAlgId=\"{algorithm}\">\n",
            self.count
        ));
        text = text.and(self.target());
        let has_variable = self.random.percent(20);
        if has_variable {
            let condition = self.boolean(2);
            text =
                text.then(format!("<VariableDefinition VariableId=\"v\">{condition}</VariableDefinition>"));
        }
        for _ in 0..1 + self.random.below(self.shape.children) {
            let rule = self.rule(has_variable);
            text = text.maybe(rule);
        }
        text.and(self.duties()).then("</Policy>\n")
    }

    fn rule(&mut self, has_variable: bool) -> ShrinkableText {
        self.count += 1;
        let effect = self.random.of(&["Permit", "Deny"]);
        let mut text =
            ShrinkableText::of(format!("<Rule RuleId=\"rule{}\" Effect=\"{effect}\">", self.count));
        text = text.and(self.target());
        if self.random.percent(self.shape.conditions) {
            let condition = match has_variable && self.random.percent(50) {
                true => "<VariableReference VariableId=\"v\"/>".to_owned(),
                false => self.boolean(2),
            };
            text = text.maybe(ShrinkableText::of(format!("<Condition>{condition}</Condition>")));
        }
        text.and(self.duties()).then("</Rule>\n")
    }

    fn algorithm(&mut self, kind: &str) -> String {
        let chosen = match self.shape.algorithm {
            Some(algorithm) if self.random.percent(80) => algorithm,
            Some(_) | None => self.random.of(&ALGORITHMS),
        };
        let chosen = if kind == "rule" && chosen.ends_with("only-one-applicable") {
            "1.0:K-combining-algorithm:first-applicable"
        } else {
            chosen
        };
        format!("urn:oasis:names:tc:xacml:{}", chosen.replace('K', kind))
    }

    fn target(&mut self) -> ShrinkableText {
        if self.random.percent(self.shape.open) {
            return ShrinkableText::of("<Target/>");
        }
        let mut text = ShrinkableText::of("<Target>");
        for _ in 0..1 + self.random.below(3) {
            let mut any = ShrinkableText::of("<AnyOf>");
            for number in 0..1 + self.random.below(3) {
                let mut all = ShrinkableText::of("<AllOf>").then(self.matching());
                if self.random.percent(30) {
                    all = all.maybe(ShrinkableText::of(self.matching()));
                }
                all = all.then("</AllOf>");
                any = if number == 0 { any.and(all) } else { any.maybe(all) };
            }
            text = text.maybe(any.then("</AnyOf>"));
        }
        text.then("</Target>")
    }

    /// Equality most often; ranges and prefixes besides.
    fn matching(&mut self) -> String {
        let attribute = self.attribute();
        let (_, _, data_type) = attribute;
        let version = if self.random.percent(70) { "equal" } else { "other" };
        let function = match (data_type, version) {
            ("string", "other") => self
                .random
                .of(&[
                    "urn:oasis:names:tc:xacml:3.0:function:string-starts-with",
                    "urn:oasis:names:tc:xacml:3.0:function:string-equal-ignore-case",
                    "urn:oasis:names:tc:xacml:1.0:function:string-regexp-match",
                    "urn:oasis:names:tc:xacml:1.0:function:string-greater-than",
                    "urn:oasis:names:tc:xacml:3.0:function:string-ends-with",
                ])
                .to_owned(),
            ("integer" | "double" | "time", "other") => {
                format!("{FUNCTION}{data_type}-{}", self.random.of(&ORDERS))
            }
            _ => format!("{FUNCTION}{data_type}-equal"),
        };
        let (literal, designator) = (self.literal(data_type), self.designator(attribute));
        format!("<Match MatchId=\"{function}\">{literal}{designator}</Match>")
    }

    fn attribute(&mut self) -> RandomAttribute {
        self.random.of(&self.shape.attributes)
    }

    fn literal(&mut self, data_type: &str) -> String {
        value(self.random, data_type, self.shape.values)
    }

    fn designator(&mut self, (category, id, data_type): RandomAttribute) -> String {
        let must = self.random.percent(self.shape.must);
        format!(
            "<AttributeDesignator Category=\"{category}\" AttributeId=\"{id}\" DataType=\"{SCHEMA}{data_type}\" \
             MustBePresent=\"{must}\"/>"
        )
    }

    /// An expression that is true or false, or an error.
    fn boolean(&mut self, depth: usize) -> String {
        let attribute = self.attribute();
        let (_, _, data_type) = attribute;
        let (literal, bag) = (self.literal(data_type), self.designator(attribute));
        let apply = |function: &str, arguments: &str| {
            format!("<Apply FunctionId=\"{FUNCTION}{function}\">{arguments}</Apply>")
        };
        match self.random.below(if depth == 0 { 6 } else { 10 }) {
            0 => apply(&format!("{data_type}-is-in"), &(literal + &bag)),
            1 if data_type != "anyURI" => {
                let order = self.random.of(&ORDERS);
                let only = apply(&format!("{data_type}-one-and-only"), &bag);
                let (first, second) = if self.random.percent(50) { (only, literal) } else { (literal, only) };
                apply(&format!("{data_type}-{order}"), &(first + &second))
            }
            1..3 => {
                let only = apply(&format!("{data_type}-one-and-only"), &bag);
                apply(&format!("{data_type}-equal"), &(only + &literal))
            }
            3 => {
                let relation = if data_type != "anyURI" && self.random.percent(50) {
                    self.random.of(&ORDERS)
                } else {
                    "equal"
                };
                let function = format!("<Function FunctionId=\"{FUNCTION}{data_type}-{relation}\"/>");
                let any = self.random.of(&["any-of", "all-of"]);
                apply(any, &(function + &literal + &bag))
            }
            4 => {
                let other = self.literal(data_type);
                let bag_of = apply(&format!("{data_type}-bag"), &(literal + &other));
                let name = self.random.of(&["subset", "at-least-one-member-of", "set-equals"]);
                apply(&format!("{data_type}-{name}"), &(bag + &bag_of))
            }
            5 => {
                let size = apply(&format!("{data_type}-bag-size"), &bag);
                let number = self.literal("integer");
                apply("integer-greater-than", &(size + &number))
            }
            6 => apply("not", &self.boolean(depth - 1)),
            7 => {
                let number = self.literal("integer");
                let parts: String = (0..3).map(|_| self.boolean(depth - 1)).collect();
                apply("n-of", &(number + &parts))
            }
            word => {
                let parts: String = (0..self.random.below(4)).map(|_| self.boolean(depth - 1)).collect();
                apply(if word == 8 { "and" } else { "or" }, &parts)
            }
        }
    }

    fn duties(&mut self) -> ShrinkableText {
        let mut text = ShrinkableText::default();
        for (kind, on) in [("Obligation", "FulfillOn"), ("Advice", "AppliesTo")] {
            if !self.random.percent(self.shape.duties) {
                continue;
            }
            let mut inside = ShrinkableText::of(format!("<{kind}Expressions>"));
            for number in 0..1 + self.random.below(2) {
                let duty = ShrinkableText::of(self.duty(kind, on));
                inside = if number == 0 { inside.and(duty) } else { inside.maybe(duty) };
            }
            text = text.maybe(inside.then(format!("</{kind}Expressions>")));
        }
        text
    }

    fn duty(&mut self, kind: &str, on: &str) -> String {
        self.count += 1;
        let effect = self.random.of(&["Permit", "Deny"]);
        let attribute = self.attribute();
        let inside = match self.random.below(3) {
            0 => self.designator(attribute),
            _ => self.literal("string"),
        };
        format!(
            "<{kind}Expression {kind}Id=\"duty{}\" {on}=\"{effect}\"><AttributeAssignmentExpression \
             AttributeId=\"a\">{inside}</AttributeAssignmentExpression></{kind}Expression>",
            self.count
        )
    }
}
