//! What samples tell of what they were drawn from: rates and medians, each with the interval that holds the true value
//! in 95 of 100 cases.
//!
//! Rates have Wilson's interval, their differences Newcombe's (1998, method 10), other figures a bootstrap of fixed
//! seed.

/// The quantile of the normal distribution that 97.5 % lie below.
const Z: f64 = 1.959_963_984_540_054;
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

/// The interval of a figure of some values by resampling them. The same values always give the same interval. `None` of
/// fewer than two.
pub(crate) fn resampled(values: &[f64], figure: fn(&[f64]) -> Option<f64>) -> Option<Interval> {
    if values.len() < 2 {
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
#[expect(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    fn check(found: Interval, low: f64, high: f64) {
        assert!((found.low - low).abs() < 6e-5 && (found.high - high).abs() < 6e-5, "{found:?}, not {low} to {high}");
    }

    /// R. G. Newcombe, Two-sided confidence intervals for the single proportion, 1998, table I, method 3.
    #[test]
    fn a_rate_has_wilsons_interval() {
        check(rate(81, 263), 0.2553, 0.3662);
        check(rate(15, 148), 0.0624, 0.1605);
        check(rate(0, 20), 0.0, 0.1611);
        check(rate(1, 29), 0.0061, 0.1718);
        check(rate(20, 20), 1.0 - 0.1611, 1.0);
        check(rate(0, 0), 0.0, 1.0);
    }

    /// R. G. Newcombe, Interval estimation for the difference between independent proportions, 1998, table II,
    /// method 10.
    #[test]
    fn the_difference_of_rates_has_newcombes_interval() {
        check(difference((56, 70), (48, 80)), 0.0524, 0.3339);
        check(difference((9, 10), (3, 10)), 0.1705, 0.8090);
        check(difference((5, 56), (0, 29)), -0.0381, 0.1926);
        check(difference((0, 10), (0, 20)), -0.1611, 0.2775);
        check(difference((10, 10), (0, 10)), 0.6075, 1.0);
    }

    #[test]
    fn a_median_is_between_the_two_in_the_middle() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0]), Some(3.0));
        assert_eq!(median(&[9.0, 1.0, 3.0]), Some(3.0));
        assert_eq!(median(&[9.0, 1.0, 3.0, 4.0]), Some(3.5));
        assert_eq!(mean(&[1.0, 2.0, 6.0]), Some(3.0));
    }

    /// In 95 of 100 simulated experiments the interval holds the true value.
    #[test]
    fn intervals_hold_the_true_value_as_often_as_they_say() {
        let mut random = fastrand::Rng::with_seed(7);
        let (mut rates, mut means) = (0, 0);
        let rounds: u32 = 400;
        for _ in 0..rounds {
            let passed = (0..40).filter(|_| random.f64() < 0.3).count() as u32;
            let found = rate(passed, 40);
            rates += u32::from(found.low <= 0.3 && 0.3 <= found.high);
            let values: Vec<f64> = (0..40).map(|_| random.f64()).collect();
            let found = resampled(&values, mean).unwrap();
            means += u32::from(found.low <= 0.5 && 0.5 <= found.high);
        }
        for held in [rates, means] {
            let share = f64::from(held) / f64::from(rounds);
            assert!((0.91..=0.99).contains(&share), "{share}");
        }
    }

    #[test]
    fn one_value_has_no_interval() {
        assert_eq!(resampled(&[1.0], median), None);
        assert_eq!(resampled(&[4.0, 4.0, 4.0], median), Some(Interval { low: 4.0, high: 4.0 }));
    }
}
