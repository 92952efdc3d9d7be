//! What policies ask of a request's content, by hand and as the conformance suites ask it.

use std::sync::Arc;

use durward_ir::datatype::XPathExpression;
use durward_ir::program::Selector;
use durward_ir::{DataType, FaultCode, Value};
use smol_str::SmolStr;

use crate::content::Contents;
use crate::request::Request;

const RESOURCE: &str = "urn:oasis:names:tc:xacml:3.0:attribute-category:resource";
const RECORD: &str = "http://www.medico.com/schemas/record";

fn path(path: &str, category: &str) -> XPathExpression {
    let namespaces: [(SmolStr, SmolStr); 2] = [
        ("md".into(), RECORD.into()),
        ("context".into(), "urn:oasis:names:tc:xacml:2.0:context:schema:os".into()),
    ];
    XPathExpression { path: path.into(), category: category.into(), namespaces: Arc::from(namespaces) }
}

fn argument(text: &str, category: &str) -> Value {
    Value::XPathExpression(Arc::new(path(text, category)))
}

fn selector(text: &str, data_type: DataType) -> Selector {
    let path = path(text, RESOURCE);
    Selector { path, context: None, data_type, must_be_present: true, over_request: false }
}

fn request(content: &str, attributes: &str) -> Request {
    let xml = format!(
        "<Request xmlns='urn:oasis:names:tc:xacml:3.0:core:schema:wd-17' xmlns:md='{RECORD}' \
         ReturnPolicyIdList='false' CombinedDecision='false'><Attributes Category='{RESOURCE}'>\
         <Content>{content}</Content>{attributes}</Attributes></Request>"
    );
    Request::from_xml(xml.as_bytes()).unwrap()
}

fn context_attribute(category: &str, text: &str) -> String {
    format!(
        "<Attribute AttributeId='at' IncludeInResult='false'><AttributeValue XPathCategory='{category}' \
         DataType='urn:oasis:names:tc:xacml:3.0:data-type:xpathExpression'>{text}</AttributeValue></Attribute>"
    )
}

fn selected(request: &Request, selector: &Selector) -> Result<Vec<String>, FaultCode> {
    match Contents::default().select(request, selector) {
        Ok(values) => Ok(values.iter().map(|value| value.lexical().into_owned()).collect()),
        Err(fault) => Err(fault.code),
    }
}

#[test]
fn selected_nodes_become_values_of_the_data_type() {
    let request = request("<md:r><md:n>7</md:n><md:n>8<b/></md:n><md:t x='y'> z </md:t><!--c--></md:r>", "");
    let select = |text: &str, data_type| selected(&request, &selector(text, data_type));
    let owned = |texts: &[&str]| Ok(texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>());
    assert_eq!(select("//md:n/text()", DataType::Integer), owned(&["7", "8"]));
    // Section 7.3.7 step 4 of XACML 3.0 speaks of the text value of each node, elements included.
    assert_eq!(select("//md:n", DataType::Integer), owned(&["7", "8"]));
    assert_eq!(select("//md:t/@x", DataType::Text), owned(&["y"]));
    assert_eq!(select("//md:t", DataType::Text), owned(&[" z "]));
    assert_eq!(select("//comment()", DataType::AnyUri), owned(&["c"]));
    assert_eq!(select("//md:none", DataType::Text), owned(&[]));
    assert_eq!(select("//md:t/@x", DataType::Integer), Err(FaultCode::ProcessingError));
    assert_eq!(select("count(//md:n)", DataType::Integer), Err(FaultCode::SyntaxError));
    assert_eq!(select("//md:n", DataType::XPathExpression), Err(FaultCode::SyntaxError));
    assert_eq!(select("//q:n", DataType::Text), Err(FaultCode::SyntaxError));
    assert_eq!(select("//*[//*[//*[//*]]]", DataType::Text).map(|values| values.len()), Ok(5));
}

#[test]
fn a_category_without_content_has_no_nodes_and_a_broken_one_is_an_error() {
    let request = request("<md:r/>", "");
    let mut other = selector("//md:r", DataType::Text);
    other.path.category = "urn:other".into();
    assert_eq!(selected(&request, &other), Ok(vec![]));
    let contents = Contents::default();
    let (here, there) = (argument("//md:r", RESOURCE), argument("//md:r", "urn:other"));
    assert_eq!(contents.node_count(&request, &there).unwrap(), 0);
    assert!(!contents.node_equal(&request, &here, &there).unwrap());
    assert!(!contents.node_match(&request, &there, &here).unwrap());

    let json = r#"{"Request":{"Resource":{"Content":"<a><1/></a>"}}}"#;
    let broken = Request::from_json(json.as_bytes()).unwrap();
    assert_eq!(selected(&broken, &selector("//b", DataType::Text)), Err(FaultCode::SyntaxError));
}

#[test]
fn a_context_selector_names_exactly_one_node() {
    let content = "<md:r><md:a><md:n>1</md:n></md:a><md:a><md:n>2</md:n></md:a></md:r>";
    let relative = Selector { context: Some("at".into()), ..selector("md:n/text()", DataType::Text) };
    let with = |attributes: &str| selected(&request(content, attributes), &relative);
    assert_eq!(with(&context_attribute(RESOURCE, "//md:a[2]")), Ok(vec!["2".to_owned()]));
    for wrong in [
        String::new(),
        context_attribute(RESOURCE, "//md:a"),
        context_attribute(RESOURCE, "//md:b"),
        context_attribute(RESOURCE, "1"),
        context_attribute(RESOURCE, "]"),
        context_attribute("urn:other", "//md:a[2]"),
        context_attribute(RESOURCE, "//md:a[2]").repeat(2),
    ] {
        assert_eq!(with(&wrong), Err(FaultCode::SyntaxError), "{wrong}");
    }
}

#[test]
fn a_path_splits_into_one_for_each_node() {
    let request = request("<md:r><md:a>1</md:a><md:b/><md:a>2</md:a></md:r>", "");
    let contents = Contents::default();
    let split = contents.split(&request, &path("//md:a", RESOURCE)).unwrap();
    let texts = split.iter().map(|single| {
        let selector = Selector { path: single.clone(), ..selector("", DataType::Text) };
        contents
            .select(&request, &selector)
            .unwrap()
            .iter()
            .map(|value| value.lexical().into_owned())
            .collect()
    });
    assert_eq!(texts.collect::<Vec<Vec<String>>>(), [["1"], ["2"]]);

    let wide = format!("<md:r>{}</md:r>", "<md:a/>".repeat(1_001));
    let wide = self::request(&wide, "");
    let fault = Contents::default().split(&wide, &path("//md:a", RESOURCE)).unwrap_err();
    assert_eq!(fault.code, FaultCode::ProcessingError);
}

#[test]
fn all_paths_of_a_message_share_one_budget() {
    let request = request(&format!("<md:r>{}</md:r>", "<md:a/>".repeat(2_000)), "");
    let contents = Contents::default();
    let costly = argument("//*[count(//*) = 1]", RESOURCE);
    let cheap = argument("/md:r", RESOURCE);
    assert_eq!(contents.node_count(&request, &cheap).unwrap(), 1);
    for _ in 0..5 {
        assert_eq!(contents.node_count(&request, &costly).unwrap_err().code, FaultCode::ProcessingError);
    }
    assert!(contents.node_count(&request, &argument("/md:r/md:a", RESOURCE)).is_err());
    assert_eq!(contents.node_count(&request, &cheap).unwrap(), 1); // known from before
}

fn case(name: &str) -> Option<Request> {
    let folder = durward_testdata::recorded(&format!("xacml/conformance/{name}"))?;
    Some(Request::from_xml(&std::fs::read(folder.join("Request.xml")).unwrap()).unwrap())
}

#[test]
fn conformance_3_0_selects_from_a_category() {
    let Some(request) = case("authzforce-ct-optional/IIIG001") else { return };
    let contents = Contents::default();
    let count = |text: &str| contents.node_count(&request, &argument(text, RESOURCE)).unwrap();
    assert_eq!(count("//*"), 18);
    assert_eq!(count("//md:name"), 2);
    let equal = |a: &str, b: &str| {
        contents.node_equal(&request, &argument(a, RESOURCE), &argument(b, RESOURCE)).unwrap()
    };
    assert!(equal("//md:name", "//md:name[text()='Bart Simpson']"));
    assert!(!equal("//md:record/*/md:name", "//md:record/*/md:item"));
    let matches = |a: &str, b: &str| {
        contents.node_match(&request, &argument(a, RESOURCE), &argument(b, RESOURCE)).unwrap()
    };
    assert!(matches("//md:hospital_info", "//md:record/*/md:name"));
    assert!(matches(".", "//md:name[text()='Bart Simpson']"));
    assert!(matches("//md:item[1]", "//@type"));
    assert!(!matches("//md:record/*/md:name", "//md:hospital_info"));
    assert!(!matches("//md:record/*/md:name", "//md:record/*/md:item"));
    for (text, expected) in [
        ("//md:record/md:patient_info/md:name/text()", "Bart Simpson"),
        ("//md:record/md:diagnosis_info/md:pathological_diagnosis/md:malignancy/@type", "yes"),
        ("//md:record/md:diagnosis_info/md:diagnosis/md:item/text()", "Gastric Cancer"),
    ] {
        let values = selected(&request, &selector(text, DataType::Text)).unwrap();
        assert_eq!(values.first().map(String::as_str), Some(expected), "{text}");
    }
    // A path over a whole request has nothing to be over here.
    let fault = contents.node_count(&request, &argument("//*", "")).unwrap_err();
    assert_eq!(fault.code, FaultCode::ProcessingError);
}

#[test]
fn conformance_2_0_selects_from_the_whole_request() {
    let name = "balana-ct-xacml2/IIIG006";
    let Some(request) = case(name) else { return };
    let contents = Contents::default();
    let whole = |text: &str| argument(text, "");
    let record = "./context:Resource/context:ResourceContent/md:record";
    assert_eq!(contents.node_count(&request, &whole(&format!("{record}//md:name"))).unwrap(), 2);
    assert!(contents.node_equal(&request, &whole(record), &whole("//md:record")).unwrap());
    assert!(contents.node_match(&request, &whole("."), &whole(record)).unwrap());
    assert!(!contents.node_match(&request, &whole(record), &whole(".")).unwrap());
    // A text that a policy computes has no prefixes; it is a path over the request all the same.
    assert_eq!(contents.node_count(&request, &Value::text("//*[local-name()='name']")).unwrap(), 2);

    let over_request = |text: &str| Selector { over_request: true, ..selector(text, DataType::Text) };
    let values = selected(&request, &over_request(&format!("{record}/md:patient_info/md:name/text()")));
    assert_eq!(values, Ok(vec!["Bart Simpson".to_owned()]));
    // XACML 2.0, section 6.40: an element has no value.
    let values = selected(&request, &over_request("//md:patient_info/md:name"));
    assert_eq!(values, Err(FaultCode::SyntaxError));
}

#[test]
fn a_path_asked_again_costs_no_steps_and_keeps_its_meaning() {
    let with_rows = |rows: usize| request(&format!("<md:r>{}</md:r>", "<md:a/>".repeat(rows)), "");
    let (few, more) = (with_rows(100), with_rows(200));
    let contents = Contents::default();
    let rows = argument("//*[count(//*) > 1]/self::md:a", RESOURCE);
    for _ in 0..1_000 {
        assert_eq!(contents.node_count(&few, &rows).unwrap(), 100);
        assert_eq!(contents.node_count(&more, &rows).unwrap(), 200);
    }
    // The same text with another namespace is another path.
    let mut other = path("//*[count(//*) > 1]/self::md:a", RESOURCE);
    other.namespaces = Arc::from([("md".into(), "urn:other".into())]);
    assert_eq!(contents.node_count(&few, &Value::XPathExpression(Arc::new(other))).unwrap(), 0);
    assert_eq!(contents.node_count(&few, &rows).unwrap(), 100);
}
