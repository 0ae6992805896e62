//! A yes or no for each span.

/// See the module.
#[derive(Clone, Default)]
pub(super) struct Bits(Vec<u64>);

impl Bits {
    pub(super) fn get(&self, at: u32) -> bool {
        self.0.get(at as usize / 64).is_some_and(|word| word >> (at % 64) & 1 == 1)
    }

    pub(super) fn set(&mut self, at: u32, is: bool) {
        let word = at as usize / 64;
        if word >= self.0.len() {
            if !is {
                return;
            }
            self.0.resize(word + 1, 0);
        }
        let bit = 1 << (at % 64);
        if is { self.0[word] |= bit } else { self.0[word] &= !bit }
    }

    pub(super) fn count(&self) -> u64 {
        self.0.iter().map(|word| u64::from(word.count_ones())).sum()
    }
}
