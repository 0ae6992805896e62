//! Deserialization of types from a `Value`.

use serde::de::{DeserializeSeed, Deserializer, EnumAccess, Error as _, IntoDeserializer, VariantAccess, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::{Error, Number, Value};

use super::type_of;

/// A deserializer that owns a value.
pub(super) struct ValueDeserializer(pub(super) Value);

impl<'de> IntoDeserializer<'de, Error> for ValueDeserializer {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

/// Visits a number as `u64` if possible, else as `i64`, else as `f64`.
fn visit_number<'de, V: Visitor<'de>>(number: &Number, visitor: V) -> Result<V::Value, Error> {
    if let Some(whole) = number.as_u64() {
        return visitor.visit_u64(whole);
    }
    if let Some(whole) = number.as_i64() {
        return visitor.visit_i64(whole);
    }
    match number.as_f64() {
        Some(double) => visitor.visit_f64(double),
        None => Err(Error::custom(format_args!("the number {number} is out of range"))),
    }
}

impl<'de> Deserializer<'de> for ValueDeserializer {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            Value::Null => visitor.visit_unit(),
            Value::Bool(flag) => visitor.visit_bool(flag),
            Value::Number(number) => visit_number(&number, visitor),
            Value::String(text) => visitor.visit_string(text),
            Value::Array(items) => {
                let mut items = serde::de::value::SeqDeserializer::new(items.into_iter().map(ValueDeserializer));
                let value = visitor.visit_seq(&mut items)?;
                items.end()?;
                Ok(value)
            }
            Value::Object(fields) => {
                let fields = fields.into_iter().map(|(name, value)| (name, ValueDeserializer(value)));
                let mut fields = serde::de::value::MapDeserializer::new(fields);
                let value = visitor.visit_map(&mut fields)?;
                fields.end()?;
                Ok(value)
            }
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.0.is_null() {
            return visitor.visit_none();
        }
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        let mut fields = match self.0 {
            Value::String(name) => return visitor.visit_enum(IntoDeserializer::<Error>::into_deserializer(name)),
            Value::Object(fields) => fields.into_iter(),
            other => return Err(Error::custom(format_args!("expected a name, found {}", type_of(&other)))),
        };
        match (fields.next(), fields.next()) {
            (Some((name, value)), None) => visitor.visit_enum(VariantDeserializer { name, value }),
            _ => Err(Error::custom("expected an object with one field")),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map struct identifier ignored_any
    }
}

struct VariantDeserializer {
    name: String,
    value: Value,
}

impl<'de> EnumAccess<'de> for VariantDeserializer {
    type Error = Error;
    type Variant = ValueDeserializer;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, ValueDeserializer), Error> {
        let name = seed.deserialize(IntoDeserializer::<Error>::into_deserializer(self.name))?;
        Ok((name, ValueDeserializer(self.value)))
    }
}

impl<'de> VariantAccess<'de> for ValueDeserializer {
    type Error = Error;

    fn unit_variant(self) -> Result<(), Error> {
        if self.0.is_null() {
            return Ok(());
        }
        Err(Error::custom(format_args!("expected null, found {}", type_of(&self.0))))
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, Error> {
        seed.deserialize(self)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_any(visitor)
    }

    fn struct_variant<V: Visitor<'de>>(self, _: &'static [&'static str], visitor: V) -> Result<V::Value, Error> {
        self.deserialize_any(visitor)
    }
}
