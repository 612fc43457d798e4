/** Functions of Postgres as procedures: `db.introspect({ functions })`. */
import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import {
  all,
  byDatabase,
  createApp,
  type Database,
  openDatabase,
  resource,
  rsql,
} from "../../mod.ts";
import { writeApiTypes } from "../../src/openapi/api_types.ts";
import { Misuse } from "../../src/cli/command_options.ts";
import { prepareService } from "../../src/cli/prepare_service.ts";
import { parseServeArguments } from "../../src/cli/serve_arguments.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { testOnPostgres } from "../support/postgres_tests.ts";
import { runScript } from "../support/scratch.ts";

const script = `
CREATE TYPE mood AS ENUM ('sad', 'happy');
CREATE DOMAIN positive AS integer NOT NULL CHECK (value > 0);
CREATE FUNCTION half(of positive, by positive) RETURNS positive IMMUTABLE LANGUAGE sql AS 'SELECT (of / by - 4)::positive';
CREATE TYPE point2 AS (x integer, y integer);
CREATE TABLE films (id integer PRIMARY KEY, title text NOT NULL, year integer NOT NULL, secret text);
CREATE TABLE shows (id integer PRIMARY KEY, film_id integer NOT NULL REFERENCES films);
INSERT INTO films SELECT n, 'Film ' || n, 1990 + n, 'hush' FROM generate_series(1, 30) AS n;
INSERT INTO shows VALUES (1, 5), (2, 6);
CREATE FUNCTION add(a integer, b integer DEFAULT 2) RETURNS integer IMMUTABLE LANGUAGE sql AS 'SELECT a + b';
COMMENT ON FUNCTION add IS 'Adds two numbers';
CREATE FUNCTION films_since(since integer) RETURNS SETOF films STABLE LANGUAGE sql AS
  'SELECT * FROM films WHERE year >= since ORDER BY year';
CREATE FUNCTION best() RETURNS films STABLE LANGUAGE sql AS 'SELECT * FROM films WHERE id = 3';
CREATE FUNCTION by_year(out_of integer) RETURNS TABLE (year integer, films bigint) STABLE LANGUAGE sql AS
  'SELECT year, count(*) FROM films WHERE id < out_of GROUP BY year';
CREATE FUNCTION either_way() RETURNS text VOLATILE LANGUAGE sql AS $$SELECT 'a'$$;
CREATE FUNCTION either_way(b boolean DEFAULT NULL) RETURNS text STABLE LANGUAGE sql AS $$SELECT 'b'$$;
CREATE FUNCTION spread(a int DEFAULT 1, VARIADIC xs int[] DEFAULT '{}') RETURNS int IMMUTABLE
  LANGUAGE sql AS 'SELECT a + cardinality(xs)';
CREATE TABLE pairs (id integer PRIMARY KEY, v integer NOT NULL);
CREATE FUNCTION odd_pairs() RETURNS SETOF pairs STABLE LANGUAGE sql AS
  'VALUES (1, 1), (2, NULL), (3, 3), (4, NULL), (5, 2), (NULL, 3), (NULL, 3), (NULL, NULL)';
CREATE FUNCTION numbers_or_one(VARIADIC of integer[] DEFAULT '{1}') RETURNS SETOF integer IMMUTABLE
  LANGUAGE sql AS 'SELECT unnest(of)';
CREATE FUNCTION numbers(VARIADIC of integer[]) RETURNS SETOF integer IMMUTABLE LANGUAGE sql AS 'SELECT unnest(of)';
CREATE FUNCTION two_out(a integer, OUT double integer, OUT triple integer) IMMUTABLE LANGUAGE sql AS 'SELECT a * 2, a * 3';
CREATE FUNCTION one_out(a integer, OUT doubled integer) IMMUTABLE LANGUAGE sql AS 'SELECT a * 2';
CREATE FUNCTION echo(j jsonb, p point2, m mood, l text[], t timestamptz) RETURNS jsonb STABLE LANGUAGE sql AS
  'SELECT jsonb_build_object(''j'', j, ''p'', p, ''m'', m, ''l'', l, ''t'', t)';
CREATE FUNCTION new_film(film_title text) RETURNS films LANGUAGE sql AS
  'INSERT INTO films SELECT max(id) + 1, film_title, 2030 FROM films RETURNING *';
CREATE FUNCTION new_films(n integer) RETURNS SETOF films LANGUAGE sql AS
  'INSERT INTO films SELECT 1000 + i, ''New '' || i, 1900 + i FROM generate_series(1, n) AS i RETURNING *';
CREATE FUNCTION clear() RETURNS void LANGUAGE sql AS 'DELETE FROM shows';
CREATE FUNCTION refuse(why text) RETURNS void LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION '%', why; END $$;
CREATE FUNCTION coded(code text) RETURNS int STABLE LANGUAGE plpgsql AS
  $$ BEGIN IF code = '' THEN RETURN 1 / length(code); END IF;
  RAISE EXCEPTION USING ERRCODE = code, MESSAGE = 'no ' || code; END $$;
CREATE FUNCTION teapot() RETURNS void LANGUAGE plpgsql AS $$ BEGIN RAISE SQLSTATE 'PT418' USING MESSAGE = 'short and stout'; END $$;
CREATE FUNCTION broken(a integer) RETURNS integer STABLE LANGUAGE sql AS 'SELECT 1 / a';
CREATE FUNCTION slow() RETURNS void STABLE LANGUAGE sql AS 'SELECT pg_sleep(60)';
CREATE FUNCTION lies() RETURNS integer STABLE LANGUAGE plpgsql AS $$
  BEGIN PERFORM nextval('counter'); RETURN 1; END $$;
CREATE FUNCTION lies_by_execute() RETURNS integer STABLE LANGUAGE plpgsql AS $$
  BEGIN EXECUTE 'DELETE FROM shows'; RETURN 1; END $$;
CREATE FUNCTION commits() RETURNS void LANGUAGE plpgsql AS $$ BEGIN COMMIT; END $$;
CREATE FUNCTION nap() RETURNS void STABLE LANGUAGE sql AS 'SELECT pg_sleep(0.1)';
CREATE FUNCTION taken() RETURNS void LANGUAGE sql AS 'INSERT INTO shows VALUES (1, 5)';
CREATE FUNCTION film(id integer) RETURNS films STABLE LANGUAGE sql AS
  'SELECT * FROM films WHERE films.id = film.id';
CREATE FUNCTION outs(id integer, OUT title text, OUT year integer) STABLE LANGUAGE sql AS
  'SELECT title, year FROM films WHERE films.id = outs.id';
CREATE FUNCTION ranked() RETURNS SETOF films STABLE LANGUAGE sql AS
  'SELECT * FROM films WHERE id < 8 ORDER BY id % 3, id DESC';
CREATE FUNCTION ranked_words() RETURNS TABLE (word text, rank integer) STABLE LANGUAGE plpgsql AS $$
  BEGIN RETURN QUERY VALUES ('b', 3), ('c', 2), ('a', 1), ('a', 1); END $$;
CREATE SEQUENCE counter;
CREATE FUNCTION "odd Name"(a integer) RETURNS integer STABLE LANGUAGE sql AS 'SELECT a';
CREATE FUNCTION "Odd.Name"("the ""arg""" integer) RETURNS integer STABLE LANGUAGE sql AS 'SELECT $1';
CREATE FUNCTION twice(a integer) RETURNS integer STABLE LANGUAGE sql AS 'SELECT a';
CREATE FUNCTION twice(a text) RETURNS text STABLE LANGUAGE sql AS 'SELECT a';
CREATE FUNCTION pick(a integer) RETURNS text IMMUTABLE LANGUAGE sql AS $$SELECT 'a ' || a$$;
COMMENT ON FUNCTION pick(integer) IS 'Of one number';
CREATE FUNCTION pick(a integer, b text) RETURNS integer STABLE LANGUAGE sql AS 'SELECT a + length(b)';
CREATE FUNCTION pick(a integer, c integer, d integer DEFAULT 0) RETURNS SETOF films STABLE LANGUAGE sql AS
  'SELECT * FROM films WHERE id IN (a, c, d)';
CREATE FUNCTION pick(e bigint) RETURNS text LANGUAGE sql AS $$SELECT 'volatile ' || e$$;
CREATE FUNCTION pick(jsonb) RETURNS jsonb STABLE LANGUAGE sql AS $$SELECT jsonb_build_array($1)$$;
CREATE FUNCTION pick(text) RETURNS text STABLE LANGUAGE sql AS 'SELECT upper($1)';
CREATE FUNCTION pick(shows) RETURNS integer STABLE LANGUAGE sql AS 'SELECT $1.film_id';
CREATE FUNCTION either(a integer, b integer DEFAULT 1) RETURNS integer STABLE LANGUAGE sql AS 'SELECT a + b';
CREATE FUNCTION either(a integer, c bigint DEFAULT 2) RETURNS integer STABLE LANGUAGE sql AS 'SELECT a + c::integer';
CREATE FUNCTION hidden(a integer, b integer DEFAULT 1) RETURNS integer STABLE LANGUAGE sql AS 'SELECT 1';
CREATE FUNCTION hidden(a integer, b integer, c anyelement DEFAULT 1) RETURNS integer STABLE LANGUAGE sql AS 'SELECT 2';
CREATE FUNCTION hidden(a integer, d text) RETURNS integer STABLE LANGUAGE sql AS 'SELECT 3';
CREATE FUNCTION crowd(a numeric DEFAULT 1, b jsonb DEFAULT NULL) RETURNS integer STABLE LANGUAGE sql AS 'SELECT 1';
CREATE FUNCTION crowd(a bigint, b jsonb) RETURNS integer STABLE LANGUAGE sql AS 'SELECT 2';
CREATE FUNCTION crowd(a numeric) RETURNS integer STABLE LANGUAGE sql AS 'SELECT 3';
CREATE FUNCTION crowd() RETURNS integer STABLE LANGUAGE sql AS 'SELECT 4';
CREATE FUNCTION crowd(c text) RETURNS integer STABLE LANGUAGE sql AS 'SELECT 5';
CREATE FUNCTION maybe(text DEFAULT 'x') RETURNS integer STABLE LANGUAGE sql AS 'SELECT 1';
CREATE FUNCTION maybe(a integer DEFAULT 1) RETURNS integer STABLE LANGUAGE sql AS 'SELECT 2';
CREATE FUNCTION json_body(json) RETURNS json IMMUTABLE LANGUAGE sql AS 'SELECT $1';
CREATE FUNCTION text_body(text) RETURNS integer IMMUTABLE LANGUAGE sql AS 'SELECT octet_length($1)';
CREATE FUNCTION bytes_body(bytea) RETURNS bytea LANGUAGE sql AS $$SELECT $1 || '\\x00'::bytea$$;
CREATE FUNCTION unnamed(integer) RETURNS integer STABLE LANGUAGE sql AS 'SELECT $1';
CREATE FUNCTION anything(a anyelement) RETURNS integer STABLE LANGUAGE sql AS 'SELECT 1';
CREATE FUNCTION untyped() RETURNS SETOF record STABLE LANGUAGE sql AS 'SELECT 1, 2';
CREATE FUNCTION trigger_of() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$;
CREATE FUNCTION all_secrets() RETURNS SETOF text STABLE SECURITY DEFINER LANGUAGE sql AS 'SELECT secret FROM films';
`;

interface Answer {
  readonly status: number;
  // deno-lint-ignore no-explicit-any -- the body of a response
  readonly body: any;
}

/** Sends a request. A body with `headers` is sent unchanged, and any other body as JSON. */
type Ask = (
  method: string,
  path: string,
  body?: unknown,
  headers?: Readonly<Record<string, string>>,
) => Promise<Answer>;

async function withFunctions(
  url: string,
  work: (ask: Ask, db: Database, app: Awaited<ReturnType<typeof createApp>>) => Promise<void>,
): Promise<void> {
  const db = await openDatabase(url);
  await runScript(db.driver, script);
  const { tables, functions } = await db.introspect({ functions: ["*"] });
  const open = Object.fromEntries(
    Object.entries(functions).map(([name, one]) => [name, { ...one, public: true }]),
  );
  const app = await createApp({
    db,
    secret: "sixteen or more characters",
    queryTimeoutMs: 1_000,
    auth: {
      middleware: async (context, next) => {
        if (context.req.header("x-user") !== undefined) context.set("user", { id: "m" });
        await next();
      },
    },
    resources: tables.map((table) =>
      resource(table, {
        id: table.primaryKey.map(({ name }) => name),
        auth: table.name === "films"
          ? { public: { read: () => rsql`year<2015` }, create: () => all() }
          : { public: { read: true } },
        autoRelations: { filterable: true },
        ...(table.name === "films"
          ? {
            fields: { readable: ["id", "title", "year"] },
            procedures: open,
            hooks: {
              async onBeforeCreate({ api }, row) {
                return { ...row, year: Number(await api.of("films").rpc["add"]?.({ a: 1_998 })) };
              },
            },
          }
          : {}),
      })
    ),
  });
  try {
    await work(
      async (method, path, body, headers) => {
        const sent = headers === undefined ? JSON.stringify(body) : body as BodyInit;
        const response = await app.fetch(
          new Request(`http://localhost/api/films/rpc/${path}`, {
            method,
            headers: { "content-type": "application/json", ...headers },
            ...(body === undefined ? {} : { body: sent }),
          }),
        );
        const text = await response.text();
        return { status: response.status, body: text === "" ? null : JSON.parse(text) };
      },
      db,
      app,
    );
  } finally {
    await app.close();
  }
}

testOnPostgres("functions answer by their volatility and their results", async (url) => {
  await withFunctions(url, async (ask, db) => {
    const data = async (method: string, path: string, body?: unknown) => {
      const answer = await ask(method, path, body);
      return answer.status === 200 ? answer.body.data : [answer.status, answer.body.detail];
    };
    assertEquals(await data("GET", "add?a=40"), 42);
    assertEquals(await data("GET", "add?a=40&b=-1"), 39);
    assertEquals(await data("POST", "add", { a: 1, b: 1 }), 2);
    assertEquals(await data("POST", "add", { a: 1, b: null }), null);
    assertEquals(await data("GET", "best"), { id: 3, title: "Film 3", year: 1993 });
    assertEquals((await data("GET", "by_year?out_of=3&orderBy=-year&filter=year>1000")).items, [
      { year: 1992, films: 1 },
      { year: 1991, films: 1 },
    ]);
    assertEquals((await data("GET", "numbers?of=[3,1,2]&orderBy=numbers")).items, [
      ...[{ numbers: 1 }, { numbers: 2 }, { numbers: 3 }],
    ]);
    assertEquals((await data("GET", "numbers?of={7}"))[0], 422);
    assertEquals((await data("GET", "numbers?of=[]")).items, []);
    assertEquals((await data("GET", "numbers"))[0], 422);
    // The default of a VARIADIC argument was an empty list.
    assertEquals((await data("GET", "numbers_or_one")).items, [{ numbers_or_one: 1 }]);
    const spread = "Cannot use this body: a is required";
    for (
      const [query, expected] of [
        ["", 1],
        ["a=5", 5],
        ["a=5&xs=[1,2]", 7],
        ["xs=[1,2]", [422, spread]],
      ] as const
    ) {
      assertEquals([query, await data("GET", `spread?${query}`)], [query, expected]);
    }
    // Postgres checks no NOT NULL in rows of functions: pages by a cursor lost such rows.
    for (const order of ["v", "-v", "v,-id", "id", "-id"]) {
      const all = (await data("GET", `odd_pairs?orderBy=${order}&limit=20`)).items;
      const walked: unknown[] = [];
      for (let cursor: string | null = ""; cursor !== null;) {
        const at = cursor === "" ? "" : `&cursor=${cursor}`;
        const page = await data("GET", `odd_pairs?orderBy=${order}&limit=2${at}`);
        walked.push(...page.items);
        cursor = page.nextCursor;
      }
      assertEquals([order, walked.length, walked], [order, 8, all]);
      const values = all.map((row: Record<string, unknown>) => row[order.replace(/^-|,.*/g, "")]);
      assertEquals(values.indexOf(null), values.filter((one: unknown) => one !== null).length);
    }
    assertEquals(await data("GET", "two_out?a=2"), { double: 4, triple: 6 });
    assertEquals(await data("GET", "one_out?a=2"), 4);
    const values = {
      j: { a: [1] },
      p: { x: 1, y: null },
      m: "sad",
      l: ["a", null],
      t: "2026-01-02T03:04:05Z",
    };
    const { t, ...echoed } = await data("POST", "echo", values);
    assertEquals([echoed, Date.parse(t)], [
      { j: { a: [1] }, p: { x: 1, y: null }, m: "sad", l: ["a", null] },
      Date.parse(values.t),
    ]);
    const query = Object.entries(values).map(([name, value]) =>
      `${name}=${encodeURIComponent(typeof value === "string" ? value : JSON.stringify(value))}`
    );
    assertEquals((await data("GET", `echo?${query.join("&")}`)).p, { x: 1, y: null });
    assertEquals(await data("GET", "Odd.Name?the%20%22arg%22=5"), 5);
    assertEquals(await data("POST", "clear", {}), null);
    assertEquals((await db.sql`SELECT count(*) AS n FROM shows`).rows, [{ n: 0 }]);
  });
});

testOnPostgres("rows of a table have its policies, fields, filters and pages", async (url) => {
  await withFunctions(url, async (ask) => {
    const page = await ask("GET", "films_since?since=2010&limit=2&select=id,year&totalCount=true");
    // The scope of the resource hides the films from 2015 on, and its fields the secrets.
    const { nextCursor, ...first } = page.body.data;
    assertEquals([page.status, first], [200, {
      items: [{ id: 20, year: 2010 }, { id: 21, year: 2011 }],
      ...{ hasMore: true, totalCount: 5 },
    }]);
    const next = await ask("GET", `films_since?since=2010&limit=10&select=id&cursor=${nextCursor}`);
    assertEquals(next.body.data.items.map(({ id }: { id: number }) => id), [22, 23, 24]);
    const all = await ask("GET", "films_since?since=2012&orderBy=-id");
    assertEquals(all.body.data.items[0], { id: 24, title: "Film 24", year: 2014 });
    const ofShows = await ask("GET", "films_since?since=1990&filter=shows.id==2&include=shows");
    assertEquals(ofShows.body.data.items, [
      { id: 6, title: "Film 6", year: 1996, shows: [{ id: 2, film_id: 6 }] },
    ]);
    assertEquals((await ask("GET", "films_since?since=1990&filter=secret==hush")).status, 400);
    const hidden = await ask("GET", "films_since?since=1990&select=secret");
    assertEquals(JSON.stringify(hidden.body).includes("hush"), false);
    // A volatile function runs once, and its rows have the policies of the table, too.
    const created = await ask("POST", "new_film", { film_title: "x" });
    assertEquals([created.status, created.body], [200, { data: null }]);
    const several = await ask("POST", "new_films?orderBy=-id&limit=2&filter=id>1000", { n: 3 });
    assertEquals(several.body.data.items.map(({ id }: { id: number }) => id), [1003, 1002]);
    assertEquals(
      (await ask("GET", "films_since?since=1900&limit=1&totalCount=true")).body.data.totalCount,
      27,
    );
    for (const parameter of ["totalCount=true", "cursor=x", "offset=1", "include=shows"]) {
      assertEquals((await ask("POST", `new_films?${parameter}`, { n: 3 })).status, 400);
    }
  });
});

testOnPostgres("rows keep the order of their function, and a missing row is null", async (url) => {
  await withFunctions(url, async (ask) => {
    const pages = async (path: string, name: string) => {
      const found: unknown[] = [];
      for (let cursor = ""; cursor !== "null";) {
        const { body } = await ask("GET", `${path}limit=2${cursor && `&cursor=${cursor}`}`);
        found.push(...body.data.items.map((row: Record<string, unknown>) => row[name]));
        cursor = String(body.data.nextCursor);
      }
      return found;
    };
    assertEquals(await pages("ranked?", "id"), [6, 3, 7, 4, 1, 5, 2]);
    assertEquals(await pages("ranked?filter=id!=7&totalCount=true&", "id"), [6, 3, 4, 1, 5, 2]);
    assertEquals(await pages("ranked?orderBy=-id&", "id"), [7, 6, 5, 4, 3, 2, 1]);
    assertEquals(await pages("ranked_words?", "word"), ["b", "c", "a", "a"]);
    assertEquals(await pages("ranked_words?orderBy=rank&", "word"), ["a", "a", "c", "b"]);
    const offset = await ask("GET", "ranked?offset=5&select=id");
    assertEquals(offset.body.data.items, [{ id: 5 }, { id: 2 }]);
    const some = (await ask("POST", "new_films?limit=2&select=id", { n: 3 })).body.data;
    assertEquals(some, { items: [{ id: 1001 }, { id: 1002 }], nextCursor: null, hasMore: true });
    const row = async (path: string) => (await ask("GET", path)).body.data;
    assertEquals(await row("film?id=3"), { id: 3, title: "Film 3", year: 1993 });
    assertEquals([await row("film?id=99"), await row("outs?id=99")], [null, null]);
    assertEquals(await row("outs?id=3"), { title: "Film 3", year: 1993 });
  });
});

testOnPostgres("calls of functions leave connections for other requests", async (url) => {
  await withFunctions(url, async (ask, db) => {
    let [most, left] = [0, 10];
    const calls = Array.from({ length: 10 }, async () => {
      const { status } = await ask("GET", "nap");
      left--;
      return status;
    });
    while (left > 0) {
      most = Math.max(most, db.driver.poolUsage?.().used ?? 0);
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    assertEquals(new Set(await Promise.all(calls)), new Set([200]));
    // Half of the ten connections are for reads that can take long.
    assertEquals([most > 0, most <= 5], [true, true]);
  });
});

testOnPostgres("faults of calls name the arguments, and no SQL", async (url) => {
  await withFunctions(url, async (ask, db) => {
    const detail = async (method: string, path: string, body?: unknown) => {
      const answer = await ask(method, path, body);
      return [answer.status, answer.body.detail];
    };
    assertEquals(await detail("GET", "add"), [422, "Cannot use this body: a is required"]);
    assertEquals(await detail("POST", "add", { a: 1, c: 2 }), [
      422,
      'Cannot use this body: c is not an argument. Did you mean "a"?',
    ]);
    assertEquals(await detail("POST", "films_since", { sicne: 1 }), [
      422,
      'Cannot use this body: sicne is not an argument. Did you mean "since"?',
    ]);
    assertEquals(await detail("GET", "films_since?sicne=1"), [
      400,
      'Unknown parameter "sicne": did you mean "since"?',
    ]);
    assertEquals(await detail("GET", "films_since?since=1&until=2"), [
      400,
      'Cannot call films_since: "until" is not one of its arguments',
    ]);
    assertEquals((await detail("POST", "add", { a: "x" }))[0], 422);
    assertEquals((await detail("POST", "add", { a: 1.5 }))[0], 422);
    const beyond = "Cannot use this body: a must be between -2147483648 and 2147483647";
    assertEquals(await detail("POST", "add", { a: 3_000_000_000 }), [422, beyond]);
    assertEquals(await detail("GET", "add?a=99999999999"), [422, beyond]);
    const rejected = "has a value that the database does not take";
    const unchecked = "does not pass a check of the database";
    assertEquals(await detail("GET", "numbers?of=[3000000000]"), [
      422,
      `Cannot use this body: of ${rejected}`,
    ]);
    for (const [value, fault] of [[-1, unchecked], [null, "must not be null"]] as const) {
      assertEquals(await detail("POST", "half", { of: 4, by: value }), [
        422,
        `Cannot use this body: by ${fault}`,
      ]);
    }
    // Postgres cannot call one of the two. The fault named a value, and the request had none.
    assertEquals(await detail("GET", "either_way"), [
      422,
      "Cannot call either_way: several functions take these arguments; there is either_way(), " +
      "either_way(b?)",
    ]);
    assertEquals((await detail("GET", "either_way?b=true"))[0], 200);
    // The message of RAISE was lost, or the status was another one than for the engine's own error.
    assertEquals((await detail("GET", "coded?code="))[0], 422);
    assertEquals(await detail("GET", "coded?code=22012"), [422, "no 22012"]);
    assertEquals(await detail("GET", "coded?code=25006"), [403, "no 25006"]);
    // The fault of a statement within the function is no argument's.
    assertEquals(await detail("POST", "half", { of: 4, by: 1 }), [
      422,
      "Cannot call half: a value is missing or not allowed",
    ]);
    assertEquals((await detail("POST", "add", [1]))[0], 422);
    assertEquals((await detail("GET", "add?a=1;DROP%20TABLE%20films"))[0], 422);
    assertEquals((await detail("GET", "add?a=1&limit=1"))[0], 400);
    assertEquals(await detail("GET", "clear"), [405, "Cannot GET here"]);
    assertEquals(await detail("POST", "refuse", { why: "No\nway" }), [422, "No way"]);
    assertEquals(await detail("POST", "teapot", {}), [418, "short and stout"]);
    assertEquals((await detail("GET", "lies"))[0], 403);
    assertEquals(await detail("GET", "lies_by_execute"), [
      403,
      "Cannot call lies_by_execute: it changes the database, although it is not declared as volatile",
    ]);
    assertEquals((await detail("POST", "commits", {}))[0], 422);
    assertEquals(await detail("POST", "taken", {}), [
      409,
      "Cannot call taken: another row has these values",
    ]);
    assertEquals((await detail("GET", "slow"))[0], 422);
    for (const path of ["broken?a=0", "missing?a=1"]) {
      const answer = await ask("GET", path);
      assertEquals([path, JSON.stringify(answer.body).includes("SELECT")], [path, false]);
    }
    assertEquals((await db.sql`SELECT count(*) AS n FROM films`).rows, [{ n: 30 }]);
    await runScript(db.driver, "DROP FUNCTION films_since");
    const dropped = await ask("GET", "films_since?since=1");
    assertEquals([dropped.status, dropped.body.code], [503, "SCHEMA_CHANGED"]);
  });
});

testOnPostgres("functions that cannot be called are left out, with the reason", async (url) => {
  const db = await openDatabase(url);
  try {
    await runScript(db.driver, script);
    const inseparable = "several functions have this name, and the names of their arguments do " +
      "not tell them apart";
    const { functions, leftOut } = await db.introspect({ functions: ["*"] });
    assertEquals(Object.fromEntries(leftOut.map(({ table, reason }) => [table, reason])), {
      "anything()": 'its argument "a" has the type anyelement',
      "odd Name()": "its name is not possible in a path",
      "crowd()": inseparable,
      "crowd(bigint,jsonb)": inseparable,
      "crowd(numeric)": inseparable,
      "crowd(numeric,jsonb)": inseparable,
      "hidden(integer,integer)": inseparable,
      "hidden(integer,integer,anyelement)": 'its argument "c" has the type anyelement',
      "twice(integer)": inseparable,
      "twice(text)": inseparable,
      "unnamed()": "its arguments have no names",
      "untyped()": "its result has the type record",
    });
    assertEquals("trigger_of" in functions, false);
    assertEquals(functions["all_secrets"]?.databaseFunction.isDefiner, true);
    assertEquals(Object.keys((await db.introspect({ functions: ["add"] })).functions), ["add"]);
    assertEquals((await db.introspect()).functions, {});
    await runScript(
      db.driver,
      "CREATE SCHEMA other;\n" +
        "CREATE FUNCTION other.half(whole integer) RETURNS integer STABLE LANGUAGE sql AS 'SELECT 1'",
    );
    const both = await db.introspect({ schemas: ["public", "other"], functions: ["half"] });
    assertEquals(both.functions["half"]?.databaseFunction.overloads[0]?.schema, "other");
    await assertRejects(
      () => db.introspect({ functions: ["ad"] }),
      Error,
      'Cannot find the function "ad": there is none of this name. Did you mean "add"?',
    );
  } finally {
    await db.close();
  }
});

testOnPostgres("the names of the arguments choose one of several functions", async (url) => {
  await withFunctions(url, async (ask) => {
    const data = async (method: string, path: string, body?: unknown) => {
      const { status, body: { data, detail } } = await ask(method, path, body);
      return status === 200 ? data : [status, detail];
    };
    const both = async (input: Record<string, string | number>) => {
      const query = Object.entries(input).map(([name, value]) => `${name}=${value}`).join("&");
      const result = await data("POST", "pick", input);
      assertEquals(await data("GET", `pick?${query}`), result);
      return result;
    };
    assertEquals(await both({ a: 7 }), "a 7");
    assertEquals(await both({ a: 1, b: "xyz" }), 4);
    assertEquals((await both({ c: 2, a: 1 })).items.map(({ id }: { id: number }) => id), [1, 2]);
    const page = await data("GET", "pick?a=1&c=2&d=3&orderBy=-id&limit=1&select=id");
    assertEquals(page.items, [{ id: 3 }]);
    assertEquals(await data("POST", "pick", { e: 1 }), "volatile 1");
    assertEquals(
      (await data("POST", "pick", { a: "x" }))[1],
      "Cannot use this body: a must be a whole number",
    );
    // If no names fit, the body is the only argument.
    for (const body of [{}, { a: 1, z: 2 }, [1], "text", null]) {
      assertEquals(await data("POST", "pick", body), [body]);
    }
    const listed = "pick(a), pick(a, b), pick(a, c, d?)";
    assertEquals(await data("GET", "pick?e=1"), [
      422,
      `Cannot call pick: no function takes these arguments; there is ${listed}`,
    ]);
    assertEquals(await data("GET", "pick?a=1&b=2&limit=1"), [
      422,
      `Cannot call pick: no function takes these arguments; there is ${listed}`,
    ]);
    for (const ask of [() => data("GET", "either?a=1"), () => data("POST", "either", { a: 1 })]) {
      assertEquals(await ask(), [
        422,
        "Cannot call either: several functions take these arguments; there is " +
        "either(a, b?), either(a, c?)",
      ]);
    }
    assertEquals(await data("GET", "either?a=1&c=5"), 6);
    assertEquals(await data("GET", "hidden?a=1&d=x"), 3);
    assertEquals(await data("GET", "crowd?c=x"), 5);
    assertEquals((await data("POST", "maybe", {}))[0], 422);
    assertEquals(await data("POST", "maybe", { a: 2 }), 2);
    assertEquals((await ask("GET", "../../shows/1?select=pick")).body, { pick: 5 });
  });
});

testOnPostgres("a hook calls a function, whatever the URL of its request", async (url) => {
  await withFunctions(url, async (ask) => {
    const row = JSON.stringify({ id: 99, title: "x", year: 1 });
    const created = await ask("POST", "../../films?source=import", row, { "x-user": "m" });
    assertEquals(created.body, { id: 99, title: "x", year: 2_000 });
  });
});

testOnPostgres("descriptions contain each function with a name", async (url) => {
  await withFunctions(url, async (_ask, _db, app) => {
    // deno-lint-ignore no-explicit-any -- the members of an OpenAPI document
    const paths = app.openapi()["paths"] as any;
    const { get, post } = paths["/api/films/rpc/pick"];
    const media = Object.keys(post.requestBody.content);
    assertEquals([post.description, media], ["Of one number", ["application/json", "text/plain"]]);
    const { anyOf } = post.requestBody.content["application/json"].schema;
    assertEquals(
      anyOf.map(({ required, type }: Record<string, unknown>) => required ?? type ?? "any"),
      [["a"], ["a", "b"], ["a", "c"], ["e"], "any", "string"],
    );
    assertEquals(
      get.parameters.map(({ name, required = false }: Record<string, unknown>) => [name, required]),
      [
        ...[["a", true], ["b", false], ["c", false], ["d", false]],
        ...["filter", "select", "orderBy", "limit", "cursor"].map((name) => [name, false]),
      ],
    );
    assertEquals(paths["/api/films/rpc/text_body"].get, undefined);
    // Other validators refused `nullable` without a type, and the value null of a parameter.
    const schemas = ["echo", "either"].map((name) =>
      paths[`/api/films/rpc/${name}`].get.parameters.map((one: { schema?: unknown }) => one.schema)
    );
    assertEquals(schemas[0][2], { type: "string", enum: ["sad", "happy"] });
    const digits = { type: "string", pattern: "^-?[0-9]{1,18}$" };
    assertEquals(schemas[1][2], { oneOf: [{ type: "integer", format: "int64" }, digits] });
    assertEquals(
      paths["/api/films/rpc/clear"].post.responses[200].content["application/json"].schema
        .properties.data,
      { type: "string", nullable: true, enum: [null] },
    );
    const types = writeApiTypes(app.schema());
    const lines = types.split("\n").map((line) => line.trim());
    assertEquals(lines.filter((line) => /^(?:either|bytes_body):/.test(line)), [
      "bytes_body: { input: string | null; output: string | null };",
      "either: { input: { a: number | null; b?: number | null } | " +
      "{ a: number | null; c?: number | null | string }; output: number | null };",
    ]);
    await Promise.resolve();
  });
});

testOnPostgres("an argument without a name is the body as it is", async (url) => {
  await withFunctions(url, async (ask) => {
    const send = async (path: string, type: string, body: string | Uint8Array, headers = {}) => {
      const answer = await ask("POST", path, body, { "content-type": type, ...headers });
      return answer.status === 200 ? answer.body.data : [answer.status, answer.body.detail];
    };
    assertEquals(await send("json_body", "application/json", '{"x":[1,"2"]}'), { x: [1, "2"] });
    assertEquals(await send("json_body", "application/vnd.x+json", "3"), 3);
    const binary = "application/octet-stream";
    assertEquals((await send("json_body", "text/plain", "3"))[0], 415);
    assertEquals((await send("add", "text/plain", "3"))[0], 415);
    assertEquals(await send("text_body", "text/plain; charset=utf-8", '"ä"'), 4);
    assertEquals(await send("text_body", "text/plain", ""), 0);
    assertEquals(await send("text_body", "application/json", '"ä"'), 2);
    assertEquals((await send("text_body", "application/json", "{}"))[0], 422);
    assertEquals(await send("text_body", binary, "x"), [
      415,
      "Cannot read this body: send it with the header content-type: application/json, or text/plain",
    ]);
    assertEquals((await send("text_body", "text/plain", new Uint8Array([0xff])))[0], 400);
    assertEquals((await send("text_body", "text/plain", "a\0"))[0], 422);
    assertEquals((await send("text_body", "text/plain", "x".repeat(1_048_577)))[0], 413);
    assertEquals(
      (await send("text_body", "text/plain", "x", { "content-encoding": "gzip" }))[0],
      415,
    );
    // A browser sends text/plain to another origin without a preflight request.
    assertEquals((await send("text_body", "text/plain", "x", { origin: "https://evil" }))[0], 415);
    const [status] = await send("text_body", "text/plain", "x", { "sec-fetch-site": "cross-site" });
    assertEquals(status, 415);
    assertEquals(
      await send("text_body", "text/plain", "x", { origin: "http://localhost", host: "localhost" }),
      1,
    );
    assertEquals(
      await send("bytes_body", binary, new Uint8Array([255, 0, 1])),
      btoa("\xff\0\x01\0"),
    );
    assertEquals(await send("bytes_body", "application/json", '"/wAB"'), btoa("\xff\0\x01\0"));
    assertEquals(await send("pick", "text/plain", "abc"), "ABC");
    // The same bytes of another type were answered by the stored response.
    const key = { "idempotency-key": "the same for both types" };
    assertEquals(await send("text_body", "text/plain", '"ä"', key), 4);
    assertEquals(await send("text_body", "text/plain", '"ä"', key), 4);
    assertEquals((await send("text_body", "application/json", '"ä"', key))[0], 422);
    assertEquals((await ask("GET", "json_body")).status, 405);
  });
});

testOnPostgres("a function runs with the role of the request", async (url) => {
  const [anon, member] = ["anon", "member"].map((name) =>
    `${name}_${crypto.randomUUID().slice(0, 8)}`
  );
  const db = await openDatabase(url);
  await runScript(
    db.driver,
    `CREATE ROLE ${anon};
CREATE ROLE ${member};
CREATE TABLE notes (id integer PRIMARY KEY, owner text NOT NULL);
INSERT INTO notes VALUES (1, '${anon}'), (2, '${member}'), (3, '${member}');
ALTER TABLE notes ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON notes USING (owner = current_user);
GRANT SELECT, INSERT ON notes TO ${anon}, ${member};
CREATE FUNCTION mine() RETURNS SETOF notes STABLE LANGUAGE sql AS 'SELECT * FROM notes';
CREATE FUNCTION how_many() RETURNS integer STABLE LANGUAGE sql AS 'SELECT count(*)::int FROM notes';
CREATE FUNCTION add_note(id integer) RETURNS SETOF notes LANGUAGE sql AS
  'INSERT INTO notes VALUES (id, current_user) RETURNING *';
CREATE FUNCTION members_only() RETURNS text STABLE LANGUAGE sql AS 'SELECT current_user::text';
REVOKE EXECUTE ON FUNCTION members_only FROM PUBLIC;
GRANT EXECUTE ON FUNCTION members_only TO ${member}`,
  );
  const roles = [anon ?? "", member ?? ""];
  const { tables, functions } = await db.introspect({ roles, functions: ["*"] });
  const procedures = Object.fromEntries(
    Object.entries(functions).map(([name, one]) => [name, { ...one, public: true }]),
  );
  const app = await createApp({
    db,
    secret: "sixteen or more characters",
    auth: {
      middleware: async (context, next) => {
        if (context.req.header("x-user")) context.set("user", { id: "m" });
        await next();
      },
    },
    actAs: { roles, as: (user) => ({ role: (user === null ? anon : member) ?? "" }) },
    resources: tables.map((table) =>
      resource(table, { id: ["id"], auth: byDatabase({ anonymous: true }), procedures })
    ),
  });
  const call = async (user: string, path: string, body?: unknown) => {
    const response = await app.fetch(
      new Request(`http://localhost/api/notes/rpc/${path}`, {
        method: body === undefined ? "GET" : "POST",
        headers: { "content-type": "application/json", ...(user === "" ? {} : { "x-user": user }) },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      }),
    );
    const { data, detail } = await response.json();
    return response.status === 200 ? data : [response.status, detail];
  };
  try {
    assertEquals([await call("", "how_many"), await call("m", "how_many")], [1, 2]);
    assertEquals((await call("", "mine?totalCount=true")).totalCount, 1);
    assertEquals((await call("m", "mine?filter=id>2")).items, [{ id: 3, owner: member }]);
    assertEquals(await call("m", "members_only"), member);
    assertEquals(await call("", "members_only"), [
      403,
      "Cannot call members_only: the database does not allow it",
    ]);
    assertEquals((await call("", "add_note", { id: 9 })).items, [{ id: 9, owner: anon }]);
    assertEquals([await call("", "how_many"), await call("m", "how_many")], [2, 2]);
  } finally {
    await app.close();
    const admin = await openDatabase(url);
    await runScript(admin.driver, `DROP OWNED BY ${roles};\nDROP ROLE ${roles}`);
    await admin.close();
  }
});

testOnPostgres("what a function or a trigger sets for the session ends with it", async (url) => {
  const admin = await openDatabase(url);
  await runScript(
    admin.driver,
    `CREATE TABLE parents (id integer PRIMARY KEY);
CREATE TABLE stamps (id integer PRIMARY KEY, at timestamptz NOT NULL, seen text,
  parent integer REFERENCES parents DEFERRABLE INITIALLY DEFERRED);
INSERT INTO stamps VALUES (1, '2024-01-01T00:00:00Z');
CREATE FUNCTION sets(name text, value text) RETURNS text LANGUAGE sql AS
  'SELECT set_config(name, value, false)';
CREATE FUNCTION sets_stable(name text, value text) RETURNS text STABLE LANGUAGE sql AS
  'SELECT set_config(name, value, false)';
CREATE FUNCTION sets_role() RETURNS void LANGUAGE plpgsql AS $$ BEGIN
  SET ROLE pg_monitor; CREATE TEMP TABLE mine (id integer); LISTEN gossip;
  PERFORM pg_advisory_lock(77); END $$;
CREATE FUNCTION locks_and_fails() RETURNS void STABLE LANGUAGE plpgsql AS $$ BEGIN
  PERFORM pg_advisory_lock(78); RAISE EXCEPTION 'no'; END $$;
CREATE FUNCTION orphan() RETURNS void LANGUAGE sql AS
  $$ INSERT INTO stamps VALUES (9, now(), NULL, 99) $$;
CREATE FUNCTION state() RETURNS text STABLE LANGUAGE sql AS $$ SELECT concat_ws(' ',
  CASE WHEN current_user = session_user THEN 'login' ELSE current_user END,
  current_setting('TimeZone'), current_setting('search_path'), to_regclass('pg_temp.mine'),
  current_setting('lock_timeout'), current_setting('app.user', true),
  (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid IN (77, 78)),
  (SELECT count(*) FROM pg_listening_channels())) $$;
CREATE FUNCTION changes_zone() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  PERFORM set_config('TimeZone', 'Asia/Tokyo', false); RETURN NEW; END $$;
CREATE FUNCTION changes_all() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  PERFORM set_config('app.user', NEW.seen, false); PERFORM pg_advisory_lock(77);
  SET search_path = pg_catalog; RETURN NULL; END $$;
CREATE TRIGGER every AFTER INSERT ON stamps FOR EACH ROW EXECUTE FUNCTION changes_all();
CREATE TRIGGER zone BEFORE UPDATE ON stamps FOR EACH ROW EXECUTE FUNCTION changes_zone()`,
  );
  await admin.close();
  const db = await openDatabase(url, { maxConnections: 1 });
  const { tables, functions } = await db.introspect({ functions: ["*"] });
  const procedures = Object.fromEntries(
    Object.entries(functions).map(([name, one]) => [name, { ...one, public: true }]),
  );
  const stamps = tables.find(({ name }) => name === "stamps");
  if (stamps === undefined) throw new Error("stamps");
  const app = await createApp({
    db,
    secret: "sixteen or more characters",
    auth: {
      middleware: async (context, next) => {
        context.set("user", { id: "m" });
        await next();
      },
    },
    resources: [resource(stamps, {
      id: ["id"],
      auth: { read: () => all(), update: () => all(), create: () => all() },
      procedures,
    })],
  });
  const ask = async (method: string, path: string, body?: unknown) => {
    const response = await app.fetch(
      new Request(`http://localhost/api/stamps/${path}`, {
        method,
        headers: { "content-type": "application/json" },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      }),
    );
    const { data, detail, ...row } = await response.json();
    return data ?? (response.status === 200 ? row : [response.status, detail]);
  };
  try {
    const before = await ask("GET", "rpc/state");
    for (const [name, value] of [["TimeZone", "Asia/Tokyo"], ["search_path", "pg_catalog"]]) {
      assertEquals(await ask("POST", "rpc/sets", { name, value }), value);
      assertEquals(await ask("GET", `rpc/sets_stable?name=${name}&value=${value}`), value);
    }
    await ask("POST", "rpc/sets_role", {});
    await ask("POST", "rpc/sets_role", {});
    assertEquals(await ask("GET", "rpc/locks_and_fails"), [422, "no"]);
    assertEquals(await ask("GET", "rpc/state"), before);
    // A reset custom setting is an empty string in Postgres.
    await ask("POST", "rpc/sets", { name: "app.user", value: "alice" });
    await ask("GET", "rpc/sets_stable?name=app.user&value=alice");
    assertEquals(String(await ask("GET", "rpc/state")).includes("alice"), false);
    assertEquals((await ask("POST", "rpc/orphan", {}))[0], 409);
    assertEquals((await ask("GET", "1")).at, "2024-01-01T00:00:00.000Z");
    for (const path of ["", "batch"]) {
      const row = { id: path === "" ? 2 : 3, at: "2024-01-01T00:00:00Z", seen: "alice" };
      await ask("POST", path, path === "" ? row : { items: [row] });
      // A reset custom setting is an empty string.
      assertEquals((await ask("GET", "rpc/state")).replace("  ", " "), before);
    }
    await ask("PATCH", "1", { seen: "yes" });
    assertEquals((await ask("GET", "1")).at, "2024-01-01T00:00:00.000Z");
  } finally {
    await app.close();
  }
});

Deno.test("--functions names functions of Postgres, or a module for SQLite", () => {
  const parsed = (...args: readonly string[]) => {
    const command = parseServeArguments(args);
    return command.kind === "serve" ? [command.functions, command.additions?.functions] : [];
  };
  const place = "postgres://127.0.0.1/shop";
  assertEquals(parsed(place, "--functions", "*"), [["*"], undefined]);
  assertEquals(parsed(place, "--functions", "a,b"), [["a", "b"], undefined]);
  assertEquals(parsed(place), [undefined, undefined]);
  assertEquals(parsed("shop.db", "--functions", "of.ts")[0], undefined);
  assertThrows(
    () => parsed(place, "--functions", "a", "--extension", "b"),
    Misuse,
    "The option --extension belongs to a SQLite file",
  );
});

testOnPostgres("the command line serves functions, and volatile ones for writers", async (url) => {
  const db = await openDatabase(url);
  await runScript(
    db.driver,
    `${script}CREATE TABLE functions (id integer PRIMARY KEY);
CREATE FUNCTION get_user() RETURNS integer STABLE LANGUAGE sql AS 'SELECT 1';
CREATE FUNCTION "getUser"() RETURNS integer STABLE LANGUAGE sql AS 'SELECT 2'`,
  );
  await db.close();
  const token = "a-printed-token";
  for (const flags of [[], ["--write"]]) {
    const command = parseServeArguments([url, "--functions", "*", ...flags]);
    if (command.kind !== "serve") throw new Error(command.kind);
    const runtime = { ...systemRuntime(() => {}), cron: undefined };
    const { config } = await prepareService(command, { runtime, token });
    const app = await createApp({ secret: "sixteen or more characters", ...config });
    const status = async (method: string, path: string, headers = {}) => {
      const response = await app.fetch(
        new Request(`http://127.0.0.1/api/db_functions/rpc/${path}`, {
          method,
          headers: { host: "127.0.0.1", "content-type": "application/json", ...headers },
          ...(method === "POST" ? { body: "{}" } : {}),
        }),
      );
      await response.body?.cancel();
      return response.status;
    };
    const isWritable = flags.length > 0;
    assertEquals(await status("GET", "add?a=1"), 200);
    // A POST that calls a function that changes nothing was refused without --write.
    assertEquals(await status("POST", "best"), 200);
    const ids = JSON.stringify(app.openapi()).match(/"operationId":"[^"]*/g) ?? [];
    assertEquals(new Set(ids).size, ids.length);
    assertEquals(await status("POST", "clear"), isWritable ? 401 : 405);
    const authorization = `Bearer ${token}`;
    assertEquals(await status("POST", "clear", { authorization }), isWritable ? 200 : 405);
    await app.close();
  }
});
