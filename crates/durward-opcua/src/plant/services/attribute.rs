//! Read and Write (Part 4, 5.11).

use durward_identity::Moment;
use opcua_types::{
    AttributeId, DataValue, QualifiedName, ReadRequest, ReadResponse, ReadValueId, StatusCode,
    TimestampsToReturn, Variant, WriteRequest, WriteResponse, WriteValue,
};

use crate::authority::MethodCaller;
use crate::permission::Permission;
use crate::plant::codec::date_time;
use crate::plant::limits;
use crate::plant::node::access;
use crate::plant::server::{PlantServer, bad_value, good, operations};
use crate::plant::value;

impl PlantServer {
    pub(crate) fn read(
        &self,
        caller: &MethodCaller,
        body: &[u8],
        now: Moment,
    ) -> Result<Vec<u8>, StatusCode> {
        let request: ReadRequest = self.codec.decode(body)?;
        // Values are read when they are asked for, so that any maximum age will do.
        if request.max_age.is_nan() || request.max_age < 0.0 {
            return Err(StatusCode::BadMaxAgeInvalid);
        }
        let timestamps = valid_timestamps(request.timestamps_to_return)?;
        let nodes = operations(request.nodes_to_read, limits::OPERATIONS_MAX)?;
        let results = nodes.iter().map(|node| self.read_value(caller, node, timestamps, now)).collect();
        let response_header = good(request.request_header.request_handle, now);
        self.codec.encode(&ReadResponse { response_header, results: Some(results), diagnostic_infos: None })
    }

    /// What one attribute holds, or why it does not say.
    pub(crate) fn read_value(
        &self,
        caller: &MethodCaller,
        what: &ReadValueId,
        timestamps: TimestampsToReturn,
        now: Moment,
    ) -> DataValue {
        self.try_read(caller, what, timestamps, now).unwrap_or_else(bad_value)
    }

    fn try_read(
        &self,
        caller: &MethodCaller,
        what: &ReadValueId,
        timestamps: TimestampsToReturn,
        now: Moment,
    ) -> Result<DataValue, StatusCode> {
        let is_value = what.attribute_id == AttributeId::Value as u32;
        let mut found = self.space.read(&what.node_id, what.attribute_id, now)?;
        self.allowed(caller, if is_value { Permission::Read } else { Permission::Browse }, &what.node_id)?;
        check_encoding(&what.data_encoding, is_value, found.value.as_ref())?;
        if what.index_range.has_range() {
            let whole = found.value.as_ref().unwrap_or(&Variant::Empty);
            found.value = Some(value::part(whole, &what.index_range)?);
        }
        stamp(&mut found, timestamps, now);
        Ok(found)
    }

    pub(crate) fn write(
        &mut self,
        caller: &MethodCaller,
        body: &[u8],
        now: Moment,
    ) -> Result<Vec<u8>, StatusCode> {
        let request: WriteRequest = self.codec.decode(body)?;
        let nodes = operations(request.nodes_to_write, limits::OPERATIONS_MAX)?;
        let results = nodes
            .into_iter()
            .map(|node| self.write_value(caller, node, now).err().unwrap_or(StatusCode::Good))
            .collect();
        let response_header = good(request.request_header.request_handle, now);
        self.codec.encode(&WriteResponse { response_header, results: Some(results), diagnostic_infos: None })
    }

    fn write_value(
        &mut self,
        caller: &MethodCaller,
        write: WriteValue,
        now: Moment,
    ) -> Result<(), StatusCode> {
        let node = self.space.node(&write.node_id).ok_or(StatusCode::BadNodeIdUnknown)?;
        let attribute =
            AttributeId::from_u32(write.attribute_id).map_err(|_| StatusCode::BadAttributeIdInvalid)?;
        if attribute != AttributeId::Value {
            self.allowed(caller, Permission::WriteAttribute, &write.node_id)?;
            // The attribute must be there to be known as one that cannot be written: WriteMask is 0 everywhere.
            return node.attribute(attribute).and(Err(StatusCode::BadNotWritable));
        }
        let variable = node.variable().ok_or(StatusCode::BadAttributeIdInvalid)?;
        if variable.access_level & access::WRITE == 0 {
            return Err(StatusCode::BadNotWritable);
        }
        self.allowed(caller, Permission::Write, &write.node_id)?;
        check_writable_parts(variable.access_level, &write.value)?;
        let new = write.value.value.unwrap_or_default();
        if self.codec.byte_len(&new) > limits::VALUE_BYTES_MAX {
            return Err(StatusCode::BadOutOfRange);
        }
        let whole = if write.index_range.has_range() {
            value::put(variable.value.value.as_ref().unwrap_or(&Variant::Empty), &write.index_range, &new)?
        } else {
            new
        };
        let checked = value::check_written(&self.space, variable, whole)?;
        self.device.check_write(&self.space, &write.node_id, &checked)?;
        let stored = DataValue {
            value: Some(checked),
            status: write.value.status.filter(|status| *status != StatusCode::Good),
            source_timestamp: Some(write.value.source_timestamp.unwrap_or_else(|| date_time(now))),
            source_picoseconds: None,
            server_timestamp: Some(date_time(now)),
            server_picoseconds: None,
        };
        self.space.store(&write.node_id, stored);
        Ok(())
    }
}

/// Status and timestamps can be written only where the access level says so.
fn check_writable_parts(access_level: u8, value: &DataValue) -> Result<(), StatusCode> {
    let status = value.status.is_some_and(|status| status != StatusCode::Good)
        && access_level & access::STATUS_WRITE == 0;
    let timestamp = (value.source_timestamp.is_some() || value.server_timestamp.is_some())
        && access_level & access::TIMESTAMP_WRITE == 0;
    if status || timestamp { Err(StatusCode::BadWriteNotSupported) } else { Ok(()) }
}

/// An encoding can be asked for of structures, and there is only the binary one (Part 4, 5.11.2).
fn check_encoding(
    encoding: &QualifiedName,
    is_value: bool,
    value: Option<&Variant>,
) -> Result<(), StatusCode> {
    if encoding.is_null() {
        return Ok(());
    }
    let structure = match value {
        Some(Variant::ExtensionObject(_)) => true,
        Some(Variant::Array(array)) => array.value_type == opcua_types::VariantScalarTypeId::ExtensionObject,
        _ => false,
    };
    match (is_value && structure, encoding.namespace_index, encoding.name.as_ref()) {
        (false, _, _) => Err(StatusCode::BadDataEncodingInvalid),
        (true, 0, "Default Binary") => Ok(()),
        (true, _, _) => Err(StatusCode::BadDataEncodingUnsupported),
    }
}

/// Refuses what is no choice of timestamps.
pub(crate) fn valid_timestamps(timestamps: TimestampsToReturn) -> Result<TimestampsToReturn, StatusCode> {
    if timestamps == TimestampsToReturn::Invalid {
        Err(StatusCode::BadTimestampsToReturnInvalid)
    } else {
        Ok(timestamps)
    }
}

/// Leaves the timestamps that were asked for. Attributes other than the value have no source timestamp.
pub(crate) fn stamp(value: &mut DataValue, timestamps: TimestampsToReturn, now: Moment) {
    let (source, server) = match timestamps {
        TimestampsToReturn::Source => (true, false),
        TimestampsToReturn::Server => (false, true),
        TimestampsToReturn::Both => (true, true),
        TimestampsToReturn::Neither | TimestampsToReturn::Invalid => (false, false),
    };
    if !source {
        value.source_timestamp = None;
    }
    value.source_picoseconds = None;
    value.server_timestamp = server.then(|| date_time(now));
    value.server_picoseconds = None;
}
