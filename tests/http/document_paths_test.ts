import { assertEquals, assertStringIncludes } from "@std/assert";
import fc from "fast-check";
import { boolean, eq, type InferApi, integer, json, resource, table, text } from "../../mod.ts";
import { createClient, liveList } from "../../exports/client.ts";
import { fastEnvironment } from "../client/support/fast_environment.ts";
import { insertRows, type Service, testOnDialects, withService } from "../support/http.ts";
import { repeats } from "../support/repeats.ts";

const notes = table("notes", {
  id: integer().primaryKey(),
  meta: json(),
  rank: integer(),
  secret: json(),
  level: json(),
  owner: text().notNull(),
  gone: boolean().notNull(),
});
const served = () => ({
  resources: [
    resource(notes, {
      id: notes.id,
      auth: {
        public: { read: () => eq(notes.owner, "all"), subscribe: () => eq(notes.owner, "all") },
        read: ({ id }) => eq(notes.owner, id),
      },
      softDelete: { field: notes.gone },
      fields: {
        readable: {
          all: [notes.id, notes.meta, notes.rank, notes.level],
          by: (user) => [
            ...[notes.id, notes.meta, notes.rank],
            ...(user?.id === "ada" ? [notes.level] : []),
          ],
        },
      },
      capabilities: { enableExport: true },
      relations: {
        parents: { type: "hasMany", resource: notes, foreignKey: notes.rank },
      },
    }),
  ],
});

type Api = InferApi<ReturnType<typeof served>>;

const scalar = fc.constantFrom<unknown>(
  ...[null, true, false, 0, -1, 1.5, 1e21, 12345678901, -0.001, 10, 9],
  ...["", "a", "B", "ž", "👍", "\ufffd", "10", "9", "true", "null"],
);
const inner = fc.oneof(scalar, fc.array(scalar, { maxLength: 3 }), fc.record({ x: scalar }));
const document = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({ size: inner, "a.b": inner, list: inner }, { requiredKeys: [] }),
  },
  { weight: 1, arbitrary: inner },
);
const paths = {
  "meta.size": ["size"],
  'meta."a.b"': ["a.b"],
  "meta.list.0": ["list", "0"],
  "meta.size.x": ["size", "x"],
  "meta.1": ["1"],
} as const;

/** Returns the sort expressions of a path: the number, the string and the boolean, or NULL. */
function sortSql(path: readonly string[], engine: string): readonly string[] {
  if (engine === "postgres") {
    const value = `(meta #> '{${path.map((name) => JSON.stringify(name)).join()}}')`;
    const is = (type: string) => `jsonb_typeof(${value}) = '${type}'`;
    return [
      `CASE WHEN ${is("number")} THEN (${value} #>> '{}')::numeric END`,
      `(CASE WHEN ${is("string")} THEN ${value} #>> '{}' END) COLLATE "C"`,
      `CASE WHEN ${is("boolean")} THEN (${value} #>> '{}')::boolean END`,
    ];
  }
  const steps = path.map((name) => /^\d$/.test(name) ? `[${name}]` : `."${name}"`).join("");
  const type = `json_type(meta, '$${steps}')`;
  const value = `json_extract(meta, '$${steps}')`;
  return [
    `CASE WHEN ${type} IN ('integer', 'real') THEN ${value} END`,
    `CASE WHEN ${type} = 'text' THEN ${value} END`,
    `CASE WHEN ${type} IN ('true', 'false') THEN ${value} END`,
  ];
}

/** What `select` of these paths leaves of a document. */
function selected(document: unknown, path: readonly string[]): unknown {
  const [name, ...rest] = path;
  if (name === undefined) return document;
  if (typeof document !== "object" || document === null) return undefined;
  const value = Array.isArray(document) ? document[Number(name)] : Reflect.get(document, name);
  const part = value === undefined ? undefined : selected(value, rest);
  if (!Array.isArray(document)) return part === undefined ? {} : { [name]: part };
  return part === undefined ? [] : [...document.slice(0, Number(name)).map(() => null), part];
}

async function fill(db: Service["db"], seed: number): Promise<readonly Record<string, unknown>[]> {
  const row = fc.record({
    meta: fc.option(document, { freq: 9 }),
    rank: fc.option(fc.integer({ min: 1, max: 3 })),
    secret: fc.constant({ size: "xyzzy-" }),
    owner: fc.constantFrom("all", "ada", "bob"),
    gone: fc.boolean(),
  });
  const [rows = []] = fc.sample(fc.array(row, { minLength: 90, maxLength: 90 }), {
    numRuns: 1,
    seed,
  });
  const numbered = rows.map((row, index) => ({ id: index + 1, ...row }));
  await insertRows(db, notes, numbered);
  return numbered;
}

testOnDialects(
  "an order by values within documents is that of plain SQL, and cursors reach each row once",
  (engine) =>
    withService(engine, [notes], served, async ({ db, get }) => {
      const rows = await fill(db, 5);
      const key = fc.record({
        name: fc.constantFrom(...Object.keys(paths) as (keyof typeof paths)[], "rank" as const),
        isDescending: fc.boolean(),
      });
      await fc.assert(
        fc.asyncProperty(
          fc.uniqueArray(key, { minLength: 1, maxLength: 3, selector: ({ name }) => name }),
          fc.constantFrom(null, "ada", "bob"),
          fc.integer({ min: 3, max: 40 }),
          fc.constantFrom(...Object.keys(paths) as (keyof typeof paths)[]),
          async (order, user, limit, shown) => {
            const owners = user === null ? "('all')" : `('all', '${user}')`;
            const sort = order.flatMap(({ name, isDescending }) =>
              (name === "rank" ? ["rank"] : sortSql(paths[name], db.driver.dialect.engine))
                .map((value) => `${value} ${isDescending ? "DESC" : "ASC"} NULLS LAST`)
            );
            const expected = (await db.driver.query({
              text: `SELECT id FROM notes WHERE owner IN ${owners} AND gone = FALSE
               ORDER BY ${sort.join(", ")}, id`,
              values: [],
            })).rows.map(([id]) => Number(id));
            const orderBy = order.map(({ name, isDescending }) => (isDescending ? "-" : "") + name);
            const query = new URLSearchParams({
              orderBy: orderBy.join(),
              limit: String(limit),
              select: `id,${shown}`,
            });
            const found: { id: number; meta: unknown }[] = [];
            for (let cursor: string | null = ""; cursor !== null;) {
              query.set("cursor", cursor);
              const { status, body } = await get(
                `/api/notes?${query}`,
                user === null ? {} : { "x-user": user },
              );
              assertEquals(status, 200, JSON.stringify(body));
              found.push(...body.items);
              cursor = body.nextCursor;
            }
            assertEquals(found.map(({ id }) => id), expected, `${query}`);
            for (const { id, ...others } of found) {
              const document = rows[id - 1]?.["meta"];
              assertEquals(others, { meta: selected(document, paths[shown]) ?? null }, `${id}`);
            }
          },
        ),
        { numRuns: repeats(1_000) },
      );
    }),
);

testOnDialects(
  "paths into hidden fields are unknown names, and a path that cannot be used is refused",
  (engine) =>
    withService(engine, [notes], served, async ({ db, get }) => {
      await fill(db, 6);
      const problemOf = async (query: string) => {
        const { status, body } = await get(`/api/notes?${query}`);
        return [status, body.detail];
      };
      const nothing = await problemOf("orderBy=nothing.size");
      assertEquals(nothing, [
        400,
        'Cannot order by "nothing.size": it is not a sortable field',
      ]);
      const hidden = await problemOf("orderBy=secret.size");
      assertEquals(hidden, [400, String(nothing[1]).replace("nothing", "secret")]);
      for (const path of [".size", ".0".repeat(12)]) {
        const [status, unknown] = await problemOf(`select=id,absent${path}`);
        assertEquals(status, 400);
        const ofHidden = [400, String(unknown).replace("absent", "secret")];
        assertEquals(await problemOf(`select=id,secret${path}`), ofHidden);
      }

      // The path into a field that only other users can read is ignored, as the field is.
      const ofAda = await get("/api/notes?select=id,level.x&limit=1", { "x-user": "ada" });
      assertEquals(ofAda.body.items.map(Object.keys), [["id", "level"]]);
      for (const field of ["level", "level.x"]) {
        const { status, body } = await get(`/api/notes?select=id,${field}&limit=1`);
        assertEquals([status, body.items.map(Object.keys)], [200, [["id"]]], field);
      }

      const refused: readonly (readonly [query: string, words: string])[] = [
        ["orderBy=meta.a.b.c.d.e.f.g.h.i.j.k", "10 names and 3 indexes within a document"],
        ["select=meta.1.2.3.4", "3 indexes"],
        ["orderBy=meta.size,-meta.size", "twice"],
        ["orderBy=meta.size.desc", "write field:asc, field:desc or -field"],
        ["orderBy=meta", "its type has no order"],
        ["orderBy=meta.%00", "Cannot order by"],
        ["include=parents(orderBy:meta.size)", "have no order in include"],
        ["select=Meta.size", 'Did you mean "meta"?'],
      ];
      for (const [query, words] of refused) {
        const { status, body } = await get(`/api/notes?${query}`);
        assertEquals([status, body.code], [400, "INVALID_PARAMETER"], query);
        assertStringIncludes(body.detail, words);
      }
      const cursor = (await get("/api/notes?orderBy=meta.size&limit=1")).body.nextCursor;
      for (const order of ["meta.list", "-meta.size", "id"]) {
        const { body } = await get(`/api/notes?orderBy=${order}&cursor=${cursor}`);
        assertEquals(body.code, "CURSOR_INVALID");
      }
    }),
);

testOnDialects(
  "numbers of any length sort by size, long strings continue, and exports and single rows select",
  (engine) =>
    withService(engine, [notes], served, async ({ db, get, send, subscribe, app }) => {
      const numbers = ["9007199254740993", "9007199254740992", "-1e-400", "0.1", "1e400", "100e-3"];
      const long = ["b", "c", "a"].map((letter) => JSON.stringify(letter.repeat(5_000)));
      for (const [index, value] of [...numbers, ...long].entries()) {
        await db.driver.query({
          text: `INSERT INTO notes (id, meta, owner, gone)
                 VALUES (${index + 1}, '{"v":${value},"w":[1,{"x":2}]}', 'all', FALSE)`,
          values: [],
        });
      }
      const ids: number[] = [];
      for (let cursor: string | null = ""; cursor !== null;) {
        const path = `/api/notes?orderBy=meta.v&select=id&limit=1&cursor=${cursor}`;
        const { status, body } = await get(path);
        assertEquals(status, 200, JSON.stringify(body));
        ids.push(...body.items.map(({ id }: { id: number }) => id));
        cursor = body.nextCursor;
      }
      assertEquals(ids, [3, 4, 6, 2, 1, 5, 9, 7, 8]);

      const one = await get("/api/notes/1?select=meta.w.1.x,meta.nothing");
      assertEquals(one.body, { meta: { w: [null, { x: 2 }] } });
      const query = { select: ["id", "meta.w.1.x"], filter: "id==1" };
      const byBody = await send("POST", "/api/notes/query", query);
      assertEquals(byBody.body.items, [{ id: 1, meta: { w: [null, { x: 2 }] } }]);
      const whole = await get("/api/notes/4?select=meta.v,meta");
      assertEquals(whole.body.meta, { v: 0.1, w: [1, { x: 2 }] });
      const exact = await get("/api/notes/1?select=meta.v", {
        accept: "application/json;numbers=safe",
      });
      assertStringIncludes(JSON.stringify(exact.body), "9007199254740993");
      const accept = { accept: "text/csv" };
      const csv = await get("/api/notes?select=id,meta.w.0&orderBy=-meta.v&limit=2", accept);
      assertEquals(csv.body, 'id,meta\r\n5,"{""w"":[1]}"\r\n1,"{""w"":[1]}"\r\n');
      const stream = await subscribe("/api/notes/subscribe?select=id,meta.w.0&filter=id==1");
      const [first] = await stream.untilSynced();
      assertEquals(first?.data.items, [{ id: 1, meta: { w: [1] } }]);
      await stream.close();

      const api = createClient<Api>({
        baseUrl: "http://test",
        fetch: (request) => app.fetch(request),
        environment: fastEnvironment(20),
      });
      const { items } = await api.notes.list({ select: ["id", "meta.w"], orderBy: ["-meta.v"] });
      assertEquals(items[0], { id: 5, meta: { w: [1, { x: 2 }] } });
      const options = { orderBy: ["meta.v"] };
      // @ts-expect-error -- the types of live lists allow no path
      const live = liveList(api.notes, options);
      const failed = Promise.withResolvers<string>();
      const caught = (event: ErrorEvent) => {
        event.preventDefault();
        failed.resolve(String(event.error));
      };
      globalThis.addEventListener("error", caught);
      const stop = live.subscribe(() => {});
      assertEquals(
        await failed.promise,
        "TypeError: Cannot order by meta.v",
      );
      assertEquals(live.get().status, "closed");
      globalThis.removeEventListener("error", caught);
      stop();
    }),
);
