//! The environment of a scenario: the subscription, and the mocks of functions and attributes.

use std::cell::{Cell, Ref, RefCell};

use durward_pdp::ir::attribute::{AttributeName, NameKey};
use durward_pdp::ir::fault::Evaluated;
use durward_pdp::ir::path::Path;
use durward_pdp::ir::question::{Attributes, Invocation, Reading};
use durward_pdp::ir::{Fault, Value};
use durward_pdp::sapl::Subscription;
use durward_pdp::sapl::lower::no_function;
use smol_str::SmolStr;

use crate::mocks::{ATTRIBUTES_MAX, AttributeMock, CALLS_MAX, FunctionMock, best};

/// A call of a function.
#[derive(Clone, Debug)]
pub(crate) struct FunctionCall {
    pub(crate) name: SmolStr,
    pub(crate) arguments: Vec<Value>,
}

/// Everything outside the policies.
pub(crate) struct ScenarioWorld {
    subscription: Subscription,
    functions: Vec<FunctionMock>,
    attributes: Vec<AttributeMock>,
    /// The functions whose calls are verified.
    verified: Vec<SmolStr>,
    /// Their calls: those that count, and those of the evaluation under way.
    calls: RefCell<Vec<FunctionCall>>,
    counted: Cell<usize>,
    /// The attributes that were asked for, each once.
    asked: RefCell<Vec<Invocation>>,
    /// The stand-ins that the last evaluation asked, by number.
    used: RefCell<Vec<usize>>,
    /// The first values of attributes of which only the first counts.
    heads: RefCell<Vec<(Invocation, Evaluated<Value>)>>,
    /// Attributes that were asked for and that nothing stands in for.
    unknown: RefCell<Vec<SmolStr>>,
    noting: Cell<CallNotes>,
}

/// What is noted of what is asked.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CallNotes {
    All,
    /// Calls of functions were noted before.
    Attributes,
    Nothing,
}

impl ScenarioWorld {
    pub(crate) fn new(
        subscription: Subscription,
        functions: Vec<FunctionMock>,
        attributes: Vec<AttributeMock>,
        verified: Vec<SmolStr>,
    ) -> ScenarioWorld {
        ScenarioWorld {
            subscription,
            functions,
            attributes,
            verified,
            calls: RefCell::default(),
            counted: Cell::new(0),
            asked: RefCell::default(),
            used: RefCell::default(),
            heads: RefCell::default(),
            unknown: RefCell::default(),
            noting: Cell::new(CallNotes::All),
        }
    }

    /// Begins an evaluation whose calls count if it comes to a decision.
    pub(crate) fn begin(&self) {
        self.note_all();
        self.used.borrow_mut().clear();
        self.calls.borrow_mut().truncate(self.counted.get());
    }

    /// The evaluation came to a decision.
    pub(crate) fn count(&self) {
        self.counted.set(self.calls.borrow().len());
    }

    /// From now on nothing is noted: what is evaluated now belongs to no scenario.
    pub(crate) fn stop_noting(&self) {
        self.noting.set(CallNotes::Nothing);
    }

    /// From now on attributes are noted, and calls of functions are not: they are repeated.
    pub(crate) fn note_attributes_only(&self) {
        self.noting.set(CallNotes::Attributes);
    }

    /// From now on everything is noted.
    pub(crate) fn note_all(&self) {
        self.noting.set(CallNotes::All);
    }

    /// The number of the attribute of this name.
    pub(crate) fn attribute(&self, id: &str) -> Option<usize> {
        self.attributes.iter().position(|mock| mock.id == id)
    }

    /// The names of all attributes.
    pub(crate) fn attribute_ids(&self) -> impl Iterator<Item = &str> {
        self.attributes.iter().map(|mock| mock.id.as_str())
    }

    /// Gives an attribute its next value; says whether the last evaluation asked for it.
    pub(crate) fn emit(&mut self, number: usize, value: Evaluated<Value>) -> bool {
        if let Some(mock) = self.attributes.get_mut(number) {
            mock.value = Some(value);
        }
        self.used.borrow().contains(&number)
    }

    /// The calls that count.
    pub(crate) fn calls(&self) -> Ref<'_, [FunctionCall]> {
        Ref::map(self.calls.borrow(), |calls| calls.get(..self.counted.get()).unwrap_or_default())
    }

    /// The attributes that were asked for, each once: equal ones share a stream.
    pub(crate) fn asked(&self) -> Ref<'_, [Invocation]> {
        Ref::map(self.asked.borrow(), Vec::as_slice)
    }

    /// The attributes that were asked for and that nothing stands in for.
    pub(crate) fn unknown(&self) -> Vec<SmolStr> {
        self.unknown.borrow().clone()
    }

    /// The attributes that were asked for last, stand in the test and have no value yet.
    pub(crate) fn silent(&self) -> Vec<SmolStr> {
        let used = self.used.borrow();
        let mocks = used.iter().filter_map(|number| self.attributes.get(*number));
        mocks.filter(|mock| mock.value.is_none()).map(|mock| mock.id.clone()).collect()
    }

    /// Notes that an attribute is asked for.
    fn ask(&self, invocation: &Invocation, number: Option<usize>) -> Evaluated<()> {
        if self.noting.get() == CallNotes::Nothing {
            return Ok(());
        }
        let mut asked = self.asked.borrow_mut();
        if !asked.contains(invocation) {
            if asked.len() == ATTRIBUTES_MAX {
                let message =
                    format!("the scenario asks for more than {ATTRIBUTES_MAX} different attributes");
                return Err(Fault::processing(message));
            }
            asked.push(invocation.clone());
        }
        match number {
            Some(number) => note(&mut self.used.borrow_mut(), number),
            None => note(&mut self.unknown.borrow_mut(), invocation.name.clone()),
        }
        Ok(())
    }

    fn head(&self, invocation: &Invocation, value: &Evaluated<Value>) -> Evaluated<Value> {
        let mut heads = self.heads.borrow_mut();
        if let Some((_, first)) = heads.iter().find(|(known, _)| known == invocation) {
            return first.clone();
        }
        if heads.len() < ATTRIBUTES_MAX {
            heads.push((invocation.clone(), value.clone()));
        }
        value.clone()
    }
}

fn note<T: PartialEq>(all: &mut Vec<T>, one: T) {
    if !all.contains(&one) {
        all.push(one);
    }
}

impl Attributes for ScenarioWorld {
    fn read<'a>(&'a self, name: &AttributeName, key: NameKey) -> Reading<'a> {
        self.subscription.read(name, key)
    }

    fn part<'a>(&'a self, path: &Path) -> Reading<'a> {
        self.subscription.part(path)
    }

    fn found(&self, invocation: &Invocation) -> Option<Evaluated<Value>> {
        let number = best(&self.attributes, |mock| mock.attribute.fits(invocation));
        if let Err(fault) = self.ask(invocation, number) {
            return Some(Err(fault));
        }
        let Some(mock) = number.and_then(|number| self.attributes.get(number)) else {
            return Some(Ok(Value::Undefined));
        };
        let value = mock.value.as_ref()?;
        Some(if invocation.head { self.head(invocation, value) } else { value.clone() })
    }

    fn stand_in(&self, name: &str, arguments: &[Value]) -> Evaluated<Value> {
        if self.noting.get() == CallNotes::All && self.verified.iter().any(|verified| verified == name) {
            let mut calls = self.calls.borrow_mut();
            if calls.len() == CALLS_MAX {
                let message = format!("the scenario calls functions more than {CALLS_MAX} times");
                return Err(Fault::processing(message));
            }
            calls.push(FunctionCall { name: name.into(), arguments: arguments.to_vec() });
        }
        let number = best(&self.functions, |mock| mock.call.fits(name, arguments));
        match number.and_then(|number| self.functions.get(number)) {
            Some(mock) => mock.result.clone(),
            None => match durward_library::find(name, arguments.len()) {
                Some(function) => function.call(arguments),
                None => Err(no_function(name, arguments.len())),
            },
        }
    }
}
