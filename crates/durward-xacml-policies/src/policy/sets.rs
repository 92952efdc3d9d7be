//! Reads policy sets, policies and rules.

use durward_xacml::content::{OTHER_VERSION_HELP, check_version};
use durward_xacml::wording::quote;
use smol_str::SmolStr;

use super::cursor::Element;
use super::grammar;
use super::reader::{Children, Reader};
use crate::tree::{
    CombinerParameter, CombinerParameters, IdReference, IssuerAttribute, Markup, ParametersAbout, Policy,
    PolicyIssuer, PolicySet, PolicySetChild, Rule, Standard, Target, VariableDefinition,
};

impl<'a> Reader<'a> {
    pub(super) fn read_policy_set(&mut self, element: &Element<'a>) -> Box<PolicySet> {
        self.check_attributes(
            element,
            match self.standard {
                Standard::Xacml3 => &["PolicySetId", "Version", "PolicyCombiningAlgId", "MaxDelegationDepth"],
                Standard::Xacml2 => &["PolicySetId", "Version", "PolicyCombiningAlgId"],
                Standard::Xacml1 => &["PolicySetId", "PolicyCombiningAlgId"],
            },
        );
        let mut set = Box::new(PolicySet {
            place: element.place,
            id: self.required_identifier(element, "PolicySetId"),
            version: self.version(element),
            combining_algorithm: self.required_identifier(element, "PolicyCombiningAlgId"),
            max_delegation_depth: self.max_delegation_depth(element),
            description: None,
            issuer: None,
            xpath_version: None,
            target: Target::default(),
            children: Vec::new(),
            combiner_parameters: Vec::new(),
            obligations: Vec::new(),
            advice: Vec::new(),
        });
        let mut children = Children::of(element, grammar::policy_set(self.standard));
        while let Some(child) = self.next_child(&mut children) {
            self.read_policy_set_child(&mut set, &child);
        }
        set
    }

    fn read_policy_set_child(&mut self, set: &mut PolicySet, child: &Element<'a>) {
        match child.name {
            "Description" => set.description = Some(self.read_description(child)),
            "PolicyIssuer" => set.issuer = Some(self.read_policy_issuer(child)),
            "PolicySetDefaults" => set.xpath_version = self.read_defaults(child),
            "Target" => set.target = self.read_target(child),
            "PolicySet" => set.children.push(PolicySetChild::PolicySet(self.read_policy_set(child))),
            "Policy" => set.children.push(PolicySetChild::Policy(self.read_policy(child))),
            "PolicySetIdReference" => {
                set.children.push(PolicySetChild::PolicySetReference(self.read_reference(child)));
            }
            "PolicyIdReference" => {
                set.children.push(PolicySetChild::PolicyReference(self.read_reference(child)))
            }
            "ObligationExpressions" | "Obligations" => set.obligations = self.read_obligations(child),
            "AdviceExpressions" => set.advice = self.read_advice(child),
            _ => set.combiner_parameters.push(self.read_combiner_parameters(child)),
        }
    }

    pub(super) fn read_policy(&mut self, element: &Element<'a>) -> Box<Policy> {
        self.check_attributes(
            element,
            match self.standard {
                Standard::Xacml3 => &["PolicyId", "Version", "RuleCombiningAlgId", "MaxDelegationDepth"],
                Standard::Xacml2 => &["PolicyId", "Version", "RuleCombiningAlgId"],
                Standard::Xacml1 => &["PolicyId", "RuleCombiningAlgId"],
            },
        );
        let mut policy = Box::new(Policy {
            place: element.place,
            id: self.required_identifier(element, "PolicyId"),
            version: self.version(element),
            combining_algorithm: self.required_identifier(element, "RuleCombiningAlgId"),
            max_delegation_depth: self.max_delegation_depth(element),
            description: None,
            issuer: None,
            xpath_version: None,
            target: Target::default(),
            variables: Vec::new(),
            rules: Vec::new(),
            combiner_parameters: Vec::new(),
            obligations: Vec::new(),
            advice: Vec::new(),
        });
        let mut children = Children::of(element, grammar::policy(self.standard));
        while let Some(child) = self.next_child(&mut children) {
            self.read_policy_child(&mut policy, &child);
        }
        self.check_variables(&policy.variables);
        policy
    }

    fn read_policy_child(&mut self, policy: &mut Policy, child: &Element<'a>) {
        match child.name {
            "Description" => policy.description = Some(self.read_description(child)),
            "PolicyIssuer" => policy.issuer = Some(self.read_policy_issuer(child)),
            "PolicyDefaults" => policy.xpath_version = self.read_defaults(child),
            "Target" => policy.target = self.read_target(child),
            "VariableDefinition" => policy.variables.extend(self.read_variable(child)),
            "Rule" => policy.rules.push(self.read_rule(child)),
            "ObligationExpressions" | "Obligations" => policy.obligations = self.read_obligations(child),
            "AdviceExpressions" => policy.advice = self.read_advice(child),
            _ => policy.combiner_parameters.push(self.read_combiner_parameters(child)),
        }
    }

    /// A name for two things would leave open which one a reference means.
    fn check_variables(&mut self, variables: &[VariableDefinition]) {
        let mut seen = std::collections::HashMap::new();
        for variable in variables {
            if let Some(first) = seen.insert(&variable.id, variable.place) {
                let message = format!("variable {} is defined twice", quote(&variable.id));
                self.report(variable.place, message, Some(format!("first at {first}")));
            }
        }
    }

    fn read_rule(&mut self, element: &Element<'a>) -> Rule {
        self.check_attributes(element, &["RuleId", "Effect"]);
        let mut rule = Rule {
            place: element.place,
            id: self.required(element, "RuleId"),
            effect: self.required_effect(element, "Effect"),
            description: None,
            target: None,
            condition: None,
            obligations: Vec::new(),
            advice: Vec::new(),
        };
        let mut children = Children::of(element, grammar::rule(self.standard));
        while let Some(child) = self.next_child(&mut children) {
            match child.name {
                "Description" => rule.description = Some(self.read_description(&child)),
                "Target" => rule.target = Some(self.read_target(&child)),
                "Condition" => rule.condition = self.read_condition(&child).map(Box::new),
                "ObligationExpressions" => rule.obligations = self.read_obligations(&child),
                _ => rule.advice = self.read_advice(&child),
            }
        }
        rule
    }

    pub(super) fn read_description(&mut self, element: &Element<'a>) -> SmolStr {
        self.check_attributes(element, &[]);
        self.read_text(element)
    }

    /// `PolicyDefaults` or `PolicySetDefaults`: the XPath version. One that is not evaluated is refused even where no
    /// path stands: what lies within, or is referred to, would inherit it.
    fn read_defaults(&mut self, element: &Element<'a>) -> Option<SmolStr> {
        self.check_attributes(element, &[]);
        let mut xpath_version = None;
        let mut children = Children::of(element, grammar::DEFAULTS);
        while let Some(child) = self.next_child(&mut children) {
            self.check_attributes(&child, &[]);
            let declared = self.read_identifier(&child);
            if let Err(other) = check_version(&declared) {
                self.report(child.place, other.to_string(), Some(OTHER_VERSION_HELP.to_owned()));
            }
            xpath_version = Some(declared);
        }
        xpath_version
    }

    fn read_reference(&mut self, element: &Element<'a>) -> IdReference {
        self.check_attributes(
            element,
            match self.standard {
                Standard::Xacml1 => &[],
                Standard::Xacml2 | Standard::Xacml3 => &["Version", "EarliestVersion", "LatestVersion"],
            },
        );
        IdReference {
            place: element.place,
            version: self.parsed(element, "Version"),
            earliest: self.parsed(element, "EarliestVersion"),
            latest: self.parsed(element, "LatestVersion"),
            id: self.read_identifier(element),
        }
    }

    fn read_combiner_parameters(&mut self, element: &Element<'a>) -> CombinerParameters {
        let (known, about): (&[&'static str], fn(SmolStr) -> ParametersAbout) = match element.name {
            "RuleCombinerParameters" => (&["RuleIdRef"], ParametersAbout::Rule),
            "PolicyCombinerParameters" => (&["PolicyIdRef"], ParametersAbout::Policy),
            "PolicySetCombinerParameters" => (&["PolicySetIdRef"], ParametersAbout::PolicySet),
            _ => (&[], |_| ParametersAbout::Algorithm),
        };
        self.check_attributes(element, known);
        // `RuleIdRef` is a string, as `RuleId` is; the others are identifiers.
        let id = match known {
            ["RuleIdRef"] => self.required(element, "RuleIdRef"),
            [name] => self.required_identifier(element, name),
            _ => SmolStr::default(),
        };
        let mut parameters = Vec::new();
        let mut children = Children::of(element, grammar::COMBINER_PARAMETERS);
        while let Some(child) = self.next_child(&mut children) {
            parameters.extend(self.read_combiner_parameter(&child));
        }
        CombinerParameters { place: element.place, about: about(id), parameters }
    }

    fn read_combiner_parameter(&mut self, element: &Element<'a>) -> Option<CombinerParameter> {
        self.check_attributes(element, &["ParameterName"]);
        let name = self.required(element, "ParameterName");
        let mut value = None;
        let mut children = Children::of(element, grammar::COMBINER_PARAMETER);
        while let Some(child) = self.next_child(&mut children) {
            value = Some(self.read_value(&child));
        }
        value.map(|value| CombinerParameter { place: element.place, name, value })
    }

    fn read_policy_issuer(&mut self, element: &Element<'a>) -> PolicyIssuer {
        self.check_attributes(element, &[]);
        let mut issuer = PolicyIssuer { place: element.place, content: None, attributes: Vec::new() };
        let mut children = Children::of(element, grammar::POLICY_ISSUER);
        while let Some(child) = self.next_child(&mut children) {
            match child.name {
                "Content" => issuer.content = Some(self.read_content(&child)),
                _ => issuer.attributes.push(self.read_issuer_attribute(&child)),
            }
        }
        issuer
    }

    fn read_content(&mut self, element: &Element<'a>) -> Markup {
        self.check_attributes(element, &[]);
        let scope = self.xml.scope().clone();
        let text = self.read_mixed(element);
        if text.elements != 1 && !self.xml.is_halted() {
            let message = format!("`Content` holds {} elements, not one", text.elements);
            self.report(element.place, message, None);
        }
        Markup { place: element.place, text: text.markup.into(), scope }
    }

    fn read_issuer_attribute(&mut self, element: &Element<'a>) -> IssuerAttribute {
        self.check_attributes(element, &["AttributeId", "Issuer", "IncludeInResult"]);
        let mut attribute = IssuerAttribute {
            place: element.place,
            id: self.required_identifier(element, "AttributeId"),
            issuer: self.optional(element, "Issuer"),
            include_in_result: self.required_boolean(element, "IncludeInResult"),
            values: Vec::new(),
        };
        let mut children = Children::of(element, grammar::ATTRIBUTE);
        while let Some(child) = self.next_child(&mut children) {
            attribute.values.push(self.read_value(&child));
        }
        attribute
    }
}
