//! A boiler to look at: variables that move over simulated time, set points, a motor, a mode, a recipe, an alarm.

use durward_identity::Moment;
use opcua_types::{
    Array, DataTypeId, ExtensionObject, NodeId, ObjectId, ObjectTypeId, Range, ReferenceTypeId, StatusCode,
    UAString, VariableTypeId, Variant, VariantScalarTypeId,
};

use super::node::{NewNode, access};
use super::server::{Device, PlantServer};
use super::space::{AddressSpace, SpaceBuilder, SpaceError, argument};
use super::subscription::PlantEvent;

/// The namespace of the boiler's nodes. Its ids are strings such as `Boiler.Temperature`.
pub const PLANT_NAMESPACE: &str = "urn:durward:plant";

/// The modes of the boiler, as the variable `Boiler.Mode` has them.
pub const MODES: [&str; 3] = ["Manual", "Automatic", "Maintenance"];

/// Recipes: name, temperature in degrees Celsius, level and flow in percent.
const RECIPES: [(&str, [f64; 3]); 3] =
    [("Pasteurise", [72.0, 60.0, 40.0]), ("Sterilise", [121.0, 50.0, 30.0]), ("Clean", [85.0, 80.0, 70.0])];

/// Simulated time goes on in steps of so many milliseconds.
const STEP_MS: u64 = 200;
/// Steps that are caught up with after a pause.
const STEPS_MAX: u64 = 50;
/// Steps between two values of each benchmark tag.
const TAG_STEPS: u64 = 5;
/// Benchmark tags of a server.
pub const TAGS_MAX: usize = 100_000;
/// The alarm comes above the first temperature and goes below the second.
const ALARM_C: (f64, f64) = (125.0, 115.0);

/// A server with a boiler and `scale` more variables, `Tag00001` and so on.
///
/// # Errors
/// [`SpaceError::TooManyNodes`] for more than [`TAGS_MAX`] tags.
pub fn boiler(application_uri: &str, scale: usize, started: Moment) -> Result<PlantServer, SpaceError> {
    if scale > TAGS_MAX {
        return Err(SpaceError::TooManyNodes);
    }
    let mut builder = SpaceBuilder::new(application_uri, started);
    let namespace = builder.namespace(PLANT_NAMESPACE);
    add_boiler(&mut builder, namespace);
    let tags = add_tags(&mut builder, namespace, scale);
    let device = Boiler { namespace, tags, simulated: started, steps: 0, alarm: false, events: 0 };
    Ok(PlantServer::new(builder.build()?).with_device(device))
}

fn add_boiler(builder: &mut SpaceBuilder, namespace: u16) {
    let id = |name: &str| NodeId::new(namespace, name);
    let boiler = id("Boiler");
    builder
        .add(NewNode::object_type(id("BoilerType"), "BoilerType").subtype_of(ObjectTypeId::BaseObjectType));
    let plant = builder.add(NewNode::folder(id("Plant"), "Plant").organized_by(ObjectId::ObjectsFolder));
    builder.add(
        NewNode::object(boiler.clone(), "Boiler").of_type(id("BoilerType")).notifier().organized_by(plant),
    );
    builder.add(NewNode::property(
        id("Boiler.SerialNumber"),
        "SerialNumber",
        DataTypeId::String,
        "B-0017",
        boiler.clone(),
    ));
    let measured = [
        ("Temperature", 20.0, 150.0),
        ("Pressure", 1.0, 10.0),
        ("Level", 50.0, 100.0),
        ("SteamFlow", 0.0, 100.0),
    ];
    for (name, value, high) in measured {
        add_analog(builder, namespace, &format!("Boiler.{name}"), &boiler, value, high, access::READ);
    }
    let driven = [("InletValve", "Position"), ("OutletValve", "Position"), ("Burner", "Power")];
    for (name, what) in driven {
        let object =
            NewNode::object(id(&format!("Boiler.{name}")), name).of_type(ObjectTypeId::BaseObjectType);
        let object = builder.add(object.component_of(boiler.clone()));
        add_analog(builder, namespace, &format!("Boiler.{name}.{what}"), &object, 0.0, 100.0, access::READ);
        add_analog(
            builder,
            namespace,
            &format!("Boiler.{name}.SetPoint"),
            &object,
            0.0,
            100.0,
            access::READ_WRITE,
        );
    }
    let mode = NewNode::data(id("Boiler.Mode"), "Mode", DataTypeId::String, "Automatic")
        .described("Manual, Automatic or Maintenance");
    builder.add(mode.access(access::READ_WRITE).component_of(boiler.clone()));
    let map = Array {
        value_type: VariantScalarTypeId::Double,
        values: vec![Variant::from(20.0); 16],
        dimensions: Some(vec![4, 4]),
    };
    builder.add(
        NewNode::data(id("Boiler.ThermalMap"), "ThermalMap", DataTypeId::Double, map)
            .component_of(boiler.clone()),
    );
    add_motor(builder, namespace, &boiler);
    add_recipe(builder, namespace, &boiler);
    add_alarm(builder, namespace, &boiler);
}

/// A number with the range that it can have. The id ends with the name.
fn add_analog(
    builder: &mut SpaceBuilder,
    namespace: u16,
    id: &str,
    parent: &NodeId,
    value: f64,
    high: f64,
    level: u8,
) {
    let name = id.rsplit('.').next().unwrap_or(id);
    let node = NewNode::variable(NodeId::new(namespace, id), name, DataTypeId::Double, value)
        .of_type(VariableTypeId::AnalogItemType);
    let node = node.access(level).component_of(parent.clone());
    let node = builder.add(if level & access::WRITE == 0 { node.historized() } else { node });
    let range = ExtensionObject::new(Range { low: 0.0, high });
    let range_id = NodeId::new(namespace, format!("{id}.EURange").as_str());
    builder.add(NewNode::property(range_id, "EURange", DataTypeId::Range, range, node).browse_namespace(0));
}

fn add_motor(builder: &mut SpaceBuilder, namespace: u16, boiler: &NodeId) {
    let id = |name: &str| NodeId::new(namespace, name);
    let motor = NewNode::object(id("Boiler.Motor"), "Motor").of_type(ObjectTypeId::BaseObjectType);
    let motor = builder.add(motor.component_of(boiler.clone()));
    builder.add(
        NewNode::data(id("Boiler.Motor.Running"), "Running", DataTypeId::Boolean, false)
            .component_of(motor.clone()),
    );
    add_analog(builder, namespace, "Boiler.Motor.Speed", &motor, 0.0, 3_000.0, access::READ);
    builder.add(NewNode::method(id("Boiler.Motor.Start"), "Start").component_of(motor.clone()));
    builder.add(NewNode::method(id("Boiler.Motor.Stop"), "Stop").component_of(motor));
}

fn add_recipe(builder: &mut SpaceBuilder, namespace: u16, boiler: &NodeId) {
    let id = |name: &str| NodeId::new(namespace, name);
    let recipe = NewNode::object(id("Boiler.Recipe"), "Recipe").of_type(ObjectTypeId::BaseObjectType);
    let recipe = builder.add(recipe.component_of(boiler.clone()));
    let [(name, targets), ..] = RECIPES;
    builder.add(
        NewNode::data(id("Boiler.Recipe.Name"), "Name", DataTypeId::String, name)
            .component_of(recipe.clone()),
    );
    let all: Vec<UAString> = RECIPES.iter().map(|(name, _)| UAString::from(*name)).collect();
    builder.add(
        NewNode::data(id("Boiler.Recipe.Names"), "Names", DataTypeId::String, all)
            .component_of(recipe.clone()),
    );
    let targets = NewNode::data(id("Boiler.Recipe.Targets"), "Targets", DataTypeId::Double, targets.to_vec());
    let targets = targets.described("temperature in degrees Celsius, level and flow in percent");
    builder.add(targets.access(access::READ_WRITE).component_of(recipe.clone()));
    let load = NewNode::method(id("Boiler.Recipe.Load"), "Load").component_of(recipe);
    let inputs = vec![argument("Name", DataTypeId::String, "one of Names")];
    builder.add(load.arguments(
        inputs,
        vec![argument("Temperature", DataTypeId::Double, "the new target in degrees Celsius")],
    ));
}

fn add_alarm(builder: &mut SpaceBuilder, namespace: u16, boiler: &NodeId) {
    let id = |name: &str| NodeId::new(namespace, name);
    let alarm = NewNode::data(id("Boiler.HighTemperature"), "HighTemperature", DataTypeId::Boolean, false);
    builder.add(alarm.component_of(boiler.clone()));
    let event = NewNode::object_type(id("HighTemperatureEventType"), "HighTemperatureEventType");
    let event = builder.add(event.subtype_of(ObjectTypeId::BaseEventType));
    for (name, data_type) in [("Temperature", DataTypeId::Double), ("Active", DataTypeId::Boolean)] {
        let field = id(&format!("HighTemperatureEventType.{name}"));
        let field = NewNode::property(field, name, data_type, Variant::Empty, event.clone());
        builder.add(field.ruled(ObjectId::ModellingRule_Mandatory));
    }
    let source =
        NewNode::object(id("Boiler.Alarms"), "Alarms").of_type(ObjectTypeId::BaseObjectType).notifier();
    builder.add(source.inside(boiler.clone(), ReferenceTypeId::HasNotifier));
}

fn add_tags(builder: &mut SpaceBuilder, namespace: u16, scale: usize) -> Vec<NodeId> {
    if scale == 0 {
        return Vec::new();
    }
    let folder =
        NewNode::folder(NodeId::new(namespace, "Tags"), "Tags").organized_by(ObjectId::ObjectsFolder);
    let folder = builder.add(folder);
    let tags = (1..=scale).map(|number| {
        let name = format!("Tag{number:05}");
        let tag =
            NewNode::data(NodeId::new(namespace, name.as_str()), &name, DataTypeId::Double, number as f64);
        builder.add(tag.access(access::READ_WRITE).organized_by(folder.clone()))
    });
    tags.collect()
}

/// Moves the boiler.
#[derive(Debug)]
struct Boiler {
    namespace: u16,
    tags: Vec<NodeId>,
    /// How far simulated time is.
    simulated: Moment,
    steps: u64,
    alarm: bool,
    events: u64,
}

impl Boiler {
    fn id(&self, name: &str) -> NodeId {
        NodeId::new(self.namespace, name)
    }

    fn number(&self, space: &AddressSpace, name: &str) -> f64 {
        space.number(&self.id(name)).filter(|number| number.is_finite()).unwrap_or_default()
    }

    fn text(&self, space: &AddressSpace, name: &str) -> String {
        match space.stored(&self.id(name)) {
            Some(Variant::String(text)) => text.to_string(),
            _ => String::new(),
        }
    }

    fn is_running(&self, space: &AddressSpace) -> bool {
        matches!(space.stored(&self.id("Boiler.Motor.Running")), Some(Variant::Boolean(true)))
    }

    /// What the set points are in this mode: those of the operator, those that lead to the recipe's targets, or none.
    fn set_points(&self, space: &AddressSpace) -> [f64; 3] {
        match self.text(space, "Boiler.Mode").as_str() {
            "Automatic" => {
                let targets = space.stored(&self.id("Boiler.Recipe.Targets"));
                let targets: Vec<f64> = targets
                    .and_then(Variant::as_array)
                    .into_iter()
                    .flatten()
                    .filter_map(Variant::as_f64)
                    .collect();
                let [temperature, level, flow] = <[f64; 3]>::try_from(targets).unwrap_or_default();
                let burner =
                    (temperature - self.number(space, "Boiler.Temperature")) * 5.0 + temperature / 2.0;
                let inlet = flow + (level - self.number(space, "Boiler.Level")) * 4.0;
                [inlet, flow, burner].map(|set| set.clamp(0.0, 100.0))
            }
            "Manual" => ["InletValve", "OutletValve", "Burner"]
                .map(|name| self.number(space, &format!("Boiler.{name}.SetPoint"))),
            _ => [0.0; 3],
        }
    }

    /// One step of simulated time.
    fn step(&mut self, space: &mut AddressSpace) -> Option<PlantEvent> {
        self.simulated = self.simulated.plus(std::time::Duration::from_millis(STEP_MS));
        self.steps += 1;
        let now = self.simulated;
        let dt = STEP_MS as f64 / 1_000.0;
        let set = self.set_points(space);
        let mut moved = [0.0; 3];
        for ((name, set), moved) in
            ["InletValve.Position", "OutletValve.Position", "Burner.Power"].iter().zip(set).zip(&mut moved)
        {
            let name = format!("Boiler.{name}");
            let current = self.number(space, &name);
            *moved = current + (set - current).clamp(-20.0 * dt, 20.0 * dt);
            self.set(space, &name, *moved, now);
        }
        let [inlet, outlet, power] = moved;
        self.step_motor(space, dt, now);
        let level = (self.number(space, "Boiler.Level") + (inlet - outlet) * 0.05 * dt).clamp(0.0, 100.0);
        let before = self.number(space, "Boiler.Temperature");
        // 100 % of power lead to 155 degrees, cold water and an empty boiler to less and to quicker changes.
        let heat = power * 1.35 + 20.0 - before - inlet * 0.05;
        let temperature = (before + heat * dt / (5.0 + level / 10.0)).clamp(0.0, 200.0);
        let steam = ((temperature - 100.0).max(0.0) * outlet / 50.0).min(100.0);
        let pressure = 1.0 + ((temperature - 95.0).max(0.0) / 12.0).min(9.0);
        let measured =
            [("Level", level), ("Temperature", temperature), ("SteamFlow", steam), ("Pressure", pressure)];
        for (name, value) in measured {
            self.set(space, &format!("Boiler.{name}"), value, now);
        }
        self.step_map(space, temperature, now);
        self.step_tags(space, now);
        self.step_alarm(space, temperature, now)
    }

    fn set(&self, space: &mut AddressSpace, name: &str, value: impl Into<Variant>, now: Moment) {
        space.set(&self.id(name), value, now);
    }

    fn step_motor(&self, space: &mut AddressSpace, dt: f64, now: Moment) {
        let wanted = if self.is_running(space) { 2_800.0 } else { 0.0 };
        let speed = self.number(space, "Boiler.Motor.Speed");
        self.set(space, "Boiler.Motor.Speed", speed + (wanted - speed).clamp(-700.0 * dt, 700.0 * dt), now);
    }

    fn step_map(&self, space: &mut AddressSpace, temperature: f64, now: Moment) {
        let values = (0..16)
            .map(|place| Variant::from(temperature + f64::from(place % 4) - f64::from(place / 4)))
            .collect();
        let map = Array { value_type: VariantScalarTypeId::Double, values, dimensions: Some(vec![4, 4]) };
        self.set(space, "Boiler.ThermalMap", map, now);
    }

    /// A tag moves around its number; each at another time, so that not all change at once.
    fn step_tags(&self, space: &mut AddressSpace, now: Moment) {
        let turn = (self.steps % TAG_STEPS) as usize;
        for (index, tag) in self.tags.iter().enumerate().skip(turn).step_by(TAG_STEPS as usize) {
            let phase = self.steps as f64 / 50.0 + index as f64;
            space.set(tag, (index + 1) as f64 + phase.sin(), now);
        }
    }

    fn step_alarm(&mut self, space: &mut AddressSpace, temperature: f64, now: Moment) -> Option<PlantEvent> {
        let (comes, goes) = ALARM_C;
        let active = if self.alarm { temperature > goes } else { temperature > comes };
        if active == self.alarm {
            return None;
        }
        self.alarm = active;
        self.set(space, "Boiler.HighTemperature", active, now);
        self.events += 1;
        let id = (u128::from(now.ms()) << 64) | u128::from(self.events);
        let (message, severity) =
            if active { ("the boiler is too hot", 800) } else { ("the boiler has cooled down", 200) };
        let event_type = self.id("HighTemperatureEventType");
        let event = PlantEvent::new(
            space,
            &event_type,
            &self.id("Boiler.Alarms"),
            id.to_be_bytes(),
            message,
            severity,
            now,
        );
        Some(event.with(self.namespace, "Temperature", temperature).with(self.namespace, "Active", active))
    }

    fn start(&mut self, space: &mut AddressSpace, now: Moment) -> Result<Vec<Variant>, StatusCode> {
        if self.text(space, "Boiler.Mode") == "Maintenance" || self.is_running(space) {
            return Err(StatusCode::BadInvalidState);
        }
        self.set(space, "Boiler.Motor.Running", true, now);
        Ok(Vec::new())
    }

    fn stop(&mut self, space: &mut AddressSpace, now: Moment) -> Result<Vec<Variant>, StatusCode> {
        if !self.is_running(space) {
            return Err(StatusCode::BadInvalidState);
        }
        self.set(space, "Boiler.Motor.Running", false, now);
        Ok(Vec::new())
    }

    fn load(
        &mut self,
        space: &mut AddressSpace,
        inputs: &[Variant],
        now: Moment,
    ) -> Result<Vec<Variant>, StatusCode> {
        let [Variant::String(wanted)] = inputs else { return Err(StatusCode::BadInvalidArgument) };
        let found = RECIPES.iter().find(|(name, _)| *name == wanted.as_ref());
        let (name, targets) = found.ok_or(StatusCode::BadNotFound)?;
        self.set(space, "Boiler.Recipe.Name", *name, now);
        self.set(space, "Boiler.Recipe.Targets", targets.to_vec(), now);
        let [temperature, ..] = *targets;
        Ok(vec![Variant::from(temperature)])
    }
}

impl Device for Boiler {
    fn tick(&mut self, space: &mut AddressSpace, now: Moment) -> Vec<PlantEvent> {
        let behind = now.since(self.simulated).as_millis() as u64 / STEP_MS;
        if behind > STEPS_MAX {
            let missed = (behind - STEPS_MAX) * STEP_MS;
            self.simulated = self.simulated.plus(std::time::Duration::from_millis(missed));
        }
        (0..behind.min(STEPS_MAX)).filter_map(|_| self.step(space)).collect()
    }

    fn check_write(&self, space: &AddressSpace, node: &NodeId, value: &Variant) -> Result<(), StatusCode> {
        let fits = if *node == self.id("Boiler.Mode") {
            matches!(value, Variant::String(mode) if MODES.contains(&mode.as_ref()))
        } else if *node == self.id("Boiler.Recipe.Targets") {
            value.as_array().is_some_and(|targets| targets.len() == 3)
        } else if space.node(node).is_some_and(|node| node.browse_name.name.as_ref() == "SetPoint") {
            value.as_f64().is_some_and(|set| (0.0..=100.0).contains(&set))
        } else {
            true
        };
        if fits { Ok(()) } else { Err(StatusCode::BadOutOfRange) }
    }

    fn call(
        &mut self,
        space: &mut AddressSpace,
        method: &NodeId,
        inputs: &[Variant],
        now: Moment,
    ) -> Result<Vec<Variant>, StatusCode> {
        if *method == self.id("Boiler.Motor.Start") {
            self.start(space, now)
        } else if *method == self.id("Boiler.Motor.Stop") {
            self.stop(space, now)
        } else if *method == self.id("Boiler.Recipe.Load") {
            self.load(space, inputs, now)
        } else {
            Err(StatusCode::BadNotImplemented)
        }
    }
}
