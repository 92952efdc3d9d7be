//! Bytes that make no sense, from a seed: every request is answered or refused, nothing panics.

use opcua_types::{
    BrowseNextRequest, BrowseRequest, CallMethodRequest, CallRequest, CreateMonitoredItemsRequest,
    CreateSubscriptionRequest, CreateSubscriptionResponse, DataChangeFilter, DeleteSubscriptionsRequest,
    ExtensionObject, HistoryReadRequest, MonitoredItemCreateRequest, MonitoringMode, MonitoringParameters,
    ObjectId, PublishRequest, ReadRawModifiedDetails, ReadRequest, ReadValueId, ReferenceTypeId, StatusCode,
    TransferSubscriptionsRequest, Variant, WriteRequest, WriteValue,
};

use crate::plant::ServerReply;
use crate::plant::test_client::{TestClient, below};

/// Numbers from a seed (xorshift).
struct Seeded(u64);

impl Seeded {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }
}

/// Requests that are right, to be spoiled.
fn requests(client: &TestClient) -> Vec<(u32, Vec<u8>)> {
    let map = client.plant("Boiler.ThermalMap");
    let range =
        ReadValueId { index_range: "0:1,1:2".parse().unwrap(), ..ReadValueId::new_value(map.clone()) };
    let filter = DataChangeFilter { deadband_type: 1, deadband_value: 0.5, ..DataChangeFilter::default() };
    let parameters =
        MonitoringParameters { filter: ExtensionObject::new(filter), ..MonitoringParameters::default() };
    let item = MonitoredItemCreateRequest::new(
        ReadValueId::new_value(client.plant("Boiler.Level")),
        MonitoringMode::Reporting,
        parameters,
    );
    let call = CallMethodRequest {
        object_id: client.plant("Boiler.Recipe"),
        method_id: client.plant("Boiler.Recipe.Load"),
        input_arguments: Some(vec![Variant::from("Clean")]),
    };
    macro_rules! all {
        ($($name:ident { $($field:ident: $value:expr),* }),* $(,)?) => {
            vec![$({
                let request = $name { $($field: $value,)* ..$name::default() };
                (opcua_types::MessageInfo::type_id(&request) as u32, client.bytes(&request))
            }),*]
        };
    }
    all!(
        ReadRequest { nodes_to_read: Some(vec![range, ReadValueId::new_value(map)]) },
        WriteRequest {
            nodes_to_write: Some(vec![WriteValue::value_attr(
                client.plant("Boiler.Recipe.Targets"),
                vec![1.0, 2.0, 3.0].into()
            )])
        },
        BrowseRequest {
            nodes_to_browse: Some(vec![below(ObjectId::ObjectsFolder, ReferenceTypeId::References)])
        },
        BrowseNextRequest { continuation_points: Some(vec![1u64.to_le_bytes().to_vec().into()]) },
        CallRequest { methods_to_call: Some(vec![call]) },
        CreateSubscriptionRequest { requested_publishing_interval: 10.0 },
        CreateMonitoredItemsRequest { subscription_id: 1, items_to_create: Some(vec![item]) },
        PublishRequest {},
        TransferSubscriptionsRequest { subscription_ids: Some(vec![1, 2]), send_initial_values: true },
        DeleteSubscriptionsRequest { subscription_ids: Some(vec![7]) },
        HistoryReadRequest {
            history_read_details: ExtensionObject::new(ReadRawModifiedDetails::default()),
            nodes_to_read: Some(vec![Default::default()])
        },
    )
}

#[test]
fn spoiled_requests_are_answered_or_refused() {
    let mut client = TestClient::boiler();
    client.ask::<_, CreateSubscriptionResponse>(&CreateSubscriptionRequest::default()).unwrap();
    let right = requests(&client);
    let mut seeded = Seeded(0x1234_5678_9abc_def1);
    let (mut answered, mut refused) = (0, 0);
    for round in 0..20_000 {
        let (type_id, mut body) = right[seeded.below(right.len())].clone();
        match seeded.below(4) {
            0 => body.truncate(seeded.below(body.len() + 1)),
            1 => body = (0..seeded.below(200)).map(|_| seeded.next() as u8).collect(),
            _ => {
                for _ in 0..=seeded.below(3) {
                    let place = seeded.below(body.len());
                    body[place] = seeded.next() as u8;
                }
            }
        }
        match client.server.answer(&client.caller, type_id, &body, client.now) {
            Ok(ServerReply::Now(_) | ServerReply::Later(_) | ServerReply::Calls(_)) => answered += 1,
            Err(_) => refused += 1,
        }
        if round % 10 == 0 {
            client.advance(10);
            client.server.tick(client.now);
            client.server.take_deliveries();
        }
    }
    assert!(answered > 500 && refused > 500, "{answered} answered, {refused} refused: both ways were tried");
    let level = client.plant("Boiler.Level");
    client.value(level);
}

#[test]
fn services_that_are_not_there_are_refused() {
    let mut client = TestClient::boiler();
    let services = [
        ObjectId::AddNodesRequest_Encoding_DefaultBinary,
        ObjectId::QueryFirstRequest_Encoding_DefaultBinary,
        ObjectId::HistoryUpdateRequest_Encoding_DefaultBinary,
        ObjectId::ReadResponse_Encoding_DefaultBinary,
    ];
    for service in services {
        let answer = client.server.answer(&client.caller, service as u32, &[], client.now);
        assert_eq!(answer.err(), Some(StatusCode::BadServiceUnsupported), "{service:?}");
    }
    assert_eq!(
        client.server.answer(&client.caller, 4_000_000_000, &[], client.now).err(),
        Some(StatusCode::BadServiceUnsupported)
    );
    client.advance(1);
}
