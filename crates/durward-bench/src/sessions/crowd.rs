//! The users whom a load is made of: what each asks for next, and whether the answer is right.
//!
//! Users have no connection of their own: a connection that is free serves any of them. So each request of a session goes to a
//! random one of the nodes that there are connections to.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use std::time::Instant;

use bytes::{Buf, BytesMut};
use serde::Deserialize;

use super::BenchPerson;
use crate::scenario::random::JavaRandom;
use crate::server::ServerBenchError;
use crate::server::http::{AnswerHead, head};
use crate::server::load::{ProtocolConnection, ServerAnswer};

/// Most bytes of a wrong answer that are kept to be shown.
const SHOWN_BYTES: usize = 200;

/// What a user can ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UserAction {
    /// `POST /v1/login`.
    Login,
    /// `POST /v1/sessions/validate`.
    Validate,
    /// `POST /v1/sessions/logout`.
    Logout,
}

impl UserAction {
    /// All.
    pub const ALL: [UserAction; 3] = [UserAction::Login, UserAction::Validate, UserAction::Logout];

    /// Its name: `login`, `validate`, `logout`.
    pub fn name(self) -> &'static str {
        match self {
            UserAction::Login => "login",
            UserAction::Validate => "validate",
            UserAction::Logout => "logout",
        }
    }

    pub(super) fn kind(self) -> usize {
        self as usize
    }
}

/// What users do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UserScript {
    /// Who has no session logs in; nobody more than once.
    Enter,
    /// A user validates their session.
    Validate,
    /// The same, of a server that knows one user only: any valid session is right.
    ValidateAny,
    /// People log in, one after the other, and forget their sessions.
    Login,
    /// The same, and being turned away with 429 or 503 is right, too.
    Flood,
    /// Who has no session logs in; who has one logs out so many times in a hundred, and validates otherwise.
    Mix { logout_percent: u8 },
}

/// A place for a session.
struct UserSlot {
    person: usize,
    token: Option<String>,
}

/// A request under way.
struct PendingRequest {
    act: UserAction,
    user: usize,
    due: Instant,
}

/// All users of a load.
pub(super) struct BenchUsers<'p> {
    people: &'p [BenchPerson],
    host: String,
    users: Vec<UserSlot>,
    /// Those who have nothing under way.
    idle: Vec<usize>,
    /// Whose turn it is to log in.
    turn: usize,
    script: UserScript,
    random: JavaRandom,
    /// How logins were answered.
    pub(super) logins: BTreeMap<u16, u64>,
    /// The first answer that was wrong.
    pub(super) wrong: Option<String>,
}

#[derive(Deserialize)]
struct CrowdLoginAnswer {
    token: String,
}

impl<'p> BenchUsers<'p> {
    /// So many users without sessions; person by person in turn, for a person may have several.
    pub(super) fn new(people: &'p [BenchPerson], users: usize, host: String) -> BenchUsers<'p> {
        let user = |number| UserSlot { person: number % people.len().max(1), token: None };
        BenchUsers {
            people,
            host,
            users: (0..users).map(user).collect(),
            idle: (0..users).collect(),
            turn: 0,
            script: UserScript::Enter,
            random: JavaRandom::new(42),
            logins: BTreeMap::new(),
            wrong: None,
        }
    }

    /// From now on they do this. Nothing may be under way.
    pub(super) fn play(&mut self, script: UserScript) {
        self.script = script;
        self.idle = (0..self.users.len()).collect();
        self.logins.clear();
    }

    /// How many have sessions.
    pub(super) fn entered(&self) -> usize {
        self.users.iter().filter(|user| user.token.is_some()).count()
    }

    pub(super) fn len(&self) -> usize {
        self.users.len()
    }

    fn name(&self, person: usize) -> &str {
        self.people.get(person).map_or("", |person| &person.user)
    }

    /// Writes the next request.
    fn ask(&mut self, due: Instant, out: &mut BytesMut) -> PendingRequest {
        let user = match self.script {
            UserScript::Enter | UserScript::Mix { .. } => self.take_idle(),
            UserScript::Validate | UserScript::ValidateAny => self.random.below(self.users.len().max(1)),
            UserScript::Login | UserScript::Flood => {
                self.turn = (self.turn + 1) % self.users.len().max(1);
                self.turn
            }
        };
        let act = self.act(user);
        let token = self.users.get(user).and_then(|user| user.token.as_deref()).unwrap_or_default();
        match act {
            UserAction::Login => {
                let person = self.users.get(user).and_then(|user| self.people.get(user.person));
                write(out, "/v1/login", &self.host, "", person.map_or("", |person| &person.login));
            }
            UserAction::Validate => write(out, "/v1/sessions/validate", &self.host, token, ""),
            UserAction::Logout => write(out, "/v1/sessions/logout", &self.host, token, ""),
        }
        PendingRequest { act, user, due }
    }

    /// A user with nothing under way. There are as many users as requests that may be under way.
    fn take_idle(&mut self) -> usize {
        let at = self.random.below(self.idle.len().max(1));
        if at < self.idle.len() { self.idle.swap_remove(at) } else { 0 }
    }

    fn act(&mut self, user: usize) -> UserAction {
        let has_session = self.users.get(user).is_some_and(|user| user.token.is_some());
        match self.script {
            UserScript::Enter | UserScript::Login | UserScript::Flood => UserAction::Login,
            UserScript::Validate | UserScript::ValidateAny => UserAction::Validate,
            UserScript::Mix { .. } if !has_session => UserAction::Login,
            UserScript::Mix { logout_percent } if self.random.below(100) < usize::from(logout_percent) => {
                UserAction::Logout
            }
            UserScript::Mix { .. } => UserAction::Validate,
        }
    }

    /// Notes an answer. Whether it is right.
    fn told(&mut self, asked: &PendingRequest, status: u16, body: &[u8]) -> bool {
        let is_right = match asked.act {
            UserAction::Login => self.told_of_login(asked.user, status, body),
            UserAction::Validate => {
                let name = self.users.get(asked.user).map_or("", |user| self.name(user.person));
                let name = if self.script == UserScript::ValidateAny { None } else { Some(name) };
                status == 200 && is_valid(body, name)
            }
            UserAction::Logout => {
                let is_done = status == 200 && body.starts_with(b"{\"done\":true}");
                self.set_token(asked.user, None);
                is_done
            }
        };
        if !is_right && self.wrong.is_none() {
            let body = String::from_utf8_lossy(body.get(..SHOWN_BYTES.min(body.len())).unwrap_or_default());
            self.wrong = Some(format!("{} was answered {status} {}", asked.act.name(), body.trim()));
        }
        if !is_right && asked.act == UserAction::Validate && matches!(self.script, UserScript::Mix { .. }) {
            // A session that is not accepted once is of no further use.
            self.set_token(asked.user, None);
        }
        if matches!(self.script, UserScript::Mix { .. }) {
            self.idle.push(asked.user);
        }
        is_right
    }

    fn told_of_login(&mut self, user: usize, status: u16, body: &[u8]) -> bool {
        *self.logins.entry(status).or_default() += 1;
        if status != 200 {
            return self.script == UserScript::Flood && matches!(status, 429 | 503);
        }
        let Ok(CrowdLoginAnswer { token }) = serde_json::from_slice(body) else { return false };
        if matches!(self.script, UserScript::Enter | UserScript::Mix { .. }) {
            self.set_token(user, Some(token));
        }
        true
    }

    fn set_token(&mut self, user: usize, token: Option<String>) {
        if let Some(user) = self.users.get_mut(user) {
            user.token = token;
        }
    }
}

/// Whether a validation says that the session lives, and is this user's.
pub(super) fn is_valid(body: &[u8], name: Option<&str>) -> bool {
    let Some(rest) = body.strip_prefix(b"{\"valid\":true,\"user\":\"") else { return false };
    name.is_none_or(|name| rest.strip_prefix(name.as_bytes()).is_some_and(|rest| rest.starts_with(b"\"")))
}

/// Appends a request.
pub(super) fn write(out: &mut BytesMut, path: &str, host: &str, token: &str, body: &str) {
    let mut length = [0; 20];
    for part in ["POST ", path, " HTTP/1.1\r\nHost: ", host] {
        out.extend_from_slice(part.as_bytes());
    }
    if !token.is_empty() {
        for part in ["\r\nAuthorization: Bearer ", token] {
            out.extend_from_slice(part.as_bytes());
        }
    }
    if !body.is_empty() {
        out.extend_from_slice(b"\r\nContent-Type: application/json");
    }
    for part in ["\r\nContent-Length: ", digits(body.len(), &mut length), "\r\n\r\n", body] {
        out.extend_from_slice(part.as_bytes());
    }
}

/// A number in decimal digits, without memory for it: requests are written by the million.
fn digits(mut number: usize, room: &mut [u8; 20]) -> &str {
    let mut at = room.len();
    for digit in room.iter_mut().rev() {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
        at -= 1;
        if number == 0 {
            break;
        }
    }
    room.get(at..).and_then(|digits| str::from_utf8(digits).ok()).unwrap_or("0")
}

/// One connection that serves a crowd's users.
pub(super) struct CrowdConnection<'p> {
    crowd: Rc<RefCell<BenchUsers<'p>>>,
    out: BytesMut,
    input: BytesMut,
    /// What is under way; answers come in the same order.
    asked: VecDeque<PendingRequest>,
}

impl<'p> CrowdConnection<'p> {
    pub(super) fn new(crowd: &Rc<RefCell<BenchUsers<'p>>>) -> CrowdConnection<'p> {
        let crowd = Rc::clone(crowd);
        CrowdConnection { crowd, out: BytesMut::new(), input: BytesMut::new(), asked: VecDeque::new() }
    }
}

impl ProtocolConnection for CrowdConnection<'_> {
    const KINDS: usize = UserAction::ALL.len();

    fn ask(&mut self, _: usize, due: Instant) {
        self.asked.push_back(self.crowd.borrow_mut().ask(due, &mut self.out));
    }

    fn in_flight(&self) -> usize {
        self.asked.len()
    }

    fn out(&mut self) -> &mut BytesMut {
        &mut self.out
    }

    fn input(&mut self) -> &mut BytesMut {
        &mut self.input
    }

    fn next(&mut self, _: Instant) -> Result<Option<ServerAnswer>, ServerBenchError> {
        let Some(AnswerHead { bytes, status, body_bytes }) = head(&self.input)? else { return Ok(None) };
        let Some(body) = self.input.get(bytes..bytes + body_bytes) else { return Ok(None) };
        let unasked = || ServerBenchError::Nonsense("an answer that nobody asked for".to_owned());
        let asked = self.asked.pop_front().ok_or_else(unasked)?;
        let is_right = self.crowd.borrow_mut().told(&asked, status, body);
        self.input.advance(bytes + body_bytes);
        Ok(Some(ServerAnswer { due: asked.due, kind: asked.act.kind(), is_right }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn people() -> Vec<BenchPerson> {
        ["anna", "berta"].map(|name| BenchPerson::new(name, "secret")).to_vec()
    }

    /// What the next request of a crowd is, answered so.
    fn step(crowd: &mut BenchUsers<'_>, status: u16, body: &str) -> (UserAction, String, bool) {
        let mut out = BytesMut::new();
        let asked = crowd.ask(Instant::now(), &mut out);
        let is_right = crowd.told(&asked, status, body.as_bytes());
        (asked.act, String::from_utf8(out.to_vec()).unwrap(), is_right)
    }

    #[test]
    fn who_has_entered_validates_with_his_token() {
        let people = people();
        let mut crowd = BenchUsers::new(&people, 1, "here".to_owned());
        let (act, text, is_right) = step(&mut crowd, 200, r#"{"token":"t1","user":"anna"}"#);
        assert_eq!((act, is_right, crowd.entered()), (UserAction::Login, true, 1));
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("POST /v1/login HTTP/1.1\r\nHost: here\r\n"), "{head}");
        assert!(head.ends_with(&format!("Content-Length: {}", body.len())), "{head}");
        assert_eq!(body, r#"{"user":"anna","password":"secret"}"#);
        crowd.play(UserScript::Validate);
        let (act, text, is_right) = step(&mut crowd, 200, r#"{"valid":true,"user":"anna","realm":"/"}"#);
        assert_eq!((act, is_right), (UserAction::Validate, true));
        assert!(text.contains("\r\nAuthorization: Bearer t1\r\nContent-Length: 0\r\n\r\n"), "{text}");
    }

    #[test]
    fn answers_that_are_wrong_are_not_taken_for_right() {
        let people = people();
        let mut crowd = BenchUsers::new(&people, 1, "here".to_owned());
        for (status, body) in [(200, "{}"), (200, "hello"), (503, "{}"), (202, r#"{"challenge":"c"}"#)] {
            crowd.play(UserScript::Enter);
            assert!(!step(&mut crowd, status, body).2, "{status} {body}");
        }
        assert_eq!(crowd.wrong.as_deref(), Some("login was answered 200 {}"));
        crowd.play(UserScript::Validate);
        for (status, body) in [
            (200, r#"{"valid":false}"#),
            (200, r#"{"valid":true,"user":"berta"}"#),
            (200, r#"{"valid":true,"user":"annas"}"#),
            (503, r#"{"valid":true,"user":"anna"}"#),
        ] {
            assert!(!step(&mut crowd, status, body).2, "{status} {body}");
        }
    }

    #[test]
    fn only_a_flood_may_be_turned_away() {
        let people = people();
        let mut crowd = BenchUsers::new(&people, 2, "here".to_owned());
        crowd.play(UserScript::Flood);
        assert!(step(&mut crowd, 503, "").2 && step(&mut crowd, 429, "").2 && !step(&mut crowd, 500, "").2);
        assert_eq!(crowd.logins, BTreeMap::from([(429, 1), (500, 1), (503, 1)]));
        crowd.play(UserScript::Login);
        assert!(!step(&mut crowd, 503, "").2);
    }

    #[test]
    fn in_a_mix_who_has_logged_out_logs_in_again() {
        let people = people();
        let mut crowd = BenchUsers::new(&people, 1, "here".to_owned());
        crowd.play(UserScript::Mix { logout_percent: 100 });
        for _ in 0..3 {
            assert_eq!(step(&mut crowd, 200, r#"{"token":"t"}"#).0, UserAction::Login);
            assert_eq!(
                (step(&mut crowd, 200, "{\"done\":true}\n").0, crowd.entered()),
                (UserAction::Logout, 0)
            );
        }
        crowd.play(UserScript::Mix { logout_percent: 0 });
        step(&mut crowd, 200, r#"{"token":"t"}"#);
        assert_eq!(step(&mut crowd, 200, r#"{"valid":true,"user":"anna"}"#).0, UserAction::Validate);
        assert!(!step(&mut crowd, 200, r#"{"valid":false}"#).2);
        assert_eq!(step(&mut crowd, 200, r#"{"token":"t"}"#).0, UserAction::Login);
    }

    #[test]
    fn numbers_are_written_in_digits() {
        for number in [0, 7, 10, 4711, usize::MAX] {
            assert_eq!(digits(number, &mut [0; 20]), number.to_string());
        }
    }
}
