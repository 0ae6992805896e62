//! The blocks of a made-up flow: chosen by chance, within a number of events.

use std::cell::Cell;
use std::rc::Rc;

use engine::callable::{Arg, Callable, Fun, Invocation, Returned};
use engine::context::{Change, Context, EmitOptions, Target};
use engine::error::FlowError;
use engine::flow::{Arm, Block, Body, Each, Generator, Model, Operation, Repair, Rescue, ToolSettings, ValueOrCall};
use engine::item::AgentType;
use engine::operation::Operation as Write;
use engine::written::{Function, block, child, handler, sequencer, step};
use fastrand::Rng;
use futures_util::FutureExt;
use futures_util::future::{LocalBoxFuture, ready};
use serde_json::{Value, json};

use super::Shape;

const WORDS: [&str; 32] = [
    "amber", "bridge", "cloud", "delta", "ember", "field", "grain", "harbor", "island", "juniper", "kettle", "lantern",
    "meadow", "needle", "orchard", "paper", "quarry", "river", "signal", "timber", "umbra", "valley", "willow", "yarn",
    "zephyr", "answer", "source", "question", "summary", "draft", "review", "index",
];
const STEPS: [&str; 16] = [
    "plan", "search", "read", "rank", "draft", "review", "check", "merge", "clean", "split", "embed", "score",
    "filter", "label", "store", "report",
];
/// One value in so many is too long for a line of the log.
const LONG_ONE_IN: u32 = 40;
/// One handler in so many fails, and is rescued.
const FAILS_ONE_IN: u32 = 50;
/// How many events a request has that are no part of what a model streams: its own, the root's, the generator's.
pub(super) const AROUND_A_STREAM: u64 = 10;
/// The most entries of one `forEach`, sequencers in each other, and branches beside each other.
const MOST_ENTRIES: i64 = 200_000;
const MOST_NESTED: i64 = 300;
const MOST_BRANCHES: i64 = 5_000;
/// How many entries of a `forEach` are under way at once.
const AT_ONCE: usize = 8;

/// A few words.
pub(super) fn sentence(chance: &mut Rng) -> String {
    words(chance, 4..14)
}

fn words(chance: &mut Rng, many: std::ops::Range<usize>) -> String {
    let many = chance.usize(many);
    (0..many).map(|_| *chance.choice(&WORDS).unwrap_or(&"word")).collect::<Vec<_>>().join(" ")
}

/// Makes blocks until enough events are spoken for.
pub(super) struct Plan {
    chance: Rng,
    left: i64,
}

impl Plan {
    /// A plan for about so many events.
    pub(super) fn new(chance: Rng, events: u64) -> Self {
        // The request's own, and the root's.
        Plan { chance, left: events as i64 - 6 }
    }

    /// The block that runs.
    pub(super) fn root(mut self, shape: Shape) -> Rc<Block> {
        let mut operations = Vec::new();
        while self.left > 0 {
            operations.push(self.part(shape, 0));
        }
        sequencer("synthetic", operations)
    }

    fn part(&mut self, shape: Shape, depth: u32) -> Operation {
        match shape {
            Shape::Chain => step(&self.thinks()),
            Shape::State => step(&self.writes()),
            Shape::Wide => step(&self.wide()),
            Shape::Tree => step(&self.tree(depth)),
            Shape::Fanout => self.fanout(depth),
            Shape::Loop => self.repeats(),
            Shape::Nest => step(&self.nest()),
            Shape::Branches => self.branches(),
            Shape::Chat => self.talks(),
            Shape::Stream => {
                self.left = 0;
                step(&self.speaks(0))
            }
            Shape::Mixed => match self.chance.u8(0..20) {
                0..8 => step(&self.does()),
                8..11 => step(&self.writes()),
                11..14 if depth < 5 => step(&self.tree(depth)),
                14..16 if depth < 5 => self.fanout(depth),
                16 => self.repeats(),
                17 => step(&self.chooses()),
                _ => self.talks(),
            },
        }
    }

    /// How many blocks of a begin and an end are left to be made, at most so many.
    fn blocks_left(&mut self, most: i64) -> i64 {
        let many = (self.left / 2).clamp(1, most);
        self.spend(2 * many);
        many
    }

    /// The same handler for each entry of a list that nobody keeps.
    fn wide(&mut self) -> Rc<Block> {
        let many = self.blocks_left(MOST_ENTRIES);
        let (name, value) = (self.name(), self.value());
        let entry = handler(&name, move |_, _| ready(Ok(value.clone())));
        let entries = Function(move |_, _| ready(Ok((0..many).map(Value::from).collect())));
        let count = Function(|list: Value, _| ready(Ok(json!(list.as_array().map_or(0, Vec::len)))));
        let connector: Option<Fun> = Some(Rc::new(entries));
        let each = Operation::ForEach { connector, each: Each::Block(entry), limit: Some(AT_ONCE) };
        sequencer("wide", vec![each, Operation::Map(Rc::new(count))])
    }

    fn nest(&mut self) -> Rc<Block> {
        let many = self.blocks_left(MOST_NESTED);
        let (name, value) = (self.name(), self.value());
        let innermost = handler(&name, move |_, _| ready(Ok(value.clone())));
        (1..many).fold(innermost, |inside, _| sequencer(&self.name(), vec![step(&inside)]))
    }

    fn branches(&mut self) -> Operation {
        let many = self.blocks_left(MOST_BRANCHES);
        let arms = (0..many).map(|n| {
            let value = self.chance.u32(0..1_000);
            let block = handler(&format!("branch {n}"), move |_, _| ready(Ok(json!(value))));
            Arm { key: format!("arm {n}"), condition: None, child: child(&block) }
        });
        Operation::Parallel { arms: arms.collect(), limit: None }
    }

    fn spend(&mut self, events: i64) {
        self.left -= events;
    }

    fn name(&mut self) -> String {
        (*self.chance.choice(&STEPS).unwrap_or(&"step")).to_owned()
    }

    fn value(&mut self) -> Value {
        let many = if self.chance.u32(0..LONG_ONE_IN) == 0 { 500..900 } else { 2..12 };
        json!({ "text": words(&mut self.chance, many), "score": self.chance.u32(0..1_000) })
    }

    /// A handler that answers something.
    fn thinks(&mut self) -> Rc<Block> {
        self.spend(2);
        let (name, value) = (self.name(), self.value());
        handler(&name, move |_, _| ready(Ok(value.clone())))
    }

    /// One that may also say something, or fail.
    fn does(&mut self) -> Rc<Block> {
        if self.chance.u32(0..FAILS_ONE_IN) == 0 {
            return self.fails();
        }
        if self.chance.bool() {
            return self.thinks();
        }
        self.spend(3);
        let (name, said) = (self.name(), sentence(&mut self.chance));
        handler(&name, move |input, cx: Context| {
            cx.emit_message("assistant", said.clone().into(), EmitOptions::default());
            ready(Ok(input))
        })
    }

    fn fails(&mut self) -> Rc<Block> {
        self.spend(5);
        let (name, why) = (self.name(), sentence(&mut self.chance));
        let execute = Function(move |_, _| ready(Err(FlowError::plain(why.clone()))));
        let rescue = handler("recover", |_, _| ready(Ok(json!("recovered"))));
        let rescue = vec![Rescue { when: Vec::new(), block: rescue }];
        Rc::new(Block { rescue, ..block(&name, Body::Handler { execute: Rc::new(execute) }) })
    }

    /// One that changes its session's state.
    fn writes(&mut self) -> Rc<Block> {
        self.spend(3);
        let field = format!("page {}", self.chance.u32(0..500));
        let write = match self.chance.u8(0..3) {
            0 => Write::Increment { by: fields(json!({ "count": 1 })) },
            1 => Write::Patch { fields: fields(json!({ "last": self.value() })) },
            _ => Write::SetRecord { field: "pages".to_owned(), key: field, value: self.value() },
        };
        let name = self.name();
        handler(&name, move |input, cx: Context| {
            let write = write.clone();
            async move {
                cx.apply(&Target::Session, Change::Ready(write)).await?;
                Ok(input)
            }
        })
    }

    fn tree(&mut self, depth: u32) -> Rc<Block> {
        self.spend(2);
        let many = self.chance.usize(2..6);
        let name = self.name();
        let inside = (0..many).map(|_| {
            let shape = if depth < 4 && self.chance.bool() { Shape::Tree } else { Shape::Chain };
            self.part(shape, depth + 1)
        });
        let inside = inside.collect();
        sequencer(&name, inside)
    }

    fn fanout(&mut self, depth: u32) -> Operation {
        let many = self.chance.usize(2..7);
        let arms = (0..many).map(|n| {
            let deep = depth < 3 && self.chance.u8(0..4) == 0;
            let inside = if deep { self.tree(depth + 1) } else { self.does() };
            Arm { key: format!("arm {n}"), condition: None, child: child(&inside) }
        });
        Operation::Parallel { arms: arms.collect(), limit: None }
    }

    fn repeats(&mut self) -> Operation {
        let times = self.chance.u32(2..12);
        self.spend(2 * i64::from(times));
        let name = self.name();
        let rounds = Cell::new(0);
        let again = handler(&name, move |_, _| {
            let round = rounds.get() + 1;
            rounds.set(round % times);
            ready(Ok(json!({ "round": round })))
        });
        let enough = Function(move |output: Value, _| {
            let round = output.get("round").and_then(Value::as_u64).unwrap_or(0);
            ready(Ok(json!(round >= u64::from(times))))
        });
        Operation::Loop { condition: Rc::new(enough), until: true, child: child(&again) }
    }

    fn chooses(&mut self) -> Rc<Block> {
        self.spend(3);
        let routes = vec![self.does(), self.does()];
        let execute = Rc::new(Chosen(routes[self.chance.usize(0..routes.len())].clone()));
        Rc::new(block("route", Body::Router { routes, execute, validate: None }))
    }

    fn talks(&mut self) -> Operation {
        let tools = self.chance.usize(0..3);
        step(&self.speaks(tools))
    }

    /// A generator with so many of two tools.
    fn speaks(&mut self, many: usize) -> Rc<Block> {
        self.spend(7);
        let tools = ["look up", "add up"].iter().take(many).map(|name| {
            let found = self.value();
            handler(name, move |_, _| ready(Ok(found.clone())))
        });
        let tools = tools.collect::<Vec<_>>();
        self.spend(tools.len() as i64 * 4);
        let generator = Generator {
            model: Model::Named(ValueOrCall::Fixed("synthetic".into())),
            prompt: vec![ValueOrCall::Fixed(sentence(&mut self.chance).into())],
            context: Vec::new(),
            history: None,
            user: Some(ValueOrCall::Fixed(sentence(&mut self.chance).into())),
            structured: false,
            agent_type: Some(AgentType::Primary),
            item_visibility: None,
            agent_name: None,
            tools,
            tools_call: None,
            describe_tools: false,
            max_iterations: 4,
            run_tools: true,
            stop_when: None,
            max_tokens: None,
            provider_options: None,
            repair: Repair { attempts: 0, coerce: None, call: None },
            tool_settings: ToolSettings::default(),
        };
        let name = self.name();
        Rc::new(block(&name, Body::Generator(Box::new(generator))))
    }
}

/// A router's choice that was made before.
struct Chosen(Rc<Block>);

impl Callable for Chosen {
    fn call(&self, _: Vec<Arg>, _: Invocation) -> LocalBoxFuture<'static, Result<Returned, FlowError>> {
        ready(Ok(Returned::Block(self.0.clone()))).boxed_local()
    }
}

fn fields(value: Value) -> serde_json::Map<String, Value> {
    value.as_object().cloned().unwrap_or_default()
}
