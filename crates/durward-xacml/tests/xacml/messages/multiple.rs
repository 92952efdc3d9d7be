//! One request that asks several things.

use durward_ir::{Fault, Value};
use durward_xacml::multiple::{
    INDIVIDUAL_REQUESTS_MAX, Individual, ResourceHierarchy, combine_if_asked, individual_requests,
};
use durward_xacml::request::{Categories, Request, identifiers};
use durward_xacml::response::status::PROCESSING_ERROR;
use durward_xacml::response::{
    Decision, Duty, Echoes, PolicyIdentifier, PolicyKind, Response, ResultOf, Status,
};

use super::read_xml;

/// `<Request>` with these children.
fn request(children: &str) -> Request {
    read_xml(&format!(
        "<Request xmlns=\"urn:oasis:names:tc:xacml:3.0:core:schema:wd-17\" CombinedDecision=\"false\" \
         ReturnPolicyIdList=\"true\">{children}</Request>"
    ))
}

/// `<Attributes>` of a category, with one attribute.
fn category(category: &str, id: &str, attribute: &str, value: &str) -> String {
    format!(
        "<Attributes Category=\"{category}\" xml:id=\"{id}\"><Attribute AttributeId=\"{attribute}\" \
         IncludeInResult=\"true\"><AttributeValue DataType=\"http://www.w3.org/2001/XMLSchema#string\">{value}\
         </AttributeValue></Attribute></Attributes>"
    )
}

/// The values of each individual request.
fn parts(request: &Request, hierarchy: Option<&dyn ResourceHierarchy>) -> Vec<String> {
    let values = |categories: &Categories| {
        let values: Vec<String> = categories
            .attributes()
            .flat_map(|attribute| attribute.values())
            .map(|value| value.lexical().into())
            .collect();
        values.join(" ")
    };
    match individual_requests(request, hierarchy).unwrap() {
        Individual::One(one) => vec![values(&one.categories)],
        Individual::Many(many) => many
            .iter()
            .map(|one| one.as_ref().map_or_else(ToString::to_string, |one| values(&one.categories)))
            .collect(),
    }
}

/// What is wrong with the only individual request, or with the whole.
fn failure(request: &Request, hierarchy: Option<&dyn ResourceHierarchy>) -> String {
    match individual_requests(request, hierarchy) {
        Err(error) => error.to_string(),
        Ok(Individual::Many(many)) => match many.as_slice() {
            [Err(error)] => error.to_string(),
            _ => panic!("not the one error expected"),
        },
        Ok(Individual::One(_)) => panic!("nothing is wrong"),
    }
}

/// The individual requests, all of which could be made.
fn many(request: &Request) -> Vec<Request> {
    let Individual::Many(many) = individual_requests(request, None).unwrap() else { panic!() };
    many.into_iter().map(Result::unwrap).collect()
}

#[test]
fn a_request_for_one_decision_is_given_back_itself() {
    let request = request(&(category("s", "1", "a", "x") + &category("r", "2", "a", "y")));
    let Individual::One(one) = individual_requests(&request, None).unwrap() else { panic!() };
    assert!(std::ptr::eq(one, &request));
}

#[test]
fn repeated_categories_multiply_the_first_slowest() {
    let text = category("s", "1", "a", "s1")
        + &category("r", "2", "a", "r1")
        + &category("s", "3", "a", "s2")
        + &category("x", "4", "a", "x")
        + &category("r", "5", "a", "r2")
        + &category("r", "6", "a", "r3");
    let expected = ["s1 r1 x", "s1 r2 x", "s1 r3 x", "s2 r1 x", "s2 r2 x", "s2 r3 x"];
    assert_eq!(parts(&request(&text), None), expected);
    // Past the number up to which each is compared with each, too.
    let many: String =
        (0..20).map(|number| category(&format!("c{number}"), &format!("i{number}"), "a", "x")).collect();
    assert_eq!(parts(&request(&many), None).len(), 1);
    assert_eq!(parts(&request(&(many + &category("c7", "again", "a", "y"))), None).len(), 2);
}

#[test]
fn references_choose_categories() {
    let text = category("s", "1", "a", "s1")
        + &category("r", "2", "a", "r1")
        + &category("s", "3", "a", "s2")
        + &category("r", "4", "a", "r2")
        + "<MultiRequests>"
        + &reference(&["1", "2"])
        + &reference(&["4", "1"])
        + &reference(&["1", "3", "2", "1"])
        + "</MultiRequests>";
    // The last refers to a category twice: both schemes together.
    assert_eq!(parts(&request(&text), None), ["s1 r1", "r2 s1", "s1 r1", "s2 r1"]);
    assert!(many(&request(&text)).iter().all(|one| one.return_policy_ids && one.multi_requests.is_empty()));
    // A reference to nothing spoils its own individual request only.
    let text = text.replace("ReferenceId=\"4\"", "ReferenceId=\"9\"");
    let lost = "`MultiRequests` refers to `9`, which no category is called";
    assert_eq!(parts(&request(&text), None), ["s1 r1", lost, "s1 r1", "s2 r1"]);
    // Balana's requests write `id`.
    let text = text.replace("xml:id=", "id=").replace("\"9\"", "\"4\"");
    assert_eq!(parts(&request(&text), None), ["s1 r1", "r2 s1", "s1 r1", "s2 r1"]);
}

fn reference(ids: &[&str]) -> String {
    let ids: String = ids.iter().map(|id| format!("<AttributesReference ReferenceId=\"{id}\"/>")).collect();
    format!("<RequestReference>{ids}</RequestReference>")
}

/// Below `n` are `n.1` and `n.2`, three deep; below `loop` is itself; `endless` never ends.
struct Dots;

impl ResourceHierarchy for Dots {
    fn children(&self, resource: &Value) -> Result<Vec<Value>, Box<Fault>> {
        let name = resource.lexical();
        Ok(match &*name {
            "loop" => vec![resource.clone()],
            "lost" => return Err(Fault::processing("nobody knows")),
            name if name.starts_with("endless") => vec![Value::text(format!("{name}x"))],
            name if name.len() >= 5 => Vec::new(),
            name => vec![Value::text(format!("{name}.1")), Value::text(format!("{name}.2"))],
        })
    }
}

fn scoped(resource: &str, scope: &str) -> Request {
    Request::builder()
        .subject("a", "s")
        .resource(identifiers::RESOURCE_ID, resource)
        .resource(identifiers::SCOPE, scope)
        .resource("b", "t")
        .build()
}

#[test]
fn a_scope_means_the_resources_below() {
    assert_eq!(parts(&scoped("n", "Immediate"), None), ["s n t"]);
    assert_eq!(parts(&scoped("n", "Children"), Some(&Dots)), ["s n t", "s n.1 t", "s n.2 t"]);
    assert_eq!(
        parts(&scoped("n", "Descendants"), Some(&Dots)),
        ["s n t", "s n.1 t", "s n.2 t", "s n.1.1 t", "s n.1.2 t", "s n.2.1 t", "s n.2.2 t"]
    );
    assert_eq!(parts(&scoped("loop", "Descendants"), Some(&Dots)), ["s loop t"]);
    assert_eq!(
        failure(&scoped("n", "Children"), None),
        "the scope of a resource needs a resource hierarchy; none is set up"
    );
    assert_eq!(failure(&scoped("lost", "Children"), Some(&Dots)), "nobody knows");
    assert!(failure(&scoped("n", "Everything"), Some(&Dots)).starts_with("`Everything` is not a scope"));
    assert!(
        failure(&scoped("endless", "Descendants"), Some(&Dots))
            .contains("more than 1000 individual requests")
    );
    let twice = Request::builder()
        .resource(identifiers::SCOPE, "Children")
        .resource(identifiers::SCOPE_1_0, "Children");
    assert_eq!(failure(&twice.build(), Some(&Dots)), "the resource has more than one `scope`");
    let nothing = Request::builder().resource(identifiers::SCOPE, "Children").build();
    assert_eq!(failure(&nothing, Some(&Dots)), "the scope of a resource needs exactly one `resource-id`");
}

#[test]
fn the_number_of_individual_requests_is_limited() {
    let categories: String = (0..40)
        .map(|number| category(&format!("c{}", number % 20), &format!("i{number}"), "a", "x"))
        .collect();
    assert!(failure(&request(&categories), None).contains("more than 1000 individual requests"));
    let many = |count: usize| -> String {
        (0..count).map(|number| category("c", &format!("i{number}"), "a", "x")).collect()
    };
    assert_eq!(parts(&request(&many(INDIVIDUAL_REQUESTS_MAX)), None).len(), INDIVIDUAL_REQUESTS_MAX);
}

/// Few bytes of a request can mean many of memory.
#[test]
fn what_individual_requests_copy_is_limited() {
    let values = "<AttributeValue DataType=\"http://www.w3.org/2001/XMLSchema#string\">v</AttributeValue>"
        .repeat(2_000);
    let large = format!(
        "<Attributes Category=\"large\"><Attribute AttributeId=\"a\" IncludeInResult=\"false\">{values}</Attribute></Attributes>"
    );
    let many = |count: usize| -> String {
        let small: String = (0..count).map(|number| category("c", &format!("i{number}"), "a", "x")).collect();
        large.clone() + &small
    };
    assert_eq!(parts(&request(&many(400)), None).len(), 400);
    assert!(failure(&request(&many(600)), None).contains("more than 1000000 attributes and values together"));
}

fn results(decisions: &[Decision]) -> Response {
    Response { results: decisions.iter().map(|decision| ResultOf::new(*decision)).collect() }
}

#[test]
fn a_combined_decision_is_what_all_results_share() {
    use Decision::{Deny, Indeterminate, Permit};
    let request = Request::builder().combined_decision().build();
    let decide = |response: Response| combine_if_asked(&request, response).results;
    let permits = decide(results(&[Permit, Permit]));
    assert_eq!((permits.len(), permits[0].decision, permits[0].status.is_ok()), (1, Permit, true));
    let differ = decide(results(&[Permit, Deny]));
    assert_eq!((differ.len(), differ[0].decision, differ[0].status.is_ok()), (1, Indeterminate, false));
    let mut dutiful = results(&[Permit, Permit]);
    dutiful.results[1].obligations.push(Duty { id: "o".into(), assignments: vec![] });
    let dutiful = decide(dutiful);
    assert_eq!((dutiful[0].decision, dutiful[0].obligations.len()), (Indeterminate, 0));
    let echoed =
        Request::builder().subject("a", "x").include_in_result(identifiers::ACCESS_SUBJECT, "a").build();
    let mut echoing = results(&[Permit, Permit]);
    echoing.results[0].attributes = Echoes::of(echoed.categories);
    assert!(decide(echoing)[0].attributes.is_empty());
    let mut unknown = results(&[Indeterminate, Indeterminate]);
    unknown.results[0].status = Status::missing_attributes("attribute `a` is missing", vec![]);
    let unknown = decide(unknown);
    assert_eq!((unknown[0].decision, &*unknown[0].status.code.value), (Indeterminate, PROCESSING_ERROR));
    let mut listed = results(&[Permit, Permit]);
    let policy = |id: &str| PolicyIdentifier { kind: PolicyKind::Policy, id: id.into(), version: None };
    listed.results[0].policy_ids = Some(vec![policy("a"), policy("b")]);
    listed.results[1].policy_ids = Some(vec![policy("b"), policy("c")]);
    assert_eq!(decide(listed)[0].policy_ids, Some(vec![policy("a"), policy("b"), policy("c")]));
    let separate = Request::builder().build();
    assert_eq!(combine_if_asked(&separate, results(&[Permit, Deny])).results.len(), 2);
}

#[test]
fn an_entire_hierarchy_is_permitted_where_all_of_it_is() {
    use Decision::{Deny, Indeterminate, NotApplicable, Permit};
    let request = scoped("n", "EntireHierarchy");
    assert_eq!(parts(&request, Some(&Dots)).len(), 7);
    for (decisions, expected) in [
        ([Permit, Permit], Permit),
        ([Permit, Deny], Deny),
        ([Permit, NotApplicable], Deny),
        ([Indeterminate, Deny], Indeterminate),
    ] {
        let combined = combine_if_asked(&request, results(&decisions)).results;
        assert_eq!((combined.len(), combined[0].decision), (1, expected));
    }
}

/// A resource of three parts, and paths to be selected from it.
fn with_content(paths: &[&str]) -> Request {
    let values: String = paths
        .iter()
        .map(|path| {
            format!(
                "<Attribute AttributeId=\"{}\" IncludeInResult=\"true\"><AttributeValue XPathCategory=\"{}\" \
                 DataType=\"urn:oasis:names:tc:xacml:3.0:data-type:xpathExpression\">{path}</AttributeValue></Attribute>",
                identifiers::MULTIPLE_CONTENT_SELECTOR,
                identifiers::RESOURCE
            )
        })
        .collect();
    request(&format!(
        "<Attributes Category=\"{}\" xmlns:p=\"urn:p\"><Content><p:r><p:a>1</p:a><p:a>2</p:a><p:b>3</p:b></p:r></Content>\
         {values}</Attributes>",
        identifiers::RESOURCE
    ))
}

#[test]
fn a_content_selector_means_each_node_it_selects() {
    let request = with_content(&["//p:a"]);
    assert_eq!(many(&request).len(), 2);
    for one in &many(&request) {
        let attribute = one.categories.attributes().next().unwrap();
        assert_eq!((&*attribute.id, attribute.include_in_result), (identifiers::CONTENT_SELECTOR, true));
        assert!(one.categories.find(identifiers::RESOURCE).unwrap().content.is_some());
        // Each path selects its own node and no other.
        let Value::XPathExpression(path) = &attribute.values()[0] else { panic!() };
        let nodes = durward_xacml::content::Contents::default().split(one, path).unwrap();
        assert_eq!(nodes.len(), 1);
        assert_eq!(nodes[0].path, path.path);
    }
    assert_ne!(parts(&request, None)[0], parts(&request, None)[1]);
    assert_eq!(many(&with_content(&["//p:a", "//p:*"])).len(), 8);
    assert_eq!(failure(&with_content(&["//p:c"]), None), "`multiple:content-selector` selects no node");
    assert!(failure(&with_content(&["//q:c"]), None).contains("`//q:c`"));
    assert!(failure(&with_content(&["//p:a"; 9]), None).starts_with("more than 8"));
    // As AT&T's tests name it.
    let short = with_content(&["//p:a"]).to_xml();
    let short =
        short.replace(identifiers::MULTIPLE_CONTENT_SELECTOR, identifiers::MULTIPLE_CONTENT_SELECTOR_SHORT);
    assert_eq!(many(&read_xml(&short)).len(), 2);
    let text = Request::builder().resource(identifiers::MULTIPLE_CONTENT_SELECTOR, "//a").build();
    assert!(failure(&text, None).contains("must have one value, an xpathExpression"));
}
