//! Data of languages for `Intl` of flows, which the build script made.

/// Languages and their data: JSON, compressed.
static DATA: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/locales.rs"));

/// Returns the data of a language tag or, if it has none of its own, of its language.
pub(crate) fn data(name: &str) -> Option<String> {
    let mut tag = name;
    loop {
        if let Some((_, bytes)) = DATA.iter().find(|(known, _)| *known == tag) {
            let json = miniz_oxide::inflate::decompress_to_vec(bytes).ok()?;
            return String::from_utf8(json).ok();
        }
        tag = tag.rsplit_once('-')?.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_region_has_the_data_of_its_language() {
        let german = data("de").expect("it has data");
        assert!(german.starts_with('{') && german.contains("\"numbers\""), "{}", &german[..100]);
        assert_eq!(data("de-LU"), Some(german));
        assert_ne!(data("en-GB"), data("en"));
        assert_eq!(data("tlh-Latn"), None);
    }
}
