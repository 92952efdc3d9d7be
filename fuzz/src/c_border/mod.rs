//! Calls over the border of the C library, in any order, with any texts and lengths, and with null pointers: none crashes, and each gives the code, the
//! outcome, the texts and the messages that `durward-embed` has for the same; so none is a permit that Rust does not give. What a caller left
//! in the places for results does not stay there when a call fails.
//!
//! An input is a script, and the texts that it is about, with a line `---` between each two. A call is a letter, flags, and the numbers of texts:
//! see `Host::call`. Numbers are characters: `0` is 0, `:` is 10.

mod header;
mod said;
mod script;

use std::ffi::CStr;
use std::path::Path;
use std::ptr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::SystemTime;

use durward_embed::{Clock, DecisionPoint, LoadError, Outcome};

use header::*;
use said::{Places, Said, agree, explained, message_of, read, taken};
use script::{Flags, Given, Script};

/// More calls find nothing that fewer do not.
const CALLS_MAX: usize = 48;

/// More handles of a kind neither.
const HANDLES_MAX: usize = 4;

/// Names of policies: they say the language.
const NAMES: [&[u8]; 6] = [b"a.sapl", b"b.sapl", b"c.xml", b"pdp.json", b"\xff.sapl", b""];

/// A folder that can be read, and read again.
const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../crates/durward/policies/documents");

pub(crate) fn run(input: &[u8]) {
    let mut script = Script::of(input);
    let mut host = Host::default();
    for _ in 0..CALLS_MAX {
        let Some(call) = script.next() else { break };
        host.call(call, &mut script);
    }
}

/// A program that calls the library.
#[derive(Default)]
struct Host {
    points: Vec<Point>,
    watches: Vec<Watch>,
    /// Answers that are read again when all else is freed, with what they said.
    kept: Vec<(*mut durward_answer, Option<String>)>,
}

/// A decision point of the library, and one of Rust with the same policies.
struct Point {
    handle: *mut durward_pdp,
    twin: Rc<DecisionPoint>,
}

struct Watch {
    handle: *mut durward_watch,
    twin: Rc<DecisionPoint>,
    question: Vec<u8>,
    is_closed: bool,
}

fn clock() -> Clock {
    Arc::new(SystemTime::now)
}

impl Host {
    fn call(&mut self, call: u8, script: &mut Script<'_>) {
        match call {
            b'n' => self.from_texts(script),
            b'f' => self.from_dir(script),
            b's' => self.replace(script),
            b'r' => self.reload(script),
            b'd' => self.decide(script),
            b'k' => self.keep(script),
            b'm' => self.decide_many(script),
            b'q' => self.ask(script, durward_decide_request, |twin, text| twin.decide_request(text)),
            b'e' => self.ask(script, durward_explain, |twin, text| twin.explain(text).map(explained)),
            b'E' => {
                self.ask(script, durward_explain_request, |twin, text| twin.explain_request(text).map(explained));
            }
            b'w' => self.watch(script),
            b'x' => self.next(script),
            b'c' => self.close(script),
            b'p' => self.free_point(script.number()),
            b'u' => self.free_watch(script.number()),
            _ => words(i32::from(call) + 1),
        }
    }

    /// The decision point that calls are for: the last.
    fn point(&self, flags: Flags) -> Option<&Point> {
        if flags.no_handle() { None } else { self.points.last() }
    }

    fn add(&mut self, handle: *mut durward_pdp, twin: DecisionPoint) {
        self.points.push(Point { handle, twin: Rc::new(twin) });
        if self.points.len() > HANDLES_MAX {
            self.free_point(0);
        }
    }

    /// `n`, flags, how many, and for each its name and its text.
    fn from_texts(&mut self, script: &mut Script<'_>) {
        let flags = script.flags();
        let policies = Policies::of(script, flags);
        let mut places = Places::new(flags);
        let mut handle = ptr::dangling_mut();
        let place = if flags.no_result() { ptr::null_mut() } else { &raw mut handle };
        // SAFETY: texts and places that live.
        let code = unsafe { durward_pdp_from_texts(policies.data(), policies.count(), place, places.error()) };
        let seen = if flags.no_result() { None } else { policies.seen() };
        let made = seen.map(|texts| DecisionPoint::from_texts(texts, clock()));
        self.made(made, handle, places.done(code), flags);
    }

    /// `f`, flags, the path: an empty text is a folder, other texts are none.
    fn from_dir(&mut self, script: &mut Script<'_>) {
        let flags = script.flags();
        let text = script.text();
        let path = if text.is_empty() { FOLDER.into() } else { [b"no such folder/", text].concat() };
        let factor = if flags.odd_length() { Some(2 * script.number()) } else { None };
        let given = Given::new(&path, factor, flags.no_text());
        let mut places = Places::new(flags);
        let mut handle = ptr::dangling_mut();
        let place = if flags.no_result() { ptr::null_mut() } else { &raw mut handle };
        // SAFETY: texts and places that live.
        let code = unsafe { durward_pdp_from_dir(given.data(), given.len(), place, places.error()) };
        let seen = if flags.no_result() { None } else { given.seen() };
        let path = seen.and_then(|path| str::from_utf8(path).ok());
        let made = path.map(|path| DecisionPoint::open(Path::new(path), clock()));
        self.made(made, handle, places.done(code), flags);
    }

    /// A decision point that Rust made, or not; nothing where it was not to be asked.
    fn made(
        &mut self,
        made: Option<Result<DecisionPoint, LoadError>>,
        handle: *mut durward_pdp,
        said: Said,
        flags: Flags,
    ) {
        let (expected, twin) = match made {
            None => (Said::misuse(None), None),
            Some(Err(error)) => (unloaded(&error, flags), None),
            Some(Ok(twin)) => (loaded(), Some(twin)),
        };
        assert_eq!(said, expected);
        match twin {
            Some(twin) => self.add(handle, twin),
            None => assert!(flags.no_result() || handle.is_null(), "a handle of a call that failed"),
        }
    }

    /// `s`, and the rest as for `n`.
    fn replace(&mut self, script: &mut Script<'_>) {
        let flags = script.flags();
        let policies = Policies::of(script, flags);
        let point = self.point(flags);
        let handle = point.map_or(ptr::null_mut(), |point| point.handle);
        let mut places = Places::new(flags);
        // SAFETY: a handle that is not freed; texts and places that live.
        let code = unsafe { durward_replace(handle, policies.data(), policies.count(), places.error()) };
        let said = places.done(code);
        let replaced = point.and_then(|point| Some(point.twin.replace(policies.seen()?)));
        assert_eq!(said, of_load(replaced.map(|result| result.map(drop)), flags));
    }

    /// `r`, flags.
    fn reload(&mut self, script: &mut Script<'_>) {
        let flags = script.flags();
        let point = self.point(flags);
        let handle = point.map_or(ptr::null_mut(), |point| point.handle);
        let mut places = Places::new(flags);
        // SAFETY: a handle that is not freed; places that live.
        let code = unsafe { durward_reload(handle, places.error()) };
        let said = places.done(code);
        assert_eq!(said, of_load(point.map(|point| point.twin.reload().map(drop)), flags));
    }

    /// `d`, flags, the text.
    fn decide(&mut self, script: &mut Script<'_>) {
        let flags = script.flags();
        let given = script.given(flags);
        let point = self.point(flags);
        let handle = point.map_or(ptr::null_mut(), |point| point.handle);
        let ours = || {
            let mut places = Places::new(flags);
            let (outcome, answer, error) = (places.outcome(), places.answer(), places.error());
            // SAFETY: a handle that is not freed; texts and places that live.
            let code = unsafe { durward_decide(handle, given.data(), given.len(), outcome, answer, error) };
            places.decided(code)
        };
        let theirs = || match (point, given.seen(), flags.no_result()) {
            (Some(point), Some(text), false) => Said::of_decision(point.twin.decide(text), flags),
            (_, _, true) => Said::misuse(None),
            (_, _, false) => Said::misuse(Some(DURWARD_INDETERMINATE)),
        };
        agree(ours, theirs);
    }

    /// `k`, the text: a decision whose answer lives on.
    fn keep(&mut self, script: &mut Script<'_>) {
        let text = script.text();
        let Some(point) = self.points.last() else { return };
        if self.kept.len() >= HANDLES_MAX {
            return;
        }
        let (mut outcome, mut answer) = (DURWARD_PERMIT, ptr::null_mut());
        let (data, len) = (text.as_ptr().cast(), text.len());
        // SAFETY: a handle that is not freed; texts and places that live.
        unsafe {
            durward_decide(point.handle, data, len, &raw mut outcome, &raw mut answer, ptr::null_mut())
        };
        self.kept.push((answer, read(answer).0));
    }

    /// `m`, flags, how many, and each text.
    fn decide_many(&mut self, script: &mut Script<'_>) {
        let flags = script.flags();
        let count = script.number() % 5;
        let texts: Vec<Given> = (0..count).map(|_| script.given(flags)).collect();
        let rows: Vec<durward_text> = texts.iter().map(Given::as_text).collect();
        let is_null = flags.no_answer();
        let data = if is_null { ptr::null() } else { rows.as_ptr() };
        let point = self.point(flags);
        let handle = point.map_or(ptr::null_mut(), |point| point.handle);
        let (mut decisions, mut places) = (vec![LEFT; count], Places::new(flags));
        let place = if flags.no_result() { ptr::null_mut() } else { decisions.as_mut_ptr() };
        // SAFETY: a handle that is not freed; texts and places that live, with room for as many.
        let code = unsafe { durward_decide_many(handle, data, count, place, places.error()) };
        let is_misuse = count > 0 && (is_null || flags.no_result() || point.is_none());
        assert_eq!(places.done(code), if is_misuse { Said::misuse(None) } else { loaded() });
        if flags.no_result() {
            return;
        }
        for (row, text) in decisions.iter().zip(&texts) {
            match point {
                Some(point) if !is_misuse => {
                    let mut first = Some(row_said(row));
                    let mut again = || first.take().unwrap_or_else(|| one_of_many(point, text));
                    agree(&mut again, || one_expected(point, text));
                }
                _ => assert_eq!((row.outcome, row.answer, row.error), UNDECIDED),
            }
        }
        // SAFETY: rows that the library filled. The second time nothing is left to free.
        unsafe {
            durward_free_decisions(decisions.as_mut_ptr(), count);
            durward_free_decisions(decisions.as_mut_ptr(), count);
        }
        assert!(decisions.iter().all(|row| (row.outcome, row.answer, row.error) == UNDECIDED));
    }

    /// `q`, `e` or `E`, flags, the text.
    fn ask(&mut self, script: &mut Script<'_>, ask: Ask, ask_twin: AskTwin) {
        let flags = script.flags();
        let given = script.given(flags);
        let point = self.point(flags);
        let handle = point.map_or(ptr::null_mut(), |point| point.handle);
        let ours = || {
            let mut places = Places::new(flags);
            let (answer, error) = (places.answer(), places.error());
            // SAFETY: a handle that is not freed; texts and places that live.
            let code = unsafe { ask(handle, given.data(), given.len(), answer, error) };
            places.told(code)
        };
        let theirs = || match (point, given.seen(), flags.no_answer()) {
            (Some(point), Some(text), false) => Said::of_answer(ask_twin(&point.twin, text), flags),
            _ => Said::misuse(None),
        };
        agree(ours, theirs);
    }

    /// `w`, flags, the text.
    fn watch(&mut self, script: &mut Script<'_>) {
        let flags = script.flags();
        let given = script.given(flags);
        let point = self.point(flags);
        let pdp = point.map_or(ptr::null_mut(), |point| point.handle);
        let (mut handle, mut places) = (ptr::dangling_mut(), Places::new(flags));
        let place = if flags.no_result() { ptr::null_mut() } else { &raw mut handle };
        // SAFETY: a handle that is not freed; texts and places that live.
        let code = unsafe { durward_watch_open(pdp, given.data(), given.len(), place, places.error()) };
        let said = places.done(code);
        let (Some(point), Some(text), false) = (point, given.seen(), flags.no_result()) else {
            assert_eq!(said, Said::misuse(None));
            return assert!(flags.no_result() || handle.is_null());
        };
        if let Err(error) = point.twin.watch(text) {
            assert_eq!(said, Said::failed(&error, None, flags));
            return assert!(handle.is_null());
        }
        assert_eq!(said, loaded());
        let twin = Rc::clone(&point.twin);
        self.watches.push(Watch { handle, twin, question: text.to_vec(), is_closed: false });
        if self.watches.len() > HANDLES_MAX {
            self.free_watch(0);
        }
    }

    /// `x`, flags: the last watch.
    fn next(&mut self, script: &mut Script<'_>) {
        let flags = script.flags();
        match self.watches.last() {
            Some(watch) if !flags.no_handle() => watch.next(flags),
            _ => {
                let mut places = Places::new(flags);
                let (outcome, answer, error) = (places.outcome(), places.answer(), places.error());
                // SAFETY: a null pointer is no handle; places that live.
                let code = unsafe { durward_watch_next(ptr::null(), -1, outcome, answer, error) };
                let nothing = if flags.no_result() { None } else { Some(DURWARD_INDETERMINATE) };
                assert_eq!(places.decided(code), Said::misuse(nothing));
            }
        }
    }

    /// `c`, flags: the last watch.
    fn close(&mut self, script: &mut Script<'_>) {
        let flags = script.flags();
        let watch = self.watches.last_mut().filter(|_| !flags.no_handle());
        let handle = watch.as_ref().map_or(ptr::null_mut(), |watch| watch.handle);
        let mut places = Places::new(flags);
        // SAFETY: a handle that is not freed, or null; places that live.
        let code = unsafe { durward_watch_close(handle, places.error()) };
        assert_eq!(places.done(code), if watch.is_some() { loaded() } else { Said::misuse(None) });
        if let Some(watch) = watch {
            watch.is_closed = true;
        }
    }

    /// `p`, which.
    fn free_point(&mut self, number: usize) {
        let at = number % self.points.len().max(1);
        let handle = if self.points.is_empty() { ptr::null_mut() } else { self.points.remove(at).handle };
        // SAFETY: freed once, or null.
        unsafe { durward_free_pdp(handle) };
    }

    /// `u`, which.
    fn free_watch(&mut self, number: usize) {
        let at = number % self.watches.len().max(1);
        let handle = if self.watches.is_empty() { ptr::null_mut() } else { self.watches.remove(at).handle };
        // SAFETY: freed once, or null.
        unsafe { durward_free_watch(handle) };
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        // What a failed assertion leaves is of no interest.
        if std::thread::panicking() {
            return;
        }
        while !self.points.is_empty() {
            self.free_point(0);
        }
        // Watches and answers outlive their decision points.
        while let Some(watch) = self.watches.last() {
            watch.next(NONE);
            self.free_watch(0);
        }
        for (answer, text) in self.kept.drain(..) {
            assert_eq!(taken(answer).0, text);
        }
    }
}

const NONE: Flags = Flags::none();

type Ask = unsafe extern "C" fn(
    *const durward_pdp,
    *const std::ffi::c_char,
    usize,
    *mut *mut durward_answer,
    *mut *mut durward_error,
) -> durward_code;

type AskTwin = fn(&DecisionPoint, &[u8]) -> Result<String, durward_embed::QuestionError>;

/// What a caller may have left in a row.
const LEFT: durward_decision = durward_decision {
    outcome: DURWARD_PERMIT,
    code: DURWARD_OK,
    answer: ptr::dangling_mut(),
    error: ptr::dangling_mut(),
};

/// Outcome, answer and error of a row with nothing in it.
const UNDECIDED: (durward_outcome, *mut durward_answer, *mut durward_error) =
    (DURWARD_INDETERMINATE, ptr::null_mut(), ptr::null_mut());

fn loaded() -> Said {
    Said { code: DURWARD_OK, outcome: None, answer: None, message: None }
}

fn unloaded(error: &LoadError, flags: Flags) -> Said {
    let message = if flags.no_error() { None } else { Some(error.to_string()) };
    Said { code: DURWARD_POLICIES, outcome: None, answer: None, message }
}

/// What a change of policies must give; nothing where Rust was not to be asked.
fn of_load(loads: Option<Result<(), LoadError>>, flags: Flags) -> Said {
    match loads {
        None => Said::misuse(None),
        Some(Ok(())) => loaded(),
        Some(Err(error)) => unloaded(&error, flags),
    }
}

/// A row as what one decision gave; it stays.
fn row_said(row: &durward_decision) -> Said {
    let mut len = 0;
    let message = if row.error.is_null() {
        assert_eq!(row.code, DURWARD_OK);
        None
    } else {
        // SAFETY: a handle that is not freed.
        let text = unsafe {
            assert_eq!(durward_error_code(row.error), row.code);
            CStr::from_ptr(durward_error_message(row.error, &raw mut len)).to_bytes()
        };
        (row.code != DURWARD_MISUSE).then(|| String::from_utf8_lossy(text).into_owned())
    };
    Said { code: row.code, outcome: Some(row.outcome), answer: read(row.answer).0, message }
}

/// Asks for it once more, in a call of its own.
fn one_of_many(point: &Point, text: &Given) -> Said {
    let (mut row, rows) = (LEFT, text.as_text());
    // SAFETY: a handle that is not freed; texts and places that live.
    unsafe {
        durward_decide_many(point.handle, &raw const rows, 1, &raw mut row, ptr::null_mut());
        let said = row_said(&row);
        durward_free_decisions(&raw mut row, 1);
        said
    }
}

fn one_expected(point: &Point, text: &Given) -> Said {
    match text.seen() {
        Some(text) => Said::of_decision(point.twin.decide(text), NONE),
        None => Said::misuse(Some(DURWARD_INDETERMINATE)),
    }
}

impl Watch {
    /// Waits for nothing, unless nothing more can come: then it must be said at once.
    fn next(&self, flags: Flags) {
        let wait_ms = if self.is_closed { -1 } else { 0 };
        let mut places = Places::new(flags);
        let (outcome, answer, error) = (places.outcome(), places.answer(), places.error());
        // SAFETY: a handle that is not freed; places that live.
        let code = unsafe { durward_watch_next(self.handle, wait_ms, outcome, answer, error) };
        let said = places.decided(code);
        let nothing = if flags.no_result() { None } else { Some(DURWARD_INDETERMINATE) };
        match code {
            DURWARD_MISUSE => assert!(flags.no_result()),
            DURWARD_CLOSED => assert!(self.is_closed),
            DURWARD_NOTHING => assert!(!self.is_closed),
            DURWARD_UNSEEN => assert!(flags.no_answer()),
            DURWARD_OK => return self.holds(said.outcome),
            other => panic!("a watch gives {other}"),
        }
        assert_eq!((said.outcome, said.answer), (nothing, None));
    }

    /// A permit that is given is one of the policies in force.
    fn holds(&self, outcome: Option<durward_outcome>) {
        if outcome == Some(DURWARD_PERMIT) {
            let decided = || self.twin.decide(&self.question).is_ok_and(|now| now.outcome == Outcome::Permit);
            agree(|| true, decided);
        }
    }
}

/// Policies as C gives them.
struct Policies {
    names: Vec<Given>,
    texts: Vec<Given>,
    rows: Vec<durward_policy>,
    is_null: bool,
}

impl Policies {
    fn of(script: &mut Script<'_>, flags: Flags) -> Policies {
        let count = script.number() % 4;
        let (mut names, mut texts) = (Vec::new(), Vec::new());
        for _ in 0..count {
            let name = NAMES.get(script.number() % NAMES.len()).copied().unwrap_or_default();
            names.push(Given::new(name, None, false));
            texts.push(script.given(flags));
        }
        let rows = names.iter().zip(&texts);
        let rows = rows.map(|(name, text)| durward_policy { name: name.as_text(), text: text.as_text() });
        Policies { rows: rows.collect(), names, texts, is_null: flags.no_answer() }
    }

    fn data(&self) -> *const durward_policy {
        if self.is_null { ptr::null() } else { self.rows.as_ptr() }
    }

    fn count(&self) -> usize {
        self.rows.len()
    }

    /// What the library may read of them; nothing where it must refuse them.
    fn seen(&self) -> Option<Vec<(String, Vec<u8>)>> {
        if self.is_null && self.count() > 0 {
            return None;
        }
        let pairs = self.names.iter().zip(&self.texts);
        let read = |(name, text): (&Given, &Given)| {
            Some((str::from_utf8(name.seen()?).ok()?.to_owned(), text.seen()?.to_vec()))
        };
        pairs.map(read).collect()
    }
}

/// Words that live as long as the library.
fn words(number: i32) {
    // SAFETY: texts with a zero at their end.
    let (version, name) = unsafe {
        (CStr::from_ptr(durward_version()), CStr::from_ptr(durward_outcome_name(number)))
    };
    assert!(!version.is_empty());
    assert_eq!(name == c"PERMIT", number == DURWARD_PERMIT);
    // SAFETY: null pointers are freed as often as anybody likes.
    unsafe {
        durward_free_decisions(ptr::null_mut(), 3);
        durward_free_error(ptr::null_mut());
        assert!(durward_error_message(ptr::null(), ptr::null_mut()).is_null());
    }
    assert_eq!(message_of(ptr::null_mut(), DURWARD_OK), None);
}
