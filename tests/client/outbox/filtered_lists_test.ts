import { assert, assertEquals } from "@std/assert";
import { matchesDescribed } from "../../../src/filter/match/described_filter.ts";
import { createApp, resource } from "../../../mod.ts";
import { systemRuntime } from "../../../src/runtime/system_runtime.ts";
import { runScript } from "../../support/scratch.ts";
import { repeats } from "../../support/repeats.ts";
import { testOnDialects } from "../../support/http.ts";
import { checkFilteredLists, compareLists, noTotals } from "./filtered_lists.ts";

// A failure is found again by `SEED=… deno task test tests/client/outbox`.
const seed = Number(Deno.env.get("SEED") ?? crypto.getRandomValues(new Uint32Array(1))[0]! >>> 1);

testOnDialects(
  `a client decides random filters as the service's lists do, seed ${seed}`,
  async (engine) => {
    const { differences, decided, undecided } = await checkFilteredLists(engine, {
      ...{ seed, runs: repeats(400) },
    });
    assertEquals(differences, []);
    assert(decided > undecided, `${decided} decided, ${undecided} undecided`);
  },
);

/** A table as another program may have created it: columns that ignore case, and other types. */
const existing = {
  sqlite: `CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT COLLATE NOCASE, code TEXT,
    born TIMESTAMP, amount NUMERIC(10, 2), ok BOOLEAN, day DATE)`,
  postgres: `CREATE COLLATION loose (provider = icu, locale = 'und-u-ks-level2',
      deterministic = false);
    CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
    CREATE TABLE people (id integer PRIMARY KEY, name text COLLATE loose, code char(4),
      born timestamp, amount numeric(10, 2), ok boolean, day date, mood mood, size real, at timetz)`,
};

testOnDialects(
  "a client decides filters of existing tables as the service's lists do, or not at all",
  async (engine) => {
    const db = await engine.open();
    const isPostgres = engine.name === "postgres";
    await runScript(db.driver, existing[isPostgres ? "postgres" : "sqlite"]);
    const more = isPostgres ? ", mood, size, at" : "";
    for (
      const [id, values] of [
        `'Ada', 'a', '2024-01-01 00:00:00', 1.50, true, '2024-01-01'`,
        `'ADA', 'A', '2024-01-01 00:00:00.0005', 1.5, false, '2023-12-31'`,
        `'ada', 'ab', NULL, NULL, NULL, NULL`,
        `NULL, NULL, '1969-12-31 23:59:59', -3, true, '0001-01-01'`,
      ].entries()
    ) {
      const extra = isPostgres ? `, 'ok', 0.1, '12:00+02'` : "";
      await runScript(
        db.driver,
        `INSERT INTO people (id, name, code, born, amount, ok, day${more})
          VALUES (${id + 1}, ${values}${extra})`,
      );
    }
    const { tables } = await db.introspect();
    const resources = tables.map((table) => resource(table, { id: "id", auth: { public: true } }));
    const app = await createApp({
      ...{ db, secret: "a secret for the tests only", resources },
      runtime: systemRuntime(() => {}),
    });
    const headers = { accept: "application/json;numbers=safe" };
    const listed = await app.fetch(new Request("http://test/api/people", { headers }));
    const { items }: { items: { id: number }[] } = await listed.json();
    assertEquals(items.length, 4);
    const values = {
      ...{ name: ["ada", "Ada", "B", ""], code: ["a", "A", "ab", "a   "], ok: ["true", "false"] },
      ...{ born: ["2024-01-01", "2024-01-01T00:00:00.0005Z"], amount: ["1.5", "1.50", "-3", "9"] },
      ...{ day: ["2024-01-01", "0001-01-01"], id: ["1", "2"] },
      ...isPostgres && { mood: ["ok", "happy"], size: ["0.1"] },
    };
    const totals = noTotals();
    for (const [name, texts] of Object.entries(values)) {
      const filters = texts.flatMap((text) => {
        const equal = ["==", "!="].map((operator) => `${name}${operator}"${text}"`);
        const ordered = [">", "<="].map((operator) => `${name}${operator}"${text}"`);
        const searched = [`${name}=icontains="${text}"`, `${name}=in=("${text}","x")`];
        const isText = name === "name" || name === "code";
        return [...equal, ...name === "ok" ? [] : ordered, ...isText ? searched : []];
      });
      filters.push(`${name}==null`, `not(${name}!=null)`);
      const rows = new Map(items.map((row) => [row.id, [row]]));
      await compareLists(app, { path: "/api/people", texts: filters, rows }, totals);
    }
    assertEquals(totals.differences, []);
    assert(totals.decided > 100 && totals.undecided > 20, Deno.inspect(totals));
    await app.close();
    await db.close();
  },
);

Deno.test("a client leaves to the service what it cannot decide", () => {
  const compared = { kind: "compare", field: "n", type: "integer", operator: "==" } as const;
  const one = { ...compared, values: [1] };
  const undecided = [
    [one, {}],
    [one, { n: "x" }],
    [{ kind: "unknown" } as const, { n: 1 }],
    [{ ...one, operator: "=newer=" }, { n: 1 }],
    [{ ...one, field: "constructor" }, { n: 1 }],
    [{ kind: "and", terms: [one, { kind: "unknown" }] } as const, { n: 1 }],
  ] as const;
  for (const [filter, row] of undecided) assertEquals(matchesDescribed(filter, row), null);
  const either = { kind: "or", terms: [{ kind: "unknown" }, one] } as const;
  assertEquals(matchesDescribed(either, { n: "1" }), true, "one term decides");
  assertEquals(matchesDescribed({ kind: "not", term: one }, { n: null }), true);
});
