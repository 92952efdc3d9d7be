//! The content of one request, read when a policy first asks for it, and what policies ask: attribute selectors
//! (XACML 3.0, section 7.3.7), functions over nodes (A.3.15), one path per selected node.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use durward_ir::datatype::XPathExpression;
use durward_ir::fault::{Evaluated, Fault};
use durward_ir::program::Selector;
use durward_ir::{DataType, Value};
use smol_str::SmolStr;

use super::pointer;
use super::{Content, NodeId, Selected, XPATH_REQUEST_STEPS_MAX, XPATH_STEPS_MAX, XPath, XPathError};
use crate::request::{RawContent, Request};

/// The contents of one message, each read at most once. Individual requests taken out of one message share it: what
/// they have in common is read once, and all their paths together take [`XPATH_REQUEST_STEPS_MAX`] steps.
#[derive(Debug)]
pub struct Contents {
    read: RefCell<Vec<(Source, Evaluated<Rc<Content>>)>>,
    /// The paths met so far, by their text.
    compiled: RefCell<HashMap<SmolStr, Compiled>>,
    steps: Cell<u64>,
    /// Whether a path was given up for want of steps.
    is_spent: Cell<bool>,
}

/// A path, and what it selected: one selector stands in many rules, and is asked for in every individual request.
#[derive(Debug)]
struct Compiled {
    /// Part of what the path means.
    namespaces: Arc<[(SmolStr, SmolStr)]>,
    path: XPath,
    /// The nodes selected from the usual context node of a content; few contents, so a list.
    selected: Vec<(Rc<Content>, Rc<[NodeId]>)>,
}

/// Results with more nodes than this are not kept: all results kept are few next to the contents themselves.
const SELECTED_NODES_KEPT_MAX: usize = 1_000;
/// How many nodes a path may be split into: as many individual requests as one request may mean.
const SPLIT_NODES_MAX: usize = crate::multiple::INDIVIDUAL_REQUESTS_MAX;

/// The node a path starts from.
#[derive(Clone, Copy)]
enum Context {
    /// The document node, or the root element of an XACML 2.0 request.
    Usual(Option<NodeId>),
    /// The node a context selector names.
    Named(NodeId),
}

/// What a content was read from; held, so that two are the same when their addresses are.
#[derive(Clone, Debug)]
enum Source {
    Category(Arc<RawContent>),
    Document(Arc<str>),
}

impl Default for Contents {
    fn default() -> Contents {
        Contents {
            read: RefCell::default(),
            compiled: RefCell::default(),
            steps: Cell::new(XPATH_REQUEST_STEPS_MAX),
            is_spent: Cell::new(false),
        }
    }
}

/// The nodes a path selects, and where.
struct SelectedNodes {
    content: Rc<Content>,
    nodes: Rc<[NodeId]>,
}

impl Contents {
    /// Whether a path was given up for want of steps since the last [`Contents::forget_spent`].
    pub fn is_spent(&self) -> bool {
        self.is_spent.get()
    }

    /// Begins another decision over the same contents.
    pub fn forget_spent(&self) {
        self.is_spent.set(false);
    }

    /// The values an attribute selector selects, in document order; none where the category has no content.
    ///
    /// # Errors
    /// A syntax error: content that is not well-formed, a path that gives no nodes, a context selector that does not
    /// name exactly one node, in XACML 2.0 a selected element. A processing error: a value that is not of the data
    /// type, too many steps.
    pub fn select(&self, request: &Request, selector: &Selector) -> Evaluated<Vec<Value>> {
        let content = if selector.over_request {
            Some(self.document(request)?)
        } else {
            self.content(request, &selector.path.category)?
        };
        let Some(content) = content else { return Ok(Vec::new()) };
        let context = match &selector.context {
            Some(attribute) => {
                Context::Named(self.context(request, &content, &selector.path.category, attribute)?)
            }
            None if selector.over_request => Context::Usual(content.root_element()),
            None => Context::Usual(None),
        };
        let nodes = self.nodes(&content, &selector.path, context)?;
        let values = nodes.iter().map(|&node| match selector.over_request && content.is_element(node) {
            // XACML 2.0, section 6.40 (5.40 of 1.x) demands text, attributes, comments or processing instructions.
            true => Err(Fault::syntax(format!(
                "the path `{}` selects an element; select its text, as `{0}/text()` does",
                selector.path.path
            ))),
            false => content.value(node, selector.data_type),
        });
        values.collect()
    }

    /// How many nodes a path selects: `xpath-node-count`. `path` is an `xpathExpression`; one without a category, or
    /// a text, is over the whole XACML 2.0 request.
    ///
    /// # Errors
    /// See [`Contents::select`].
    pub fn node_count(&self, request: &Request, path: &Value) -> Evaluated<u64> {
        Ok(self.find(request, path)?.map_or(0, |found| found.nodes.len() as u64))
    }

    /// Whether a node of the first path is one of the second: `xpath-node-equal`.
    ///
    /// # Errors
    /// See [`Contents::select`].
    pub fn node_equal(&self, request: &Request, first: &Value, second: &Value) -> Evaluated<bool> {
        self.compare(request, first, second, Content::share_node)
    }

    /// Whether a node of the second path is one of the first, or lies under one: `xpath-node-match`.
    ///
    /// # Errors
    /// See [`Contents::select`].
    pub fn node_match(&self, request: &Request, first: &Value, second: &Value) -> Evaluated<bool> {
        self.compare(request, first, second, Content::covers_node)
    }

    /// One expression for each node a path selects, each selecting just that node: the content selectors of the
    /// Multiple Decision Profile (section 2.3).
    ///
    /// # Errors
    /// See [`Contents::select`].
    pub fn split(&self, request: &Request, path: &XPathExpression) -> Evaluated<Vec<XPathExpression>> {
        let Some(content) = self.content(request, &path.category)? else { return Ok(Vec::new()) };
        let nodes = self.nodes(&content, path, Context::Usual(None))?;
        if nodes.len() > SPLIT_NODES_MAX {
            let (count, path) = (nodes.len(), &path.path);
            return Err(Fault::processing(format!(
                "the path `{path}` selects {count} nodes, and {SPLIT_NODES_MAX} may be asked about at once"
            )));
        }
        let single = |&node: &NodeId| {
            let (way, passed) = content.way_to(node);
            let left = self.steps.get().checked_sub(passed);
            self.steps.set(left.unwrap_or(0));
            let too_many = || Fault::processing(format!("the path `{}` selects too many nodes", path.path));
            left.ok_or_else(too_many)?;
            Ok(XPathExpression {
                path: SmolStr::from(way),
                category: path.category.clone(),
                namespaces: Arc::from([]),
            })
        };
        nodes.iter().map(single).collect()
    }

    fn compare(
        &self,
        request: &Request,
        first: &Value,
        second: &Value,
        holds: fn(&Content, &[NodeId], &[NodeId]) -> bool,
    ) -> Evaluated<bool> {
        let (first, second) = (self.find(request, first)?, self.find(request, second)?);
        let (Some(first), Some(second)) = (first, second) else { return Ok(false) };
        self.charge(first.nodes.len())?;
        // Nodes of different categories are never the same.
        Ok(Rc::ptr_eq(&first.content, &second.content) && holds(&first.content, &first.nodes, &second.nodes))
    }

    /// The nodes an argument selects; `None` where its category has no content.
    fn find(&self, request: &Request, path: &Value) -> Evaluated<Option<SelectedNodes>> {
        let plain;
        let path = if let Value::XPathExpression(path) = path {
            path.as_ref()
        } else {
            plain = pointer::read(path.lexical().trim());
            &plain
        };
        let over_request = path.category.is_empty();
        let content = match over_request {
            true => Some(self.document(request)?),
            false => self.content(request, &path.category)?,
        };
        let Some(content) = content else { return Ok(None) };
        let context = Context::Usual(if over_request { content.root_element() } else { None });
        let nodes = self.nodes(&content, path, context)?;
        Ok(Some(SelectedNodes { content, nodes }))
    }

    /// The context node a `ContextSelectorId` names: its one path selects one node of this category.
    fn context(
        &self,
        request: &Request,
        content: &Rc<Content>,
        category: &str,
        attribute: &str,
    ) -> Evaluated<NodeId> {
        let categories = request.categories.iter().filter(|found| found.category == category);
        let attributes =
            categories.flat_map(|found| found.attributes()).filter(|found| found.id == attribute);
        let mut paths = attributes
            .flat_map(|found| found.values())
            .filter_map(|value| if let Value::XPathExpression(path) = value { Some(path) } else { None });
        let (Some(path), None) = (paths.next(), paths.next()) else {
            return Err(Fault::syntax(format!(
                "the context selector `{attribute}` must have one value of type `xpathExpression`"
            )));
        };
        if path.category != category {
            let other = &path.category;
            let message = format!(
                "the context selector `{attribute}` is over `{other}`, and the selector over `{category}`"
            );
            return Err(Fault::syntax(message));
        }
        match *self.nodes(content, path, Context::Usual(None))? {
            [node] => Ok(node),
            ref nodes => Err(Fault::syntax(format!(
                "the context selector `{attribute}` must select one node, and selects {}",
                nodes.len()
            ))),
        }
    }

    fn nodes(
        &self,
        content: &Rc<Content>,
        path: &XPathExpression,
        context: Context,
    ) -> Evaluated<Rc<[NodeId]>> {
        let fault = |error: &XPathError| format!("the path `{}`: {error}", path.path);
        let mut compiled = self.compiled.borrow_mut();
        let known = compiled.get(&path.path).is_some_and(|known| known.namespaces == path.namespaces);
        if !known {
            self.charge(path.path.len())?;
            let new = Compiled::new(path).map_err(|error| Fault::syntax(fault(&error)))?;
            compiled.insert(path.path.clone(), new);
        }
        let Some(known) = compiled.get_mut(&path.path) else { return Ok(Rc::from([])) };
        let start = match context {
            Context::Usual(start) => {
                if let Some((_, nodes)) = known.selected.iter().find(|(of, _)| Rc::ptr_eq(of, content)) {
                    return Ok(nodes.clone());
                }
                start
            }
            Context::Named(start) => Some(start),
        };
        let nodes =
            self.evaluate(content, &known.path, start).map_err(|error| Fault::processing(fault(&error)))?;
        if matches!(context, Context::Usual(_)) && nodes.len() <= SELECTED_NODES_KEPT_MAX {
            known.selected.push((content.clone(), nodes.clone()));
        }
        Ok(nodes)
    }

    /// Takes steps for what is not evaluating a path.
    fn charge(&self, steps: usize) -> Evaluated<()> {
        let left = self.steps.get().checked_sub(u64::try_from(steps).unwrap_or(u64::MAX));
        self.steps.set(left.unwrap_or(0));
        left.map(drop).ok_or_else(|| {
            self.is_spent.set(true);
            Fault::processing("the paths over the content take too many steps")
        })
    }

    /// Evaluates a path within what is left of the message's steps.
    fn evaluate(
        &self,
        content: &Content,
        path: &XPath,
        start: Option<NodeId>,
    ) -> Result<Rc<[NodeId]>, XPathError> {
        let all = self.steps.get();
        let granted = all.min(XPATH_STEPS_MAX);
        let mut left = granted;
        let selected = content.evaluate_within(path, start, &mut left);
        self.steps.set(all - (granted - left));
        if selected.is_err() && left == 0 {
            self.is_spent.set(true);
        }
        Ok(match selected? {
            Selected::Nodes(nodes) => Rc::from(nodes),
            Selected::Text(_) | Selected::Number(_) | Selected::Boolean(_) => Rc::from([]),
        })
    }

    fn content(&self, request: &Request, category: &str) -> Evaluated<Option<Rc<Content>>> {
        let mut categories = request.categories.iter().filter(|found| found.category == category);
        let Some(raw) = categories.find_map(|found| found.content.clone()) else { return Ok(None) };
        let is_same = |source: &Source| matches!(source, Source::Category(known) if Arc::ptr_eq(known, &raw));
        let read = || {
            let read = Content::parse(&raw.xml, &raw.namespaces);
            read.map_err(|error| {
                Fault::syntax(format!("the content of `{category}` cannot be read: {error}"))
            })
        };
        self.read_once(is_same, || Source::Category(raw.clone()), read).map(Some)
    }

    fn document(&self, request: &Request) -> Evaluated<Rc<Content>> {
        let Some(document) = &request.document else {
            let message = "the path is over the whole request, which only XACML 1 and 2 have; the request is of \
                           XACML 3.0: select from the content of a category";
            return Err(Fault::processing(message));
        };
        let is_same =
            |source: &Source| matches!(source, Source::Document(known) if Arc::ptr_eq(known, document));
        let read = || {
            let read = Content::parse_document(document);
            read.map_err(|error| Fault::syntax(format!("the request cannot be read for a path: {error}")))
        };
        self.read_once(is_same, || Source::Document(document.clone()), read)
    }

    fn read_once(
        &self,
        is_same: impl Fn(&Source) -> bool,
        source: impl FnOnce() -> Source,
        read: impl FnOnce() -> Evaluated<Content>,
    ) -> Evaluated<Rc<Content>> {
        let known =
            self.read.borrow().iter().find(|(known, _)| is_same(known)).map(|(_, content)| content.clone());
        if let Some(known) = known {
            return known;
        }
        let content = read().map(Rc::new);
        self.read.borrow_mut().push((source(), content.clone()));
        content
    }
}

impl Compiled {
    fn new(path: &XPathExpression) -> Result<Compiled, XPathError> {
        let compiled = XPath::compile(&path.path, &path.namespaces)?;
        if !compiled.selects_nodes() {
            return Err(compiled.no_nodes());
        }
        Ok(Compiled { namespaces: path.namespaces.clone(), path: compiled, selected: Vec::new() })
    }
}

impl Content {
    /// The root element.
    pub fn root_element(&self) -> Option<NodeId> {
        self.children_of_document().find(|node| self.is_element(*node))
    }

    /// The string-value of a node as a value of a data type (section 7.3.7, step 4).
    ///
    /// # Errors
    /// A processing error for a text that is not of the type; a syntax error for types not made from text.
    pub fn value(&self, node: NodeId, data_type: DataType) -> Evaluated<Value> {
        if matches!(data_type, DataType::XPathExpression | DataType::Opaque) {
            let message = format!("a selector cannot make values of type `{}`", data_type.short_name());
            return Err(Fault::syntax(message));
        }
        Value::parse(data_type, self.text(node))
            .map_err(|error| Fault::processing(format!("the node `{}`: {error}", self.path_of(node))))
    }
}
