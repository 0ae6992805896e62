//! Intervals against tables that others published, and against simulated draws.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

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
        let values: Vec<f64> = (0..5).map(|_| random.f64()).collect();
        let found = of_mean(&values).unwrap();
        means += u32::from(found.low <= 0.5 && 0.5 <= found.high);
    }
    for held in [rates, means] {
        let share = f64::from(held) / f64::from(rounds);
        assert!((0.91..=0.99).contains(&share), "{share}");
    }
}

/// Student 1908, "The probable error of a mean": the additional hours of sleep of ten patients by two drugs.
#[test]
fn means_have_students_interval_and_their_difference_welchs() {
    let one = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0];
    let other = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4];
    let near = |found: Option<Interval>, low: f64, high: f64| {
        let found = found.unwrap();
        assert!((found.low - low).abs() < 0.005 && (found.high - high).abs() < 0.005, "{found:?}");
    };
    near(of_mean(&one), -0.530, 2.030);
    near(difference_of_means(&one, &other), -3.365, 0.205);
}

#[test]
fn too_few_values_have_no_interval() {
    assert_eq!((of_mean(&[1.0]), resampled(&[1.0, 2.0], median)), (None, None));
    assert_eq!(difference_of_means(&[1.0, 1.0], &[2.0, 2.0]), None);
    // Two equal values were taken for values without any spread.
    assert_eq!(difference_of_means(&[1.0, 1.0], &[2.0, 2.1, 2.2, 2.1]), None);
    let clear = difference_of_means(&[1.0; 5], &[2.0; 5]);
    assert_eq!(clear, Some(Interval { low: -1.0, high: -1.0 }));
    assert_eq!(resampled(&[4.0; 5], median), Some(Interval { low: 4.0, high: 4.0 }));
}

/// Two equal scores read "5 (5–5)", as if nothing else could come.
#[test]
fn equal_values_have_no_interval_of_their_mean() {
    for values in [[5.0; 2].as_slice(), &[0.1; 3], &[5.0; 40]] {
        assert_eq!((of_mean(values), are_equal(values)), (None, true));
    }
    // The sum of three is rounded, and was a spread of 10⁻¹⁷.
    assert_eq!(difference_of_means(&[0.1; 3], &[0.2; 3]), None);
    assert!(!are_equal(&[1.0]) && !are_equal(&[]) && !are_equal(&[1.0, 2.0]));
    // Two that differ tell nearly nothing: Student's quantile for one degree of freedom.
    check(of_mean(&[4.0, 6.0]).unwrap(), 5.0 - 12.706, 5.0 + 12.706);
    // A rate of equal results has an interval.
    check(rate(2, 2), 0.3424, 1.0);
}
