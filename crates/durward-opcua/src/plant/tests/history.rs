//! HistoryRead.

use opcua_types::{
    ContinuationPoint, DataValue, DateTime, ExtensionObject, HistoryData, HistoryReadRequest,
    HistoryReadResponse, HistoryReadResult, HistoryReadValueId, NodeId, ObjectId, ReadRawModifiedDetails,
    StatusCode, TimestampsToReturn,
};

use crate::plant::test_client::{BEGIN, TestClient};
use crate::plant::{NewNode, PlantServer, SpaceBuilder, date_time, limits};

/// A variable that had the values 0 to `last`, one each second.
fn counter(last: u32) -> TestClient {
    let mut builder = SpaceBuilder::new("urn:test:history", BEGIN);
    let node = NewNode::data(node(), "counter", opcua_types::DataTypeId::UInt32, 0u32);
    builder.add(node.historized().component_of(ObjectId::Server));
    let mut client = TestClient::new(PlantServer::new(builder.build().unwrap()));
    for value in 1..=last {
        client.advance(1_000);
        client.server.space_mut().set(&self::node(), value, client.now);
    }
    client
}

fn node() -> NodeId {
    NodeId::new(1, "counter")
}

/// So many seconds after the first value.
fn at(seconds: f64) -> DateTime {
    date_time(BEGIN.plus(std::time::Duration::from_secs_f64(seconds)))
}

fn details(start: DateTime, end: DateTime, count: u32) -> ReadRawModifiedDetails {
    ReadRawModifiedDetails {
        is_read_modified: false,
        start_time: start,
        end_time: end,
        num_values_per_node: count,
        return_bounds: false,
    }
}

fn ask(
    client: &mut TestClient,
    details: &ReadRawModifiedDetails,
    point: ContinuationPoint,
    release: bool,
) -> Result<HistoryReadResult, StatusCode> {
    let node =
        HistoryReadValueId { node_id: node(), continuation_point: point, ..HistoryReadValueId::default() };
    let request = HistoryReadRequest {
        history_read_details: ExtensionObject::new(details.clone()),
        timestamps_to_return: TimestampsToReturn::Source,
        release_continuation_points: release,
        nodes_to_read: Some(vec![node]),
        ..HistoryReadRequest::default()
    };
    client.ask::<_, HistoryReadResponse>(&request).map(|response| response.results.unwrap().pop().unwrap())
}

fn found(result: &HistoryReadResult) -> Vec<DataValue> {
    result.history_data.inner_as::<HistoryData>().unwrap().data_values.clone().unwrap()
}

fn numbers(result: &HistoryReadResult) -> Vec<f64> {
    found(result)
        .iter()
        .map(|value| value.value.as_ref().and_then(opcua_types::Variant::as_f64).unwrap_or(f64::NAN))
        .collect()
}

fn read(client: &mut TestClient, details: ReadRawModifiedDetails) -> HistoryReadResult {
    ask(client, &details, ContinuationPoint::null(), false).unwrap()
}

#[test]
fn the_end_of_a_span_is_not_part_of_it() {
    let mut client = counter(10);
    assert_eq!(numbers(&read(&mut client, details(at(2.0), at(5.0), 0))), [2.0, 3.0, 4.0]);
    assert_eq!(numbers(&read(&mut client, details(at(5.0), at(2.0), 0))), [5.0, 4.0, 3.0], "backwards");
    assert_eq!(numbers(&read(&mut client, details(at(3.0), at(3.0), 0))), [3.0], "one moment");
    assert_eq!(numbers(&read(&mut client, details(at(8.5), DateTime::null(), 5))), [9.0, 10.0]);
    assert_eq!(numbers(&read(&mut client, details(DateTime::null(), at(1.5), 5))), [1.0, 0.0]);
}

#[test]
fn bounds_are_the_values_around_the_span() {
    let mut client = counter(3);
    let bounds = |start, end| ReadRawModifiedDetails { return_bounds: true, ..details(start, end, 0) };
    assert_eq!(numbers(&read(&mut client, bounds(at(0.5), at(1.5)))), [0.0, 1.0, 2.0]);
    assert_eq!(
        numbers(&read(&mut client, bounds(at(1.0), at(2.0)))),
        [1.0, 2.0],
        "values at the bounds are the bounds"
    );
    let beyond = read(&mut client, bounds(at(2.5), at(9.0)));
    assert_eq!(found(&beyond).last().unwrap().status(), StatusCode::BadBoundNotFound);
}

#[test]
fn an_empty_span_and_wrong_ones_say_so() {
    let mut client = counter(3);
    assert_eq!(read(&mut client, details(at(7.0), at(8.0), 0)).status_code, StatusCode::GoodNoData);
    let nothing = ContinuationPoint::null;
    let unset = details(DateTime::null(), DateTime::null(), 5);
    assert_eq!(
        ask(&mut client, &unset, nothing(), false).unwrap_err(),
        StatusCode::BadHistoryOperationInvalid
    );
    let one = details(at(1.0), DateTime::null(), 0);
    assert_eq!(ask(&mut client, &one, nothing(), false).unwrap_err(), StatusCode::BadHistoryOperationInvalid);
    let modified = ReadRawModifiedDetails { is_read_modified: true, ..details(at(0.0), at(1.0), 0) };
    assert_eq!(
        ask(&mut client, &modified, nothing(), false).unwrap_err(),
        StatusCode::BadHistoryOperationUnsupported
    );
}

#[test]
fn variables_without_history_have_none() {
    let mut client = TestClient::boiler();
    let node = HistoryReadValueId { node_id: client.plant("Boiler.Mode"), ..HistoryReadValueId::default() };
    let request = HistoryReadRequest {
        history_read_details: ExtensionObject::new(details(at(0.0), at(1.0), 0)),
        nodes_to_read: Some(vec![node]),
        ..HistoryReadRequest::default()
    };
    let result = client.ask::<_, HistoryReadResponse>(&request).unwrap().results.unwrap().pop().unwrap();
    assert_eq!(result.status_code, StatusCode::BadHistoryOperationUnsupported);
}

#[test]
fn a_long_history_comes_in_parts() {
    let mut client = counter(10);
    let two = details(at(0.0), at(5.0), 2);
    let first = read(&mut client, two.clone());
    assert_eq!(numbers(&first), [0.0, 1.0]);
    let second = ask(&mut client, &two, first.continuation_point.clone(), false).unwrap();
    assert_eq!(numbers(&second), [2.0, 3.0]);
    let again = ask(&mut client, &two, first.continuation_point, false).unwrap();
    assert_eq!(again.status_code, StatusCode::BadContinuationPointInvalid);
    let last = ask(&mut client, &two, second.continuation_point, false).unwrap();
    assert_eq!((numbers(&last), last.continuation_point.is_null_or_empty()), (vec![4.0], true));
    let first = read(&mut client, two.clone());
    assert_eq!(
        ask(&mut client, &two, first.continuation_point.clone(), true).unwrap().status_code,
        StatusCode::Good
    );
    let released = ask(&mut client, &two, first.continuation_point, false).unwrap();
    assert_eq!(released.status_code, StatusCode::BadContinuationPointInvalid);
}

#[test]
fn a_session_has_few_continuation_points_of_history() {
    let mut client = counter(5);
    let two = details(at(0.0), at(5.0), 2);
    for _ in 0..limits::HISTORY_POINTS_MAX {
        assert_eq!(read(&mut client, two.clone()).status_code, StatusCode::Good);
    }
    assert_eq!(read(&mut client, two).status_code, StatusCode::BadNoContinuationPoints);
}

#[test]
fn history_forgets_the_oldest() {
    let last = limits::HISTORY_VALUES_MAX as u32 + 4;
    let mut client = counter(last);
    let oldest = read(&mut client, details(at(0.0), DateTime::null(), 1));
    assert_eq!(numbers(&oldest), [5.0]);
    let session = client.caller.session;
    assert_eq!(client.server.sessions.get(&session).unwrap().history.len(), 1);
}
