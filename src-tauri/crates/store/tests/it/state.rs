//! State at an instant equals the operations up to it, whatever keyframes lie between.

use engine::log::Log;
use engine::operation::Operation;
use engine::state::State;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::history::{History, open, session};

fn operations() -> impl Strategy<Value = Operation> {
    let text = "[a-z]{0,400}".prop_map(Value::from);
    prop_oneof![
        ("[a-d]", text.clone()).prop_map(|(field, value)| {
            let fields: Map<String, Value> = [(field, value)].into_iter().collect();
            Operation::Patch { fields }
        }),
        ("[l-m]", text.clone()).prop_map(|(field, value)| Operation::Push { field, value }),
        ("[r-s]", "[x-z]", text).prop_map(|(field, key, value)| Operation::SetRecord { field, key, value }),
        (-3_i64..3).prop_map(|by| Operation::Increment { by: [("n".to_owned(), json!(by))].into_iter().collect() }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]
    #[test]
    fn any_instant_is_the_fold_of_what_came_before(all in prop::collection::vec(operations(), 1..60)) {
        let folder = tempfile::tempdir().expect("a folder");
        let store = open(&folder.path().join("f.db"));
        let mut history = History::new("r");
        history.start(&store);
        let mut state = State::default();
        let mut instants = vec![(history.last(), 0, state.to_json())];
        for (at, operation) in all.into_iter().enumerate() {
            operation.apply(&mut state);
            history.commit(&store, at as u64, vec![operation]).expect("it commits");
            instants.push((history.last(), at as u64 + 1, state.to_json()));
        }
        for (seq, version, expected) in instants {
            let found = store.state_at(&session(), "r", seq).expect("readable");
            prop_assert_eq!((found.version, found.state.to_json()), (version, expected));
        }
        prop_assert_eq!(store.record(&session()).expect("readable").state.to_json(), state.to_json());
    }
}
