//! HistoryRead of raw values (Part 4, 5.11.3; Part 11, 6.4.3).

use std::collections::VecDeque;

use durward_identity::Moment;
use opcua_types::{
    ContinuationPoint, DataValue, DateTime, ExtensionObject, HistoryData, HistoryReadRequest,
    HistoryReadResponse, HistoryReadResult, HistoryReadValueId, ReadRawModifiedDetails, StatusCode,
    TimestampsToReturn,
};

use super::attribute::valid_timestamps;
use crate::authority::MethodCaller;
use crate::permission::Permission;
use crate::plant::limits;
use crate::plant::node::access;
use crate::plant::server::{PlantServer, bad_value, good, operations};
use crate::plant::space::is_unset;
use crate::plant::value;

/// What is left of a history that was read: the values themselves, so that it does not change while it is read.
#[derive(Clone, Debug)]
pub(crate) struct HistoryPoint {
    node: opcua_types::NodeId,
    left: VecDeque<DataValue>,
}

/// What is asked for, checked: from where to where, which way, how many at a time.
#[derive(Clone, Copy, Debug)]
struct HistorySpan {
    first: DateTime,
    last: DateTime,
    backwards: bool,
    bounds: bool,
    most: usize,
}

impl PlantServer {
    pub(crate) fn history_read(
        &mut self,
        caller: &MethodCaller,
        body: &[u8],
        now: Moment,
    ) -> Result<Vec<u8>, StatusCode> {
        let request: HistoryReadRequest = self.codec.decode(body)?;
        let timestamps = valid_timestamps(request.timestamps_to_return)?;
        if timestamps == TimestampsToReturn::Neither {
            return Err(StatusCode::BadTimestampsToReturnInvalid);
        }
        let nodes = operations(request.nodes_to_read, limits::HISTORY_NODES_MAX)?;
        let details = request.history_read_details.inner_as::<ReadRawModifiedDetails>();
        let results: Vec<HistoryReadResult> = if request.release_continuation_points {
            nodes.iter().map(|node| self.release(caller, &node.continuation_point)).collect()
        } else {
            let details = details
                .filter(|details| !details.is_read_modified)
                .ok_or(StatusCode::BadHistoryOperationUnsupported)?;
            let span = span(details)?;
            nodes.iter().map(|node| self.history_of(caller, node, span, timestamps)).collect()
        };
        let response_header = good(request.request_header.request_handle, now);
        self.codec.encode(&HistoryReadResponse {
            response_header,
            results: Some(results),
            diagnostic_infos: None,
        })
    }

    fn release(&mut self, caller: &MethodCaller, point: &ContinuationPoint) -> HistoryReadResult {
        match self.session(caller).history.take(point) {
            Some(_) => HistoryReadResult::default(),
            None => failed(StatusCode::BadContinuationPointInvalid),
        }
    }

    fn history_of(
        &mut self,
        caller: &MethodCaller,
        node: &HistoryReadValueId,
        span: HistorySpan,
        timestamps: TimestampsToReturn,
    ) -> HistoryReadResult {
        let found = self.past_values(caller, node, span);
        match found.and_then(|values| self.deliver(caller, node, values, span.most, timestamps)) {
            Ok(result) => result,
            Err(status) => failed(status),
        }
    }

    /// The values of the span, or what an earlier request left of them.
    fn past_values(
        &mut self,
        caller: &MethodCaller,
        node: &HistoryReadValueId,
        span: HistorySpan,
    ) -> Result<VecDeque<DataValue>, StatusCode> {
        self.allowed(caller, Permission::ReadHistory, &node.node_id)?;
        if !node.continuation_point.is_null_or_empty() {
            let point = self.session(caller).history.take(&node.continuation_point);
            let point = point
                .filter(|point| point.node == node.node_id)
                .ok_or(StatusCode::BadContinuationPointInvalid)?;
            return Ok(point.left);
        }
        let variable = self.space.node(&node.node_id).ok_or(StatusCode::BadNodeIdUnknown)?.variable();
        let readable = variable.filter(|variable| variable.access_level & access::HISTORY_READ != 0);
        let history = readable
            .and_then(|variable| variable.history.as_ref())
            .ok_or(StatusCode::BadHistoryOperationUnsupported)?;
        Ok(select(history, span))
    }

    fn deliver(
        &mut self,
        caller: &MethodCaller,
        node: &HistoryReadValueId,
        mut values: VecDeque<DataValue>,
        most: usize,
        timestamps: TimestampsToReturn,
    ) -> Result<HistoryReadResult, StatusCode> {
        let count = values.len().min(most);
        let mut now: Vec<DataValue> = values.drain(..count).collect();
        for value in &mut now {
            if let (true, Some(whole)) = (node.index_range.has_range(), value.value.as_ref()) {
                value.value = Some(value::part(whole, &node.index_range)?);
            }
            if timestamps == TimestampsToReturn::Source {
                value.server_timestamp = None;
            }
            if timestamps == TimestampsToReturn::Server {
                value.source_timestamp = None;
            }
        }
        let continuation_point = if values.is_empty() {
            ContinuationPoint::null()
        } else {
            let left = HistoryPoint { node: node.node_id.clone(), left: values };
            self.session(caller).history.keep(left, limits::HISTORY_POINTS_MAX)?
        };
        let status_code = if now.is_empty() { StatusCode::GoodNoData } else { StatusCode::Good };
        let history_data = ExtensionObject::new(HistoryData { data_values: Some(now) });
        Ok(HistoryReadResult { status_code, continuation_point, history_data })
    }
}

fn failed(status_code: StatusCode) -> HistoryReadResult {
    HistoryReadResult { status_code, ..HistoryReadResult::default() }
}

/// Two of start, end and number of values must be given (Part 11, 6.4.3.2).
fn span(details: &ReadRawModifiedDetails) -> Result<HistorySpan, StatusCode> {
    let (start, end) = (details.start_time, details.end_time);
    let count = details.num_values_per_node as usize;
    let most = if count == 0 { limits::HISTORY_RESULT_MAX } else { count.min(limits::HISTORY_RESULT_MAX) };
    let (first, last, backwards) = match (is_unset(start), is_unset(end), count) {
        (false, false, _) if start <= end => (start, end, false),
        (false, false, _) => (end, start, true),
        (false, true, 1..) => (start, DateTime::endtimes(), false),
        (true, false, 1..) => (DateTime::null(), end, true),
        _ => return Err(StatusCode::BadHistoryOperationInvalid),
    };
    Ok(HistorySpan { first, last, backwards, bounds: details.return_bounds, most })
}

/// The values of the span in its order. The end is not part of it, unless it is the start as well or bounds were asked for.
fn select(history: &VecDeque<DataValue>, span: HistorySpan) -> VecDeque<DataValue> {
    let time = |value: &DataValue| value.source_timestamp.unwrap_or_default();
    let inside = |value: &DataValue| {
        let at = time(value);
        let within = at >= span.first && at <= span.last;
        let end = if span.backwards { span.first } else { span.last };
        within && (span.bounds || at != end || span.first == span.last)
    };
    let mut values: VecDeque<DataValue> = history.iter().filter(|value| inside(value)).cloned().collect();
    if span.bounds {
        if values.front().is_none_or(|value| time(value) > span.first) {
            let before = history.iter().rev().find(|value| time(value) < span.first).cloned();
            values.push_front(before.unwrap_or_else(|| no_bound(span.first)));
        }
        if values.back().is_none_or(|value| time(value) < span.last) {
            let after = history.iter().find(|value| time(value) > span.last).cloned();
            values.push_back(after.unwrap_or_else(|| no_bound(span.last)));
        }
    }
    if span.backwards {
        values.make_contiguous().reverse();
    }
    values
}

/// Says at which moment a bound was asked for and that there is none.
fn no_bound(time: DateTime) -> DataValue {
    DataValue {
        source_timestamp: Some(time),
        server_timestamp: Some(time),
        ..bad_value(StatusCode::BadBoundNotFound)
    }
}
