//! `evaluations`: several questions in one request, in their order. What is wrong with one of them is its answer; what is wrong with the
//! request is the answer to all.

use durward_common::question::Wrong;
use durward_pdp::ir::Value;
use durward_pdp::ir::value::Object;
use hyper::StatusCode;

use super::answer::write_error;
use super::decide::{Asking, Logged};
use super::parts::{Parts, body, object_member};

/// When evaluations end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Semantic {
    ExecuteAll,
    DenyOnFirstDeny,
    PermitOnFirstPermit,
}

impl Semantic {
    fn read(request: &Object) -> Result<Semantic, Wrong> {
        let Some(options) = object_member(request, "options")? else { return Ok(Semantic::ExecuteAll) };
        let Some(named) = options.get("evaluations_semantic") else { return Ok(Semantic::ExecuteAll) };
        match named.as_text() {
            Some("execute_all") => Ok(Semantic::ExecuteAll),
            Some("deny_on_first_deny") => Ok(Semantic::DenyOnFirstDeny),
            Some("permit_on_first_permit") => Ok(Semantic::PermitOnFirstPermit),
            Some(_) | None => Err(Wrong::request(
                "`options.evaluations_semantic` is `execute_all`, `deny_on_first_deny` or `permit_on_first_permit`",
            )),
        }
    }

    /// Whether nothing more is decided after this decision.
    fn ends_with(self, decision: bool) -> bool {
        match self {
            Semantic::ExecuteAll => false,
            Semantic::DenyOnFirstDeny => !decision,
            Semantic::PermitOnFirstPermit => decision,
        }
    }
}

/// Answers a request with evaluations. Without any, it is one question (Authorization API 1.0, 7.1).
pub(super) async fn evaluations(asking: &Asking<'_>, text: &[u8]) -> Result<String, Wrong> {
    let request = body(text)?;
    let defaults = Parts::read(&request)?;
    let semantic = Semantic::read(&request)?;
    let evaluations = match request.get("evaluations") {
        None | Some(Value::Null) => return asking.one(defaults.question()?).await,
        Some(Value::Array(evaluations)) if evaluations.is_empty() => {
            return asking.one(defaults.question()?).await;
        }
        Some(Value::Array(evaluations)) => evaluations,
        Some(_) => return Err(Wrong::request("`evaluations` must be an array")),
    };
    let most = asking.surface.settings.evaluations_max;
    if evaluations.len() > most {
        asking.surface.metrics.limit_hit("authzen.evaluations_max");
        let message = format!("there are more than {most} evaluations (`authzen.evaluations_max`)");
        return Err(Wrong::new(StatusCode::PAYLOAD_TOO_LARGE, message));
    }
    let items = evaluations.iter().map(|evaluation| {
        let object = evaluation.as_object().map(|object| &**object);
        object.ok_or_else(|| Wrong::request("each of `evaluations` must be an object"))
    });
    let items: Vec<&Object> = items.collect::<Result<_, _>>()?;
    let mut out = String::with_capacity(20 * items.len());
    out.push_str("{\"evaluations\":[");
    for (number, item) in items.into_iter().enumerate() {
        if number > 0 {
            out.push(',');
            // Others are served between two decisions.
            tokio::task::yield_now().await;
        }
        let decision = one(asking, &defaults, item, &mut out).await;
        if semantic.ends_with(decision) {
            break;
        }
    }
    out.push_str("]}");
    Ok(out)
}

/// Writes the answer to one of them, and says whether access is granted.
async fn one(asking: &Asking<'_>, defaults: &Parts, item: &Object, out: &mut String) -> bool {
    let question = Parts::read(item).and_then(|own| defaults.replaced_by(own).question());
    let decided = match question {
        Ok(question) => {
            let context = question.context.clone();
            asking.decide(question, Logged::Each).await.map(|verdict| (verdict, context))
        }
        Err(wrong) => Err(wrong),
    };
    match decided {
        Ok((verdict, context)) => {
            let telling = asking.surface.telling(context.as_deref());
            telling.write(&verdict, out);
            telling.is_true(&verdict)
        }
        Err(wrong) => {
            write_error(&wrong, out);
            false
        }
    }
}
