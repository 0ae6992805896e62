//! What `make bench` holds a step against: the least that its function can cost in this interpreter.
//!
//! `function STEPS [BYTES]` evaluates so many handlers, a hundred or more, in a bare QuickJS and calls one after
//! the other, as the chain of the bench does: an input from JSON, an object that stands for `ctx`, a number counted
//! up outside of JavaScript, or a text of so many bytes put there, an answer as JSON. No flow, no engine, no schema,
//! no log. Prints the nanoseconds of a median step: batches of a hundred, so that the clock does not count.

use std::cell::Cell;
use std::error::Error;
use std::rc::Rc;
use std::time::Instant;

use rquickjs::{Context, Function, Object, Runtime};

/// Steps between two looks at the clock.
const BATCH: usize = 100;

const SOURCE: &str = r#"(steps, bytes, increment, put, told) => {
    class Sequencer {
        incState(by) {
            increment(by);
            return Promise.resolve(true);
        }
        patchState(fields) {
            put(fields);
            return Promise.resolve(true);
        }
    }
    const add = () => async (input, ctx) => {
        if (bytes === 0) await ctx.sequencer.incState({ done: 1 });
        else await ctx.sequencer.patchState({ text: "abcdefgh"[input % 8].repeat(bytes) });
        return input + 1;
    };
    const handlers = Array.from({ length: steps }, add);
    return (n, input) => {
        handlers[n](JSON.parse(input), { sequencer: new Sequencer() }).then((answer) => told(JSON.stringify(answer)));
    };
}"#;

fn main() -> Result<(), Box<dyn Error>> {
    let steps: usize = std::env::args().nth(1).ok_or("function STEPS [BYTES], a hundred steps or more")?.parse()?;
    let bytes: usize = std::env::args().nth(2).map_or(Ok(0), |bytes| bytes.parse())?;
    let runtime = Runtime::new()?;
    let context = Context::full(&runtime)?;
    let state = Rc::new(Cell::new(0.0));
    let answer = Rc::new(Cell::new(None::<String>));
    let mut batches = Vec::new();
    let mut input = String::from("0");
    context.with(|ctx| -> Result<(), Box<dyn Error>> {
        let (counted, put, told) = (state.clone(), state.clone(), answer.clone());
        let increment = Function::new(ctx.clone(), move |by: Object<'_>| -> rquickjs::Result<()> {
            counted.set(counted.get() + by.get::<_, f64>("done")?);
            Ok(())
        })?;
        let put = Function::new(ctx.clone(), move |fields: Object<'_>| -> rquickjs::Result<()> {
            put.set(put.get() + f64::from(fields.get::<_, String>("text")?.len() == bytes));
            Ok(())
        })?;
        let told = Function::new(ctx.clone(), move |json: String| told.set(Some(json)))?;
        let call: Function = ctx.eval::<Function, _>(SOURCE)?.call((steps, bytes, increment, put, told))?;
        for batch in 0..steps / BATCH {
            let begin = Instant::now();
            for n in 0..BATCH {
                call.call::<_, ()>((batch * BATCH + n, input.as_str()))?;
                while ctx.execute_pending_job() {}
                input = answer.take().ok_or("the handler did not end")?;
            }
            batches.push(begin.elapsed().as_nanos() / BATCH as u128);
        }
        Ok(())
    })?;
    let called = steps / BATCH * BATCH;
    assert_eq!((state.get(), input.as_str()), (called as f64, called.to_string().as_str()), "every handler was called");
    batches.sort_unstable();
    println!("{}", batches.get(batches.len() / 2).ok_or("at least a hundred steps")?);
    Ok(())
}
