//! Semantic checks of a scenario, made when it is read, so that nothing starts before it is right.

use std::collections::BTreeSet;

use super::error::{ScenarioError, nearest};
use super::load::{ArrivalSpec, LoadSpec};
use super::step::ScenarioStep;
use super::template::{TemplatePart, TemplateReference, captures, parse};
use super::value::NumberValue;
use super::{ArrivalShape, Scenario};

/// The most users or connections of one run: what one machine has ports and memory for.
pub(crate) const USERS_MAX: u64 = 1_000_000;
/// The most arrivals a second.
const RATE_MAX: f64 = 10_000_000.0;

impl Scenario {
    pub(super) fn check(&self) -> Result<(), ScenarioError> {
        self.load.check()?;
        if self.steps.is_empty() {
            return Err(ScenarioError::at("steps", "is empty: there is nothing to ask"));
        }
        if let Some((name, _)) = self.vary.iter().find(|(_, values)| values.is_empty()) {
            return Err(ScenarioError::at(format!("vary.{name}"), "has no value"));
        }
        let steps = self.all_steps();
        let made: BTreeSet<&str> =
            steps.iter().flat_map(|(_, step)| step.capture.keys()).map(String::as_str).collect();
        let mut names = BTreeSet::new();
        for (line, step) in &steps {
            let problem = |error: ScenarioError| error.in_line(*line);
            step.check(&made).map_err(problem)?;
            self.check_references(step).map_err(problem)?;
            if !step.is_group() && !names.insert(step.label()) {
                let said = "is the name of two steps; give one of them another `name`";
                return Err(ScenarioError::at(step.label(), said).in_line(*line));
            }
        }
        let unknown = self.thresholds.steps.keys().find(|name| !names.contains(*name));
        if let Some(name) = unknown {
            let near = nearest(name, names.iter().map(String::as_str));
            let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
            return Err(ScenarioError::at(
                format!("thresholds.steps.{name}"),
                format!("names no step{near}"),
            ));
        }
        Ok(())
    }

    /// Tables and varied values that texts refer to must be there.
    fn check_references(&self, step: &ScenarioStep) -> Result<(), ScenarioError> {
        for text in step.texts() {
            for part in parse(&text).map_err(|problem| {
                ScenarioError::at(step.label(), format!("has a text in which {problem}"))
            })? {
                let problem = match part {
                    TemplatePart::Value(TemplateReference::Vary(name), _)
                        if !self.vary.contains_key(&name) =>
                    {
                        format!("refers to `vary.{name}`, which is not there")
                    }
                    TemplatePart::Value(TemplateReference::Data(Some(table), _), _)
                        if !self.data.contains_key(&table) =>
                    {
                        let near = nearest(&table, self.data.keys().map(String::as_str));
                        let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
                        format!("refers to `data.{table}`, which is not there{near}")
                    }
                    TemplatePart::Value(_, _) | TemplatePart::Text(_) => continue,
                };
                return Err(ScenarioError::at(step.label(), problem));
            }
        }
        Ok(())
    }
}

impl LoadSpec {
    fn check(&self) -> Result<(), ScenarioError> {
        let at = |key: &str, problem: &str| Err(ScenarioError::at(format!("load.{key}"), problem));
        if let Some(search) = &self.search {
            search.check()?;
            if self.arrivals.is_some() || !self.users.0.is_empty() {
                return at("search", "finds users and rates by itself: leave `users` and `arrivals` out");
            }
            if self.pace.is_some() || self.think != super::ThinkTime::None {
                return at(
                    "search",
                    "asks as fast as answers come, or by a rate: leave `pace` and `think` out",
                );
            }
        }
        match (&self.arrivals, self.users.0.as_slice()) {
            (None, []) if self.search.is_some() => {}
            (None, []) => return at("users", "is missing: say `users = 10`, or `arrivals = { rate = 100 }`"),
            (Some(_), [_, ..]) => {
                return at(
                    "users",
                    "and `arrivals` exclude each other; `connections` bounds how many arrivals are served at once",
                );
            }
            (Some(arrivals), []) => arrivals.check()?,
            (None, users) => {
                if users.iter().any(|users| *users == 0 || *users > USERS_MAX) {
                    return at("users", "is a number from 1 to 1000000");
                }
            }
        }
        if self.arrivals.is_some() && self.pace.is_some() {
            return at("pace", "is for `users`; arrivals have a rate");
        }
        if self.pace.is_some() && self.think != super::ThinkTime::None {
            return at("pace", "and `think` exclude each other");
        }
        if self.pace.is_some_and(|pace| pace.0.is_zero()) {
            return at("pace", "is longer than 0");
        }
        if self.balance.0.is_empty() {
            return at("balance", "is empty: leave it out for `sticky`");
        }
        if self.measure.0.is_zero() {
            return at("measure", "is longer than 0");
        }
        if self.timeout.0.is_zero() {
            return at("timeout", "is longer than 0");
        }
        if self.repeat == 0 || self.repeat > 1000 {
            return at("repeat", "is a number from 1 to 1000");
        }
        if self.connections.is_some_and(|count| count == 0 || count as u64 > USERS_MAX) {
            return at("connections", "is a number from 1 to 1000000");
        }
        if self.http == super::HttpVersion::Two && !self.keep_alive {
            return at("keep_alive", "is for HTTP/1.1; connections of HTTP/2 are kept");
        }
        if self.streams.is_some_and(|count| count == 0 || count > 100_000) {
            return at("streams", "is a number from 1 to 100000");
        }
        if self.threads.is_some_and(|count| count == 0 || count > 256) {
            return at("threads", "is a number from 1 to 256");
        }
        Ok(())
    }
}

impl ArrivalSpec {
    fn check(&self) -> Result<(), ScenarioError> {
        let at = |key: &str, problem: &str| Err(ScenarioError::at(format!("load.arrivals{key}"), problem));
        let is_there = [
            !self.rate.0.is_empty(),
            !self.steps.is_empty(),
            !self.burst.0.is_empty(),
            self.replay.is_some(),
        ];
        if is_there.iter().filter(|there| **there).count() != 1 {
            return at("", "says one of `rate`, `steps`, `burst` and `replay`");
        }
        if self.every.is_some() && self.burst.0.is_empty() {
            return at(".every", "is for `burst`");
        }
        if self.bursts.is_some() && self.burst.0.is_empty() {
            return at(".bursts", "is for `burst`");
        }
        if self.bursts == Some(0) {
            return at(".bursts", "must be above 0");
        }
        if self.speed.is_some() && self.replay.is_none() {
            return at(".speed", "is for `replay`");
        }
        for shape in self.shapes() {
            let is_right = match shape {
                ArrivalShape::Rate(rate, _) => rate > 0.0 && rate <= RATE_MAX,
                ArrivalShape::Steps(steps, _) => {
                    steps.iter().all(|step| (0.0..=RATE_MAX).contains(&step.rate) && !step.time.0.is_zero())
                        && steps.iter().any(|step| step.rate > 0.0)
                }
                ArrivalShape::Burst(size, every, _) => (1..=USERS_MAX).contains(&size) && !every.0.is_zero(),
                ArrivalShape::Replay(_, speed) => speed > 0.0 && speed <= 1e6,
            };
            if !is_right {
                return at("", "has a rate, size or time that is 0, below 0, or beyond ten million a second");
            }
        }
        Ok(())
    }
}

impl ScenarioStep {
    /// Every text of the step that may hold `${...}`.
    pub(crate) fn texts(&self) -> Vec<String> {
        let mut all: Vec<String> =
            self.path.iter().chain(&self.body).chain(self.headers.values()).cloned().collect();
        self.json.iter().chain(self.expect.json.values()).for_each(|value| leaves(value, &mut all));
        all.extend(self.expect.contains.0.iter().cloned());
        for number in self.percent.iter().chain(&self.repeat) {
            if let NumberValue::Text(text) = number {
                all.push(text.clone());
            }
        }
        all
    }

    fn check(&self, made: &BTreeSet<&str>) -> Result<(), ScenarioError> {
        let at = |problem: String| Err(ScenarioError::at(self.label(), problem));
        if self.is_group() {
            let asks =
                self.path.is_some() || self.body.is_some() || self.json.is_some() || self.built_in.is_some();
            return if asks { at("is a request or has `steps`, not both".to_owned()) } else { Ok(()) };
        }
        if let Some(path) = &self.path
            && !path.starts_with('/')
            && !path.starts_with("${")
        {
            return at(format!("has the path `{path}`, which does not begin with `/`"));
        }
        if self.path.is_none() && self.rsocket.is_none() {
            return at("has neither `path` nor `use` nor `steps`".to_owned());
        }
        self.check_stream()?;
        let bodies = usize::from(self.body.is_some())
            + usize::from(self.body_file.is_some())
            + usize::from(self.json.is_some());
        if bodies > 1 {
            return at("has more than one of `body`, `body_file` and `json`".to_owned());
        }
        let is_token = |text: &str| {
            !text.is_empty()
                && text.bytes().all(|byte| byte.is_ascii_graphic() && !b"\"(),/:;<=>?@[\\]{}".contains(&byte))
        };
        if !is_token(self.method()) {
            return at(format!("has the method `{}`, which is none", self.method()));
        }
        for (name, value) in &self.headers {
            if !is_token(name) || value.contains(['\r', '\n']) {
                return at(format!("has the header `{name}`, whose name or value is not allowed"));
            }
            if ["host", "content-length", "connection", "transfer-encoding"]
                .contains(&name.to_ascii_lowercase().as_str())
            {
                return at(format!("sets the header `{name}`, which the generator writes itself"));
            }
        }
        for (name, capture) in &self.capture {
            let places = usize::from(capture.json.is_some())
                + usize::from(capture.header.is_some() || capture.regex.is_some());
            if places != 1 {
                return at(format!("captures `{name}` by none or two of `json`, `header` and `regex`"));
            }
            if let Some(Err(error)) = capture.regex.as_deref().map(regex::bytes::Regex::new) {
                return at(format!("captures `{name}` by a regular expression that is none: {error}"));
            }
        }
        let mut pointers =
            self.capture.values().filter_map(|capture| capture.json.as_ref()).chain(self.expect.json.keys());
        if let Some(pointer) = pointers.find(|pointer| !pointer.is_empty() && !pointer.starts_with('/')) {
            return at(format!("has the JSON pointer `{pointer}`, which does not begin with `/`"));
        }
        self.check_captures(made)
    }

    fn check_stream(&self) -> Result<(), ScenarioError> {
        let at = |problem: &str| Err(ScenarioError::at(self.label(), problem));
        if self.rsocket.is_some() {
            if self.path.is_some() || self.method.is_some() || !self.headers.is_empty() {
                return at("asks over RSocket, which has no `path`, `method` or `headers`");
            }
            let reads_text = |capture: &super::Capture| capture.json.is_none();
            if !self.expect.status.0.is_empty()
                || !self.expect.contains.0.is_empty()
                || self.capture.values().any(reads_text)
            {
                return at(
                    "asks over RSocket, whose answers are messages: `expect.json` and captures by `json` look into them",
                );
            }
            if self.rsocket.as_ref().is_some_and(|route| route.ends_with("-once")) && self.events.is_some() {
                return at("is answered once: `events` are of streams");
            }
        }
        let Some(events) = &self.events else { return Ok(()) };
        if events.count == Some(0) || events.hold.is_some_and(|hold| hold.0.is_zero()) {
            return at(
                "holds a stream for no time: leave `hold` and `count` out to close it at its first event",
            );
        }
        match events.request_n {
            Some(_) if self.rsocket.is_none() => at("has `request_n`, which is RSocket's"),
            Some(0 | 0x8000_0000..) => at("has a `request_n` that is not from 1 to 2147483647"),
            Some(_) | None => Ok(()),
        }
    }

    /// Captures that are used must be made by a step.
    fn check_captures(&self, made: &BTreeSet<&str>) -> Result<(), ScenarioError> {
        let mut used: Vec<String> = Vec::new();
        for text in self.texts() {
            let parts = parse(&text).map_err(|problem| {
                ScenarioError::at(self.label(), format!("has a text in which {problem}"))
            })?;
            used.extend(captures(&parts).map(str::to_owned));
        }
        used.extend(self.only_if.iter().map(|name| name.trim_start_matches('!').to_owned()));
        used.extend(self.forget.0.iter().chain(&self.forget_on_error.0).cloned());
        let Some(name) = used.iter().find(|name| !made.contains(name.as_str())) else { return Ok(()) };
        let near = nearest(name, made.iter().copied());
        let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
        Err(ScenarioError::at(self.label(), format!("needs `{name}`, which no step captures{near}")))
    }
}

/// All texts within a value.
fn leaves(value: &toml::Value, all: &mut Vec<String>) {
    match value {
        toml::Value::String(text) => all.push(text.clone()),
        toml::Value::Array(values) => values.iter().for_each(|value| leaves(value, all)),
        toml::Value::Table(table) => table.values().for_each(|value| leaves(value, all)),
        toml::Value::Integer(_)
        | toml::Value::Float(_)
        | toml::Value::Boolean(_)
        | toml::Value::Datetime(_) => {}
    }
}
