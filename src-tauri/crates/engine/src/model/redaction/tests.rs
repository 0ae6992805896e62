//! Secrets by name and by value, in every form in which a server or a person may write them.

use proptest::prelude::*;
use serde_json::json;

use super::*;

const SECRET: &str = "s3cr3t/+ value";

fn redaction() -> Redaction {
    Redaction::new(["Ticket-Id"], Secrets::default())
}

#[track_caller]
fn check(text: &str, expected: &str) {
    let redaction = redaction();
    assert_eq!(redaction.text(text), expected);
    assert_eq!(redaction.text(expected), expected, "twice is as once");
}

#[test]
fn addresses_lose_their_passwords_and_listed_parameters() {
    check("https://ada:pw@x.org/a?q=1&token=t&b=2#c", "https://[redacted]@x.org/a?q=1&token=[redacted]&b=2#c");
    check(
        "https://x.org/?API-Key=1&page_token=2&ticketid=3",
        "https://x.org/?API-Key=[redacted]&page_token=2&ticketid=[redacted]",
    );
    check("x?key=1&X-Amz-Signature=ab%20c", "x?key=[redacted]&X-Amz-Signature=[redacted]");
    check("x?%74oken=1&user[password]=2&next=a@b", "x?%74oken=[redacted]&user[password]=[redacted]&next=a@b");
    check("see http://a:b@c, and d@e.org", "see http://[redacted]@c, and d@e.org");
}

#[test]
fn forms_lose_listed_fields() {
    check("user=ada&password=a+b%21&ok=1", "user=ada&password=[redacted]&ok=1");
    check("key=1 token=2", "key=1 token=[redacted]");
    check(
        "--b\r\nContent-Disposition: form-data; name=\"passwd\"\r\n\r\np\r\nq\r\n--b\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n--b--",
        "--b\r\nContent-Disposition: form-data; name=\"passwd\"\r\n\r\n[redacted]\r\n--b\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n--b--",
    );
}

/// Only one way to write the head of a part was known.
#[test]
fn parts_of_a_form_are_known_however_their_heads_are_written() {
    for head in [
        "form-data;name=\"password\"",
        "form-data; filename=\"name=x\"; name=\"password\"",
        "form-data; name=password",
        "form-data; Name = \"password\"\r\nContent-Type: text/plain",
    ] {
        let body = |value: &str| format!("--b\r\nContent-Disposition: {head}\r\n\r\n{value}\r\n--b--\r\n");
        check(&body("p4ss"), &body("[redacted]"));
    }
    let other = "--b\r\nContent-Disposition: form-data; filename=\"password\"; name=\"file\"\r\n\r\nkept\r\n--b--";
    check(other, other);
}

#[test]
fn json_loses_listed_fields_wherever_it_stands() {
    check(
        r#"{"password": "p\"q\\", "a": {"accessToken":12, "token":null}, "key":"k", "secret": ["x", {"y": "]"}], "b":1}"#,
        r#"{"password": "[redacted]", "a": {"accessToken":"[redacted]", "token":null}, "key":"k", "secret": "[redacted]", "b":1}"#,
    );
    check(r#"say "hi" {"pass\u0077ord":"p"} and go"#, r#"say "hi" {"pass\u0077ord":"[redacted]"} and go"#);
    check(r#"{"body":"{\"token\":\"a\\\"b\",\"c\":1}"}"#, r#"{"body":"{\"token\":\"[redacted]\",\"c\":1}"}"#);
    check(
        r#"{"b":"{\"token\":12,\"secret\":[\"x\"]}"}"#,
        r#"{"b":"{\"token\":\"[redacted]\",\"secret\":\"[redacted]\"}"}"#,
    );
    check(r#"answered 400: {"token":"cut o…"#, r#"answered 400: {"token":"[redacted]"#);
    check("{\"token\":", "{\"token\":");
    check("{\"token\"", "{\"token\"");
}

#[test]
fn an_exchange_is_redacted_in_all_its_parts() {
    let body = STANDARD.encode("{\"password\":\"p\"}");
    let names = ["Authorization", "X-Password", "X-Session-Id", "X-Auth", "My-Key", "X-Upload-Token", "ticket_id"];
    let mut headers: Vec<Value> = names.iter().map(|name| json!([name, "v"])).collect();
    headers.push(json!(["Accept", "a/b"]));
    headers.push(json!(["Location", "/x?sig=1&signature=2"]));
    let mut side = json!({ "url": "http://x/?token=1", "headers": headers, "body": body, "base64": true });
    redaction().exchange(&mut side);
    assert_eq!(side["url"], "http://x/?token=[redacted]");
    for (at, _) in names.iter().enumerate() {
        assert_eq!(side["headers"][at][1], REDACTED, "{}", side["headers"][at]);
    }
    assert_eq!(side["headers"][7][1], "a/b");
    assert_eq!(side["headers"][8][1], "/x?sig=1&signature=[redacted]");
    let body = STANDARD.decode(side["body"].as_str().expect("a body")).expect("base64");
    assert_eq!(body, b"{\"password\":\"[redacted]\"}");
    let mut side = json!({ "url": "u", "body": "//79/A==", "base64": true });
    redaction().exchange(&mut side);
    assert_eq!(side["body"], "//79/A==", "bytes that are no text stay");
}

/// The secret as others may write it.
fn written() -> Vec<String> {
    let letters = |form: fn(char) -> String| SECRET.chars().map(form).collect::<String>();
    vec![
        SECRET.to_owned(),
        "s3cr3t%2F%2b+value".to_owned(),
        letters(|c| format!("%{:02x}", c as u32)),
        letters(|c| format!("%25{:02X}", c as u32)),
        letters(|c| format!("\\u{:04x}", c as u32)),
        letters(|c| format!("\\\\u{:04X}", c as u32)),
        "s3cr3t\\/+ value".to_owned(),
        "s3\\u0063r%33t/+%20value".to_owned(),
    ]
}

#[test]
fn a_value_is_found_however_it_is_written() {
    let secrets: Secrets = [SECRET].into_iter().collect();
    for text in written() {
        let shown = secrets.hidden(&format!("<{text}>")).expect(&text);
        assert_eq!(shown, "<[redacted]>");
    }
    for before in ["", "a", "ab", "abc", "user:"] {
        for after in ["", "z", "zy"] {
            let bytes = format!("{before}{SECRET}{after}");
            for text in [STANDARD.encode(&bytes), base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(&bytes)] {
                let shown = secrets.hidden(&text).expect(&text);
                assert!(shown.contains(REDACTED) && shown.len() < REDACTED.len() + 16, "{text}: {shown}");
            }
        }
    }
    assert_eq!(secrets.hidden("s3cr3t and more, %zz, \\, \\u"), None);
}

#[test]
fn a_short_value_is_redacted_only_as_a_whole_text() {
    let secrets: Secrets = ["ab", "word"].into_iter().collect();
    assert_eq!(secrets.hidden("ab").as_deref(), Some(REDACTED));
    assert_eq!(secrets.hidden("a table"), None);
    assert_eq!(secrets.hidden("a keyword").as_deref(), Some("a key[redacted]"));
    assert_eq!(secrets.hidden("776f7264 776F7264").as_deref(), Some("[redacted] [redacted]"));
}

#[test]
fn keys_with_different_values_stay_different() {
    let secrets = Secrets::named([("ONE", "first value"), ("TWO", "second value")]);
    let redaction = Redaction::new([], secrets);
    assert_eq!(redaction.key("pay-first value"), "pay-[redacted ONE]");
    assert_eq!(redaction.key("pay-second value"), "pay-[redacted TWO]");
}

#[test]
fn an_error_loses_values_in_all_its_texts_and_keeps_short_names() {
    let redaction = Redaction::new([], ["Error"].into_iter().collect());
    let error = FlowError {
        stack: Some("Error: an Error".to_owned()),
        details: Some(json!({ "Error": ["Error"] })),
        handle: Some(7),
        ..FlowError::new("Error", "an Error")
    };
    let hidden = redaction.thrown(error);
    assert_eq!((&*hidden.name, &*hidden.message, hidden.handle), ("Error", "an [redacted]", Some(7)));
    assert_eq!(hidden.stack.as_deref(), Some("[redacted]: an [redacted]"));
    assert_eq!(hidden.details, Some(json!({ "[redacted]": ["[redacted]"] })));
    assert_eq!(hidden.classes, ["Error", "Error"]);
    let error = FlowError { code: Some("no-s3cret-key".to_owned()), ..FlowError::new("Of s3cret-key", "no") };
    let hidden = Redaction::new([], Secrets::named([("KEY", "s3cret-key")])).thrown(error);
    assert_eq!((&*hidden.name, hidden.code.as_deref()), ("Of [redacted KEY]", Some("no-[redacted KEY]")));
}

#[test]
fn what_a_cut_leaves_of_a_value_is_hidden() {
    let redaction = Redaction::new([], ["sk-very-secret-12345"].into_iter().collect());
    let cut = |text: &str, is_cut: bool| {
        let mut text = text.to_owned();
        redaction.cut_text(&mut text, is_cut);
        text
    };
    let cases = [
        ("…cret-12345 and …", "…[redacted] and …"),
        ("with sk-very-s… (99 bytes)", "with [redacted]… (99 bytes)"),
        ("\"token sk-very\"… · sk", "\"token [redacted]\"… · sk"),
        ("a sk-… b", "a sk-… b"),
        ("ends sk-very-sec", "ends sk-very-sec"),
        ("é…é", "é…é"),
    ];
    for (text, expected) in cases {
        assert_eq!(cut(text, false), expected);
    }
    assert_eq!(cut("ends sk-very-sec", true), "ends [redacted]");
}

proptest! {
    #[test]
    fn a_stream_tells_what_a_whole_text_would(cuts in prop::collection::vec(1_usize..9, 1..60), which in 0..8_usize) {
        let secrets: Secrets = [SECRET].into_iter().collect();
        let text = format!("begin s3cr {} ss3 {} end s3c", written()[which], written()[(which + 3) % 8]);
        let (mut stream, mut passed, mut rest) = (Stream::default(), String::new(), text.as_str());
        for cut in cuts.iter().cycle() {
            let (piece, after) = rest.split_at((*cut).min(rest.len()));
            passed.push_str(&stream.next(&secrets, piece));
            rest = after;
            if rest.is_empty() {
                break;
            }
        }
        passed.push_str(&stream.end(&secrets));
        prop_assert_eq!(Some(passed), secrets.hidden(&text));
    }

    #[test]
    fn nothing_that_is_redacted_fails(text in "[\"\\\\:=?&@/{}\\[\\]a-ctoken%u0 äß\n]{0,80}") {
        let redaction = Redaction::new(["a"], ["token", "ä"].into_iter().collect());
        let once = redaction.text(&text).into_owned();
        let _ = redaction.text(&once);
        let mut side = json!({ "url": text, "headers": [[text, text]], "body": text });
        redaction.exchange(&mut side);
    }
}
