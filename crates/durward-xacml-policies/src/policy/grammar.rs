//! The schemas as tables: which children an element has, in which order and number, and which attributes.
//!
//! Sources: the XML schemas of XACML 3.0 (`core:schema:wd-17`) and 2.0 (`policy:schema:os`), and the
//! appendices of the 1.0 and 1.1 standards. Where 1.0 and 1.1 differ in number the laxer is taken, since they
//! share a namespace.

use crate::tree::Standard;

/// How often the children of a stage occur.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Occurs {
    Optional,
    Once,
    Any,
    AtLeastOnce,
}

/// Children that may stand next to one another in any order; the stages of an element follow one another.
pub(super) struct Stage {
    pub(super) names: &'static [&'static str],
    pub(super) occurs: Occurs,
}

/// The content of an element, stage by stage.
pub(super) type Model = &'static [Stage];

/// More stages than any model has.
pub(super) const STAGES_MAX: usize = 8;

const fn optional(names: &'static [&'static str]) -> Stage {
    Stage { names, occurs: Occurs::Optional }
}

const fn once(names: &'static [&'static str]) -> Stage {
    Stage { names, occurs: Occurs::Once }
}

const fn any(names: &'static [&'static str]) -> Stage {
    Stage { names, occurs: Occurs::Any }
}

const fn at_least_once(names: &'static [&'static str]) -> Stage {
    Stage { names, occurs: Occurs::AtLeastOnce }
}

impl Occurs {
    pub(super) fn at_most_once(self) -> bool {
        matches!(self, Occurs::Optional | Occurs::Once)
    }

    pub(super) fn is_required(self) -> bool {
        matches!(self, Occurs::Once | Occurs::AtLeastOnce)
    }
}

const EXPRESSIONS_3: &[&str] =
    &["Apply", "AttributeSelector", "AttributeValue", "Function", "VariableReference", "AttributeDesignator"];
const EXPRESSIONS_2: &[&str] = &[
    "Apply",
    "AttributeSelector",
    "AttributeValue",
    "Function",
    "VariableReference",
    "SubjectAttributeDesignator",
    "ResourceAttributeDesignator",
    "ActionAttributeDesignator",
    "EnvironmentAttributeDesignator",
];
const EXPRESSIONS_1: &[&str] = &[
    "Apply",
    "AttributeSelector",
    "AttributeValue",
    "Function",
    "SubjectAttributeDesignator",
    "ResourceAttributeDesignator",
    "ActionAttributeDesignator",
    "EnvironmentAttributeDesignator",
];

/// Whether a stage takes expressions: its names are too many to list in a message.
pub(super) fn is_expressions(names: &[&str]) -> bool {
    names.first() == Some(&"Apply")
}

pub(super) fn policy_set(standard: Standard) -> Model {
    match standard {
        Standard::Xacml3 => {
            const {
                &[
                    optional(&["Description"]),
                    optional(&["PolicyIssuer"]),
                    optional(&["PolicySetDefaults"]),
                    once(&["Target"]),
                    any(&[
                        "PolicySet",
                        "Policy",
                        "PolicySetIdReference",
                        "PolicyIdReference",
                        "CombinerParameters",
                        "PolicyCombinerParameters",
                        "PolicySetCombinerParameters",
                    ]),
                    optional(&["ObligationExpressions"]),
                    optional(&["AdviceExpressions"]),
                ]
            }
        }
        Standard::Xacml2 => {
            const {
                &[
                    optional(&["Description"]),
                    optional(&["PolicySetDefaults"]),
                    once(&["Target"]),
                    any(&[
                        "PolicySet",
                        "Policy",
                        "PolicySetIdReference",
                        "PolicyIdReference",
                        "CombinerParameters",
                        "PolicyCombinerParameters",
                        "PolicySetCombinerParameters",
                    ]),
                    optional(&["Obligations"]),
                ]
            }
        }
        Standard::Xacml1 => {
            const {
                &[
                    optional(&["Description"]),
                    optional(&["PolicySetDefaults"]),
                    once(&["Target"]),
                    any(&["PolicySet", "Policy", "PolicySetIdReference", "PolicyIdReference"]),
                    optional(&["Obligations"]),
                ]
            }
        }
    }
}

pub(super) fn policy(standard: Standard) -> Model {
    // The choice of rules and the like must occur once or more, but may itself be an empty `CombinerParameters`
    // (minOccurs="0"): so a policy without any is valid.
    match standard {
        Standard::Xacml3 => {
            const {
                &[
                    optional(&["Description"]),
                    optional(&["PolicyIssuer"]),
                    optional(&["PolicyDefaults"]),
                    once(&["Target"]),
                    any(&["CombinerParameters", "RuleCombinerParameters", "VariableDefinition", "Rule"]),
                    optional(&["ObligationExpressions"]),
                    optional(&["AdviceExpressions"]),
                ]
            }
        }
        Standard::Xacml2 => {
            const {
                &[
                    optional(&["Description"]),
                    optional(&["PolicyDefaults"]),
                    optional(&["CombinerParameters"]),
                    once(&["Target"]),
                    any(&["CombinerParameters", "RuleCombinerParameters", "VariableDefinition", "Rule"]),
                    optional(&["Obligations"]),
                ]
            }
        }
        Standard::Xacml1 => {
            const {
                &[
                    optional(&["Description"]),
                    optional(&["PolicyDefaults"]),
                    once(&["Target"]),
                    any(&["Rule"]),
                    optional(&["Obligations"]),
                ]
            }
        }
    }
}

pub(super) fn rule(standard: Standard) -> Model {
    match standard {
        Standard::Xacml3 => {
            const {
                &[
                    optional(&["Description"]),
                    optional(&["Target"]),
                    optional(&["Condition"]),
                    optional(&["ObligationExpressions"]),
                    optional(&["AdviceExpressions"]),
                ]
            }
        }
        Standard::Xacml1 | Standard::Xacml2 => {
            const { &[optional(&["Description"]), optional(&["Target"]), optional(&["Condition"])] }
        }
    }
}

pub(super) fn target(standard: Standard) -> Model {
    match standard {
        Standard::Xacml3 => const { &[any(&["AnyOf"])] },
        Standard::Xacml2 => {
            const {
                &[
                    optional(&["Subjects"]),
                    optional(&["Resources"]),
                    optional(&["Actions"]),
                    optional(&["Environments"]),
                ]
            }
        }
        Standard::Xacml1 => {
            const { &[optional(&["Subjects"]), optional(&["Resources"]), optional(&["Actions"])] }
        }
    }
}

/// The names of one part of a target of XACML 1 or 2.
pub(super) struct Section {
    /// The element of the target: `Subjects`.
    pub(super) name: &'static str,
    /// Its alternatives in XACML 2.
    pub(super) alternatives_2: Model,
    /// Its alternatives in XACML 1, the one that matches everything among them.
    pub(super) alternatives_1: Model,
    /// What an alternative holds.
    pub(super) matches: Model,
    /// What a match holds.
    pub(super) parts: Model,
}

pub(super) const SECTIONS: [Section; 4] = [
    Section {
        name: "Subjects",
        alternatives_2: &[at_least_once(&["Subject"])],
        alternatives_1: &[at_least_once(&["Subject", "AnySubject"])],
        matches: &[at_least_once(&["SubjectMatch"])],
        parts: &[once(&["AttributeValue"]), once(&["SubjectAttributeDesignator", "AttributeSelector"])],
    },
    Section {
        name: "Resources",
        alternatives_2: &[at_least_once(&["Resource"])],
        alternatives_1: &[at_least_once(&["Resource", "AnyResource"])],
        matches: &[at_least_once(&["ResourceMatch"])],
        parts: &[once(&["AttributeValue"]), once(&["ResourceAttributeDesignator", "AttributeSelector"])],
    },
    Section {
        name: "Actions",
        alternatives_2: &[at_least_once(&["Action"])],
        alternatives_1: &[at_least_once(&["Action", "AnyAction"])],
        matches: &[at_least_once(&["ActionMatch"])],
        parts: &[once(&["AttributeValue"]), once(&["ActionAttributeDesignator", "AttributeSelector"])],
    },
    Section {
        name: "Environments",
        alternatives_2: &[at_least_once(&["Environment"])],
        alternatives_1: &[],
        matches: &[at_least_once(&["EnvironmentMatch"])],
        parts: &[once(&["AttributeValue"]), once(&["EnvironmentAttributeDesignator", "AttributeSelector"])],
    },
];

pub(super) const ANY_OF: Model = &[at_least_once(&["AllOf"])];
pub(super) const ALL_OF: Model = &[at_least_once(&["Match"])];
pub(super) const MATCH: Model =
    &[once(&["AttributeValue"]), once(&["AttributeDesignator", "AttributeSelector"])];
pub(super) const DEFAULTS: Model = &[once(&["XPathVersion"])];
pub(super) const POLICY_ISSUER: Model = &[optional(&["Content"]), any(&["Attribute"])];
pub(super) const ATTRIBUTE: Model = &[at_least_once(&["AttributeValue"])];
pub(super) const COMBINER_PARAMETERS: Model = &[any(&["CombinerParameter"])];
pub(super) const COMBINER_PARAMETER: Model = &[once(&["AttributeValue"])];
pub(super) const EMPTY: Model = &[];

/// Exactly one expression.
pub(super) fn expression(standard: Standard) -> Model {
    match standard {
        Standard::Xacml3 => const { &[once(EXPRESSIONS_3)] },
        Standard::Xacml2 => const { &[once(EXPRESSIONS_2)] },
        Standard::Xacml1 => const { &[once(EXPRESSIONS_1)] },
    }
}

/// The content of `Apply`; in XACML 1 that of `Condition` too.
pub(super) fn apply(standard: Standard) -> Model {
    match standard {
        Standard::Xacml3 => const { &[optional(&["Description"]), any(EXPRESSIONS_3)] },
        Standard::Xacml2 => const { &[any(EXPRESSIONS_2)] },
        Standard::Xacml1 => const { &[any(EXPRESSIONS_1)] },
    }
}

/// The names of one kind of notice.
pub(super) struct NoticeNames {
    pub(super) list: Model,
    pub(super) notice: Model,
    pub(super) id: &'static str,
    pub(super) on: &'static str,
    pub(super) known: &'static [&'static str],
}

pub(super) fn obligations(standard: Standard) -> &'static NoticeNames {
    match standard {
        Standard::Xacml3 => {
            const {
                &NoticeNames {
                    list: &[at_least_once(&["ObligationExpression"])],
                    notice: &[any(&["AttributeAssignmentExpression"])],
                    id: "ObligationId",
                    on: "FulfillOn",
                    known: &["ObligationId", "FulfillOn"],
                }
            }
        }
        Standard::Xacml1 | Standard::Xacml2 => {
            const {
                &NoticeNames {
                    list: &[at_least_once(&["Obligation"])],
                    notice: &[any(&["AttributeAssignment"])],
                    id: "ObligationId",
                    on: "FulfillOn",
                    known: &["ObligationId", "FulfillOn"],
                }
            }
        }
    }
}

pub(super) const ADVICE: NoticeNames = NoticeNames {
    list: &[at_least_once(&["AdviceExpression"])],
    notice: &[any(&["AttributeAssignmentExpression"])],
    id: "AdviceId",
    on: "AppliesTo",
    known: &["AdviceId", "AppliesTo"],
};

/// The names only one version of the standard has, to tell authors who mix them.
pub(super) fn belongs_elsewhere(name: &str, standard: Standard) -> Option<&'static str> {
    const ONLY_3: &[&str] = &[
        "AnyOf",
        "AllOf",
        "Match",
        "AttributeDesignator",
        "ObligationExpressions",
        "ObligationExpression",
        "AdviceExpressions",
        "AdviceExpression",
        "AttributeAssignmentExpression",
        "PolicyIssuer",
    ];
    const ONLY_2: &[&str] = &[
        "Subjects",
        "Subject",
        "SubjectMatch",
        "SubjectAttributeDesignator",
        "Resources",
        "Resource",
        "ResourceMatch",
        "ResourceAttributeDesignator",
        "Actions",
        "Action",
        "ActionMatch",
        "ActionAttributeDesignator",
        "Environments",
        "Environment",
        "EnvironmentMatch",
        "EnvironmentAttributeDesignator",
        "Obligations",
        "Obligation",
        "AttributeAssignment",
    ];
    match standard {
        Standard::Xacml3 => ONLY_2.contains(&name).then_some("XACML 2.0"),
        Standard::Xacml1 | Standard::Xacml2 => ONLY_3.contains(&name).then_some("XACML 3.0"),
    }
}
