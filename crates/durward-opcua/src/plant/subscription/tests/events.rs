//! Events and their filters.

use opcua_types::{
    AttributeId, ContentFilter, ContentFilterElement, EventFieldList, EventFilter, EventFilterResult,
    EventNotificationList, ExtensionObject, FilterOperator, LiteralOperand, NodeId, ObjectId, ObjectTypeId,
    Operand, PublishResponse, QualifiedName, ReadValueId, SimpleAttributeOperand, StatusCode, Variant,
    WriteValue,
};

use super::sampled;
use crate::authority::MethodCaller;
use crate::permission::{Permission, PermissionRuling};
use crate::plant::test_client::{BEGIN, TestClient};
use crate::plant::{AccessGuard, PlantEvent, limits};

fn field(namespace: u16, name: &str) -> SimpleAttributeOperand {
    SimpleAttributeOperand {
        type_definition_id: ObjectTypeId::BaseEventType.into(),
        browse_path: Some(vec![QualifiedName::new(namespace, name)]),
        attribute_id: AttributeId::Value as u32,
        index_range: opcua_types::NumericRange::None,
    }
}

fn filter(elements: Vec<ContentFilterElement>) -> EventFilter {
    let select_clauses =
        Some(vec![field(0, "Severity"), field(0, "SourceName"), field(2, "Active"), field(0, "Nothing")]);
    EventFilter {
        select_clauses,
        where_clause: ContentFilter { elements: (!elements.is_empty()).then_some(elements) },
    }
}

fn notifier(node: impl Into<NodeId>) -> ReadValueId {
    ReadValueId::new(node.into(), AttributeId::EventNotifier)
}

fn events(message: &PublishResponse) -> Vec<EventFieldList> {
    let data = message.notification_message.notification_data.as_deref().unwrap_or_default();
    data.iter()
        .filter_map(|data| data.inner_as::<EventNotificationList>())
        .flat_map(|list| list.events.clone().unwrap())
        .collect()
}

fn element(filter_operator: FilterOperator, operands: Vec<Operand>) -> ContentFilterElement {
    let filter_operands = Some(operands.into_iter().map(ExtensionObject::from).collect());
    ContentFilterElement { filter_operator, filter_operands }
}

fn severity(client: &TestClient, severity: u16) -> PlantEvent {
    let (kind, source) = (client.plant("HighTemperatureEventType"), client.plant("Boiler.Alarms"));
    PlantEvent::new(client.server.space(), &kind, &source, [1; 16], "a test", severity, client.now)
        .with(2, "Active", true)
}

/// How many of the events of severity 100, 500 and 900 pass.
fn passed(elements: Vec<ContentFilterElement>) -> usize {
    let mut client = TestClient::boiler();
    let id = client.subscribe(100, 5);
    let parameters = sampled(1, 0, true, ExtensionObject::new(filter(elements)));
    let result = client.create(id, notifier(ObjectId::Server), parameters).unwrap();
    assert_eq!(result.status_code, StatusCode::Good);
    let all: Vec<PlantEvent> = [100, 500, 900].map(|number| severity(&client, number)).into();
    client.server.raise(&all);
    client.publish();
    client.run(100);
    events(&client.message()).len()
}

#[test]
fn events_are_seen_at_their_source_and_above() {
    let mut client = TestClient::boiler();
    let id = client.subscribe(100, 5);
    let nodes = [NodeId::from(ObjectId::Server), client.plant("Boiler"), client.plant("Boiler.Alarms")];
    for (handle, node) in nodes.into_iter().enumerate() {
        let parameters = sampled(handle as u32, 0, true, ExtensionObject::new(filter(Vec::new())));
        assert_eq!(client.create(id, notifier(node), parameters).unwrap().status_code, StatusCode::Good);
    }
    let event = severity(&client, 800);
    client.server.raise(&[event]);
    client.publish();
    client.run(100);
    let seen = events(&client.message());
    assert_eq!(seen.iter().map(|list| list.client_handle).collect::<Vec<_>>(), [0, 1, 2]);
    let expected = vec![Variant::from(800u16), Variant::from("Alarms"), Variant::from(true), Variant::Empty];
    assert_eq!(seen[0].event_fields, Some(expected));
}

#[test]
fn the_boiler_raises_an_alarm_and_takes_it_back() {
    let mut client = TestClient::boiler();
    let id = client.subscribe(1_000, 300);
    let parameters = sampled(1, 0, true, ExtensionObject::new(filter(Vec::new())));
    let boiler = client.plant("Boiler");
    client.create(id, notifier(boiler), parameters).unwrap();
    let mode = client.plant("Boiler.Mode");
    client.write(WriteValue::value_attr(mode.clone(), "Manual".into()));
    let burner = client.plant("Boiler.Burner.SetPoint");
    client.write(WriteValue::value_attr(burner, 100.0.into()));
    for _ in 0..8 {
        client.publish();
    }
    client.run(60_000);
    let alarm = client.plant("Boiler.HighTemperature");
    assert_eq!(client.value(alarm.clone()), Variant::from(true));
    client.write(WriteValue::value_attr(mode, "Maintenance".into()));
    client.run(60_000);
    assert_eq!(client.value(alarm), Variant::from(false));
    let all = client.published();
    let active: Vec<Variant> = all
        .iter()
        .flat_map(|(_, message)| events(message.as_ref().unwrap()))
        .map(|list| list.event_fields.unwrap()[2].clone())
        .collect();
    assert_eq!(active, [Variant::from(true), Variant::from(false)]);
}

#[test]
fn where_clauses_choose_events() {
    let number = || Operand::from(field(0, "Severity"));
    let literal = |value: u16| Operand::literal(value);
    let at_least = |value| element(FilterOperator::GreaterThanOrEqual, vec![number(), literal(value)]);
    let below = |value| element(FilterOperator::LessThan, vec![number(), literal(value)]);
    assert_eq!(passed(Vec::new()), 3);
    assert_eq!(passed(vec![at_least(500)]), 2);
    assert_eq!(passed(vec![at_least(501)]), 1);
    assert_eq!(passed(vec![element(FilterOperator::Equals, vec![number(), literal(500)])]), 1);
    let both = |operator| {
        vec![element(operator, vec![Operand::element(1), Operand::element(2)]), at_least(500), below(900)]
    };
    assert_eq!(passed(both(FilterOperator::And)), 1);
    assert_eq!(passed(both(FilterOperator::Or)), 3);
    assert_eq!(passed(vec![element(FilterOperator::Not, vec![Operand::element(1)]), at_least(500)]), 1);
    let of_type = |id: NodeId| vec![element(FilterOperator::OfType, vec![Operand::literal(id)])];
    assert_eq!(passed(of_type(ObjectTypeId::BaseEventType.into())), 3);
    assert_eq!(passed(of_type(ObjectTypeId::FolderType.into())), 0);
    let between =
        |low, high| vec![element(FilterOperator::Between, vec![number(), literal(low), literal(high)])];
    assert_eq!((passed(between(100, 500)), passed(between(101, 899)), passed(between(900, 100))), (2, 1, 0));
    let types = [ObjectTypeId::FolderType.into(), TestClient::boiler().plant("HighTemperatureEventType")]
        .map(Operand::literal::<NodeId>);
    let in_list = |types: &[Operand]| [&[Operand::from(field(0, "EventType"))], types].concat();
    assert_eq!(passed(vec![element(FilterOperator::InList, in_list(&types))]), 3);
    assert_eq!(passed(vec![element(FilterOperator::InList, in_list(&types[..1]))]), 0);
    let null = element(FilterOperator::IsNull, vec![Operand::from(field(0, "Nothing"))]);
    assert_eq!(passed(vec![null]), 3);
}

#[test]
fn a_clause_whose_elements_are_each_used_twice_is_evaluated_at_once() {
    // Evaluated from the first element on, this would take 2^49 steps.
    let last = limits::WHERE_ELEMENTS_MAX - 1;
    let twice = |place: usize| {
        let next = || Operand::element(place as u32 + 1);
        element(
            if place.is_multiple_of(2) { FilterOperator::And } else { FilterOperator::Or },
            vec![next(), next()],
        )
    };
    let mut elements: Vec<ContentFilterElement> = (0..last).map(twice).collect();
    elements.push(element(
        FilterOperator::Equals,
        vec![Operand::from(field(0, "Severity")), Operand::literal(500u16)],
    ));
    assert_eq!(passed(elements), 1);
}

#[test]
fn filters_that_cannot_be_evaluated_are_refused() {
    let mut client = TestClient::boiler();
    let id = client.subscribe(100, 5);
    let mut status = |node: NodeId, filter: ExtensionObject| {
        client.create(id, notifier(node), sampled(1, 0, true, filter)).unwrap().status_code
    };
    let server = || NodeId::from(ObjectId::Server);
    let with = |elements| ExtensionObject::new(filter(elements));
    let ones = |operator, operands| with(vec![element(operator, operands)]);
    assert_eq!(status(server(), ExtensionObject::null()), StatusCode::BadEventFilterInvalid);
    assert_eq!(
        status(server(), ExtensionObject::new(EventFilter::default())),
        StatusCode::BadEventFilterInvalid
    );
    let like = ones(FilterOperator::Like, vec![Operand::literal("a"), Operand::literal("b")]);
    assert_eq!(status(server(), like), StatusCode::BadFilterOperatorUnsupported);
    let itself = ones(FilterOperator::Not, vec![Operand::element(0)]);
    assert_eq!(status(server(), itself), StatusCode::BadFilterElementInvalid, "elements refer to later ones");
    let few = ones(FilterOperator::Equals, vec![Operand::literal(1i32)]);
    assert_eq!(status(server(), few), StatusCode::BadFilterOperandCountMismatch);
    let no_type = ones(FilterOperator::OfType, vec![Operand::literal(1i32)]);
    assert_eq!(status(server(), no_type), StatusCode::BadFilterOperandInvalid);
    let long = Operand::literal("x".repeat(limits::FILTER_BYTES_MAX).as_str());
    let long = ones(FilterOperator::Equals, vec![Operand::literal(1i32), long]);
    assert_eq!(status(server(), long), StatusCode::BadEventFilterInvalid);
    let many =
        vec![element(FilterOperator::IsNull, vec![Operand::literal(1i32)]); limits::WHERE_ELEMENTS_MAX + 1];
    assert_eq!(status(server(), with(many)), StatusCode::BadEventFilterInvalid);
    let folder = NodeId::from(ObjectId::ObjectsFolder);
    assert_eq!(status(folder, with(Vec::new())), StatusCode::BadNotSupported, "it tells of no events");
}

#[test]
fn clauses_about_unknown_types_are_told_of_and_give_null() {
    let mut client = TestClient::boiler();
    let id = client.subscribe(100, 5);
    let unknown =
        SimpleAttributeOperand { type_definition_id: NodeId::new(9, "Type"), ..field(0, "Severity") };
    let select_clauses = Some(vec![field(0, "Severity"), unknown]);
    let filter = EventFilter { select_clauses, ..EventFilter::default() };
    let result = client
        .create(id, notifier(ObjectId::Server), sampled(1, 0, true, ExtensionObject::new(filter)))
        .unwrap();
    let told = result.filter_result.inner_as::<EventFilterResult>().unwrap();
    assert_eq!(
        told.select_clause_results,
        Some(vec![StatusCode::Good, StatusCode::BadTypeDefinitionInvalid])
    );
    assert_eq!(result.status_code, StatusCode::Good);
}

/// Whoever is called bert receives no events.
struct NotBert;

impl AccessGuard for NotBert {
    fn rule(&self, caller: &MethodCaller, permission: Permission, _node: &NodeId) -> PermissionRuling {
        let refused = permission == Permission::ReceiveEvents && *caller == bert();
        if refused { PermissionRuling::DENIED } else { PermissionRuling::Granted }
    }
}

fn bert() -> MethodCaller {
    crate::plant::test_client::caller(1, "bert")
}

#[test]
fn a_user_who_may_not_receive_events_gets_none_of_an_item_that_was_there() {
    let server = crate::plant::boiler("urn:test:server", 0, BEGIN).unwrap().with_guard(NotBert);
    let mut client = TestClient::new(server);
    let id = client.subscribe(100, 2);
    let parameters = || sampled(1, 0, true, ExtensionObject::new(filter(Vec::new())));
    client.create(id, notifier(ObjectId::Server), parameters()).unwrap();
    let event = severity(&client, 800);
    client.server.raise(std::slice::from_ref(&event));
    client.caller = bert();
    client.server.change_user(&client.caller);
    client.server.raise(&[event]);
    client.publish();
    client.run(200);
    assert_eq!(events(&client.message()), []);
    let refused = client.create(id, notifier(ObjectId::Server), parameters()).unwrap();
    assert_eq!(refused.status_code, StatusCode::BadUserAccessDenied);
}

#[test]
fn literals_that_are_expanded_ids_name_types() {
    let id = opcua_types::ExpandedNodeId::from(NodeId::from(ObjectTypeId::BaseEventType));
    let operand = ExtensionObject::new(LiteralOperand { value: Variant::from(id) });
    let clause = ContentFilterElement {
        filter_operator: FilterOperator::OfType,
        filter_operands: Some(vec![operand]),
    };
    assert_eq!(passed(vec![clause]), 3);
}
