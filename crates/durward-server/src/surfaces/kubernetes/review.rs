//! A `SubjectAccessReview` of `authorization.k8s.io/v1`, read, as a question.
//!
//! What is absent is an empty text in what policies see, so that no comparison fails for want of it: an empty namespace or name means all of
//! them, as in Kubernetes. Members that are not known mean nothing; a known one of a wrong type, or one that comes twice, is an error.

use std::sync::Arc;

use durward_common::question::{Action, Entity, Question};
use durward_pdp::ir::value::{Object, ObjectBuilder};
use durward_pdp::ir::{Value, json};
use smol_str::{SmolStr, format_smolstr};

/// The type of a user.
const USER: &str = "user";

/// The type of a path that is no resource, as rules of RBAC call it.
const NON_RESOURCE_URL: &str = "nonResourceURL";

/// What is asked of durward.
#[derive(Clone, Debug)]
pub(super) struct Review {
    pub(super) question: Question,
    groups: Vec<SmolStr>,
}

impl Review {
    /// # Errors
    /// In words, what is no review.
    pub(super) fn read(text: &[u8]) -> Result<Review, String> {
        let review = json::read_unique(text).map_err(|error| format!("the body is no JSON: {error}"))?;
        let review = review.as_object().ok_or("the body must be an object")?;
        let is = |name: &str, wanted: &str| match text_of(review, name)? {
            found if found == wanted => Ok(()),
            found => Err(format!("`{name}` is `{found}`; `{wanted}` is answered here")),
        };
        is("apiVersion", "authorization.k8s.io/v1")?;
        is("kind", "SubjectAccessReview")?;
        let spec = object_of(review, "spec")?.ok_or("`spec` is missing")?;
        let groups = texts_of(&spec, "groups")?;
        let subject = subject(&spec, &groups)?;
        let resource = object_of(&spec, "resourceAttributes")?;
        let (action, resource) = match (resource, object_of(&spec, "nonResourceAttributes")?) {
            (Some(attributes), None) => of_resource(&attributes)?,
            (None, Some(attributes)) => of_path(&attributes)?,
            (Some(_), Some(_)) | (None, None) => {
                return Err("one of `resourceAttributes` and `nonResourceAttributes` is wanted".to_owned());
            }
        };
        if action.name.is_empty() {
            return Err("`verb` is missing".to_owned());
        }
        Ok(Review { question: Question { subject, action, resource, context: None }, groups })
    }

    pub(super) fn user(&self) -> &str {
        &self.question.subject.id
    }

    pub(super) fn groups(&self) -> impl Iterator<Item = &str> {
        self.groups.iter().map(SmolStr::as_str)
    }
}

fn subject(spec: &Object, groups: &[SmolStr]) -> Result<Entity, String> {
    let user = text_of(spec, "user")?;
    if user.is_empty() {
        return Err("`spec.user` is missing".to_owned());
    }
    let mut properties = ObjectBuilder::new();
    properties.insert("uid", Value::Text(text_of(spec, "uid")?));
    properties.insert("groups", Value::array(groups.iter().cloned().map(Value::Text)));
    let extra = object_of(spec, "extra")?.unwrap_or_default();
    for name in extra.keys() {
        texts_of(&extra, name)?;
    }
    properties.insert("extra", Value::Object(extra));
    Ok(entity(USER, user, properties))
}

/// A resource is of the type that Kubernetes writes: `pods`, `pods/exec`, `deployments.apps`, `deployments.apps/scale`. Its parts are
/// properties.
fn of_resource(attributes: &Object) -> Result<(Action, Entity), String> {
    const PARTS: [&str; 6] = ["namespace", "group", "version", "resource", "subresource", "name"];
    let mut properties = ObjectBuilder::new();
    for part in PARTS {
        properties.insert(part, Value::Text(text_of(attributes, part)?));
    }
    for selector in ["fieldSelector", "labelSelector"] {
        properties.insert(selector, requirements(attributes, selector)?);
    }
    let text = |name: &str| text_of(attributes, name);
    let (resource, group, subresource) = (text("resource")?, text("group")?, text("subresource")?);
    if resource.is_empty() {
        return Err("`resourceAttributes.resource` is missing".to_owned());
    }
    let mut kind = resource.to_string();
    for (mark, part) in [('.', group), ('/', subresource)] {
        if !part.is_empty() {
            kind.push(mark);
            kind.push_str(&part);
        }
    }
    Ok((action(text("verb")?), entity(&kind, text("name")?, properties)))
}

fn of_path(attributes: &Object) -> Result<(Action, Entity), String> {
    let path = text_of(attributes, "path")?;
    if path.is_empty() {
        return Err("`nonResourceAttributes.path` is missing".to_owned());
    }
    Ok((action(text_of(attributes, "verb")?), entity(NON_RESOURCE_URL, path, ObjectBuilder::new())))
}

/// The requirements of a selector, each with `key`, `operator` and `values`. A selector only narrows what is asked for; without requirements
/// it narrows nothing, also where it has a text, which webhooks are told to ignore.
fn requirements(attributes: &Object, selector: &str) -> Result<Value, String> {
    let Some(found) = object_of(attributes, selector)? else { return Ok(Value::array([])) };
    let requirements = match found.get("requirements") {
        None | Some(Value::Null) => return Ok(Value::array([])),
        Some(Value::Array(requirements)) => requirements,
        Some(_) => return Err(format!("`{selector}.requirements` must be an array")),
    };
    let read = |requirement: &Value| {
        let requirement =
            requirement.as_object().ok_or_else(|| format!("`{selector}.requirements` must hold objects"))?;
        let values = texts_of(requirement, "values")?;
        Ok(Value::object([
            ("key", Value::Text(text_of(requirement, "key")?)),
            ("operator", Value::Text(text_of(requirement, "operator")?)),
            ("values", Value::array(values.into_iter().map(Value::Text))),
        ]))
    };
    let read: Result<Vec<Value>, String> = requirements.iter().map(read).collect();
    Ok(Value::array(read?))
}

fn action(name: SmolStr) -> Action {
    Action { name, properties: None }
}

fn entity(kind: &str, id: SmolStr, properties: ObjectBuilder) -> Entity {
    Entity { kind: format_smolstr!("{kind}"), id, properties: Some(Arc::new(properties.finish())) }
}

/// A text; empty where there is none.
fn text_of(object: &Object, name: &str) -> Result<SmolStr, String> {
    match object.get(name) {
        None | Some(Value::Null) => Ok(SmolStr::default()),
        Some(Value::Text(text)) => Ok(text.clone()),
        Some(_) => Err(format!("`{name}` must be a string")),
    }
}

/// Texts; none where there are none.
fn texts_of(object: &Object, name: &str) -> Result<Vec<SmolStr>, String> {
    let wrong = || format!("`{name}` must be an array of strings");
    match object.get(name) {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(texts)) => {
            texts.iter().map(|text| text.as_text().map(SmolStr::new).ok_or_else(wrong)).collect()
        }
        Some(_) => Err(wrong()),
    }
}

fn object_of(object: &Object, name: &str) -> Result<Option<Arc<Object>>, String> {
    match object.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Object(member)) => Ok(Some(Arc::clone(member))),
        Some(_) => Err(format!("`{name}` must be an object")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What client-go sends.
    fn review(attributes: &str) -> String {
        format!(
            r#"{{"kind":"SubjectAccessReview","apiVersion":"authorization.k8s.io/v1","metadata":{{}},"spec":{{{attributes},
            "user":"ada","groups":["dev","system:authenticated"],"extra":{{"example.org/scopes":["a"]}},"uid":"7"}},"status":{{"allowed":false}}}}"#
        )
    }

    fn shown(text: &str) -> [String; 4] {
        let Question { subject, action, resource, .. } = Review::read(text.as_bytes()).unwrap().question;
        let json =
            |object: Option<Arc<Object>>| object.map_or(String::new(), |it| Value::Object(it).to_json());
        [
            json(subject.properties),
            action.name.to_string(),
            format!("{} {}", resource.kind, resource.id),
            json(resource.properties),
        ]
    }

    #[test]
    fn a_resource_is_of_the_type_that_kubernetes_writes() {
        let exec = r#""resourceAttributes":{"namespace":"prod","verb":"create","version":"v1","resource":"pods","subresource":"exec","name":"web-1"}"#;
        assert_eq!(
            shown(&review(exec)),
            [
                r#"{"uid":"7","groups":["dev","system:authenticated"],"extra":{"example.org/scopes":["a"]}}"#,
                "create",
                "pods/exec web-1",
                r#"{"namespace":"prod","group":"","version":"v1","resource":"pods","subresource":"exec","name":"web-1","fieldSelector":[],"labelSelector":[]}"#,
            ]
        );
        let scale =
            exec.replace("exec\"", "scale\",\"group\":\"apps\"").replace("\"pods\"", "\"deployments\"");
        assert_eq!(shown(&review(&scale))[2], "deployments.apps/scale web-1");
    }

    #[test]
    fn selectors_are_their_requirements() {
        let list = r#""resourceAttributes":{"verb":"list","version":"v1","resource":"pods",
            "fieldSelector":{"rawSelector":"x=y","requirements":[{"key":"spec.nodeName","operator":"In","values":["n1"]}]},
            "labelSelector":{"rawSelector":"a=b"}}"#;
        let [.., resource, properties] = shown(&review(list));
        assert_eq!(resource, "pods ");
        assert!(properties.contains(
            r#""fieldSelector":[{"key":"spec.nodeName","operator":"In","values":["n1"]}],"labelSelector":[]"#
        ));
    }

    #[test]
    fn a_path_is_no_resource() {
        let path = r#""nonResourceAttributes":{"path":"/metrics","verb":"get"}"#;
        let [_, verb, resource, _] = shown(&review(path));
        assert_eq!((verb.as_str(), resource.as_str()), ("get", "nonResourceURL /metrics"));
    }

    #[test]
    fn what_is_unclear_is_no_review() {
        let whole = review(r#""resourceAttributes":{"verb":"get","resource":"pods"}"#);
        assert!(Review::read(whole.as_bytes()).is_ok());
        let path = r#""nonResourceAttributes":{"path":"/x","verb":"get"}"#;
        for (from, to, words) in [
            ("authorization.k8s.io/v1", "authorization.k8s.io/v1beta1", "`apiVersion` is"),
            (r#""kind":"Sub"#, r#""kind":"Self"#, "`kind` is"),
            (r#""user":"ada""#, r#""user":"""#, "`spec.user` is missing"),
            (r#""user":"ada""#, r#""user":["ada"]"#, "`user` must be a string"),
            (r#""user":"ada""#, r#""user":"ada","user":"eve""#, "the key `user` is there twice"),
            (r#"["dev","#, r#"[7,"#, "`groups` must be an array of strings"),
            (r#"["a"]"#, r#""a""#, "`example.org/scopes` must be an array"),
            (r#""verb":"get","#, "", "`verb` is missing"),
            (r#","resource":"pods""#, "", "`resourceAttributes.resource` is missing"),
            (
                r#""resource":"pods""#,
                r#""resource":"pods","fieldSelector":{"requirements":[1]}"#,
                "hold objects",
            ),
            ("\"resourceAttributes\"", "\"x\"", "is wanted"),
        ] {
            let changed = whole.replacen(from, to, 1);
            assert_ne!(changed, whole);
            let error = Review::read(changed.as_bytes()).unwrap_err();
            assert!(error.contains(words), "{changed}: {error}");
        }
        let both = whole.replacen("\"spec\":{", &format!("\"spec\":{{{path},"), 1);
        assert!(Review::read(both.as_bytes()).unwrap_err().contains("is wanted"));
        for cut in [0, 1, whole.len() / 2, whole.len() - 1] {
            assert!(Review::read(&whole.as_bytes()[..cut]).is_err());
        }
    }
}
