/** Columns that functions of the row compute, on Postgres: `db.introspect({ functions })`. */
import { assertEquals, assertMatch } from "@std/assert";
import { createApp, type Database, openDatabase } from "../../mod.ts";
import { decideCliRights } from "../../src/cli/cli_service.ts";
import { serveDatabase } from "../../src/cli/database/serve_database.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import type { Observation } from "../../exports/runtime.ts";
import { testOnPostgres } from "../support/postgres_tests.ts";
import { runScript } from "../support/scratch.ts";

const script = `
CREATE TYPE grade AS ENUM ('low', 'middle', 'high');
CREATE DOMAIN code AS text CHECK (value <> '');
CREATE TABLE teams (id integer PRIMARY KEY, name text NOT NULL);
CREATE TABLE people (
  id integer PRIMARY KEY, first_name text, last_name text, points integer, born date,
  team_id integer REFERENCES teams, people text, label text);
INSERT INTO teams SELECT n, 'Team ' || n FROM generate_series(1, 9) AS n;
INSERT INTO people SELECT n, CASE WHEN n % 7 > 0 THEN 'First ' || n % 11 END, 'Last ' || n % 5,
  CASE WHEN n % 13 > 0 THEN n % 17 END, date '2000-01-01' + n % 365, n % 9 + 1, 'x', 'own'
  FROM generate_series(1, 1000) AS n;
CREATE FUNCTION full_name(people) RETURNS text STABLE LANGUAGE sql AS
  $$SELECT $1.first_name || ' ' || $1.last_name$$;
COMMENT ON FUNCTION full_name(people) IS 'First and last name';
CREATE FUNCTION full_name(teams) RETURNS text IMMUTABLE LANGUAGE sql AS $$SELECT 'The ' || $1.name$$;
CREATE FUNCTION members(teams) RETURNS bigint STABLE LANGUAGE sql AS
  'SELECT count(*) FROM people WHERE team_id = $1.id';
CREATE FUNCTION score(people) RETURNS integer IMMUTABLE LANGUAGE sql AS 'SELECT $1.points * 10';
CREATE FUNCTION ratio(people) RETURNS numeric IMMUTABLE LANGUAGE sql AS 'SELECT $1.points / 4.0';
CREATE FUNCTION halves(people) RETURNS double precision IMMUTABLE LANGUAGE sql AS
  'SELECT $1.points / 2.0::float8';
CREATE FUNCTION is_even(people) RETURNS boolean IMMUTABLE LANGUAGE sql AS 'SELECT $1.points % 2 = 0';
CREATE FUNCTION graded(people) RETURNS grade IMMUTABLE LANGUAGE sql AS $$SELECT CASE
  WHEN $1.points < 5 THEN 'low' WHEN $1.points < 10 THEN 'middle' ELSE 'high' END::grade$$;
CREATE FUNCTION coded(people) RETURNS code IMMUTABLE LANGUAGE sql AS $$SELECT ('c' || $1.points)::code$$;
CREATE FUNCTION words(people) RETURNS text[] IMMUTABLE LANGUAGE sql AS
  'SELECT ARRAY[$1.first_name, $1.last_name]';
CREATE FUNCTION document(people) RETURNS jsonb IMMUTABLE LANGUAGE sql AS
  $$SELECT jsonb_build_object('points', $1.points)$$;
CREATE FUNCTION next_day(people) RETURNS date IMMUTABLE LANGUAGE sql AS 'SELECT $1.born + 1';
CREATE FUNCTION at_noon(people) RETURNS timestamptz STABLE LANGUAGE sql AS
  $$SELECT ($1.born + time '12:00') AT TIME ZONE 'UTC'$$;
CREATE FUNCTION since(people) RETURNS interval IMMUTABLE LANGUAGE sql AS
  $$SELECT make_interval(days => $1.points)$$;
CREATE FUNCTION "Odd ""Name"(people) RETURNS integer IMMUTABLE LANGUAGE sql AS 'SELECT $1.id % 3';
CREATE FUNCTION label(people) RETURNS text IMMUTABLE LANGUAGE sql AS $$SELECT 'computed'$$;
CREATE FUNCTION fails(people) RETURNS integer IMMUTABLE LANGUAGE sql AS 'SELECT 1 / ($1.id - 5)';
CREATE FUNCTION refuses(people) RETURNS integer STABLE LANGUAGE plpgsql AS
  $$BEGIN RAISE EXCEPTION 'no % today', $1.id; END$$;
CREATE FUNCTION guesses(people) RETURNS double precision LANGUAGE sql AS 'SELECT random()';
CREATE FUNCTION team_mates(people) RETURNS SETOF people STABLE LANGUAGE sql AS
  'SELECT * FROM people WHERE team_id = $1.team_id';
CREATE FUNCTION best(person people) RETURNS boolean IMMUTABLE LANGUAGE sql AS 'SELECT person.points = 16';
CREATE FUNCTION people_of(team integer) RETURNS SETOF people STABLE LANGUAGE sql AS
  'SELECT * FROM people WHERE team_id = team';
CREATE VIEW adults AS SELECT id, first_name FROM people WHERE id < 4;
CREATE FUNCTION shouted(adults) RETURNS text IMMUTABLE LANGUAGE sql AS 'SELECT upper($1.first_name)';
CREATE TABLE sales (id integer, day date, PRIMARY KEY (id, day)) PARTITION BY RANGE (day);
CREATE TABLE sales_2020 PARTITION OF sales FOR VALUES FROM ('2020-01-01') TO ('2021-01-01');
INSERT INTO sales VALUES (1, '2020-02-03');
CREATE FUNCTION month(sales) RETURNS integer IMMUTABLE LANGUAGE sql AS
  'SELECT extract(month FROM $1.day)::integer';
CREATE FUNCTION text(t teams) RETURNS text IMMUTABLE SECURITY DEFINER LANGUAGE sql AS 'SELECT t.name';
`;

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  // deno-lint-ignore no-explicit-any -- the body of a response
  readonly body: any;
}

type Ask = (
  path: string,
  init?: { method?: string; body?: unknown; headers?: Record<string, string> },
) => Promise<Answer>;

interface Service {
  readonly ask: Ask;
  /** Runs plain SQL, and returns its rows as strings. */
  sql(text: string): Promise<readonly (readonly unknown[])[]>;
  readonly db: Database;
  readonly observations: readonly Observation[];
}

async function withService(url: string, work: (service: Service) => Promise<void>) {
  const db = await openDatabase(url);
  const observations: Observation[] = [];
  await runScript(db.driver, script);
  const rights = decideCliRights({ host: "127.0.0.1", public: false, writable: true }, "token");
  const { config } = await serveDatabase(url, {
    ...{ rights, runtime: systemRuntime((one) => observations.push(one)), kv: undefined },
    ...{ accountsIn: undefined, isSearched: false, schemas: null, functions: ["*"] },
    recording: { triggers: false, schema: null },
  });
  const app = await createApp(config);
  try {
    await work({
      db,
      observations,
      sql: async (text) => (await db.driver.query({ text, values: [] })).rows,
      ask: async (path, { method = "GET", body, headers = {} } = {}) => {
        const response = await app.fetch(
          new Request(`http://127.0.0.1${path.startsWith("/") ? path : `/api/${path}`}`, {
            method,
            headers: {
              ...{ "content-type": "application/json", authorization: "Bearer token" },
              ...headers,
            },
            ...(body === undefined ? {} : { body: JSON.stringify(body) }),
          }),
        );
        const text = await response.text();
        const { status } = response;
        const isJson = response.headers.get("content-type")?.includes("json") === true;
        return { status, headers: response.headers, body: isJson ? JSON.parse(text) : text };
      },
    });
  } finally {
    await app.close();
    await db.close();
  }
}

testOnPostgres("computed columns are read, filtered and sorted as plain SQL does", async (url) => {
  await withService(url, async ({ ask, sql }) => {
    /** Follows the cursors of a list, and returns the ids of its rows in order. */
    const walk = async (query: string, limit: number) => {
      const found: unknown[] = [];
      let cursor = "";
      do {
        const { status, body } = await ask(
          `people?select=id&limit=${limit}&${query}${cursor && `&cursor=${cursor}`}`,
        );
        assertEquals([query, status, body.detail], [query, 200, undefined]);
        found.push(...body.items.map((row: { id: number }) => row.id));
        cursor = body.nextCursor ?? "";
      } while (cursor !== "");
      return found;
    };
    const ids = async (rest: string) =>
      (await sql(`SELECT id FROM people AS p ${rest}`)).map(([id]) => Number(id));
    const filters: readonly (readonly [string, string])[] = [
      ["full_name=='First 3 Last 1'", "full_name(p) = 'First 3 Last 1'"],
      ["full_name==null", "full_name(p) IS NULL"],
      ["full_name=istartswith='first 1'", "full_name(p) ILIKE 'first 1%'"],
      ["score>=50;score<100", "score(p) >= 50 AND score(p) < 100"],
      ["score!=50", "score(p) <> 50"],
      ["not(score>50)", "(score(p) > 50) IS NOT TRUE"],
      ["ratio==0.25,ratio=gt=3.5", "ratio(p) = 0.25 OR ratio(p) > 3.5"],
      ["halves=in=(0.5,1)", "halves(p) IN (0.5, 1)"],
      ["is_even==true;graded=ge=middle", "is_even(p) AND graded(p) >= 'middle'"],
      ["coded==c3", "coded(p) = 'c3'"],
      ["words=has='Last 2'", "'Last 2' = ANY (words(p))"],
      ["document.points==4", "document(p)->>'points' = '4'"],
      ["next_day<2000-03-01", "next_day(p) < '2000-03-01'"],
      ["at_noon=ge=2000-06-01T12:00:00Z", "at_noon(p) >= '2000-06-01T12:00:00Z'"],
      ["since==48:00:00", "since(p) = '2 days'"],
      ['"Odd \\"Name"==1', '"Odd ""Name"(p) = 1'],
    ];
    const orders: readonly (readonly [string, string])[] = [
      ["full_name", 'full_name(p) COLLATE "C" NULLS LAST'],
      ["-full_name", 'full_name(p) COLLATE "C" DESC NULLS LAST'],
      ["-score", "score(p) DESC NULLS LAST"],
      ["graded,-ratio", "graded(p) NULLS LAST, ratio(p) DESC NULLS LAST"],
      ["-words", "words(p) DESC NULLS LAST"],
      ["at_noon,-is_even", "at_noon(p), is_even(p) DESC NULLS LAST"],
      ['-"Odd \\"Name"', '"Odd ""Name"(p) DESC'],
    ];
    for (const [given, plain] of filters) {
      const { status, body } = await ask(`people/count?filter=${encodeURIComponent(given)}`);
      const [[count] = []] = await sql(`SELECT count(*) FROM people AS p WHERE ${plain}`);
      assertEquals([given, status, body], [given, 200, { count: Number(count) }]);
      const query = `filter=${encodeURIComponent(given)}&orderBy=-full_name`;
      const order = 'full_name(p) COLLATE "C" DESC NULLS LAST, id';
      assertEquals(await walk(query, 100), await ids(`WHERE ${plain} ORDER BY ${order}`), given);
    }
    for (const [given, plain] of orders) {
      const found = await walk(`orderBy=${encodeURIComponent(given)}`, 83);
      assertEquals(found, await ids(`ORDER BY ${plain}, id`), given);
    }
    const { body: { items } } = await ask(
      'people?limit=100&select=id,full_name,score,ratio,halves,is_even,graded,coded,words,document,next_day,at_noon,since,"Odd \\"Name",label',
    );
    const rows = await sql(`SELECT json_build_object('id', id, 'full_name', full_name(p), 'score',
      score(p), 'ratio', ratio(p)::text, 'halves', halves(p), 'is_even', is_even(p), 'graded',
      graded(p), 'coded', coded(p), 'words', words(p), 'document', document(p), 'next_day',
      next_day(p), 'at_noon', to_char(at_noon(p), 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'since',
      since(p)::text, 'Odd "Name', "Odd ""Name"(p), 'label', label)
      FROM people AS p ORDER BY id LIMIT 100`);
    assertEquals(items, rows.map(([row]) => JSON.parse(String(row))));
  });
});

testOnPostgres("computed columns of related rows, groups, exports and functions", async (url) => {
  await withService(url, async ({ ask, sql }) => {
    const data = async (path: string) => {
      const { status, body } = await ask(path);
      return status === 200 ? body : [status, body.detail];
    };
    const one = async (text: string) => (await sql(text))[0]?.[0];
    // Each table has its own function of the name.
    assertEquals(
      (await data(
        "people?limit=1&filter=team.full_name=='The Team 3';full_name!=null" +
          "&orderBy=-team.members,id&select=id,full_name&include=team(select:full_name,members)",
      )).items,
      [{ id: 2, full_name: "First 2 Last 2", team: { full_name: "The Team 3", members: 111 } }],
    );
    const nested = "people(filter:score>150;select:id,score;orderBy:-full_name;limit:2)";
    assertEquals(
      (await data(`teams/3?select=id&include=${nested}`)).people,
      (await sql(`SELECT id, score(p) FROM people AS p WHERE team_id = 3 AND score(p) > 150
        ORDER BY full_name(p) COLLATE "C" DESC NULLS LAST, id LIMIT 2`))
        .map(([id, score]) => ({ id: Number(id), score: Number(score) })),
    );
    for (
      const [filter, plain] of [
        [
          "people.score==160",
          "EXISTS (SELECT FROM people p WHERE team_id = t.id AND score(p) = 160)",
        ],
        ["people.every(full_name!=null)", "false"],
        ["not(people.some(score==160))", "false"],
      ] as const
    ) {
      const count = Number(await one(`SELECT count(*) FROM teams AS t WHERE ${plain}`));
      assertEquals([filter, await data(`teams/count?filter=${filter}`)], [filter, { count }]);
    }
    const groups = await data(
      "people/aggregate?groupBy=graded&count=true&sum=score&avg=ratio&max=full_name&min=next_day" +
        "&filter=full_name!=null&having=sum_score>100&orderBy=-graded",
    );
    assertEquals(
      groups.groups,
      (await sql(`SELECT json_build_object('key', json_build_object('graded', graded(p)),
          'count', count(*), 'sum', json_build_object('score', sum(score(p))),
          'avg', json_build_object('ratio', round(avg(ratio(p)), 16)::text),
          'max', json_build_object('full_name', max(full_name(p) COLLATE "C")),
          'min', json_build_object('next_day', min(next_day(p))))
        FROM people AS p WHERE full_name(p) IS NOT NULL GROUP BY graded(p)
        HAVING sum(score(p)) > 100 ORDER BY graded(p) DESC`)).map(([row]) =>
        JSON.parse(String(row))
      ),
    );
    // Metrics of related rows failed with every computed column.
    const metrics = "people(count:true;sum:score;max:full_name;min:next_day;filter:score>100)";
    const ofPeople = (await sql(`SELECT count(*), sum(score(p)), max(full_name(p) COLLATE "C"),
      min(next_day(p)) FROM people AS p WHERE team_id = 3 AND score(p) > 100`))[0];
    const { _aggregates: { people } } = await data(`teams/3?select=id&include=${metrics}`);
    assertEquals(
      [people.count, people.sum.score, people.max.full_name, people.min.next_day],
      [Number(ofPeople?.[0]), Number(ofPeople?.[1]), ofPeople?.[2], ofPeople?.[3]],
    );
    const deep = await data(
      "people?limit=1&filter=team_id==3&orderBy=id&select=id&include=team(select:id;include:people(sum:score))",
    );
    assertEquals(
      deep.items[0].team._aggregates.people.sum.score,
      Number(await one("SELECT sum(score(p)) FROM people AS p WHERE team_id = 3")),
    );
    assertEquals(
      (await ask("people?select=id,full_name&filter=id<3&format=csv")).body,
      "id,full_name\r\n1,First 1 Last 1\r\n2,First 2 Last 2\r\n",
    );
    assertEquals((await data("adults?select=shouted&filter=shouted==FIRST 3&x=")).length, 2);
    assertEquals((await data("adults?select=shouted&filter=shouted=='FIRST 3'")).items, [
      { shouted: "FIRST 3" },
    ]);
    assertEquals((await data("sales?select=month&filter=month==2")).items, [{ month: 2 }]);
    const ofTeam = await data(
      "functions/rpc/people_of?team=3&select=full_name&orderBy=-score&filter=score<50&limit=1",
    );
    assertEquals(ofTeam.data.items, [
      {
        full_name: await one(`SELECT full_name(p) FROM people AS p WHERE team_id = 3
        AND score(p) < 50 ORDER BY score(p) DESC, id LIMIT 1`),
      },
    ]);
    // A batch finds its rows by a computed column.
    const changed = await ask("people/batch", {
      method: "PATCH",
      body: { filter: "score==160;graded==high", patch: { label: "best" } },
    });
    const best = Number(await one("SELECT count(*) FROM people AS p WHERE score(p) = 160"));
    assertEquals([changed.status, changed.body], [200, { count: best }]);
    assertEquals(Number(await one("SELECT count(*) FROM people WHERE label = 'best'")), best);
  });
});

testOnPostgres("computed columns are not stored: writes, ETags and streams", async (url) => {
  await withService(url, async ({ ask, observations }) => {
    const detail = async (...given: Parameters<Ask>) => {
      const { status, body } = await ask(...given);
      return [status, body.detail];
    };
    // Rows contain a computed column only if the request selects it.
    const { body: row, headers } = await ask("people/3");
    assertEquals(Object.keys(row), [
      ...["id", "first_name", "last_name", "points", "born", "team_id", "people", "label"],
    ]);
    const selected = await ask("people/3?select=id,full_name");
    assertEquals(selected.body, { id: 3, full_name: "First 3 Last 3" });
    // The ETag covers stored columns only, so a response with a computed column has none.
    const etag = headers.get("etag") ?? "";
    assertEquals(selected.headers.get("etag"), null);
    const known = { headers: { "if-none-match": etag } };
    assertEquals((await ask("people/3", known)).status, 304);
    assertEquals((await ask("people/3?select=full_name", known)).status, 200);
    for (
      const [method, path, body] of [
        ["POST", "people", { id: 2000, full_name: "A B" }],
        ["PATCH", "people/3", { full_name: "A B" }],
        ["PUT", "people/3", { id: 3, full_name: "A B" }],
        ["PATCH", "people/batch", { filter: "id==3", patch: { full_name: "A B" } }],
      ] as const
    ) {
      const field = "patch" in body ? "patch.full_name" : "full_name";
      const computed = `Cannot use this body: ${field} is computed by a function`;
      assertEquals([path, ...await detail(path, { method, body })], [path, 422, computed]);
    }
    const change = { method: "PATCH", body: { first_name: "Eve" }, headers: { "if-match": etag } };
    assertEquals(Object.hasOwn((await ask("people/3", change)).body, "full_name"), false);
    assertEquals((await ask("people/3", change)).status, 412);
    assertEquals((await ask("people/3?select=full_name")).body, { full_name: "Eve Last 3" });
    for (
      const [path, name] of [
        ["people/subscribe?select=id,full_name", "full_name"],
        ["people/subscribe?filter=score>3", "score"],
        ["people/subscribe?include=team(select:members)", "members"],
        ["people/subscribe?include=team(filter:people.some(score>3))", "score"],
        ["teams/subscribe?include=people(orderBy:-score)", "score"],
        ["people/aggregate/subscribe?groupBy=graded", "graded"],
        ["people/aggregate/subscribe?sum=score", "score"],
        ["people/aggregate/subscribe?filter=score>3", "score"],
      ] as const
    ) {
      const expected = `Cannot subscribe with "${name}": a function of the database computes it, ` +
        "and live streams contain only stored columns. Read it by a list";
      assertEquals([path, ...await detail(path)], [path, 400, expected]);
    }
    const misspelt = await detail("people?filter=full_nam=='A'");
    assertMatch(misspelt[1], /Did you mean "full_name"/);
    assertMatch((await detail("people?select=fullName"))[1], /Did you mean "full_name"/);
    // A failure of a function is a fault of the service, and a RAISE refuses the request.
    assertEquals((await ask("people?select=id,fails&limit=3")).status, 200);
    assertEquals((await ask("people?select=id,fails&limit=5")).status, 500);
    assertEquals(observations.some(({ kind }) => kind === "request_failed"), true);
    assertEquals(await detail("people?select=refuses&limit=1"), [422, "no 1 today"]);
    const found = observations.filter((one) => one.kind === "table_left_out")
      .map(({ table, reason }) => `${table}: ${reason}`);
    assertEquals(found, [
      "guesses(people): it is VOLATILE: ALTER FUNCTION guesses(people) STABLE makes it a column of people",
      "label(people): people has a column of this name",
      "team_mates(people): it returns rows, and a column has one value",
    ]);
    assertEquals(
      observations.flatMap((one) => one.kind === "notice" ? one.message : [])
        .filter((message) => message.includes("SECURITY DEFINER")),
      [
        "the function text runs with the rights of its owner (SECURITY DEFINER), so row level " +
        "security does not restrict it as its caller",
      ],
    );
    // A function with a named argument stays a procedure.
    const best = await ask("functions/rpc/best", {
      method: "POST",
      body: { person: { points: 16 } },
    });
    assertEquals([best.status, best.body], [200, { data: true }]);
  });
});
