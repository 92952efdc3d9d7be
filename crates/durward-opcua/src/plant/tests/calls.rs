//! Call, and what the boiler does.

use opcua_types::{
    Argument, CallMethodResult, ExtensionObject, NodeId, ObjectId, StatusCode, Variant, WriteValue,
};

use crate::plant::test_client::{BEGIN, TestClient};
use crate::plant::{NewNode, PlantServer, SpaceBuilder, argument};

fn start(client: &mut TestClient) -> CallMethodResult {
    let (motor, start) = (client.plant("Boiler.Motor"), client.plant("Boiler.Motor.Start"));
    client.call(motor, start, Vec::new())
}

#[test]
fn methods_move_the_plant() {
    let mut client = TestClient::boiler();
    assert_eq!(start(&mut client).status_code, StatusCode::Good);
    assert_eq!(start(&mut client).status_code, StatusCode::BadInvalidState, "it runs");
    client.run(5_000);
    let speed = client.plant("Boiler.Motor.Speed");
    assert_eq!(client.value(speed.clone()), Variant::from(2_800.0));
    let (motor, stop) = (client.plant("Boiler.Motor"), client.plant("Boiler.Motor.Stop"));
    assert_eq!(client.call(motor, stop, Vec::new()).status_code, StatusCode::Good);
    client.run(5_000);
    assert_eq!(client.value(speed), Variant::from(0.0));
}

#[test]
fn the_mode_decides_what_moves() {
    let mut client = TestClient::boiler();
    let (mode, set, power) = (
        client.plant("Boiler.Mode"),
        client.plant("Boiler.Burner.SetPoint"),
        client.plant("Boiler.Burner.Power"),
    );
    for (name, expected) in [("Manual", 30.0), ("Maintenance", 0.0)] {
        assert_eq!(client.write(WriteValue::value_attr(mode.clone(), Variant::from(name))), StatusCode::Good);
        client.write(WriteValue::value_attr(set.clone(), Variant::from(30.0)));
        client.run(10_000);
        assert_eq!(client.value(power.clone()), Variant::from(expected), "{name}");
    }
    assert_eq!(
        start(&mut client).status_code,
        StatusCode::BadInvalidState,
        "nothing starts while somebody works at it"
    );
    client.write(WriteValue::value_attr(mode, Variant::from("Automatic")));
    client.run(120_000);
    let temperature = client.plant("Boiler.Temperature");
    let temperature = client.value(temperature).as_f64().unwrap();
    assert!((65.0..80.0).contains(&temperature), "the recipe wants 72 degrees, and it is {temperature}");
}

#[test]
fn arguments_are_checked_before_the_method() {
    let mut client = TestClient::boiler();
    let (recipe, load) = (client.plant("Boiler.Recipe"), client.plant("Boiler.Recipe.Load"));
    let done = client.call(recipe.clone(), load.clone(), vec![Variant::from("Sterilise")]);
    assert_eq!(
        (done.status_code, done.output_arguments),
        (StatusCode::Good, Some(vec![Variant::from(121.0)]))
    );
    let mut call = |inputs| client.call(recipe.clone(), load.clone(), inputs);
    assert_eq!(call(Vec::new()).status_code, StatusCode::BadArgumentsMissing);
    assert_eq!(
        call(vec![Variant::from("a"), Variant::from("b")]).status_code,
        StatusCode::BadTooManyArguments
    );
    let wrong = call(vec![Variant::from(1i32)]);
    assert_eq!(wrong.status_code, StatusCode::BadInvalidArgument);
    assert_eq!(wrong.input_argument_results, Some(vec![StatusCode::BadTypeMismatch]));
    assert_eq!(call(vec![Variant::from("Soup")]).status_code, StatusCode::BadNotFound);
}

#[test]
fn a_method_is_called_on_its_object_only() {
    let mut client = TestClient::boiler();
    let (motor, stop) = (client.plant("Boiler.Motor"), client.plant("Boiler.Motor.Start"));
    let other = client.plant("Boiler.Recipe");
    let temperature = client.plant("Boiler.Temperature");
    assert_eq!(client.call(other, stop.clone(), Vec::new()).status_code, StatusCode::BadMethodInvalid);
    assert_eq!(client.call(motor.clone(), temperature, Vec::new()).status_code, StatusCode::BadMethodInvalid);
    assert_eq!(
        client.call(motor.clone(), NodeId::new(9, "x"), Vec::new()).status_code,
        StatusCode::BadMethodInvalid
    );
    assert_eq!(client.call(NodeId::new(9, "x"), stop, Vec::new()).status_code, StatusCode::BadNodeIdUnknown);
}

#[test]
fn clients_find_the_arguments_of_a_method() {
    let mut client = TestClient::boiler();
    let inputs = client.plant("Boiler.Recipe.Load.InputArguments");
    let Variant::Array(arguments) = client.value(inputs) else { panic!("an array") };
    let [Variant::ExtensionObject(object)] = arguments.values.as_slice() else { panic!("one argument") };
    assert_eq!(ExtensionObject::inner_as::<Argument>(object).unwrap().name.as_ref(), "Name");
}

#[test]
fn the_method_of_the_type_stands_for_that_of_the_object() {
    let mut builder = SpaceBuilder::new("urn:test:types", BEGIN);
    let id = |name: &str| NodeId::new(1, name);
    builder
        .add(NewNode::object_type(id("Type"), "Type").subtype_of(opcua_types::ObjectTypeId::BaseObjectType));
    builder.add(NewNode::object_type(id("Subtype"), "Subtype").subtype_of(id("Type")));
    builder.add(NewNode::method(id("Type.Go"), "Go").component_of(id("Type")));
    builder.add(NewNode::method(id("Type.Rest"), "Rest").component_of(id("Type")));
    builder.add(
        NewNode::object(id("Object"), "Object").of_type(id("Subtype")).organized_by(ObjectId::ObjectsFolder),
    );
    let inputs = vec![argument("A", opcua_types::DataTypeId::Boolean, "")];
    builder
        .add(NewNode::method(id("Object.Go"), "Go").component_of(id("Object")).arguments(inputs, Vec::new()));
    let mut client = TestClient::new(PlantServer::new(builder.build().unwrap()));
    let mut status =
        |method: &str| client.call(id("Object"), id(method), vec![Variant::from(true)]).status_code;
    // No device executes it: it was found, and its arguments are right.
    assert_eq!(status("Object.Go"), StatusCode::BadNotImplemented);
    assert_eq!(status("Type.Go"), StatusCode::BadNotImplemented);
    assert_eq!(status("Type.Rest"), StatusCode::BadMethodInvalid, "the object does not have it");
}
