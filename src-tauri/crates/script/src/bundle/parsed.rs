//! Parsing of sources. Parsers recurse, so that they need more stack than a thread usually has. Must not know what is
//! read from a tree.

use oxc::allocator::Allocator;
use oxc::ast::ast::Program;
use oxc::parser::Parser;
use oxc::span::SourceType;

/// Bytes of stack of a thread that parses what an author wrote; only touched pages take memory.
pub const PARSER_STACK: usize = 512 << 20;

/// Parses a source on a thread with a large stack, because parsers recurse, and reads its tree.
pub(crate) fn parsed<T: Send>(text: &str, file: &str, read: impl FnOnce(&Program<'_>) -> T + Send) -> Option<T> {
    parsed_as(text, SourceType::from_path(file).unwrap_or_else(|_| SourceType::ts()), read)
}

/// As [`parsed`], for a source of a kind.
pub(crate) fn parsed_as<T: Send>(
    text: &str,
    kind: SourceType,
    read: impl FnOnce(&Program<'_>) -> T + Send,
) -> Option<T> {
    std::thread::scope(|scope| {
        let work = || {
            let allocator = Allocator::default();
            let parsed = Parser::new(&allocator, text, kind).parse();
            if parsed.panicked { None } else { Some(read(&parsed.program)) }
        };
        let thread = std::thread::Builder::new().stack_size(PARSER_STACK).spawn_scoped(scope, work).ok()?;
        thread.join().ok().flatten()
    })
}
