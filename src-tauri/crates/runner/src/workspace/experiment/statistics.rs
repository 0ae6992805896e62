//! What samples tell of what they were drawn from: rates and medians, each with the interval that holds the true value
//! in 95 of 100 cases.
//!
//! Rates have Wilson's interval, their differences Newcombe's (1998, method 10), means and their differences Student's
//! and Welch's, medians a bootstrap of fixed seed. Scores that are all equal say nothing of how far others are from
//! them, so their mean has no interval.

/// The quantile of the normal distribution that 97.5 % lie below.
const Z: f64 = 1.959_963_984_540_054;
/// The same quantile of Student's distribution, for 1 to 30 degrees of freedom.
const T: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
    2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
];
/// How many values a bootstrap needs at least.
const MIN_RESAMPLED: usize = 5;
/// How many equal values there are at least where two means are compared: with five of each, two of the 252 ways to
/// divide the ten values put all of one kind on one side, with two of each two of six.
const MIN_EQUAL: usize = 5;
/// How many resamples a bootstrap draws.
const RESAMPLES: usize = 2_000;

/// An interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Interval {
    pub(crate) low: f64,
    pub(crate) high: f64,
}

/// The interval of a rate. Without any sample it may be anything.
pub(crate) fn rate(passed: u32, of: u32) -> Interval {
    if of == 0 {
        return Interval { low: 0.0, high: 1.0 };
    }
    let (n, rate) = (f64::from(of), f64::from(passed) / f64::from(of));
    let square = Z * Z;
    let middle = rate + square / (2.0 * n);
    let spread = Z * (rate * (1.0 - rate) / n + square / (4.0 * n * n)).sqrt();
    let scale = 1.0 + square / n;
    // What rounding leaves of 0 and 1.
    let low = if passed == 0 { 0.0 } else { ((middle - spread) / scale).max(0.0) };
    let high = if passed == of { 1.0 } else { ((middle + spread) / scale).min(1.0) };
    Interval { low, high }
}

/// The interval of the difference of two rates: the first minus the second, each as `(passed, of)`.
pub(crate) fn difference((passed, of): (u32, u32), (other_passed, other_of): (u32, u32)) -> Interval {
    if of == 0 || other_of == 0 {
        return Interval { low: -1.0, high: 1.0 };
    }
    let (one, other) = (rate(passed, of), rate(other_passed, other_of));
    let (p, q) = (f64::from(passed) / f64::from(of), f64::from(other_passed) / f64::from(other_of));
    let below = ((p - one.low).powi(2) + (other.high - q).powi(2)).sqrt();
    let above = ((one.high - p).powi(2) + (q - other.low).powi(2)).sqrt();
    Interval { low: p - q - below, high: p - q + above }
}

/// The median of some values; `None` of none.
pub(crate) fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        count if count % 2 == 1 => Some(sorted[middle]),
        _ => Some(f64::midpoint(sorted[middle - 1], sorted[middle])),
    }
}

/// The mean of some values; `None` of none.
pub(crate) fn mean(values: &[f64]) -> Option<f64> {
    if values.is_empty() { None } else { Some(values.iter().sum::<f64>() / values.len() as f64) }
}

/// Student's quantile for so many degrees of freedom, at least 1; between two rows of the table on the line between
/// them.
fn student(freedom: f64) -> f64 {
    let freedom = freedom.max(1.0);
    let whole = |freedom: f64| {
        let row = T.get((freedom as usize).saturating_sub(1)).copied();
        row.unwrap_or(Z + (Z.powi(3) + Z) / (4.0 * freedom))
    };
    let (below, part) = (freedom.floor(), freedom.fract());
    whole(below) * (1.0 - part) + whole(below + 1.0) * part
}

/// Whether several values are all equal.
pub(crate) fn are_equal(values: &[f64]) -> bool {
    values.len() > 1 && values.windows(2).all(|pair| pair[0] == pair[1])
}

/// The mean, and the square of its standard error. `None` of fewer than two.
fn mean_and_error(values: &[f64]) -> Option<(f64, f64)> {
    let count = values.len() as f64;
    let mean = mean(values).filter(|_| values.len() > 1)?;
    if are_equal(values) {
        // Rounding could make the mean differ from all of them.
        return Some((values[0], 0.0));
    }
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    Some((mean, squares / (count - 1.0) / count))
}

/// The interval of a mean. `None` if it cannot be told: of fewer than two values, or of values that are all equal.
pub(crate) fn of_mean(values: &[f64]) -> Option<Interval> {
    let (mean, error) = mean_and_error(values).filter(|_| !are_equal(values))?;
    let spread = student(values.len() as f64 - 1.0) * error.sqrt();
    Some(Interval { low: mean - spread, high: mean + spread })
}

/// The interval of the difference of two means: the first minus the second. `None` if it cannot be told: of fewer than
/// two values, or of few that are all equal.
pub(crate) fn difference_of_means(one: &[f64], other: &[f64]) -> Option<Interval> {
    let ((mean, error), (other_mean, other_error)) = (mean_and_error(one)?, mean_and_error(other)?);
    if [one, other].into_iter().any(|values| are_equal(values) && values.len() < MIN_EQUAL) {
        return None;
    }
    let both = error + other_error;
    let freedom = |error: f64, count: usize| error.powi(2) / (count as f64 - 1.0);
    let spread = if both > 0.0 {
        let freedom = both.powi(2) / (freedom(error, one.len()) + freedom(other_error, other.len()));
        student(freedom) * both.sqrt()
    } else {
        0.0
    };
    let middle = mean - other_mean;
    Some(Interval { low: middle - spread, high: middle + spread })
}

/// The interval of a figure of some values by resampling them. The same values always give the same interval. `None` of
/// too few.
pub(crate) fn resampled(values: &[f64], figure: fn(&[f64]) -> Option<f64>) -> Option<Interval> {
    if values.len() < MIN_RESAMPLED {
        return None;
    }
    let mut random = fastrand::Rng::with_seed(1);
    let mut drawn = vec![0.0; values.len()];
    let mut figures: Vec<f64> = (0..RESAMPLES)
        .filter_map(|_| {
            drawn.fill_with(|| values[random.usize(..values.len())]);
            figure(&drawn)
        })
        .collect();
    figures.sort_by(f64::total_cmp);
    let at = |share: f64| figures.get((share * (figures.len() - 1) as f64).round() as usize).copied();
    Some(Interval { low: at(0.025)?, high: at(0.975)? })
}

#[cfg(test)]
mod tests;
