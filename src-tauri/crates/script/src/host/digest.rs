//! Hashes for `node:crypto`. They are the same for the same bytes, so that nothing is recorded.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use hmac::digest::block_buffer::Eager;
use hmac::digest::core_api::{BlockSizeUser, BufferKindUser, CoreProxy, FixedOutputCore, UpdateCore};
use hmac::digest::typenum::{IsLess, Le, NonZero, U256};
use hmac::digest::{Digest, HashMarker};
use hmac::{Hmac, Mac};
use md5::Md5;
use sha1::Sha1;
use sha2::{Sha224, Sha256, Sha384, Sha512};

/// Answers `[algorithm, bytes, key or null]`, with bytes as base64. Returns `None` for an algorithm that is not there.
pub(crate) fn digest(payload: &str) -> Result<Option<String>, String> {
    let (algorithm, data, key): (String, String, Option<String>) =
        serde_json::from_str(payload).map_err(|error| error.to_string())?;
    let decode = |text: &str| BASE64_STANDARD.decode(text).map_err(|error| error.to_string());
    let (data, key) = (decode(&data)?, key.as_deref().map(decode).transpose()?);
    let key = key.as_deref();
    let made = match algorithm.as_str() {
        "md5" => hash::<Md5>(&data, key),
        "sha1" => hash::<Sha1>(&data, key),
        "sha224" => hash::<Sha224>(&data, key),
        "sha256" => hash::<Sha256>(&data, key),
        "sha384" => hash::<Sha384>(&data, key),
        "sha512" => hash::<Sha512>(&data, key),
        _ => return Ok(None),
    };
    Ok(Some(BASE64_STANDARD.encode(made)))
}

/// The hash, or with a key the HMAC.
fn hash<D>(data: &[u8], key: Option<&[u8]>) -> Vec<u8>
where
    D: Digest + CoreProxy,
    D::Core: HashMarker + UpdateCore + FixedOutputCore + BufferKindUser<BufferKind = Eager> + Default + Clone,
    <D::Core as BlockSizeUser>::BlockSize: IsLess<U256>,
    Le<<D::Core as BlockSizeUser>::BlockSize, U256>: NonZero,
{
    let Some(key) = key else { return D::digest(data).to_vec() };
    // A key of any length is taken.
    let Ok(mut mac) = <Hmac<D> as Mac>::new_from_slice(key) else { return Vec::new() };
    mac.update(data);
    mac.finalize().into_bytes().to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(algorithm: &str, data: &str, key: Option<&str>, hex: &str) {
        let key = key.map(|key| BASE64_STANDARD.encode(key));
        let asked = serde_json::json!([algorithm, BASE64_STANDARD.encode(data), key]).to_string();
        let made = digest(&asked).expect("it can be read").expect("there is such a hash");
        let bytes = BASE64_STANDARD.decode(made).expect("it is base64");
        assert_eq!(bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>(), hex, "{algorithm}");
    }

    #[test]
    fn hashes_are_those_of_their_standards() {
        check("md5", "abc", None, "900150983cd24fb0d6963f7d28e17f72");
        check("sha1", "abc", None, "a9993e364706816aba3e25717850c26c9cd0d89d");
        check("sha256", "abc", None, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        // RFC 4231, second case.
        let hex = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
        check("sha256", "what do ya want for nothing?", Some("Jefe"), hex);
        assert_eq!(digest("[\"sha3\", \"\", null]"), Ok(None));
        assert!(digest("[]").is_err());
    }
}
