//! Lowering: policy documents become one program, or a list of what is wrong with them.
//!
//! Everything that can be known before the first request is found here: unknown functions and data types, wrong
//! argument types, literals that are no values of their type, missing and circular references.

mod expression;
mod repository;
mod ties;

use std::collections::HashMap;

use durward_ir::combine::{Algorithm, Combines, Effects};
use durward_ir::program::{
    AssignmentExpr, Builder, DutyBody, DutyExpr, DutyKind, Effect, Expr, ExprId, Node, NodeId, Program,
    Rule as IrRule, Set, SetKind, SourceLocation, Voters,
};
use smol_str::{SmolStr, format_smolstr};

use crate::policy::PolicyError;
use crate::tree::{
    self, Document, NoticeExpression, Policy, PolicyIssuer, PolicyOrSet, PolicySet, PolicySetChild, Rule,
    Target, XmlLocation,
};
use repository::{Element, Repository};
pub use ties::Ties;

/// How deeply policy sets may refer to each other. Real ones stay below ten; the evaluator's stack must hold it
/// together with the nesting within each document.
pub const REFERENCE_DEPTH_MAX: usize = 50;

/// How deep policy sets may nest, with references followed: the recursion of the evaluator.
pub const NESTING_MAX: usize = 400;

/// How many elements a program may have when every reference and every variable is followed anew. They are shared in
/// memory, but a decision walks them again each time: without a bound, thirty sets that each refer twice to the next
/// would take hours, and so would thirty variables.
pub const ELEMENTS_MAX: u64 = 20_000_000;

/// Problems that are listed for all documents together: a large document can have a million, and each takes as much
/// memory as an element of it. Further ones are not listed; the policies are refused all the same.
pub const PROBLEMS_LOWERED_MAX: usize = 1_000;

/// What to make of several documents.
#[derive(Clone, Debug)]
pub struct Options {
    /// The policy or policy set to start from; `None`: every document that no other document refers to.
    pub root: Option<SmolStr>,
    /// How the root documents are combined.
    pub combining: Algorithm,
}

impl Default for Options {
    fn default() -> Options {
        Options { root: None, combining: Algorithm::DenyOverrides }
    }
}

/// Lowers documents into one program.
///
/// # Errors
/// Every problem found, each with its place. Nothing of a program with problems is ever put in force.
pub fn lower(documents: &[Document], options: &Options) -> Result<Program, Vec<PolicyError>> {
    let mut builder = Builder::new();
    let roots = lower_into(&mut builder, documents, options)?;
    let root = Set {
        id: SmolStr::new_static("root"),
        version: SmolStr::default(),
        kind: SetKind::Root,
        target: None,
        algorithm: options.combining,
        effects: Effects::DENY_OR_PERMIT,
        children: roots,
        voters: Voters::default(),
        duties: Vec::new(),
        place: SourceLocation::default(),
    };
    Ok(builder.finish(root))
}

/// Lowers documents into a program, and gives the elements to start from. References lead to these documents only, and
/// that no two of them are the same policy is only known among these: see [`Ties`].
///
/// # Errors
/// As [`lower`].
pub fn lower_into(
    builder: &mut Builder,
    documents: &[Document],
    options: &Options,
) -> Result<Vec<NodeId>, Vec<PolicyError>> {
    let repository = Repository::of(documents);
    let mut lowering = Lowering {
        builder,
        repository: &repository,
        documents,
        lowered: HashMap::new(),
        errors: repository.duplicates(),
        source: 0,
        first_source: 0,
        path: Vec::new(),
        open_calls: 0,
        size: 0,
    };
    for (at, document) in documents.iter().enumerate() {
        let number = lowering.builder.source(&document.source);
        if at == 0 {
            lowering.first_source = number;
        }
    }
    // Every document is lowered, root or not: a broken one must not hide until somebody refers to it.
    let tops: Vec<(usize, Option<Lowered>)> =
        (0..documents.len()).map(|at| (at, lowering.document(at))).collect();
    let roots = lowering.roots(options, &tops);
    if lowering.errors.len() >= PROBLEMS_LOWERED_MAX {
        let message =
            format!("there are more than {PROBLEMS_LOWERED_MAX} problems; the others are not listed");
        lowering.errors.push(PolicyError::of_all(message, None));
    }
    if lowering.errors.is_empty() { Ok(roots) } else { Err(lowering.errors) }
}

/// An element that is in the program already.
#[derive(Clone, Copy, Debug)]
struct Lowered {
    node: NodeId,
    /// How many elements a walk through it meets, references followed.
    elements: u64,
    /// How deeply references nest below it.
    depth: usize,
    /// How deeply policy sets and policies nest in it, itself included.
    nesting: usize,
}

/// The state of lowering all documents.
struct Lowering<'t, 'b> {
    builder: &'b mut Builder,
    repository: &'t Repository<'t>,
    documents: &'t [Document],
    /// By address in the tree; `None` where it had errors.
    lowered: HashMap<*const (), Option<Lowered>>,
    errors: Vec<PolicyError>,
    /// The document being lowered.
    source: usize,
    /// The number of the first document in the program.
    first_source: u32,
    /// The elements being lowered, for finding cycles.
    path: Vec<*const ()>,
    /// The calls being lowered, one within another.
    open_calls: usize,
    /// How many expressions the policy being lowered walks through, every variable followed anew.
    size: u64,
}

impl<'t> Lowering<'t, '_> {
    fn document(&mut self, at: usize) -> Option<Lowered> {
        let document = self.documents.get(at)?;
        let element = match &document.root {
            PolicyOrSet::Policy(policy) => Element::Policy(policy),
            PolicyOrSet::PolicySet(set) => Element::PolicySet(set),
        };
        self.element(at, element)
    }

    /// Lowers a policy or policy set of the document `source`, or finds it lowered.
    fn element(&mut self, source: usize, element: Element<'t>) -> Option<Lowered> {
        let address = element.address();
        if let Some(known) = self.lowered.get(&address) {
            return *known;
        }
        if self.path.len() == NESTING_MAX {
            self.nests_too_deep(element);
            return None;
        }
        let outer = std::mem::replace(&mut self.source, source);
        self.path.push(address);
        let lowered = match element {
            Element::Policy(policy) => self.policy(policy),
            Element::PolicySet(set) => self.policy_set(set),
        };
        self.path.pop();
        self.source = outer;
        self.lowered.insert(address, lowered);
        lowered
    }

    fn policy_set(&mut self, set: &'t PolicySet) -> Option<Lowered> {
        self.refuse_issuer(set.issuer.as_ref());
        let algorithm = self.algorithm(&set.combining_algorithm, Combines::Policies, set.place);
        let scope = expression::Variables::none();
        let target = self.target(&set.target);
        let mut children = Vec::with_capacity(set.children.len());
        let (mut elements, mut depth, mut nesting, mut complete) = (1u64, 0, 0, true);
        for child in &set.children {
            match self.child(child) {
                Some(lowered) => {
                    elements = elements.saturating_add(lowered.elements);
                    depth = depth.max(lowered.depth + usize::from(is_reference(child)));
                    nesting = nesting.max(lowered.nesting);
                    children.push(lowered.node);
                }
                None => complete = false,
            }
        }
        let duties = self.duties(&set.obligations, &set.advice, &scope);
        elements = elements.saturating_add(std::mem::take(&mut self.size));
        self.check_size(set.place, &format!("policy set `{}`", set.id), elements, depth);
        if nesting == NESTING_MAX {
            self.nests_too_deep(Element::PolicySet(set));
            complete = false;
        }
        let (algorithm, target, duties) = (algorithm?, target?, duties?);
        if !complete {
            return None;
        }
        let node = self.builder.set(Set {
            id: set.id.clone(),
            version: format_smolstr!("{}", set.version),
            kind: SetKind::PolicySet,
            target: target.0,
            algorithm,
            effects: Effects::DENY_OR_PERMIT,
            children,
            voters: Voters::default(),
            duties,
            place: self.place(set.place),
        });
        Some(Lowered { node, elements, depth, nesting: nesting + 1 })
    }

    fn child(&mut self, child: &'t PolicySetChild) -> Option<Lowered> {
        let (reference, what) = match child {
            PolicySetChild::Policy(policy) => return self.element(self.source, Element::Policy(policy)),
            PolicySetChild::PolicySet(set) => return self.element(self.source, Element::PolicySet(set)),
            PolicySetChild::PolicyReference(reference) => (reference, "policy"),
            PolicySetChild::PolicySetReference(reference) => (reference, "policy set"),
        };
        match self.repository.resolve(child) {
            Some(found) if self.path.contains(&found.element.address()) => {
                self.error(
                    reference.place,
                    format!("the reference to {what} `{}` leads back to itself", reference.id),
                    Some(
                        "a policy set cannot contain itself; break the cycle at one of its references".into(),
                    ),
                );
                None
            }
            Some(found) => self.element(found.source, found.element),
            None => {
                let help = self.repository.hint(child);
                self.error(
                    reference.place,
                    format!("no {what} `{}` of a fitting version is known", reference.id),
                    Some(help),
                );
                None
            }
        }
    }

    fn policy(&mut self, policy: &'t Policy) -> Option<Lowered> {
        self.refuse_issuer(policy.issuer.as_ref());
        let algorithm = self.algorithm(&policy.combining_algorithm, Combines::Rules, policy.place);
        let scope = expression::Variables::of(policy);
        self.all_variables(policy, &scope);
        let target = self.target(&policy.target);
        let rules: Vec<Option<NodeId>> = policy.rules.iter().map(|rule| self.rule(rule, &scope)).collect();
        let duties = self.duties(&policy.obligations, &policy.advice, &scope);
        let children = rules.into_iter().collect::<Option<Vec<NodeId>>>();
        let (algorithm, target, duties, children) = (algorithm?, target?, duties?, children?);
        let elements = (1 + children.len() as u64).saturating_add(std::mem::take(&mut self.size));
        self.check_size(policy.place, &format!("policy `{}`", policy.id), elements, 0);
        let node = self.builder.set(Set {
            id: policy.id.clone(),
            version: format_smolstr!("{}", policy.version),
            kind: SetKind::Policy,
            target: target.0,
            algorithm,
            effects: Effects::DENY_OR_PERMIT,
            children,
            voters: Voters::default(),
            duties,
            place: self.place(policy.place),
        });
        Some(Lowered { node, elements, depth: 0, nesting: 1 })
    }

    fn rule(&mut self, rule: &'t Rule, scope: &expression::Variables<'t>) -> Option<NodeId> {
        let target = match &rule.target {
            Some(target) => self.target(target),
            None => Some(Formula(None)),
        };
        let condition = match &rule.condition {
            Some(condition) => self.condition(condition, scope).map(Some),
            None => Some(None),
        };
        let duties = self.duties(&rule.obligations, &rule.advice, scope);
        let (target, condition, duties) = (target?, condition?, duties?);
        Some(self.builder.node(Node::Rule(IrRule {
            id: rule.id.clone(),
            effect: effect(rule.effect),
            target: target.0,
            condition,
            duties,
            transform: None,
            gate: None,
            place: self.place(rule.place),
        })))
    }

    /// XACML 3.0, 7.7: all of the `AnyOf`, any of the `AllOf`, all of the `Match`.
    fn target(&mut self, target: &'t Target) -> Option<Formula> {
        let mut clauses = Vec::with_capacity(target.any_of.len());
        let mut complete = true;
        for any_of in &target.any_of {
            let mut alternatives = Vec::with_capacity(any_of.all_of.len());
            for all_of in &any_of.all_of {
                let matches: Vec<Option<ExprId>> =
                    all_of.matches.iter().map(|matching| self.matching(matching)).collect();
                match matches.into_iter().collect::<Option<Vec<ExprId>>>() {
                    Some(parts) => alternatives.push(self.group(parts, Expr::All)),
                    None => complete = false,
                }
            }
            clauses.push(self.group(alternatives, Expr::Any));
        }
        if !complete {
            return None;
        }
        Some(Formula((!clauses.is_empty()).then(|| self.group(clauses, Expr::All))))
    }

    /// A formula of one part is that part.
    fn group(&mut self, parts: Vec<ExprId>, make: fn(Box<[ExprId]>) -> Expr) -> ExprId {
        match parts.as_slice() {
            [only] => *only,
            _ => self.builder.expr(make(parts.into())),
        }
    }

    fn duties(
        &mut self,
        obligations: &'t [NoticeExpression],
        advice: &'t [NoticeExpression],
        scope: &expression::Variables<'t>,
    ) -> Option<Vec<DutyExpr>> {
        let kinds = [(DutyKind::Obligation, obligations), (DutyKind::Advice, advice)];
        let mut duties = Vec::new();
        let mut complete = true;
        for (kind, notices) in kinds {
            for notice in notices {
                match self.duty(kind, notice, scope) {
                    Some(duty) => duties.push(duty),
                    None => complete = false,
                }
            }
        }
        complete.then_some(duties)
    }

    fn duty(
        &mut self,
        kind: DutyKind,
        notice: &'t NoticeExpression,
        scope: &expression::Variables<'t>,
    ) -> Option<DutyExpr> {
        let mut assignments = Vec::with_capacity(notice.assignments.len());
        let mut complete = true;
        for assignment in &notice.assignments {
            match self.any_expression(&assignment.expression, scope) {
                Some(value) => assignments.push(AssignmentExpr {
                    id: assignment.id.clone(),
                    category: assignment.category.clone(),
                    issuer: assignment.issuer.clone(),
                    value,
                }),
                None => complete = false,
            }
        }
        let body = DutyBody::Named { id: notice.id.clone(), assignments };
        complete.then(|| DutyExpr { kind, on: effect(notice.on), body })
    }

    fn algorithm(&mut self, uri: &str, what: Combines, place: XmlLocation) -> Option<Algorithm> {
        let algorithm = Algorithm::from_uri(uri, what);
        if algorithm.is_none() {
            let (kind, other) = match what {
                Combines::Rules => ("rules", Combines::Policies),
                Combines::Policies => ("policies", Combines::Rules),
            };
            let help = match Algorithm::from_uri(uri, other) {
                Some(_) => format!("this algorithm exists, but does not combine {kind}"),
                None => "see the table of combining algorithms in docs/xacml.md".into(),
            };
            self.error(place, format!("unknown combining algorithm for {kind}: `{uri}`"), Some(help));
        }
        algorithm
    }

    /// Administration and delegation (a policy speaks for its issuer) is not supported, and an issued policy must
    /// not count as a trusted one.
    fn refuse_issuer(&mut self, issuer: Option<&PolicyIssuer>) {
        if let Some(issuer) = issuer {
            self.error(
                issuer.place,
                "policies with a `PolicyIssuer` are not supported".into(),
                Some("administration and delegation is left out; only trusted policies, without issuer, are read".into()),
            );
        }
    }

    fn check_size(&mut self, place: XmlLocation, what: &str, elements: u64, depth: usize) {
        if elements > ELEMENTS_MAX {
            let message =
                format!("{what} has more than {ELEMENTS_MAX} elements, references and variables followed");
            let help = "refer to shared policies, and to variables, from fewer places";
            self.error(place, message, Some(help.into()));
        }
        if depth > REFERENCE_DEPTH_MAX {
            let message = format!("references below {what} nest more than {REFERENCE_DEPTH_MAX} deep");
            self.error(place, message, None);
        }
    }

    fn nests_too_deep(&mut self, element: Element<'t>) {
        let (place, id) = match element {
            Element::Policy(policy) => (policy.place, &policy.id),
            Element::PolicySet(set) => (set.place, &set.id),
        };
        let message = format!("policy sets nest more than {NESTING_MAX} deep at `{id}`, references followed");
        self.error(place, message, Some("combine more policies in one set".into()));
    }

    /// The documents to start from.
    fn roots(&mut self, options: &Options, tops: &[(usize, Option<Lowered>)]) -> Vec<NodeId> {
        let wanted: Vec<usize> = match &options.root {
            Some(id) => match self.repository.find_root(id) {
                Some(found) => {
                    return self.element(found.source, found.element).map(|it| it.node).into_iter().collect();
                }
                None => {
                    let message = format!("no policy or policy set `{id}` to start from");
                    let known = self.repository.top_level_ids(8);
                    self.errors.push(PolicyError::of_all(message, Some(format!("there are: {known}"))));
                    return Vec::new();
                }
            },
            None => self.repository.unreferenced(),
        };
        if wanted.is_empty() && !tops.is_empty() && self.errors.is_empty() {
            let message = "every policy is referred to by another one, so there is none to start from";
            self.errors.push(PolicyError::of_all(message.into(), Some("name the one to start from".into())));
        }
        let lowered = |at: &usize| tops.iter().find(|(top, _)| top == at).and_then(|(_, lowered)| *lowered);
        wanted.iter().filter_map(lowered).map(|it| it.node).collect()
    }

    fn place(&self, place: XmlLocation) -> SourceLocation {
        SourceLocation {
            source: self.first_source + self.source as u32,
            line: place.line,
            column: place.column,
        }
    }

    fn error(&mut self, place: XmlLocation, message: String, help: Option<String>) {
        if self.errors.len() >= PROBLEMS_LOWERED_MAX {
            return;
        }
        let source =
            self.documents.get(self.source).map(|document| document.source.clone()).unwrap_or_default();
        self.errors.push(PolicyError::at(source, place, message, help));
    }
}

/// A target; `None` inside always matches.
struct Formula(Option<ExprId>);

fn effect(effect: tree::Effect) -> Effect {
    match effect {
        tree::Effect::Permit => Effect::Permit,
        tree::Effect::Deny => Effect::Deny,
    }
}

fn is_reference(child: &PolicySetChild) -> bool {
    match child {
        PolicySetChild::PolicyReference(_) | PolicySetChild::PolicySetReference(_) => true,
        PolicySetChild::Policy(_) | PolicySetChild::PolicySet(_) => false,
    }
}
