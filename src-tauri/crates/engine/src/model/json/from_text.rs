//! Deserialization of types from text, without a `Value` in between.

use std::borrow::Cow;

use serde::de::value::StrDeserializer;
use serde::de::{DeserializeSeed, Deserializer, EnumAccess, Error as _, MapAccess, SeqAccess, VariantAccess, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::Error;

use super::reader::{ParsedNumber, Reader, SyntaxError};

impl<'de> Deserializer<'de> for &mut Reader<'de> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.peek() {
            Some(b'"') => match self.string().map_err(|wrong| self.error(wrong))? {
                Cow::Borrowed(text) => visitor.visit_borrowed_str(text),
                Cow::Owned(text) => visitor.visit_string(text),
            },
            Some(b'-' | b'0'..=b'9') => match self.number().map_err(|wrong| self.error(wrong))? {
                ParsedNumber::Unsigned(whole) => visitor.visit_u64(whole),
                ParsedNumber::Signed(whole) => visitor.visit_i64(whole),
                ParsedNumber::Double(double) => visitor.visit_f64(double),
            },
            Some(b'{') => {
                self.enter().map_err(|wrong| self.error(wrong))?;
                let mut entries = Entries { reader: &mut *self, is_first: true, is_over: false };
                let value = visitor.visit_map(&mut entries)?;
                entries.close(b'}')?;
                self.leave();
                Ok(value)
            }
            Some(b'[') => {
                self.enter().map_err(|wrong| self.error(wrong))?;
                let mut entries = Entries { reader: &mut *self, is_first: true, is_over: false };
                let value = visitor.visit_seq(&mut entries)?;
                entries.close(b']')?;
                self.leave();
                Ok(value)
            }
            Some(b'n') => {
                self.word("null").map_err(|wrong| self.error(wrong))?;
                visitor.visit_unit()
            }
            Some(b't') => {
                self.word("true").map_err(|wrong| self.error(wrong))?;
                visitor.visit_bool(true)
            }
            Some(b'f') => {
                self.word("false").map_err(|wrong| self.error(wrong))?;
                visitor.visit_bool(false)
            }
            _ => {
                let unexpected: Result<(), SyntaxError> = self.unexpected();
                Err(unexpected.err().map_or_else(|| Error::custom("expected value"), |wrong| self.error(wrong)))
            }
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.peek() != Some(b'n') {
            return visitor.visit_some(self);
        }
        self.word("null").map_err(|wrong| self.error(wrong))?;
        visitor.visit_none()
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
        match self.peek() {
            Some(b'"') => {
                let name = self.string().map_err(|wrong| self.error(wrong))?;
                visitor.visit_enum(StrDeserializer::<Error>::new(&name))
            }
            Some(b'{') => {
                self.at += 1;
                let value = visitor.visit_enum(&mut *self)?;
                if self.peek() != Some(b'}') {
                    return Err(self.placed(self.at, "expected `}`"));
                }
                self.at += 1;
                Ok(value)
            }
            _ => Err(self.placed(self.at, "expected a name or an object")),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map struct identifier ignored_any
    }
}

/// The entries of a list or an object.
struct Entries<'a, 'de> {
    reader: &'a mut Reader<'de>,
    is_first: bool,
    is_over: bool,
}

impl Entries<'_, '_> {
    fn next(&mut self, close: u8) -> Result<bool, Error> {
        if self.is_over {
            return Ok(false);
        }
        let has_next_entry =
            self.reader.has_next_entry(close, self.is_first).map_err(|wrong| self.reader.error(wrong))?;
        self.is_first = false;
        self.is_over = !has_next_entry;
        Ok(has_next_entry)
    }

    /// Fails if the visitor has not read all entries.
    fn close(&mut self, close: u8) -> Result<(), Error> {
        if self.next(close)? {
            return Err(self.reader.placed(self.reader.at, "more entries than expected"));
        }
        Ok(())
    }
}

impl<'de> SeqAccess<'de> for &mut Entries<'_, 'de> {
    type Error = Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Error> {
        if !self.next(b']')? {
            return Ok(None);
        }
        seed.deserialize(&mut *self.reader).map(Some)
    }
}

impl<'de> MapAccess<'de> for &mut Entries<'_, 'de> {
    type Error = Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Error> {
        if !self.next(b'}')? {
            return Ok(None);
        }
        let name = self.reader.name().map_err(|wrong| self.reader.error(wrong))?;
        seed.deserialize(Name(name)).map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Error> {
        seed.deserialize(&mut *self.reader)
    }
}

/// The name of a field.
struct Name<'de>(Cow<'de, str>);

impl<'de> Deserializer<'de> for Name<'de> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            Cow::Borrowed(text) => visitor.visit_borrowed_str(text),
            Cow::Owned(text) => visitor.visit_string(text),
        }
    }

    /// A map with numbers as keys has them as strings in JSON.
    fn deserialize_u64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0.parse() {
            Ok(whole) => visitor.visit_u64(whole),
            Err(_) => self.deserialize_any(visitor),
        }
    }

    fn deserialize_u32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_u64(visitor)
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
        visitor.visit_enum(StrDeserializer::<Error>::new(&self.0))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u128 f32 f64 char str string bytes byte_buf option unit unit_struct seq tuple
        tuple_struct map struct identifier ignored_any
    }
}

impl<'de> EnumAccess<'de> for &mut Reader<'de> {
    type Error = Error;
    type Variant = Self;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Self), Error> {
        let name = self.name().map_err(|wrong| self.error(wrong))?;
        Ok((seed.deserialize(Name(name))?, self))
    }
}

impl<'de> VariantAccess<'de> for &mut Reader<'de> {
    type Error = Error;

    fn unit_variant(self) -> Result<(), Error> {
        self.peek();
        self.word("null").map_err(|wrong| self.error(wrong))
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
