//! The values that are bound to a statement: a tuple, an array, or as many as there are.

use rusqlite::ToSql;

/// Values for `?1`, `?2` and so on.
pub(crate) trait Params {
    /// Calls `take` with the values in their order.
    fn with<R>(&self, take: impl FnOnce(&[&dyn ToSql]) -> R) -> R;
}

impl Params for () {
    fn with<R>(&self, take: impl FnOnce(&[&dyn ToSql]) -> R) -> R {
        take(&[])
    }
}

impl Params for &[&dyn ToSql] {
    fn with<R>(&self, take: impl FnOnce(&[&dyn ToSql]) -> R) -> R {
        take(self)
    }
}

impl<T: ToSql, const N: usize> Params for [T; N] {
    fn with<R>(&self, take: impl FnOnce(&[&dyn ToSql]) -> R) -> R {
        take(&self.each_ref().map(|value| value as &dyn ToSql))
    }
}

/// Values for a statement with more than a tuple has room for.
macro_rules! params {
    ($($value:expr),+ $(,)?) => {
        &[$(&$value as &dyn rusqlite::ToSql),+] as &[&dyn rusqlite::ToSql]
    };
}
pub(crate) use params;

/// Values of a list.
pub(crate) struct FromIter<'a, T>(&'a [T]);

/// Binds the values of a list.
pub(crate) fn params_from_iter<T: ToSql>(values: &[T]) -> FromIter<'_, T> {
    FromIter(values)
}

impl<T: ToSql> Params for FromIter<'_, T> {
    fn with<R>(&self, take: impl FnOnce(&[&dyn ToSql]) -> R) -> R {
        let values: Vec<&dyn ToSql> = self.0.iter().map(|value| value as &dyn ToSql).collect();
        take(&values)
    }
}

macro_rules! tuple {
    ($($value:ident),+) => {
        impl<$($value: ToSql),+> Params for ($($value,)+) {
            fn with<Answer>(&self, take: impl FnOnce(&[&dyn ToSql]) -> Answer) -> Answer {
                #[expect(non_snake_case, reason = "each value is named after its type")]
                let ($($value,)+) = self;
                take(&[$($value as &dyn ToSql),+])
            }
        }
    };
}

tuple!(A);
tuple!(A, B);
tuple!(A, B, C);
tuple!(A, B, C, D);
tuple!(A, B, C, D, E);
tuple!(A, B, C, D, E, F);
tuple!(A, B, C, D, E, F, G);
tuple!(A, B, C, D, E, F, G, H);
tuple!(A, B, C, D, E, F, G, H, I);
tuple!(A, B, C, D, E, F, G, H, I, J);
tuple!(A, B, C, D, E, F, G, H, I, J, K);
tuple!(A, B, C, D, E, F, G, H, I, J, K, L);
tuple!(A, B, C, D, E, F, G, H, I, J, K, L, M);
tuple!(A, B, C, D, E, F, G, H, I, J, K, L, M, N);
tuple!(A, B, C, D, E, F, G, H, I, J, K, L, M, N, O);
tuple!(A, B, C, D, E, F, G, H, I, J, K, L, M, N, O, P);
