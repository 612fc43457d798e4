import { assert, assertEquals } from "@std/assert";
import { isDeepStrictEqual } from "node:util";
import type { App, Database } from "../../mod.ts";
import { randomOf } from "../billing/ledger_model.ts";
import { testOnDialects } from "../support/http.ts";
import { type Call, inCode, overHttp, type Result } from "./both_ways.ts";
import { authors, books, labels, openLibrary, stock, tables } from "./library.ts";
import { randomCalls, type Seen } from "./random_calls.ts";

const seed = Number(Deno.env.get("SEED") ?? 1);
const calls = Number(Deno.env.get("CALLS") ?? 300);

testOnDialects(
  "what app.as(user) answers and leaves is what HTTP answers and leaves",
  async (engine) => {
    await withTwo(engine.open, async (http, code) => {
      // Cursors and tags of one way are used by the other.
      const seen: Record<"http" | "code", Seen> = {
        http: { cursors: [], tags: [] },
        code: { cursors: [], tags: [] },
      };
      const forHttp = randomCalls(randomOf(seed), seen.code);
      const forCode = randomCalls(randomOf(seed), seen.http);
      const outcomes = new Map<string, number>();
      for (let index = 0; index < calls; index++) {
        const [sent, called] = [forHttp(), forCode()];
        const [answer, result] = [await overHttp(sent, http.app), await inCode(called, code.app)];
        const [got, expected] = [comparable(result, called), comparable(answer, called)];
        // To show a call takes longer than to make it.
        const what = () => `seed ${seed}, call ${index}: ${Deno.inspect(called, { depth: 6 })}`;
        if (!isDeepStrictEqual(got, expected)) assertEquals(got, expected, what());
        const key = `${called.operation} ${answer.outcome}`;
        outcomes.set(key, (outcomes.get(key) ?? 0) + 1);
        learn(seen.http, answer);
        learn(seen.code, result);
        if (index % 100 === 99) assertEquals(await stored(code.db), await stored(http.db), what());
      }
      assertEquals(await stored(code.db), await stored(http.db));
      assertEquals(await changes(code.db), await changes(http.db));
      if (Deno.env.get("SHOW") === "1") console.log(Object.fromEntries([...outcomes].sort()));
      const changed = (await changes(code.db)).flat().length;
      assert(changed > calls / 10, `${changed} changes`);
      // Calls of each kind succeed, and are refused for each reason.
      const kinds = new Set([...outcomes.keys()].map((key) => key.split(" ")[1]));
      for (
        const one of [
          ...["ok", "unauthorized", "forbidden", "not-found", "conflict", "validation-error"],
          ...["invalid-parameter", "filter-parse-error", "cursor-invalid", "precondition-failed"],
          ...[
            "precondition-required",
            "batch-limit-exceeded",
            "query-too-expensive",
            "invalid-body",
          ],
          "crash",
        ]
      ) assert(kinds.has(one), `no call was ${one}`);
    });
  },
);

interface Library {
  readonly db: Database;
  readonly app: App;
}

async function withTwo(
  open: () => Promise<Database>,
  work: (http: Library, code: Library) => Promise<void>,
): Promise<void> {
  const databases = [await open(), await open()];
  const apps: App[] = [];
  try {
    const libraries: Library[] = [];
    for (const db of databases) {
      await db.createTables(tables);
      await db.sql`
        INSERT INTO ${authors} (${authors.id}, ${authors.name}, ${authors.published}, ${authors.secret})
        VALUES (${1}, ${"Ada"}, ${true}, ${"s1"}), (${2}, ${"Bob"}, ${true}, ${"s2"}),
          (${3}, ${"Eve"}, ${false}, ${"s1"})`;
      for (const [id, owner] of ["ada", "ada", "bob", "root", "ada", "bob"].entries()) {
        await db.sql`
          INSERT INTO ${books} (${books.title}, ${books.ownerId}, ${books.authorId}, ${books.pages},
            ${books.inPrint}, ${books.state}, ${books.secret}, ${books.version})
          VALUES (${`Book ${id}`}, ${owner}, ${1 + id % 3}, ${100 * (id + 1)}, ${true},
            ${id % 2 === 0 ? "open" : "draft"}, ${"s1"}, ${1})`;
        await db.sql`
          INSERT INTO ${stock} (${stock.store}, ${stock.sku}, ${stock.count})
          VALUES (${id % 2 === 0 ? "north" : "south"}, ${id % 4}, ${id})
          ON CONFLICT DO NOTHING`;
      }
      await db.sql`INSERT INTO ${labels} (${labels.name}) VALUES (${"red"}), (${"green"})`;
      const app = await openLibrary(db);
      apps.push(app);
      libraries.push({ db, app });
    }
    const [http, code] = libraries;
    assert(http !== undefined && code !== undefined);
    await work(http, code);
  } finally {
    for (const app of apps) await app.close();
    for (const db of databases) await db.close();
  }
}

/** What must be the same: cursors are sealed with chance, and positions are those of texts. */
function comparable(result: Result, { filter, operation }: Call): unknown {
  const { outcome, detail, details } = result;
  if (outcome === "crash") return { outcome };
  if (outcome !== "ok") {
    // Over HTTP the path of an operation that does not exist is that of others, or of none.
    const isNone = outcome === "not-found" && detail?.startsWith("There is nothing") === true;
    if (outcome === "method-not-allowed" || isNone) return { outcome: "not-offered" };
    const isOfText = outcome === "filter-parse-error" && filter?.built !== null;
    return isOfText ? { outcome } : { outcome, detail, details };
  }
  const { data, etag } = result;
  const cursor = Object(data).nextCursor;
  const shown = typeof cursor === "string" ? { ...Object(data), nextCursor: "some" } : data;
  // A delete answers nothing.
  return { data: operation === "delete" ? null : shown, etag };
}

function learn({ cursors, tags }: Seen, { data, etag }: Result): void {
  const cursor = Object(data).nextCursor;
  if (typeof cursor === "string") cursors.push(cursor);
  if (typeof etag === "string") tags.push(etag);
  for (const list of [cursors, tags]) if (list.length > 8) list.shift();
}

async function stored(db: Database): Promise<unknown> {
  const all: unknown[] = [];
  for (const table of tables) all.push((await db.sql`SELECT * FROM ${table} ORDER BY 1, 2`).rows);
  return all;
}

/** The recorded changes. A statement of Postgres changes its rows in the order in which they lie. */
async function changes({ query, label }: Database): Promise<readonly unknown[]> {
  const transaction = label.startsWith("postgres") ? "CAST(xid AS TEXT)" : "seq";
  const { rows } = await query({
    text: `SELECT ${transaction}, "table", op, CAST(before AS TEXT), CAST(after AS TEXT),
      optimistic_id FROM "_service_changes" ORDER BY seq`,
    values: [],
  });
  const transactions = [...Map.groupBy(rows, ([id]) => id).values()];
  return transactions.map((changes) =>
    changes.map(([, ...change]) => JSON.stringify(change)).sort()
  );
}
