-- Tables as applications keep them in Postgres, in two schemas.
CREATE SCHEMA auth;
CREATE TYPE mood AS ENUM ('well', 'bad');
CREATE TYPE place AS (street text, "number" int, at timestamptz);
CREATE DOMAIN email AS text CHECK (VALUE ~ '@');
CREATE DOMAIN bigs AS bigint[];
CREATE TABLE auth.users (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), mail email UNIQUE,
  meta jsonb NOT NULL DEFAULT '{}', created timestamptz NOT NULL DEFAULT now(),
  confirmed timestamptz GENERATED ALWAYS AS (created) STORED);
INSERT INTO auth.users (id, mail, meta, created) VALUES
  ('a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', 'a@b', '{"n": 12345678901234567890.5}', '2024-01-01'),
  ('a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a12', NULL, '[]', 'infinity');
CREATE TABLE odd (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, feels mood, lives place,
  counts bigs, span int8range, lasts interval, costs money, net inet, bits bit(4), words tsvector,
  names text[], many place[], "the ""column""" numeric(20, 5), at point);
INSERT INTO odd (feels, lives, counts, span, lasts, costs, net, bits, words, names, many,
    "the ""column""", at) VALUES
  ('bad', ('a "b"', NULL, '2024-01-01 00:00:00.123456Z'), '{1,2098288669218571760}', '[1,5)',
    '1 mon 2 days', 12.5, '10.0.0.1', '1010', '''a'':1', '{NULL,"x,y",""}', '{"(s,1,)"}',
    123456789012345.12345, '(1,2)'),
  (NULL, NULL, '{}', 'empty', '-3 days', -1, '::1/64', NULL, '', '{{a,b},{c,d}}', '{}', 'NaN', NULL);
CREATE TABLE kept (id serial PRIMARY KEY, v text);
CREATE FUNCTION no() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'Nope.'; END $$;
CREATE TRIGGER kept_for_ever BEFORE DELETE ON kept FOR EACH ROW EXECUTE FUNCTION no();
INSERT INTO kept (v) VALUES ('a'), (NULL);
CREATE TABLE queued (id int PRIMARY KEY, v text);
CREATE FUNCTION enqueue() RETURNS trigger LANGUAGE plpgsql AS
  $$ BEGIN INSERT INTO outbox.messages VALUES (OLD.id); RETURN OLD; END $$;
CREATE TRIGGER queued_outbox BEFORE DELETE ON queued FOR EACH ROW EXECUTE FUNCTION enqueue();
INSERT INTO queued VALUES (1, 'a');
CREATE TABLE measured (day date NOT NULL, place text NOT NULL, v real, PRIMARY KEY (day, place))
  PARTITION BY RANGE (day);
CREATE TABLE measured_2024 PARTITION OF measured FOR VALUES FROM ('2024-01-01') TO ('2025-01-01');
INSERT INTO measured VALUES ('2024-02-29', '', 0.1), ('2024-03-01', 'a/b,c', 'NaN');
CREATE TABLE tokens (token text PRIMARY KEY, "user" uuid REFERENCES auth.users ON DELETE CASCADE);
INSERT INTO tokens VALUES ('', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'), ('..', NULL), ('count', NULL);
CREATE SCHEMA ext;
CREATE EXTENSION isn SCHEMA ext;
CREATE EXTENSION citext SCHEMA ext;
CREATE TABLE books (isbn ext.isbn PRIMARY KEY, title text, tags ext.citext[], author ext.citext);
INSERT INTO books VALUES ('0-393-04002-X', 'a', '{x,Y}', 'Ada'), ('978-0-201-61622-4', NULL, NULL, 'ada');
CREATE VIEW mails AS SELECT id, mail FROM auth.users WHERE mail IS NOT NULL;
CREATE VIEW failing AS SELECT id, (SELECT v FROM kept) AS v FROM odd;
CREATE MATERIALIZED VIEW counted AS SELECT count(*) AS n, max(day) AS last FROM measured;
