//! Files that do not load, and the places that their errors name.

use script::{Limits, LoadErrorKind};

use crate::host::load;

#[track_caller]
fn check(source: &str, kind: LoadErrorKind, place: (u32, u32), part: &str) {
    let error = load(source, Limits::default()).err().expect("it must not load");
    assert_eq!(error.kind, kind, "{error}");
    assert!(error.message.contains(part), "{error}");
    assert_eq!(
        (error.file.as_deref(), error.line, error.column),
        (Some("flow.ts"), Some(place.0), Some(place.1)),
        "{error}"
    );
}

#[test]
fn a_syntax_error_names_its_place() {
    check("const a = 1;\nconst b = ;\n", LoadErrorKind::Syntax, (2, 11), "Unexpected token");
}

#[test]
fn a_throw_at_load_names_its_place() {
    check("const a = 1;\nthrow new Error('no key');\nexport default a;\n", LoadErrorKind::Thrown, (2, 7), "no key");
}

#[test]
fn an_unknown_import_names_its_place() {
    check("import { x } from './missing';\nexport default x;\n", LoadErrorKind::Import, (1, 19), "missing");
}

#[test]
fn an_unknown_package_names_its_place() {
    check("import x from 'no-such-package';\nexport default x;\n", LoadErrorKind::Import, (1, 15), "no-such-package");
}

#[test]
fn a_node_built_in_is_refused_with_its_place() {
    check("import fs from 'node:fs';\nexport default fs;\n", LoadErrorKind::Import, (1, 16), "Node.js built-in");
}

#[test]
fn a_block_without_a_name_is_refused() {
    check(
        "import { handler } from '@flow-state-dev/core';\nexport default handler({ execute: () => 1 } as any);\n",
        LoadErrorKind::Thrown,
        (2, 16),
        "non-empty \"name\"",
    );
}
