//! [`promises!`](crate::promises): the rules of each promise, and a `#[test]` for each rule.

/// Tests an implementation of the log by every rule of the listed promises. Creates a module for each promise
/// with a test for each rule, so that a failure names both: `order::a_request_id_is_used_once`.
///
/// Takes the implementation's [`Subject`](crate::Subject), a colon, and promises from the table in the crate's
/// documentation.
#[macro_export]
macro_rules! promises {
    ($subject:ty: $($promise:ident),+ $(,)?) => {
        $($crate::promise!($promise, $subject);)+
    };
}

/// Creates the tests of one promise; see [`promises!`](crate::promises).
#[doc(hidden)]
#[macro_export]
macro_rules! promise {
    (atomic_appends, $subject:ty) => {
        $crate::rules!(
            atomic_appends,
            $subject,
            a_refused_append_leaves_nothing,
            an_empty_append_changes_nothing,
            a_huge_append_is_kept_whole,
        );
    };
    (order, $subject:ty) => {
        $crate::rules!(
            order,
            $subject,
            a_gap_between_appends_is_refused,
            a_gap_inside_an_append_is_refused,
            an_append_to_a_request_that_never_started_is_refused,
            a_request_id_is_used_once,
            ids_are_compared_exactly,
            appends_are_stored_in_call_order,
            an_append_whose_result_is_dropped_is_stored,
            nothing_is_stored_after_a_lost_append,
            threads_that_append_at_once_lose_nothing,
        );
    };
    (compare_and_set, $subject:ty) => {
        $crate::rules!(
            compare_and_set,
            $subject,
            a_commit_from_an_old_version_keeps_its_evidence_and_its_place,
            a_commit_from_a_future_version_is_refused,
            a_conflict_names_its_records_in_their_order,
            a_conflict_refuses_every_commit_of_its_append,
            one_append_may_commit_a_record_twice,
            records_are_independent,
            writers_that_race_lose_no_update,
        );
    };
    (durability, $subject:ty) => {
        $crate::rules!(
            durability,
            $subject,
            a_committed_append_survives_a_kill,
            a_kill_leaves_whole_appends_in_their_order,
            what_was_read_survives_a_kill,
            a_log_that_is_closed_keeps_everything,
            a_log_that_is_opened_again_keeps_its_promises,
            a_record_cannot_be_set,
        );
    };
    (awaited_boundaries, $subject:ty) => {
        $crate::rules!(
            awaited_boundaries,
            $subject,
            a_boundary_completes_after_its_commit,
            a_lost_boundary_is_reported_by_itself,
        );
    };
    (visibility, $subject:ty) => {
        $crate::rules!(
            visibility,
            $subject,
            readers_never_see_part_of_an_append,
            readers_never_see_what_is_refused,
            what_is_committed_can_be_read_at_once,
        );
    };
    (concurrency_keys, $subject:ty) => {
        $crate::rules!(
            concurrency_keys,
            $subject,
            a_key_is_held_by_one_request_at_a_time,
            other_keys_are_free,
            a_queued_request_starts_when_the_key_is_free,
            requests_start_in_the_order_of_acceptance,
            leaving_the_queue_lets_others_start,
            a_request_that_holds_starts_at_once,
            a_suspended_request_gives_its_key_back,
            a_race_for_a_key_has_one_winner,
        );
    };
    (one_owner, $subject:ty) => {
        $crate::rules!(
            one_owner,
            $subject,
            appends_under_another_lease_are_refused,
            a_take_over_begins_with_its_event,
            the_owner_before_writes_nothing_more,
            a_request_that_waits_is_taken_over_by_one,
            owners_follow_each_other,
            a_request_that_ended_is_taken_over,
        );
    };
    (one_user, $subject:ty) => {
        $crate::rules!(
            one_user,
            $subject,
            a_session_belongs_to_its_first_user,
            a_refused_request_gives_its_session_no_user,
        );
    };
    (queues, $subject:ty) => {
        $crate::rules!(
            queues,
            $subject,
            the_longest_waiter_writes_first,
            a_conflict_names_records_that_others_wait_for,
            no_two_requests_wait_for_each_other,
            a_record_that_is_added_has_the_place_of_its_ticket,
            a_ticket_is_gone_with_the_next_commit,
            requests_that_no_longer_write_are_skipped,
            a_ticket_expires,
            a_renewed_ticket_keeps_its_place,
            queued_writers_commit_in_order,
        );
    };
    (dead_owners, $subject:ty) => {
        $crate::rules!(
            dead_owners,
            $subject,
            only_the_dead_are_taken_over,
            a_dead_request_holds_no_key,
            a_dead_writer_is_skipped,
        );
    };
    (handles, $subject:ty) => {
        $crate::rules!(
            handles,
            $subject,
            two_handles_conflict_and_see_each_other,
            commits_of_one_handle_are_visible_to_the_other,
            another_handle_never_sees_part_of_an_append,
            a_request_goes_on_through_another_handle,
            ids_keys_and_leases_apply_to_all_handles,
            tickets_hold_for_all_handles,
            handles_that_race_lose_no_update,
            a_race_of_handles_for_a_key_has_one_winner,
        );
    };
    (reads, $subject:ty) => {
        $crate::rules!(
            reads,
            $subject,
            events_come_back_as_they_were_appended,
            own_events_include_queued_events,
            unknown_requests_and_records_are_empty,
            records_come_in_the_order_of_the_scopes,
        );
    };
    (sessions, $subject:ty) => {
        $crate::rules!(
            sessions,
            $subject,
            earlier_requests_are_completed_ones,
            notes_are_the_newest_of_their_kind,
            notes_count_with_their_attempt,
            notes_and_records_become_visible_together,
        );
    };
    (forks, $subject:ty) => {
        $crate::rules!(
            forks,
            $subject,
            a_fork_has_the_shared_events,
            a_fork_without_its_shared_events_is_refused,
            a_fork_has_an_owner_of_its_own,
            the_session_of_a_fork_has_what_was_before_it,
        );
    };
    (replayed_records, $subject:ty) => {
        $crate::rules!(replayed_records, $subject, a_record_that_was_set_is_committed_from_its_version,);
    };
}

/// Creates a module with a test for each rule of a promise; see [`promises!`](crate::promises).
#[doc(hidden)]
#[macro_export]
macro_rules! rules {
    ($promise:ident, $subject:ty, $($rule:ident,)+) => {
        mod $promise {
            use super::*;
            $(
                #[test]
                fn $rule() {
                    $crate::$promise::$rule::<$subject>();
                }
            )+
        }
    };
}

#[cfg(test)]
mod tests {
    /// The files of the promises, by name.
    const FILES: [(&str, &str); 16] = [
        ("atomic_appends", include_str!("atomic_appends.rs")),
        ("order", include_str!("order.rs")),
        ("compare_and_set", include_str!("compare_and_set.rs")),
        ("durability", include_str!("durability.rs")),
        ("awaited_boundaries", include_str!("awaited_boundaries.rs")),
        ("visibility", include_str!("visibility.rs")),
        ("concurrency_keys", include_str!("concurrency_keys.rs")),
        ("one_owner", include_str!("one_owner.rs")),
        ("one_user", include_str!("one_user.rs")),
        ("queues", include_str!("queues.rs")),
        ("dead_owners", include_str!("dead_owners.rs")),
        ("handles", include_str!("handles.rs")),
        ("reads", include_str!("reads.rs")),
        ("sessions", include_str!("sessions.rs")),
        ("forks", include_str!("forks.rs")),
        ("replayed_records", include_str!("replayed_records.rs")),
    ];

    /// A rule that is in no list would never run.
    #[test]
    fn every_rule_is_in_its_list() {
        let lists = include_str!("macros.rs");
        let mut count = 0;
        for (promise, text) in FILES {
            let (_, list) = lists.split_once(&format!("({promise}, $subject:ty)")).expect("every promise has a list");
            let (list, _) = list.split_once(");").expect("a list ends");
            for rule in text.lines().filter_map(|line| line.strip_prefix("pub fn ")?.split('<').next()) {
                assert!(list.contains(&format!(" {rule},")), "{promise}.rs has {rule}, its list in macros.rs has not");
                count += 1;
            }
        }
        assert!(count > 50, "only {count} rules were found");
    }
}
