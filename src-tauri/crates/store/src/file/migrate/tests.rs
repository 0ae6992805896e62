//! Migrations of old formats, and of ones that fail.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use super::*;

fn old_database(folder: &Path) -> (PathBuf, Connection) {
    let path = folder.join("old.db");
    let connection = Connection::Sqlite(rusqlite::Connection::open(&path).unwrap());
    create(&connection, &Waiting::default()).unwrap();
    connection.set_pragma("user_version", 1).unwrap();
    connection.execute("INSERT INTO path (text) VALUES ('root')", ()).unwrap();
    (path, connection)
}

#[test]
fn an_old_format_is_migrated_after_a_copy() {
    let folder = tempfile::tempdir().unwrap();
    let (path, mut connection) = old_database(folder.path());
    let steps = ["ALTER TABLE path ADD COLUMN note TEXT", "UPDATE path SET note = 'migrated'"];
    migrate(&mut connection, &path, 1, &steps, &Waiting::default()).unwrap();
    assert_eq!(format_of(&connection).unwrap(), 3);
    let note: String = connection.query_row("SELECT note FROM path", (), |row| row.get(0)).unwrap();
    assert_eq!(note, "migrated");
    let copy = Connection::Sqlite(rusqlite::Connection::open(folder.path().join("old.db.format-1")).unwrap());
    assert_eq!(format_of(&copy).unwrap(), 1);
    assert_eq!(copy.query_row("SELECT text FROM path", (), |row| row.get::<_, String>(0)).unwrap(), "root");
}

#[test]
fn the_first_format_becomes_todays() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("old.db");
    let mut connection = Connection::Sqlite(rusqlite::Connection::open(&path).unwrap());
    connection.execute_batch(include_str!("first_format.sql")).unwrap();
    connection.set_pragma("user_version", 1).unwrap();
    prepare(&mut connection, &path, &Waiting::default()).unwrap();
    assert_eq!(format_of(&connection).unwrap(), FORMAT);
    let schema = |connection: &Connection| -> Vec<String> {
        let sql = "SELECT name FROM sqlite_schema UNION SELECT name FROM pragma_table_info('request')
            UNION SELECT name FROM pragma_table_info('keyframe') UNION SELECT name FROM pragma_table_info('total')
            UNION SELECT name FROM pragma_table_info('session')
            ORDER BY 1";
        connection.prepare(sql).unwrap().query_map((), |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap()
    };
    let fresh = Connection::temporary().unwrap();
    create(&fresh, &Waiting::default()).unwrap();
    assert_eq!(schema(&connection), schema(&fresh));
}

#[test]
fn a_migration_that_fails_leaves_the_old_format() {
    let folder = tempfile::tempdir().unwrap();
    let (path, mut connection) = old_database(folder.path());
    let steps = ["ALTER TABLE path ADD COLUMN note TEXT", "UPDATE nowhere SET note = 1"];
    assert!(migrate(&mut connection, &path, 1, &steps, &Waiting::default()).is_err());
    assert_eq!(format_of(&connection).unwrap(), 1);
    assert!(connection.prepare("SELECT note FROM path").is_err());
}
