//! Which state a handle of `ctx` refers to, and its name between the engine and the script host.

/// Which state a handle of `ctx` refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// `ctx.request`
    Request,
    /// `ctx.session`
    Session,
    /// `ctx.user`
    User,
    /// `ctx.project` and `ctx.org`
    Project,
    /// `ctx.sequencer`: the nearest enclosing sequencer with a `stateSchema`.
    Sequencer,
    /// `ctx.self`
    Own,
    /// `ctx.parent`
    Parent,
    /// The block that `ctx.getTarget` found, by its instance (`path:attempt`).
    Instance(String),
    /// One of `ctx.resources`, by its number; an instance of a collection by its key.
    Resource(u32, Option<String>),
}

impl Target {
    /// Returns the name that errors use.
    pub fn name(&self) -> &str {
        match self {
            Target::Request => "request",
            Target::Session => "session",
            Target::User => "user",
            Target::Project => "project",
            Target::Sequencer => "sequencer",
            Target::Own => "self",
            Target::Parent => "parent",
            Target::Instance(instance) => instance,
            Target::Resource(_, key) => key.as_deref().unwrap_or("resource"),
        }
    }

    /// Parses the script host's name of a target.
    pub fn parse(name: &str) -> Option<Target> {
        Some(match name {
            "request" => Target::Request,
            "session" => Target::Session,
            "user" => Target::User,
            "project" | "org" => Target::Project,
            "sequencer" => Target::Sequencer,
            "self" => Target::Own,
            "parent" => Target::Parent,
            other => match other.strip_prefix("resource:") {
                Some(resource) => match resource.split_once(':') {
                    Some((id, key)) => Target::Resource(id.parse().ok()?, Some(key.to_owned())),
                    None => Target::Resource(resource.parse().ok()?, None),
                },
                None => Target::Instance(other.strip_prefix("target:")?.to_owned()),
            },
        })
    }
}
