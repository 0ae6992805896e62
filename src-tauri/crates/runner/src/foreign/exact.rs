//! The parts of a span that the log's plain JSON loses and an export needs: which values were doubles or lists of
//! fields, and flags, schema URLs and counts that Flowglass does not use.
//!
//! They are kept in a field of their own. Two spans are compared without this field, because logs of earlier versions
//! do not have it.

use std::collections::{HashMap, HashSet};

use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue, any_value};
use serde_json::{Map, Value, json};

use super::span::put;

/// The field of a span, and of a scope, which has that of its resource in it.
pub(super) const EXACT: &str = "otlp";
/// Attributes that are nested deeper are texts.
pub(super) const MAX_DEPTH: usize = 64;

const DOUBLES: &str = "doubles";
const FIELDS: &str = "fields";
/// Repeated names, of which only the last values are kept.
pub(super) const REPEATED: &str = "repeated";

/// The places of values that would be exported differently. A place is the path of names, each after a `/`.
#[derive(Debug, Default)]
pub(super) struct Marks {
    doubles: Vec<Value>,
    fields: Vec<Value>,
    repeated: Vec<Value>,
    path: String,
}

impl Marks {
    /// Runs `inside` at a place inside this one.
    fn within(&mut self, name: &str, inside: impl FnOnce(&mut Marks)) {
        let length = self.path.len();
        self.path.push('/');
        self.path.push_str(name);
        inside(self);
        self.path.truncate(length);
    }

    /// Examines only the last value of each name, because only that is kept.
    fn last_of_each<'v, V: 'v>(
        &mut self,
        pairs: impl Iterator<Item = (&'v str, &'v V)>,
        look: impl Fn(&mut Marks, &'v V),
    ) {
        let pairs: Vec<(&str, &V)> = pairs.collect();
        let mut last: HashMap<&str, (usize, bool)> = HashMap::with_capacity(pairs.len());
        for (at, (name, _)) in pairs.iter().enumerate() {
            last.entry(*name).and_modify(|known| *known = (at, true)).or_insert((at, false));
        }
        for (at, (name, value)) in pairs.into_iter().enumerate() {
            let Some((_, is_repeated)) = last.get(name).filter(|(last, _)| *last == at) else { continue };
            self.within(name, |marks| {
                if *is_repeated {
                    marks.repeated.push(marks.path.as_str().into());
                }
                look(marks, value);
            });
        }
    }

    fn double(&mut self, number: Option<f64>) {
        // Others are doubles as JSON, too.
        if number.is_none_or(|number| !number.is_finite() || number.fract() == 0.0) {
            self.doubles.push(self.path.as_str().into());
        }
    }

    /// Examines attributes in JSON.
    pub(super) fn json(&mut self, place: &str, attributes: &Value) {
        self.within(place, |marks| marks.json_pairs(attributes, 0));
    }

    fn json_pairs(&mut self, attributes: &Value, depth: usize) {
        let pairs = attributes.as_array().into_iter().flatten();
        let pairs = pairs.filter_map(|pair| Some((pair["key"].as_str()?, &pair["value"])));
        self.last_of_each(pairs, |marks, value| marks.json_value(value, depth));
    }

    fn json_value(&mut self, value: &Value, depth: usize) {
        let Some((name, inner)) = value.as_object().and_then(|fields| fields.iter().next()) else { return };
        match name.as_str() {
            _ if depth > MAX_DEPTH => {}
            "doubleValue" => self.double(inner.as_f64()),
            "arrayValue" => {
                for (at, item) in inner["values"].as_array().into_iter().flatten().enumerate() {
                    self.within(&at.to_string(), |marks| marks.json_value(item, depth + 1));
                }
            }
            "kvlistValue" => {
                let pairs = inner["values"].as_array().map_or(&[][..], Vec::as_slice);
                self.fields_like_bytes(pairs.len(), pairs.first().and_then(|pair| pair["key"].as_str()));
                self.json_pairs(&inner["values"], depth + 1);
            }
            _ => {}
        }
    }

    /// Examines attributes in protobuf.
    pub(super) fn protobuf(&mut self, place: &str, attributes: &[KeyValue]) {
        self.within(place, |marks| marks.protobuf_pairs(attributes));
    }

    fn protobuf_pairs(&mut self, attributes: &[KeyValue]) {
        let pairs = attributes.iter().map(|KeyValue { key, value, .. }| (key.as_str(), value));
        self.last_of_each(pairs, |marks, value| value.iter().for_each(|value| marks.protobuf_value(value)));
    }

    fn protobuf_value(&mut self, value: &AnyValue) {
        match &value.value {
            Some(any_value::Value::DoubleValue(number)) => self.double(Some(*number)),
            Some(any_value::Value::ArrayValue(list)) => {
                for (at, item) in list.values.iter().enumerate() {
                    self.within(&at.to_string(), |marks| marks.protobuf_value(item));
                }
            }
            Some(any_value::Value::KvlistValue(list)) => {
                self.fields_like_bytes(list.values.len(), list.values.first().map(|pair| pair.key.as_str()));
                self.protobuf_pairs(&list.values);
            }
            _ => {}
        }
    }

    /// Notes objects with one field that look like stored bytes.
    fn fields_like_bytes(&mut self, count: usize, first: Option<&str>) {
        if count == 1 && first == Some("base64") {
            self.fields.push(self.path.as_str().into());
        }
    }

    /// Adds the places to the kept data.
    pub(super) fn into_exact(self, exact: &mut Map<String, Value>) {
        put(exact, DOUBLES, self.doubles.into());
        put(exact, FIELDS, self.fields.into());
        put(exact, REPEATED, self.repeated.into());
    }
}

/// Adds the kept data to fields, if there is any.
pub(super) fn keep(fields: &mut Map<String, Value>, exact: Map<String, Value>) {
    put(fields, EXACT, exact.into());
}

/// A scope, which spans share, with the kept data of it and of its resource.
pub(super) fn scope(
    (name, version, attributes): (String, String, Map<String, Value>),
    mut exact: Map<String, Value>,
    of_resource: Map<String, Value>,
) -> Value {
    put(&mut exact, "resource", of_resource.into());
    let mut scope = json!({ "name": name, "version": version, "attributes": attributes });
    if let Some(fields) = scope.as_object_mut() {
        keep(fields, exact);
    }
    scope
}

/// The kept data, for exporting values as they arrived.
#[derive(Debug, Default)]
pub(super) struct Exact<'e> {
    of: Option<&'e Map<String, Value>>,
    doubles: HashSet<&'e str>,
    fields: HashSet<&'e str>,
}

impl<'e> Exact<'e> {
    /// Reads the kept data of a span or a scope.
    pub(super) fn of(holder: Option<&'e Value>) -> Exact<'e> {
        let of = holder.and_then(Value::as_object);
        let places = |name: &str| {
            let all = of.and_then(|fields| fields.get(name)?.as_array()).into_iter().flatten();
            all.filter_map(Value::as_str).collect()
        };
        Exact { of, doubles: places(DOUBLES), fields: places(FIELDS) }
    }

    /// A field of the kept data.
    pub(super) fn get(&self, name: &str) -> Option<&'e Value> {
        self.of?.get(name)
    }

    pub(super) fn text(&self, name: &str) -> String {
        self.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
    }

    pub(super) fn count(&self, name: &str) -> u32 {
        self.get(name).map_or(0, count)
    }

    pub(super) fn is_double(&self, place: &str) -> bool {
        self.doubles.contains(place)
    }

    pub(super) fn has_fields(&self, place: &str) -> bool {
        self.fields.contains(place)
    }
}

pub(super) fn count(value: &Value) -> u32 {
    let number = value.as_u64().or_else(|| value.as_str()?.parse().ok());
    number.and_then(|number| u32::try_from(number).ok()).unwrap_or(0)
}
