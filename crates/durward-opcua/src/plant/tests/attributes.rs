//! Read and Write.

use opcua_types::{
    Array, AttributeId, ByteString, DataTypeId, DataValue, DateTime, NodeId, NumericRange, ObjectId,
    QualifiedName, ReadRequest, ReadResponse, ReadValueId, StatusCode, TimestampsToReturn, VariableId,
    Variant, VariantScalarTypeId, WriteRequest, WriteResponse, WriteValue,
};

use crate::authority::MethodCaller;
use crate::permission::{Permission, PermissionRuling};
use crate::plant::test_client::{BEGIN, TestClient};
use crate::plant::{AccessGuard, NewNode, PlantServer, SpaceBuilder, access, date_time, limits};

fn range(text: &str) -> NumericRange {
    text.parse().unwrap()
}

fn part(node: &NodeId, text: &str) -> ReadValueId {
    ReadValueId { index_range: range(text), ..ReadValueId::new_value(node.clone()) }
}

fn doubles(values: &[f64]) -> Variant {
    Variant::from(values.to_vec())
}

#[test]
fn values_and_all_other_attributes_are_read() {
    let mut client = TestClient::boiler();
    let node = client.plant("Boiler.Temperature");
    assert_eq!(client.value(node.clone()), Variant::from(20.0));
    let expected = [
        (AttributeId::NodeId, Variant::from(node.clone())),
        (AttributeId::NodeClass, Variant::from(2i32)),
        (AttributeId::BrowseName, Variant::from(QualifiedName::new(2, "Temperature"))),
        (AttributeId::WriteMask, Variant::from(0u32)),
        (AttributeId::DataType, Variant::from(NodeId::from(DataTypeId::Double))),
        (AttributeId::ValueRank, Variant::from(-1i32)),
        (AttributeId::AccessLevel, Variant::from(access::READ | access::HISTORY_READ)),
        (AttributeId::Historizing, Variant::from(true)),
    ];
    for (attribute, value) in expected {
        assert_eq!(
            client.read(ReadValueId::new(node.clone(), attribute)).value,
            Some(value),
            "{attribute:?}"
        );
    }
}

#[test]
fn what_is_not_there_has_its_own_status() {
    let mut client = TestClient::boiler();
    let method = client.plant("Boiler.Motor.Start");
    let temperature = client.plant("Boiler.Temperature");
    let encoded = |namespace, name: &str| ReadValueId {
        data_encoding: QualifiedName::new(namespace, name),
        ..ReadValueId::new_value(NodeId::from(VariableId::Server_ServerStatus))
    };
    let cases = [
        (ReadValueId::new_value(NodeId::new(9, 9u32)), StatusCode::BadNodeIdUnknown),
        (ReadValueId::new_value(method.clone()), StatusCode::BadAttributeIdInvalid),
        (
            ReadValueId { attribute_id: 28, ..ReadValueId::new_value(temperature.clone()) },
            StatusCode::BadAttributeIdInvalid,
        ),
        (ReadValueId::new(temperature.clone(), AttributeId::Executable), StatusCode::BadAttributeIdInvalid),
        (part(&temperature, "0"), StatusCode::BadIndexRangeDataMismatch),
        (encoded(0, "Default XML"), StatusCode::BadDataEncodingUnsupported),
        (encoded(0, "Default Binary"), StatusCode::Good),
        (
            ReadValueId {
                data_encoding: QualifiedName::new(0, "Default Binary"),
                ..ReadValueId::new_value(temperature)
            },
            StatusCode::BadDataEncodingInvalid,
        ),
    ];
    for (what, status) in cases {
        assert_eq!(client.read(what.clone()).status(), status, "{what:?}");
    }
}

#[test]
fn requests_that_ask_for_nothing_too_much_or_nonsense_fail_whole() {
    let mut client = TestClient::boiler();
    let node = ReadValueId::new_value(NodeId::from(VariableId::Server_ServiceLevel));
    let ask = |client: &mut TestClient, change: &dyn Fn(&mut ReadRequest)| {
        let mut request = ReadRequest { nodes_to_read: Some(vec![node.clone()]), ..ReadRequest::default() };
        change(&mut request);
        client.ask::<_, ReadResponse>(&request).map(|_| ())
    };
    assert_eq!(ask(&mut client, &|_| {}), Ok(()));
    assert_eq!(ask(&mut client, &|request| request.nodes_to_read = None), Err(StatusCode::BadNothingToDo));
    assert_eq!(
        ask(&mut client, &|request| request.nodes_to_read = Some(Vec::new())),
        Err(StatusCode::BadNothingToDo)
    );
    assert_eq!(ask(&mut client, &|request| request.max_age = -1.0), Err(StatusCode::BadMaxAgeInvalid));
    assert_eq!(ask(&mut client, &|request| request.max_age = f64::NAN), Err(StatusCode::BadMaxAgeInvalid));
    let invalid = TimestampsToReturn::Invalid;
    assert_eq!(
        ask(&mut client, &|request| request.timestamps_to_return = invalid),
        Err(StatusCode::BadTimestampsToReturnInvalid)
    );
    let many = |count: usize| Some(vec![node.clone(); count]);
    assert_eq!(ask(&mut client, &|request| request.nodes_to_read = many(limits::OPERATIONS_MAX)), Ok(()));
    assert_eq!(
        ask(&mut client, &|request| request.nodes_to_read = many(limits::OPERATIONS_MAX + 1)),
        Err(StatusCode::BadTooManyOperations)
    );
}

#[test]
fn timestamps_are_those_asked_for() {
    let mut client = TestClient::boiler();
    client.advance(5_000);
    let begin = Some(date_time(BEGIN));
    let now = Some(date_time(client.now));
    let cases = [
        (TimestampsToReturn::Source, begin, None),
        (TimestampsToReturn::Server, None, now),
        (TimestampsToReturn::Both, begin, now),
        (TimestampsToReturn::Neither, None, None),
    ];
    for (timestamps_to_return, source, server) in cases {
        let nodes_to_read = Some(vec![ReadValueId::new_value(client.plant("Boiler.Mode"))]);
        let request = ReadRequest { timestamps_to_return, nodes_to_read, ..ReadRequest::default() };
        let value = client.ask::<_, ReadResponse>(&request).unwrap().results.unwrap().pop().unwrap();
        assert_eq!(
            (value.source_timestamp, value.server_timestamp),
            (source, server),
            "{timestamps_to_return:?}"
        );
    }
    let current = client.value(VariableId::Server_ServerStatus_CurrentTime);
    assert_eq!(current, Variant::from(date_time(client.now)));
}

#[test]
fn parts_of_arrays_matrices_and_strings_are_read() {
    let mut client = TestClient::boiler();
    client.run(1_000);
    let targets = client.plant("Boiler.Recipe.Targets");
    assert_eq!(client.read(part(&targets, "1")).value, Some(doubles(&[60.0])));
    assert_eq!(
        client.read(part(&targets, "1:9")).value,
        Some(doubles(&[60.0, 40.0])),
        "what lies beyond is left out"
    );
    assert_eq!(client.read(part(&targets, "3")).status(), StatusCode::BadIndexRangeNoData);
    assert_eq!(client.read(part(&targets, "0,0")).status(), StatusCode::BadIndexRangeDataMismatch);
    let map = client.plant("Boiler.ThermalMap");
    let Variant::Array(whole) = client.value(map.clone()) else { panic!("a matrix") };
    let Some(Variant::Array(corner)) = client.read(part(&map, "2:3,1")).value else { panic!("a matrix") };
    assert_eq!(corner.dimensions, Some(vec![2, 1]));
    assert_eq!(corner.values, [whole.values[9].clone(), whole.values[13].clone()]);
    let serial = client.plant("Boiler.SerialNumber");
    assert_eq!(client.read(part(&serial, "2:3")).value, Some(Variant::from("00")));
    assert_eq!(client.read(part(&serial, "9")).status(), StatusCode::BadIndexRangeNoData);
}

#[test]
fn writes_are_checked_for_type_rank_and_range() {
    let mut client = TestClient::boiler();
    let (mode, set) = (client.plant("Boiler.Mode"), client.plant("Boiler.Burner.SetPoint"));
    let (targets, name) = (client.plant("Boiler.Recipe.Targets"), client.plant("Boiler.Recipe.Name"));
    let cases = [
        (&mode, Variant::from("Manual"), StatusCode::Good),
        (&mode, Variant::from("manual"), StatusCode::BadOutOfRange),
        (&mode, Variant::Empty, StatusCode::BadOutOfRange),
        (&mode, Variant::from(1i32), StatusCode::BadTypeMismatch),
        (&set, Variant::from(100.0), StatusCode::Good),
        (&set, Variant::from(100.1), StatusCode::BadOutOfRange),
        (&set, Variant::from(f64::NAN), StatusCode::BadOutOfRange),
        (&set, Variant::from(50i32), StatusCode::BadTypeMismatch),
        (&set, Variant::Empty, StatusCode::BadTypeMismatch),
        (&set, doubles(&[1.0]), StatusCode::BadTypeMismatch),
        (&targets, doubles(&[1.0, 2.0, 3.0]), StatusCode::Good),
        (&targets, doubles(&[1.0, 2.0]), StatusCode::BadOutOfRange),
        (&targets, Variant::from(1.0), StatusCode::BadTypeMismatch),
        (&name, Variant::from("Clean"), StatusCode::BadNotWritable),
        (&NodeId::new(9, "no"), Variant::from(1.0), StatusCode::BadNodeIdUnknown),
    ];
    for (node, value, status) in cases {
        assert_eq!(
            client.write(WriteValue::value_attr(node.clone(), value.clone())),
            status,
            "{node} {value:?}"
        );
    }
    assert_eq!(client.value(mode), Variant::from("Manual"));
}

#[test]
fn only_values_can_be_written_and_parts_of_them() {
    let mut client = TestClient::boiler();
    let targets = client.plant("Boiler.Recipe.Targets");
    let write = |text: &str, value| {
        WriteValue::new(targets.clone(), AttributeId::Value, range(text), DataValue::value_only(value))
    };
    assert_eq!(client.write(write("1:2", doubles(&[7.0, 8.0]))), StatusCode::Good);
    assert_eq!(client.value(targets.clone()), doubles(&[72.0, 7.0, 8.0]));
    assert_eq!(client.write(write("1:2", doubles(&[7.0]))), StatusCode::BadIndexRangeDataMismatch);
    assert_eq!(client.write(write("2:3", doubles(&[7.0, 8.0]))), StatusCode::BadIndexRangeNoData);
    assert_eq!(client.write(write("0", Variant::from(1.0))), StatusCode::BadIndexRangeDataMismatch);
    assert_eq!(client.write(write("0", Variant::from(vec![1i32]))), StatusCode::BadIndexRangeDataMismatch);
    let display = WriteValue::new(
        targets.clone(),
        AttributeId::DisplayName,
        NumericRange::None,
        DataValue::value_only("x"),
    );
    assert_eq!(client.write(display), StatusCode::BadNotWritable);
    let executable =
        WriteValue::new(targets, AttributeId::Executable, NumericRange::None, DataValue::value_only(true));
    assert_eq!(client.write(executable), StatusCode::BadAttributeIdInvalid);
}

/// A server with some variables of special kinds.
fn special() -> TestClient {
    let mut builder = SpaceBuilder::new("urn:test:special", BEGIN);
    let mut add = |name: &str, data_type: DataTypeId, value: Variant, level: u8| {
        builder.add(
            NewNode::data(NodeId::new(1, name), name, data_type, value)
                .access(level)
                .component_of(ObjectId::Server),
        );
    };
    add("plain", DataTypeId::Double, 1.0.into(), access::READ | access::WRITE);
    add("full", DataTypeId::Double, 1.0.into(), access::READ_WRITE);
    add("write-only", DataTypeId::Double, 1.0.into(), access::WRITE);
    add("bytes", DataTypeId::Byte, vec![1u8, 2].into(), access::READ_WRITE);
    add("number", DataTypeId::Number, 1.0.into(), access::READ_WRITE);
    add("duration", DataTypeId::Duration, 1.0.into(), access::READ_WRITE);
    add("state", DataTypeId::ServerState, 0i32.into(), access::READ_WRITE);
    add("text", DataTypeId::String, "abc".into(), access::READ_WRITE);
    TestClient::new(PlantServer::new(builder.build().unwrap()))
}

#[test]
fn values_of_subtypes_fit_and_travel_as_their_built_in_type() {
    let mut client = special();
    let cases = [
        ("number", Variant::from(1u8), StatusCode::Good),
        ("number", Variant::from(-1i64), StatusCode::Good),
        ("number", Variant::from("1"), StatusCode::BadTypeMismatch),
        ("number", Variant::from(true), StatusCode::BadTypeMismatch),
        ("duration", Variant::from(2.0), StatusCode::Good),
        ("duration", Variant::from(2.0f32), StatusCode::BadTypeMismatch),
        ("state", Variant::from(2i32), StatusCode::Good),
        ("state", Variant::from(2u32), StatusCode::BadTypeMismatch),
        ("bytes", Variant::from(vec![3u8]), StatusCode::Good),
        ("text", Variant::Empty, StatusCode::Good),
    ];
    for (name, value, status) in cases {
        assert_eq!(
            client.write(WriteValue::value_attr(NodeId::new(1, name), value.clone())),
            status,
            "{name} {value:?}"
        );
    }
}

#[test]
fn a_byte_string_is_taken_for_an_array_of_bytes() {
    let mut client = special();
    let bytes = NodeId::new(1, "bytes");
    let write = WriteValue::value_attr(bytes.clone(), Variant::from(ByteString::from(vec![9, 8])));
    assert_eq!(client.write(write), StatusCode::Good);
    assert_eq!(client.value(bytes), Variant::from(vec![9u8, 8]));
}

#[test]
fn an_empty_array_stays_readable() {
    let mut client = special();
    let bytes = NodeId::new(1, "bytes");
    let empty = Array { value_type: VariantScalarTypeId::Byte, values: Vec::new(), dimensions: None };
    assert_eq!(client.write(WriteValue::value_attr(bytes.clone(), Variant::from(empty))), StatusCode::Good);
    assert_eq!(client.value(bytes).as_array(), Some(&Vec::new()));
}

#[test]
fn status_and_timestamps_are_written_where_the_access_level_says_so() {
    let mut client = special();
    let time = DateTime::ymd(2020, 1, 1);
    let value =
        |status, source_timestamp| DataValue { status, source_timestamp, ..DataValue::value_only(2.0) };
    let write = |name: &str, value| {
        WriteValue::new(NodeId::new(1, name), AttributeId::Value, NumericRange::None, value)
    };
    let uncertain = Some(StatusCode::Uncertain);
    assert_eq!(client.write(write("plain", value(None, None))), StatusCode::Good);
    assert_eq!(client.write(write("plain", value(Some(StatusCode::Good), None))), StatusCode::Good);
    assert_eq!(client.write(write("plain", value(uncertain, None))), StatusCode::BadWriteNotSupported);
    assert_eq!(client.write(write("plain", value(None, Some(time)))), StatusCode::BadWriteNotSupported);
    assert_eq!(client.write(write("full", value(uncertain, Some(time)))), StatusCode::Good);
    let read = client.read(ReadValueId::new_value(NodeId::new(1, "full")));
    assert_eq!((read.status(), read.source_timestamp), (StatusCode::Uncertain, Some(time)));
    let hidden = NodeId::new(1, "write-only");
    assert_eq!(client.read(ReadValueId::new_value(hidden)).status(), StatusCode::BadNotReadable);
}

#[test]
fn a_value_that_is_too_large_is_refused() {
    let mut client = special();
    let text =
        |length: usize| WriteValue::value_attr(NodeId::new(1, "text"), Variant::from("x".repeat(length)));
    // One byte for the type and four for the length.
    assert_eq!(client.write(text(limits::VALUE_BYTES_MAX - 5)), StatusCode::Good);
    assert_eq!(client.write(text(limits::VALUE_BYTES_MAX - 4)), StatusCode::BadOutOfRange);
    let request = WriteRequest {
        nodes_to_write: Some(vec![text(limits::STRING_BYTES_MAX + 1)]),
        ..WriteRequest::default()
    };
    assert!(client.ask::<_, WriteResponse>(&request).is_err(), "it is not even decoded");
}

/// Refuses one permission on one node.
struct Refuse(Permission, NodeId);

impl AccessGuard for Refuse {
    fn rule(&self, _caller: &MethodCaller, permission: Permission, node: &NodeId) -> PermissionRuling {
        if permission == self.0 && *node == self.1 {
            PermissionRuling::DENIED
        } else {
            PermissionRuling::Granted
        }
    }
}

#[test]
fn the_guard_is_asked_for_each_permission() {
    let mode = TestClient::boiler().plant("Boiler.Mode");
    for (permission, reads, writes) in [(Permission::Read, false, true), (Permission::Write, true, false)] {
        let server = crate::plant::boiler("urn:test:server", 0, BEGIN)
            .unwrap()
            .with_guard(Refuse(permission, mode.clone()));
        let mut client = TestClient::new(server);
        let expected =
            |allowed: bool| if allowed { StatusCode::Good } else { StatusCode::BadUserAccessDenied };
        assert_eq!(client.read(ReadValueId::new_value(mode.clone())).status(), expected(reads));
        assert_eq!(
            client.write(WriteValue::value_attr(mode.clone(), Variant::from("Manual"))),
            expected(writes)
        );
    }
}
