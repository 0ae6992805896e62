//! Evaluates a TypeScript expression over the JSON result of a run, such as a score, without a flow or outside access.
//!
//! Each evaluation has a runtime of its own with little memory and time. Must not know what the result means.

use std::path::Path;
use std::time::{Duration, Instant};

use oxc::allocator::Allocator;
use oxc::codegen::Codegen;
use oxc::parser::Parser;
use oxc::semantic::SemanticBuilder;
use oxc::span::SourceType;
use oxc::transformer::{TransformOptions, Transformer};
use rquickjs::{CatchResultExt, CaughtError, Context, Ctx, Runtime, Value as Js};
use serde_json::Value;

use crate::bundle::parsed::PARSER_STACK;
use crate::bundle::probes::{WrongExpression, check_expression};
use crate::vm::memory::Meter;

/// The limits of an evaluation.
const MAX_BYTES: usize = 64 << 20;
const MAX_TIME: Duration = Duration::from_secs(2);
const STACK_BYTES: usize = 512 << 10;

/// An expression without its types.
#[derive(Clone, Debug)]
pub struct Expression {
    code: String,
}

impl Expression {
    /// Parses an expression that may use these names. Fails if it is not an expression, uses `await` or assigns.
    pub fn parse(text: &str, names: &[&str]) -> Result<Expression, WrongExpression> {
        check_expression(text, "expression.ts")?;
        let wrong = |message: String| WrongExpression { message, column: 1 };
        let code = std::thread::scope(|scope| {
            let work = || {
                let allocator = Allocator::default();
                let whole = format!("({text}\n)");
                let mut program = Parser::new(&allocator, &whole, SourceType::ts()).parse().program;
                let scoping = SemanticBuilder::new().build(&program).semantic.into_scoping();
                let options = TransformOptions::default();
                let transformer = Transformer::new(&allocator, Path::new("expression.ts"), &options);
                transformer.build_with_scoping(scoping, &mut program);
                Codegen::new().build(&program).code
            };
            let thread = std::thread::Builder::new().stack_size(PARSER_STACK).spawn_scoped(scope, work);
            thread.ok().and_then(|thread| thread.join().ok())
        });
        let code = code.ok_or_else(|| wrong("cannot be read".to_owned()))?;
        Ok(Expression { code: format!("const {{ {} }} = globalThis.__scope;\n{code}", names.join(", ")) })
    }

    /// Evaluates it with the fields of an object as variables. `None` is `undefined` or a function. Fails with the
    /// message of a thrown error.
    pub fn evaluate(&self, scope: &Value) -> Result<Option<Value>, String> {
        let internal = |error: rquickjs::Error| error.to_string();
        let memory = Meter::new(MAX_BYTES);
        let runtime = Runtime::new_with_alloc(memory.allocator()).map_err(internal)?;
        runtime.set_max_stack_size(STACK_BYTES);
        let (end, counted) = (Instant::now() + MAX_TIME, memory.clone());
        runtime.set_interrupt_handler(Some(Box::new(move || counted.is_exceeded() || Instant::now() > end)));
        let context = Context::full(&runtime).map_err(internal)?;
        context.with(|ctx| memory.attach(&ctx));
        let result = context.with(|ctx| self.evaluate_in(&ctx, scope));
        if memory.is_exceeded() {
            return Err(format!("it takes more than {} MB of memory", MAX_BYTES >> 20));
        }
        if Instant::now() > end {
            return Err(format!("it takes longer than {} s", MAX_TIME.as_secs()));
        }
        let text = result?;
        text.map(|text| engine::json::parse(&text).map_err(|error| error.to_string())).transpose()
    }

    fn evaluate_in<'js>(&self, ctx: &Ctx<'js>, scope: &Value) -> Result<Option<String>, String> {
        let evaluate = || -> rquickjs::Result<Option<String>> {
            let given = ctx.json_parse(serde_json::to_string(scope).unwrap_or_default())?;
            ctx.globals().set("__scope", given)?;
            let result: Js<'js> = ctx.eval(self.code.as_bytes())?;
            ctx.json_stringify(result)?.map(|text| text.to_string()).transpose()
        };
        evaluate().catch(ctx).map_err(|error| told(ctx, &error))
    }
}

/// The name and the message of a thrown value.
fn told<'js>(ctx: &Ctx<'js>, error: &CaughtError<'js>) -> String {
    match error {
        CaughtError::Exception(thrown) => {
            let name = thrown.as_object().get::<_, String>("name").unwrap_or_default();
            let message = thrown.message().unwrap_or_default();
            if name.is_empty() { message } else { format!("{name}: {message}") }
        }
        CaughtError::Value(value) => {
            let thrown = ctx.json_stringify(value.clone()).ok().flatten();
            let thrown = thrown.and_then(|text| text.to_string().ok()).unwrap_or_default();
            format!("it throws {thrown}")
        }
        CaughtError::Error(error) => error.to_string(),
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(text: &str, expected: Result<Option<Value>, &str>) {
        let expression = Expression::parse(text, &["output", "status"]).unwrap();
        let found = expression.evaluate(&json!({ "output": { "eur": 90, "lines": ["a"] }, "status": "completed" }));
        match expected {
            Ok(value) => assert_eq!(found, Ok(value), "{text}"),
            Err(part) => assert!(found.as_ref().is_err_and(|message| message.contains(part)), "{text}: {found:?}"),
        }
    }

    #[test]
    fn expressions_are_evaluated_as_in_typescript() {
        check("output.eur <= 100", Ok(Some(json!(true))));
        check("(output as any).eur!", Ok(Some(json!(90))));
        check("{ a: output.lines.map((line: string) => line + '!') }", Ok(Some(json!({ "a": ["a!"] }))));
        check("output.nothing", Ok(None));
        check("() => 1", Ok(None));
        check("status === \"completed\" && output.lines.length", Ok(Some(json!(1))));
    }

    #[test]
    fn thrown_errors_and_exceeded_limits_are_reported() {
        check("output.nothing.more", Err("TypeError"));
        check("missing", Err("ReferenceError: missing is not defined"));
        check("(() => { throw { code: 4 } })()", Err("it throws {\"code\":4}"));
        check("(() => { for (;;) ; })()", Err("longer than 2 s"));
        check("(() => { const all = []; for (;;) all.push(new Array(1000).fill(0)); })()", Err("more than 64 MB"));
        check("(() => { const f = (n: number): number => f(n + 1) + 1; return f(0) })()", Err("Maximum call stack"));
    }

    #[test]
    fn texts_that_are_not_expressions_are_refused_with_their_column() {
        for text in ["", "1 +", "const a = 1", "output.eur = 1", "await output", "1; 2"] {
            assert!(Expression::parse(text, &["output"]).is_err(), "{text}");
        }
    }
}
