-- Tables as programs keep them in their SQLite files.
PRAGMA user_version = 7;
CREATE TABLE notes (id INTEGER PRIMARY KEY, guid TEXT NOT NULL UNIQUE, sort INTEGER NOT NULL,
  fields TEXT NOT NULL, data BLOB NOT NULL DEFAULT x'', flags INTEGER_OR_TEXT);
INSERT INTO notes VALUES (1700000000001, 'q]0h', 'front', 'front' || char(31) || 'back', x'00ff', 4400),
  (1700000000002, 'a''b"', 12, '', x'', 'n/a'), (3, 'ü', -1, '%_\', 'text', NULL);
CREATE TABLE blobs (hash BLOB PRIMARY KEY, size INT, note TEXT) WITHOUT ROWID;
INSERT INTO blobs VALUES (x'', 0, 'empty'), (x'00ff2f', 3, NULL), (x'616263', 3, 'abc');
CREATE TABLE settings (key TEXT PRIMARY KEY, value);
INSERT INTO settings VALUES ('', 1), ('.', 'dot'), ('..', x'00'), ('count', 2.5), ('a/b,c', NULL);
CREATE TABLE codes (auth TEXT NOT NULL, code INTEGER_OR_TEXT NOT NULL, name TEXT,
  PRIMARY KEY (auth, code));
INSERT INTO codes VALUES ('EPSG', 4326, 'WGS 84'), ('EPSG', '4326x', NULL), ('IGNF', 'LAMB93', 'é'),
  ('', 1, 'no authority');
CREATE TABLE note_tags (note INTEGER REFERENCES notes ON DELETE CASCADE, tag TEXT REFERENCES settings,
  since DATETIME DEFAULT CURRENT_TIMESTAMP, PRIMARY KEY (note, tag));
INSERT INTO note_tags VALUES (3, '', '2024-01-01 00:00:00'), (3, '.', '2024-01-01T00:00:00Z');
CREATE TABLE log (at REAL, message, level INT);
INSERT INTO log VALUES (1700000000.25, 'one', 1), (NULL, x'6f6e65', 1), (1e300, 5, NULL);
CREATE TABLE touched (id INTEGER PRIMARY KEY, v TEXT, at TEXT, n INT DEFAULT 0);
CREATE TRIGGER touched_at AFTER UPDATE OF v ON touched BEGIN
  UPDATE touched SET at = strftime('%Y-%m-%d %H:%M:%f', 'now'), n = n + 1 WHERE id = new.id; END;
INSERT INTO touched VALUES (1, 'a', '2024-01-01', 1), (2, NULL, NULL, 0);
CREATE TABLE kept (id INTEGER PRIMARY KEY, v TEXT);
CREATE TRIGGER kept_for_ever BEFORE DELETE ON kept BEGIN SELECT RAISE(ABORT, 'never deleted'); END;
INSERT INTO kept VALUES (1, 'a');
CREATE VIRTUAL TABLE note_search USING fts5(fields, content=notes, content_rowid=id);
INSERT INTO note_search (note_search) VALUES ('rebuild');
CREATE TRIGGER note_search_insert AFTER INSERT ON notes BEGIN
  INSERT INTO note_search (rowid, fields) VALUES (new.id, new.fields); END;
CREATE TRIGGER note_search_delete AFTER DELETE ON notes BEGIN
  INSERT INTO note_search (note_search, rowid, fields) VALUES ('delete', old.id, old.fields); END;
CREATE VIRTUAL TABLE areas USING rtree(id, west, east, south, north);
INSERT INTO areas VALUES (1, -180, 180, -90, 90), (2, 5.5, 9.25, 41.3, 51.1);
CREATE VIEW note_list AS SELECT n.id, n.sort, count(t.tag) AS tags FROM notes n
  LEFT JOIN note_tags t ON t.note = n.id GROUP BY n.id;
CREATE VIEW titles AS SELECT title_sort(fields) FROM notes;
