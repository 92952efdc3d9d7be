//! Plans: a question about all rows of a table at once.

use durward_ir::path::Element;
use durward_ir::question::UNENCODED;
use durward_ir::value::Value;
use durward_sapl::Subscription;

pub use durward_plan::{
    Cell, Collation, Column, ColumnError, ColumnId, ColumnType, Columns, Filter, Kind, Nulls, ObjectShape,
    Order, PermitGroup, Plan, PlanError, Planner, Row, Scalar, TextTest, Unlisted, dialect,
};

use crate::Pdp;

impl Pdp {
    /// Which rows of a table are permitted, by policies of either language: see [`durward_plan`].
    ///
    /// The part of the subscription that rows stand for, the resource unless `columns` says otherwise, holds what is known
    /// of all rows: an object, such as `{"type": "record"}`, or undefined. A row is permitted if [`Pdp::decide_once`] says
    /// so of the subscription with [`Columns::resource`] in its place.
    ///
    /// Its steps are bounded: a plan that takes too many is not exact, and no row is in its filter. It may still take a second; where others
    /// wait for the thread, make it on another one.
    ///
    /// What attribute finders would say is not known, and attribute sources of XACML are not asked.
    ///
    /// # Errors
    /// What is known of all rows is no object.
    ///
    /// ```
    /// use durward_pdp::plan::{Column, ColumnType, Columns, Kind, Nulls, Unlisted};
    /// use durward_pdp::{Pdp, Value, sapl::Subscription};
    ///
    /// let policy = r#"policy "own" permit action == "read"; resource.owner == subject.id;"#;
    /// let pdp = Pdp::builder().policy("own.sapl", policy).build().map_err(|errors| errors[0].to_string())?;
    /// let owner = Column::new("owner", ColumnType::Text).nulls(Nulls::Absent);
    /// let columns = Columns::new(vec![owner], Unlisted::Absent).map_err(|error| error.to_string())?;
    ///
    /// let ask = |action: &str| {
    ///     let ada = Value::object([("id", Value::text("ada"))]);
    ///     let asked = Subscription::new(ada, Value::text(action), Value::Undefined, Value::Undefined);
    ///     pdp.plan(&asked, &columns).map(|plan| (plan.kind, plan.exact))
    /// };
    /// assert_eq!(ask("read"), Ok((Kind::Filter, true)));
    /// assert_eq!(ask("write"), Ok((Kind::None, true)));
    /// # Ok::<(), String>(())
    /// ```
    pub fn plan(&self, subscription: &Subscription, columns: &Columns) -> Result<Plan, PlanError> {
        let snapshot = self.snapshot.load();
        let fixed = subscription.element(columns.element());
        let known = match fixed.is_undefined() {
            true => about(subscription, columns.element(), Value::object::<smol_str::SmolStr>([])),
            false => subscription.clone(),
        };
        self.asking(&snapshot, &known, &UNENCODED, |question| {
            Planner { program: &snapshot.program, question, columns, fixed }.plan()
        })
    }
}

/// The same subscription about something else.
pub fn about(subscription: &Subscription, element: Element, value: Value) -> Subscription {
    let [subject, action, resource, environment] = Element::ALL.map(|other| match other == element {
        true => value.clone(),
        false => subscription.element(other).clone(),
    });
    Subscription::new(subject, action, resource, environment)
}
