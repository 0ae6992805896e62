//! Which part of a list is printed.

use clap::Args;

#[derive(Args)]
pub(crate) struct Page {
    /// At most this many
    #[arg(long)]
    pub(crate) limit: Option<u64>,
    /// Leave out this many first
    #[arg(long)]
    pub(crate) offset: Option<u64>,
}

impl Page {
    pub(crate) fn cut<T>(&self, all: Vec<T>) -> Vec<T> {
        let skip = self.offset.unwrap_or(0) as usize;
        let take = self.limit.map_or(usize::MAX, |limit| limit as usize);
        all.into_iter().skip(skip).take(take).collect()
    }
}
