//! Lengths that are not true. The codec sets aside what an extension object of XML claims, up to 2 GiB, before it reads: a small gateway
//! could be ended by one packet. Nothing is decoded that was not walked over.
#![cfg(target_os = "linux")]

use durward_opcua::wire::{context, decode_service, encode_service};
use opcua_types::type_loader::ByteStringBody;
use opcua_types::*;

use crate::hostile::mapped_peak_kib;

/// The body of an extension object that is easy to find.
const MARK: [u8; 5] = [0xaa; 5];

/// An extension object of an unknown type.
pub(crate) fn marked() -> ExtensionObject {
    ExtensionObject::new(ByteStringBody::new(ByteString::from(MARK.to_vec()), NodeId::new(1, 4_711u32)))
}

/// The same bytes, where the marked object is one of XML and claims 2 GiB.
pub(crate) fn lying(bytes: &[u8]) -> Vec<u8> {
    let honest = [&[1, 5, 0, 0, 0][..], &MARK].concat();
    let at = bytes.windows(honest.len()).position(|window| window == honest).expect("the mark is there");
    let mut lying = bytes.to_vec();
    lying[at] = 2;
    lying[at + 1..at + 5].copy_from_slice(&i32::MAX.to_le_bytes());
    lying
}

/// Fails where so much memory was mapped meanwhile that it must have been for the claim.
pub(crate) fn sets_nothing_aside<T>(run: impl FnOnce() -> T) -> T {
    let before = mapped_peak_kib();
    let value = run();
    assert!(mapped_peak_kib() - before < 1 << 20, "a GiB was mapped");
    value
}

fn refused<T: BinaryDecodable + BinaryEncodable + MessageInfo + std::fmt::Debug>(message: &T) {
    let owned = context();
    let body = encode_service(&owned.context(), message).unwrap();
    decode_service::<T>(&owned.context(), &body).unwrap();
    let lie = lying(&body);
    let error = sets_nothing_aside(|| decode_service::<T>(&owned.context(), &lie).unwrap_err());
    assert_eq!(error.status(), StatusCode::BadDecodingError);
}

fn request_header() -> RequestHeader {
    RequestHeader { additional_header: marked(), ..RequestHeader::default() }
}

fn response_header() -> ResponseHeader {
    ResponseHeader { additional_header: marked(), ..ResponseHeader::default() }
}

fn value() -> Variant {
    Variant::from(marked())
}

/// Whoever connects, and whoever a client of ours connects to.
#[test]
fn headers_that_lie_set_no_memory_aside() {
    refused(&OpenSecureChannelRequest { request_header: request_header(), ..Default::default() });
    refused(&GetEndpointsRequest { request_header: request_header(), ..Default::default() });
    refused(&FindServersRequest { request_header: request_header(), ..Default::default() });
    refused(&CreateSessionRequest { request_header: request_header(), ..Default::default() });
    refused(&CloseSessionRequest { request_header: request_header(), ..Default::default() });
    refused(&CancelRequest { request_header: request_header(), ..Default::default() });
    refused(&OpenSecureChannelResponse { response_header: response_header(), ..Default::default() });
    refused(&GetEndpointsResponse { response_header: response_header(), ..Default::default() });
    refused(&CreateSessionResponse { response_header: response_header(), ..Default::default() });
    refused(&ActivateSessionResponse { response_header: response_header(), ..Default::default() });
    refused(&PublishResponse { response_header: response_header(), ..Default::default() });
}

#[test]
fn user_tokens_that_lie_set_no_memory_aside() {
    refused(&ActivateSessionRequest { user_identity_token: marked(), ..Default::default() });
}

#[test]
fn values_arguments_filters_and_details_that_lie_set_no_memory_aside() {
    let call = CallMethodRequest { input_arguments: Some(vec![value()]), ..Default::default() };
    refused(&CallRequest { methods_to_call: Some(vec![call]), ..Default::default() });
    let write = WriteValue { value: DataValue::value_only(value()), ..Default::default() };
    refused(&WriteRequest { nodes_to_write: Some(vec![write]), ..Default::default() });
    refused(&HistoryReadRequest { history_read_details: marked(), ..Default::default() });
    let parameters = || MonitoringParameters { filter: marked(), ..Default::default() };
    let item = MonitoredItemCreateRequest { requested_parameters: parameters(), ..Default::default() };
    refused(&CreateMonitoredItemsRequest { items_to_create: Some(vec![item]), ..Default::default() });
    let item = MonitoredItemModifyRequest { requested_parameters: parameters(), ..Default::default() };
    refused(&ModifyMonitoredItemsRequest { items_to_modify: Some(vec![item]), ..Default::default() });
}

#[test]
fn results_and_notifications_that_lie_set_no_memory_aside() {
    refused(&ReadResponse { results: Some(vec![DataValue::value_only(value())]), ..Default::default() });
    let result = CallMethodResult { output_arguments: Some(vec![value()]), ..Default::default() };
    refused(&CallResponse { results: Some(vec![result]), ..Default::default() });
    let result = HistoryReadResult { history_data: marked(), ..Default::default() };
    refused(&HistoryReadResponse { results: Some(vec![result]), ..Default::default() });
    let result = MonitoredItemCreateResult { filter_result: marked(), ..Default::default() };
    refused(&CreateMonitoredItemsResponse { results: Some(vec![result]), ..Default::default() });

    // Inside of a structure that is looked into after the message was decoded.
    let change = MonitoredItemNotification { client_handle: 1, value: DataValue::value_only(value()) };
    let changes = DataChangeNotification { monitored_items: Some(vec![change]), diagnostic_infos: None };
    let event = EventFieldList { client_handle: 1, event_fields: Some(vec![value()]) };
    let events = EventNotificationList { events: Some(vec![event]) };
    for data in [ExtensionObject::new(changes), ExtensionObject::new(events)] {
        let notification_message =
            NotificationMessage { notification_data: Some(vec![data]), ..Default::default() };
        refused(&PublishResponse { notification_message, ..Default::default() });
    }
    let history = HistoryData { data_values: Some(vec![DataValue::value_only(value())]) };
    let result = HistoryReadResult { history_data: ExtensionObject::new(history), ..Default::default() };
    refused(&HistoryReadResponse { results: Some(vec![result]), ..Default::default() });
}
