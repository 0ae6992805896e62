//! Which spans are the calls of models.
//!
//! Several spans may tell of one call: the one of a library, of the SDK below it, of the request below that, each with
//! the tokens that it took. Then the innermost one that has the tokens counts, or the outermost one if none has. Spans
//! tell of one call only if they agree on it: a call that is made while another one waits, as by a tool, is its own.

use std::collections::{HashMap, HashSet, VecDeque};

use serde_json::Value;

use crate::foreign::arrangement::Arrangement;
use crate::foreign::facts::Facts;
use crate::foreign::packed::PackedSpan;
use crate::foreign::tables::Role;

/// Input and output tokens.
type Tokens = (u64, u64);

/// What a span says of a call, as far as spans of one call have it in common.
struct Told {
    models: Vec<String>,
    asked: Option<String>,
    answered: Option<String>,
    tokens: Option<Tokens>,
}

impl Told {
    fn of(span: &PackedSpan) -> Told {
        let call = Facts::of(&span.span(), &span.outline).call;
        let (request, result) = call.map(|call| (call.request, call.result)).unwrap_or_default();
        let model = |of: &Value| of["model"].as_str().filter(|name| !name.is_empty()).map(str::to_owned);
        let user = request["messages"].as_array().into_iter().flatten().rfind(|message| message["role"] == "user");
        let count = |name: &str| result["usage"][name].as_u64();
        let tokens = (count("promptTokens"), count("completionTokens"));
        Told {
            models: [model(&request), model(&result)].into_iter().flatten().collect(),
            asked: user.map(words).filter(|words| !words.is_empty()),
            answered: result["text"].as_str().filter(|text| !text.is_empty()).map(str::to_owned),
            tokens: (tokens != (None, None)).then(|| (tokens.0.unwrap_or(0), tokens.1.unwrap_or(0))),
        }
    }

    /// Whether both tell of one call: they have a model, a message or the tokens in common, or nothing to compare.
    fn agrees(&self, other: &Told) -> bool {
        let same = |one: &Option<String>, other: &Option<String>| Some(one.as_ref()? == other.as_ref()?);
        // A provider's answer has the version, too: `gpt-4o` and `gpt-4o-2024-08-06` are one model.
        let is_same =
            |one: &String| self.models.iter().any(|name| name.starts_with(&**one) || one.starts_with(&**name));
        let models = (!self.models.is_empty() && !other.models.is_empty()).then(|| other.models.iter().any(is_same));
        let tokens = self.tokens.zip(other.tokens).map(|(one, other)| one == other);
        let found = [models, same(&self.asked, &other.asked), same(&self.answered, &other.answered), tokens];
        found.contains(&Some(true)) || found.iter().all(Option::is_none)
    }
}

/// The texts of a message.
fn words(message: &Value) -> String {
    match &message["content"] {
        Value::String(text) => text.clone(),
        content => content.as_array().into_iter().flatten().filter_map(|part| part["text"].as_str()).collect(),
    }
}

/// What spans say of their calls, each read once.
struct Reader<'s> {
    spans: &'s [PackedSpan],
    read: HashMap<usize, Told>,
}

impl Reader<'_> {
    fn told(&mut self, at: usize) -> &Told {
        self.read.entry(at).or_insert_with(|| Told::of(&self.spans[at]))
    }

    fn tokens(&mut self, at: usize) -> Tokens {
        self.told(at).tokens.unwrap_or_default()
    }

    /// Whether a span tells of the same call as one around it. What an agent used is that of all calls inside it.
    fn agree(&mut self, outer: usize, inner: usize) -> bool {
        if self.spans[outer].outline.role == Role::Agent {
            return true;
        }
        self.told(outer);
        self.told(inner);
        self.read[&outer].agrees(&self.read[&inner])
    }
}

fn sum(one: Tokens, other: Tokens) -> Tokens {
    (one.0.saturating_add(other.0), one.1.saturating_add(other.1))
}

/// Which spans are the calls of models. An agent is one if no call is inside it; if it says that more was used than the
/// calls inside it say, its notes say so.
pub(super) fn counted_calls(arrangement: &mut Arrangement, spans: &[PackedSpan]) -> Vec<bool> {
    let role = |at: usize| spans[at].outline.role;
    let asks = |at: usize| spans[at].outline.asks_model();
    let outer = outer_calls(arrangement, spans);
    let mut reader = Reader { spans, read: HashMap::new() };
    let mut is_told_inside = vec![false; spans.len()];
    let mut inside: Vec<Tokens> = vec![(0, 0); spans.len()];
    let mut notes: Vec<(usize, String)> = Vec::new();
    for at in arrangement.order.iter().rev().copied() {
        // Without another span that tells of a call around it or inside it, a span does not have to be read.
        let (has_inside, has_usage) = (inside[at] != (0, 0), asks(at) && spans[at].outline.has_usage);
        if has_usage && has_inside && !is_told_inside[at] {
            is_told_inside[at] = reader.tokens(at) == inside[at];
        }
        if has_usage && is_told_inside[at] && role(at) == Role::Agent {
            let (own, known) = (reader.tokens(at), inside[at]);
            if own.0 > known.0 || own.1 > known.1 {
                let text = "tokens in and out were used, the calls inside it say";
                notes.push((at, format!("it says that {} and {} {text} {} and {}", own.0, own.1, known.0, known.1)));
            }
        }
        let Some(outer) = outer[at] else { continue };
        if has_usage || is_told_inside[at] {
            is_told_inside[outer] = is_told_inside[outer] || reader.agree(outer, at);
        }
        let own = if has_usage && !is_told_inside[at] { reader.tokens(at) } else { (0, 0) };
        inside[outer] = sum(inside[outer], sum(own, inside[at]));
    }
    notes.into_iter().for_each(|(at, note)| arrangement.placed[at].notes.push(note));
    let has_model_inside = has_model_inside(arrangement, spans);
    let streamed = streamed_elsewhere(arrangement, spans);
    let mut is_call = vec![false; spans.len()];
    let mut is_in_call = vec![false; spans.len()];
    for at in arrangement.order.iter().copied().filter(|at| asks(*at)) {
        let outer = outer[at].filter(|outer| is_in_call[*outer] || is_call[*outer]);
        is_in_call[at] = outer.is_some_and(|outer| reader.agree(outer, at));
        let is_around = role(at) == Role::Agent && has_model_inside[at];
        is_call[at] = !is_told_inside[at] && !is_around && !is_in_call[at] && !streamed.contains(&at);
    }
    is_call
}

/// Of each span that asks a model: the innermost span around it that does so, too, for texts or for vectors as it does,
/// unless a tool is between them.
fn outer_calls(arrangement: &Arrangement, spans: &[PackedSpan]) -> Vec<Option<usize>> {
    let kind = |at: usize| usize::from(spans[at].outline.role == Role::Embedding);
    let mut around: Vec<[Option<usize>; 2]> = vec![[None; 2]; spans.len()];
    let mut found = vec![None; spans.len()];
    for at in arrangement.order.iter().copied() {
        if let Some(outer) = arrangement.placed[at].around.filter(|outer| spans[*outer].outline.role != Role::Tool) {
            around[at] = around[outer];
            if spans[outer].outline.asks_model() {
                around[at][kind(outer)] = Some(outer);
            }
        }
        found[at] = around[at][kind(at)].filter(|_| spans[at].outline.asks_model());
    }
    found
}

/// Whether a call of a model is in a span, but for those that tools make.
fn has_model_inside(arrangement: &Arrangement, spans: &[PackedSpan]) -> Vec<bool> {
    let mut has_inside = vec![false; spans.len()];
    for at in arrangement.order.iter().rev().copied().filter(|at| spans[*at].outline.role != Role::Tool) {
        let Some(outer) = arrangement.placed[at].around else { continue };
        has_inside[outer] |= has_inside[at] || spans[at].outline.role == Role::Model;
    }
    has_inside
}

/// Calls whose answer another span beside them tells, because it was streamed.
fn streamed_elsewhere(arrangement: &Arrangement, spans: &[PackedSpan]) -> HashSet<usize> {
    let mut waiting: HashMap<Option<usize>, VecDeque<usize>> = HashMap::new();
    let mut found = HashSet::new();
    // Within a span, those inside it are in the order of their times.
    for at in arrangement.order.iter().copied().filter(|at| spans[*at].outline.role == Role::Model) {
        let (outline, around) = (&spans[at].outline, arrangement.placed[at].around);
        if outline.is_end_of_stream {
            found.extend(waiting.get_mut(&around).and_then(VecDeque::pop_front));
        } else if !outline.has_usage && !outline.is_failed {
            waiting.entry(around).or_default().push_back(at);
        }
    }
    found
}
