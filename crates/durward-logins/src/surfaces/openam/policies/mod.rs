//! `json/{realm}/policies?_action=evaluate` and `evaluateTree`: an agent asks what a user may do, and the decision point answers.
//!
//! ```text
//!   question ---> applications (settings): which actions ---> sapl, or xacml ---> verdict for each action ---> OpenAM's answer
//! ```
//!
//! [`question`] reads what is asked, [`sapl`] and [`xacml`] put it to the decision point in the words of their languages, and [`verdict`]
//! says what an agent can make of a decision. Whatever is unclear is no permit: an action is `false`, or is not there.

mod question;
mod sapl;
mod verdict;
mod xacml;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use durward_common::access::auth::Identity;
use durward_common::access::issued::subject;
use durward_common::access::rates::Rates;
use durward_common::access::subject::Subjects;
use durward_common::access::subject::fence::Fence;
use durward_common::base::metrics::Metrics;
use durward_common::decider::DeciderSlot;
use durward_common::decision_log::{Caller, Recorder, Surface as Way};
use durward_common::policies::InForce;
use durward_common::surfaces::http::Answer;
use durward_net::trace::Trace;
use durward_session::identity::session::Purpose;
use durward_session::{Failed, Who};
use durward_settings::AskedIn;
use durward_sources::AttributeSources;
use hyper::StatusCode;
use serde_json::{Map, Value, json};
use smol_str::SmolStr;

use super::Call;
use super::answers::{self, Refusal, of_version};
use super::resource::{Operation, Request, not_supported};
use question::{Kind, PolicySubject, Question};
use verdict::Verdict;

/// What decides, and what is kept of it.
pub(super) struct DecisionPoint {
    pub(super) policies: Arc<InForce>,
    /// Where XACML's policies get attributes from that questions lack, if they ask for them.
    pub(super) sources: Option<Arc<AttributeSources>>,
    /// Who shows tokens, where there are any.
    pub(super) subjects: Option<Subjects>,
    pub(super) fence: Fence,
    /// What decides by SAPL's policies.
    pub(super) decider: DeciderSlot,
    /// How often agents may ask.
    pub(super) rates: Arc<Rates>,
    pub(super) recorder: Recorder,
    pub(super) metrics: Arc<Metrics>,
    /// Whose policies decide where an application names nobody.
    pub(super) tenant: SmolStr,
}

/// What is decided about, and for whom.
struct Asking<'a> {
    point: &'a DecisionPoint,
    question: &'a Question<'a>,
    /// Resources of the question that are the application's, each with all of its actions.
    resources: Vec<&'a str>,
    /// The agent.
    caller: Identity,
    client: SocketAddr,
    request_id: &'a str,
    trace: &'a Trace,
    /// As the decision log has it.
    route: &'static str,
}

/// Answers one request for policies of a realm.
pub(super) async fn answer(call: &Call<'_>, realm: &str, instance: &[&str], request: &Request) -> Answer {
    let version = match call.api_version.among(&[(1, 0), (2, 0)]) {
        Some((1, _)) => "resource=1.0",
        Some(_) => "resource=2.0",
        None => return Refusal::no_resource("").into_answer(),
    };
    match answered(call, realm, instance, request).await {
        Ok(body) => of_version(answers::json(&body), version),
        Err(refusal) => of_version(refusal.into_answer(), version),
    }
}

async fn answered(
    call: &Call<'_>,
    realm: &str,
    instance: &[&str],
    request: &Request,
) -> Result<Value, Refusal> {
    let token = call.token().ok_or_else(Refusal::denied)?;
    let who = authorized(call, realm, token).await?;
    let kind = match &request.operation {
        Operation::Action(_) if !instance.is_empty() => return Err(not_supported()),
        Operation::Action(name) => Kind::find(name).ok_or_else(|| {
            let message = format!("Action {name} not implemented for this resource");
            Refusal::new(StatusCode::NOT_IMPLEMENTED, message)
        })?,
        Operation::Query(_)
        | Operation::Read
        | Operation::Create
        | Operation::Update
        | Operation::Delete
        | Operation::Patch => return Err(not_supported()),
    };
    let point = &call.surface.point;
    let agent = subject::of_user(&who.user);
    let asker = Identity::of_session(point.tenant.clone(), &agent);
    if !point.rates.allows(Some(&asker), Some(call.from.client.ip()), Instant::now()) {
        return Err(Refusal::too_many());
    }
    let question = Question::read(call.settings, (realm, token), kind, &request.content)?;
    let tenant = question.application.tenant.as_deref().map_or_else(|| point.tenant.clone(), SmolStr::from);
    let asking = Asking {
        point,
        question: &question,
        resources: question.resources_of_application(),
        caller: Identity::of_session(tenant, &agent),
        client: call.from.client,
        request_id: &call.from.id,
        trace: &call.from.trace,
        route: kind.as_str(),
    };
    let verdicts = asking.verdicts().await?;
    let row = |resource: &String| {
        let verdict = verdicts.iter().find(|(known, _)| known == resource).map(|(_, verdicts)| verdicts);
        described(resource, verdict.map_or(&[], Vec::as_slice))
    };
    Ok(question.resources.iter().map(row).collect())
}

/// Whose session it is that asks: an administrator's of the realm, or of a member of `openam.policy_group` there or in the root realm.
async fn authorized(call: &Call<'_>, realm: &str, token: &str) -> Result<Who, Refusal> {
    let who = call.service.validate(token, Purpose::Use).await.map_err(Failed::from)?;
    let account = call.service.active_account(&who.user).await?.ok_or_else(Refusal::denied)?;
    if !call.decides {
        return Err(Refusal::forbidden());
    }
    let group = call.settings.policy_group.as_ref();
    let is_agent = group.is_some_and(|group| account.groups.contains(group));
    if is_agent && (who.user.realm() == realm || who.user.realm() == "/") {
        return Ok(who);
    }
    // It is no administration: it is answered wherever decisions are.
    if call.service.administrator(token).await?.may(realm) { Ok(who) } else { Err(Refusal::forbidden()) }
}

/// Verdicts by action.
type Verdicts<'a> = Vec<(&'a str, Verdict)>;

impl<'a> Asking<'a> {
    /// What is decided about each resource of the application.
    async fn verdicts(&'a self) -> Result<Vec<(&'a str, Verdicts<'a>)>, Refusal> {
        // A question about nobody is no question of the agent's own.
        if matches!(self.question.subject, PolicySubject::Nobody) || self.resources.is_empty() {
            let none = |resource: &&'a str| (*resource, self.each_action(|_| Verdict::default()));
            return Ok(self.resources.iter().map(none).collect());
        }
        match self.question.application.ask {
            AskedIn::Sapl => sapl::verdicts(self).await,
            AskedIn::Xacml => xacml::verdicts(self).await,
        }
    }

    fn each_action(&'a self, mut of: impl FnMut(&'a str) -> Verdict) -> Verdicts<'a> {
        let actions = self.question.application.actions.iter();
        actions.map(|action| (action.as_str(), of(action))).collect()
    }

    /// Who asks, as the decision log has it.
    fn caller(&self) -> Caller<'_> {
        Caller {
            surface: Way::Openam,
            route: self.route,
            request_id: self.request_id,
            client: Some(self.client),
            tenant: &self.caller.tenant,
            name: &self.caller.name,
            trace: self.trace,
        }
    }

    /// Who shows tokens.
    fn subjects(&self) -> Result<&Subjects, Refusal> {
        let message = "This server has no users of its own settings, and cannot say whose a token is";
        self.point.subjects.as_ref().ok_or_else(|| Refusal::new(StatusCode::NOT_IMPLEMENTED, message))
    }
}

/// One resource as OpenAM answers about it.
fn described(resource: &str, verdicts: &[(&str, Verdict)]) -> Value {
    let actions: Map<String, Value> = verdicts
        .iter()
        .map(|(action, verdict)| ((*action).to_owned(), verdict.is_permitted.into()))
        .collect();
    let mut together = Verdict::default();
    verdicts.iter().for_each(|(_, verdict)| together.add(verdict));
    // Nobody knows for how long it is so: sessions end, and policies change. 0 has agents ask again.
    json!({
        "resource": resource,
        "actions": actions,
        "attributes": together.attributes,
        "advices": together.advices,
        "ttl": 0,
    })
}
