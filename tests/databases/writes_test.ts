import { assert, assertEquals } from "@std/assert";
import { openDatabase } from "../../mod.ts";
import { createScratchDatabase } from "../support/engines.ts";
import { testOnPostgres } from "../support/postgres_tests.ts";
import { runScript, scratchFolder } from "../support/scratch.ts";
import { testPostgres, testUnless } from "../support/skip.ts";
import { type Sweep, sweepWrites } from "./write_sweep.ts";

/** In the manner of Sakila for SQLite: loose types, keys of two columns, a stamp after every write. */
const sqliteScript = `
  CREATE TABLE language (language_id SMALLINT NOT NULL, name CHAR(20) NOT NULL,
    last_update TIMESTAMP NOT NULL, PRIMARY KEY (language_id));
  CREATE TABLE actor (actor_id numeric NOT NULL, first_name VARCHAR(45) NOT NULL,
    last_update TIMESTAMP NOT NULL, PRIMARY KEY (actor_id));
  CREATE TABLE film (film_id INTEGER PRIMARY KEY, title VARCHAR(255) NOT NULL,
    description BLOB SUB_TYPE TEXT DEFAULT NULL, release_year VARCHAR(4), picture BLOB,
    language_id SMALLINT NOT NULL REFERENCES language (language_id) ON DELETE NO ACTION,
    original_language_id SMALLINT REFERENCES language (language_id),
    rental_rate DECIMAL(4,2) DEFAULT 4.99 NOT NULL, length SMALLINT, score REAL,
    rating VARCHAR(10) DEFAULT 'G', special_features VARCHAR(100),
    hours AS (round(length / 60.0, 2)), shout TEXT AS (upper(title)) STORED,
    last_update TIMESTAMP NOT NULL,
    CONSTRAINT CHECK_ratings CHECK (rating IN ('G', 'PG', 'PG-13', 'R', 'NC-17')));
  CREATE TABLE film_actor (actor_id INT NOT NULL REFERENCES actor (actor_id),
    film_id INT NOT NULL REFERENCES film (film_id),
    last_update TIMESTAMP NOT NULL, PRIMARY KEY (actor_id, film_id));
  CREATE TABLE film_text (film_id SMALLINT NOT NULL PRIMARY KEY, title VARCHAR(255), body) WITHOUT ROWID;
  CREATE TABLE "the store" (store_id INT NOT NULL PRIMARY KEY, manager_staff_id SMALLINT NOT NULL UNIQUE
    REFERENCES staff (staff_id), last_update TIMESTAMP NOT NULL);
  CREATE TABLE staff (staff_id SMALLINT NOT NULL PRIMARY KEY, email VARCHAR(50) UNIQUE,
    store_id INT REFERENCES "the store" (store_id), active BOOLEAN DEFAULT 1 NOT NULL,
    last_update TIMESTAMP NOT NULL);
  CREATE VIEW film_list AS SELECT f.film_id, f.title, l.name FROM film f JOIN language l
    ON l.language_id = f.language_id;
  INSERT INTO language VALUES (1, 'English', '2006-02-15 05:02:19'), (2, 'Italian', '2006-02-15 05:02:19');
  INSERT INTO actor VALUES (1, 'PENELOPE', '2006-02-15 04:34:33.000'), (2, 'NICK', '2006-02-15 04:34:33');
  INSERT INTO film (film_id, title, description, release_year, picture, language_id, rental_rate,
      length, score, rating, special_features, last_update) VALUES
    (1, 'ACADEMY DINOSAUR', 'A Epic Drama', '2006', x'00ff', 1, 0.99, 86, 1e300, 'PG',
      'Deleted Scenes,Behind the Scenes', '2006-02-15 05:03:42'),
    (2, 'Ünï''code "x"', NULL, NULL, NULL, 2, 5, NULL, 3, 'NC-17', '',
      '2006-02-15 05:03:42.000');
  INSERT INTO film_actor VALUES (1, 1, '2006-02-15 05:05:03'), (2, 1, '2006-02-15 05:05:03');
  INSERT INTO film_text VALUES (1, 'ACADEMY DINOSAUR', 'one'), (2, NULL, NULL);
  INSERT INTO staff VALUES (1, 'mike@example.com', NULL, 1, '2006-02-15 04:57:16'),
    (2, NULL, NULL, 0, '2006-02-15 04:57:16');
  INSERT INTO "the store" VALUES (1, 1, '2006-02-15 04:57:12');
  UPDATE staff SET store_id = 1;
` + ["language", "actor", "film", "film_actor", '"the store"', "staff"].flatMap((table) =>
  ["INSERT", "UPDATE"].map((event) =>
    `CREATE TRIGGER ${table.replace(/\W/g, "")}_${event} AFTER ${event} ON ${table} BEGIN UPDATE ` +
    `${table} SET last_update = DATETIME('NOW') WHERE rowid = new.rowid; END;\n`
  )
).join("");

/** In the manner of Sakila for Postgres, with the rules of its payments. */
const postgresScript = `
  CREATE TYPE mpaa_rating AS ENUM ('G', 'PG', 'NC-17');
  CREATE DOMAIN year AS integer CHECK (VALUE >= 1901 AND VALUE <= 2155);
  CREATE TABLE language (language_id serial PRIMARY KEY, name character(20) NOT NULL,
    last_update timestamp NOT NULL DEFAULT now());
  CREATE TABLE actor (actor_id serial PRIMARY KEY, first_name varchar(45) NOT NULL,
    last_update timestamp NOT NULL DEFAULT now());
  CREATE TABLE film (film_id serial PRIMARY KEY, title varchar(255) NOT NULL, description text,
    release_year year, language_id smallint NOT NULL REFERENCES language ON UPDATE CASCADE ON DELETE RESTRICT,
    rental_rate numeric(4,2) NOT NULL DEFAULT 4.99, length smallint, score double precision,
    rating mpaa_rating DEFAULT 'G', special_features text[], picture bytea, uuid uuid UNIQUE,
    details jsonb, raw json, span interval, hours numeric(6,2) GENERATED ALWAYS AS (round(length / 60.0, 2)) STORED,
    fulltext tsvector NOT NULL, last_update timestamptz NOT NULL DEFAULT now());
  CREATE TABLE film_actor (actor_id integer NOT NULL REFERENCES actor,
    film_id integer NOT NULL REFERENCES film, last_update timestamp NOT NULL DEFAULT now(),
    PRIMARY KEY (actor_id, film_id));
  CREATE TABLE store (store_id serial PRIMARY KEY, manager_staff_id smallint NOT NULL UNIQUE,
    last_update timestamp NOT NULL DEFAULT now());
  CREATE TABLE staff (staff_id serial PRIMARY KEY, email varchar(50) UNIQUE,
    store_id smallint REFERENCES store, active boolean NOT NULL DEFAULT true,
    last_update timestamp NOT NULL DEFAULT now());
  ALTER TABLE store ADD FOREIGN KEY (manager_staff_id) REFERENCES staff;
  CREATE TABLE rental (rental_id bigserial PRIMARY KEY, rental_date timestamp NOT NULL,
    UNIQUE (rental_date));
  CREATE TABLE payment (payment_id serial PRIMARY KEY, rental_id bigint NOT NULL REFERENCES rental ON DELETE SET NULL,
    amount numeric(5,2) NOT NULL, payment_date timestamp NOT NULL DEFAULT now());
  CREATE TABLE payment_p2007 (CHECK (payment_date >= '2007-01-01')) INHERITS (payment);
  CREATE RULE payment_p2007 AS ON INSERT TO payment WHERE NEW.payment_date >= '2007-01-01'
    DO INSTEAD INSERT INTO payment_p2007 VALUES (DEFAULT, NEW.rental_id, NEW.amount, NEW.payment_date);
  CREATE TABLE visit (day date NOT NULL, place text NOT NULL, PRIMARY KEY (day, place)) PARTITION BY RANGE (day);
  CREATE TABLE visit_old PARTITION OF visit FOR VALUES FROM ('2000-01-01') TO ('2030-01-01');
  CREATE VIEW film_list AS SELECT f.film_id, f.title, l.name FROM film f JOIN language l USING (language_id);
  CREATE MATERIALIZED VIEW titles AS SELECT title FROM film;
  INSERT INTO language (name) VALUES ('English'), ('Italian');
  INSERT INTO actor (first_name) VALUES ('PENELOPE'), ('NICK');
  CREATE TRIGGER film_fulltext BEFORE INSERT OR UPDATE ON film FOR EACH ROW EXECUTE FUNCTION
    tsvector_update_trigger('fulltext', 'pg_catalog.english', 'title', 'description');
  INSERT INTO film (title, description, release_year, language_id, rental_rate, length, score, rating,
      special_features, picture, uuid, details, raw, span) VALUES
    ('ACADEMY DINOSAUR', 'A Epic Drama', 2006, 1, 0.99, 86, 1e300, 'PG', '{"Deleted Scenes",x}', '\\x00ff',
      'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '{"b": [1.5, null], "a": "ü"}', '{"b":1,"a":1.5}', '1 mon 2 days'),
    ('Ünï''code "x"', NULL, NULL, 2, 5, NULL, 0.1, 'NC-17', NULL, NULL, NULL, NULL, NULL, NULL);
  INSERT INTO film_actor VALUES (1, 1), (2, 1);
  INSERT INTO staff (email, active) VALUES ('mike@example.com', true), (NULL, false);
  INSERT INTO store (manager_staff_id) VALUES (1);
  UPDATE staff SET store_id = 1;
  INSERT INTO rental (rental_date) VALUES ('2005-05-24 22:53:30'), ('2005-05-24 22:54:33.123456');
  INSERT INTO payment (rental_id, amount, payment_date) VALUES (1, 2.99, '2005-05-25 11:30:37');
  INSERT INTO visit VALUES ('2024-02-29', 'Łódź, a/b'), ('2024-03-01', '%');
`;

const stamp = `CREATE FUNCTION last_updated() RETURNS trigger LANGUAGE plpgsql AS
  $$ BEGIN NEW.last_update = CURRENT_TIMESTAMP; RETURN NEW; END $$`;

for (const [scheme, mode] of [["sqlite", "triggers"], ["node-sqlite", "service"]] as const) {
  Deno.test(`rows of others are written back as they were (${scheme})`, async () => {
    const db = await openDatabase(`${scheme}::memory:`);
    try {
      // Triggers have semicolons.
      for (const text of sqliteScript.split(/;\n(?!\s*WHERE)/)) {
        if (text.trim() !== "") await db.driver.query({ text, values: [] });
      }
      requireNoFault(await sweepWrites(db, { rows: 5, mode }), 7);
    } finally {
      await db.close();
    }
  });
}

testOnPostgres("rows of others are written back as they were", async (url) => {
  const db = await openDatabase(url);
  try {
    await runScript(db.driver, postgresScript);
    await db.driver.query({ text: stamp, values: [] });
    for (const table of ["language", "actor", "film", "film_actor", "store", "staff"]) {
      const text = `CREATE TRIGGER last_updated BEFORE UPDATE ON ${table} FOR EACH ROW ` +
        "EXECUTE FUNCTION last_updated()";
      await db.driver.query({ text, values: [] });
    }
    requireNoFault(await sweepWrites(db, { rows: 5, mode: "service" }), 9);
  } finally {
    await db.close();
  }
});

const sakilaFile = Deno.env.get("SAKILA_SQLITE");
const sakilaDatabase = Deno.env.get("SAKILA_POSTGRES");

testUnless(
  sakilaFile === undefined ? "SAKILA_SQLITE names no file" : null,
  "rows of Sakila are written back as they were",
  async () => {
    await using folder = await scratchFolder();
    await Deno.copyFile(sakilaFile ?? "", `${folder.path}/sakila.db`);
    const db = await openDatabase(`sqlite:${folder.path}/sakila.db`);
    try {
      requireNoFault(await sweepWrites(db, { rows: 20, mode: "triggers" }), 15);
    } finally {
      await db.close();
    }
  },
);

const server = testPostgres();

testUnless(
  "missing" in server
    ? server.missing
    : sakilaDatabase === undefined
    ? "SAKILA_POSTGRES names no database on the server of the tests"
    : null,
  "postgres: rows of Sakila are written back as they were",
  async () => {
    if ("missing" in server) throw new Error(server.missing);
    const scratch = await createScratchDatabase(server.url, sakilaDatabase);
    const db = await openDatabase(scratch.url);
    try {
      requireNoFault(await sweepWrites(db, { rows: 20, mode: "triggers" }), 15);
    } finally {
      await db.close();
      await scratch.drop();
    }
  },
);

function requireNoFault({ written, copies, faults }: Sweep, tables: number): void {
  assertEquals(faults, []);
  assert(copies >= tables, `${copies} copies`);
  const full = [...written.values()].filter((count) => count > 0);
  assert(full.length >= tables, JSON.stringify([...written]));
}
