import { assert, assertEquals } from "@std/assert";
import {
  all,
  bigint,
  boolean,
  bytes,
  date,
  decimal,
  eq,
  integer,
  json,
  Problem,
  real,
  resource,
  table,
  text,
  timestamp,
  uuid,
} from "../../mod.ts";
import {
  type Answer,
  type Service,
  testOnEngines,
  userHeader,
  withService,
} from "../support/http.ts";
import type { Engine } from "../support/engines.ts";

const kinds = table("kinds", {
  id: integer().primaryKey(),
  name: text(),
  amount: integer(),
  ratio: real(),
  price: decimal({ precision: 10, scale: 2 }),
  serial: bigint(),
  done: boolean(),
  at: timestamp(),
  day: date(),
  mark: uuid(),
  data: json(),
  raw: bytes(),
});

const notes = table("notes", {
  id: integer().primaryKey(),
  title: text({ maxLength: 20 }).notNull(),
  ownerId: text().notNull(),
  slug: text().unique(),
  rank: integer().default(7),
  createdAt: timestamp(),
});

const ndjson = { [userHeader]: "ada", "content-type": "application/x-ndjson" };
const csv = { [userHeader]: "ada", "content-type": "text/csv" };
const json_ = { [userHeader]: "ada" };

function withImports(engine: Engine, work: (service: Service) => Promise<void>): Promise<void> {
  const open = { public: true, create: () => all(), delete: () => all() };
  const of = { id: notes.id, auth: open, capabilities: { enableImport: true } };
  return withService(engine, [kinds, notes], () => ({
    bodyLimit: 2_000,
    resources: [
      resource(kinds, {
        id: kinds.id,
        auth: open,
        capabilities: { enableImport: true, enableExport: true },
      }),
      resource(notes, { ...of, generatedFields: [notes.createdAt] }),
      resource(notes, { ...of, path: "strict", strictInput: true, imports: { maxBytes: 10_000 } }),
      resource(notes, {
        ...of,
        path: "own",
        auth: { ...open, create: ({ id }) => eq(notes.ownerId, id) },
        fields: { writable: [notes.title, notes.slug, notes.ownerId] },
      }),
      resource(notes, {
        ...of,
        path: "hooked",
        hooks: {
          onBeforeCreate: (_context, data) => {
            if (data.title === "no") throw new Problem("forbidden", "Cannot take this one");
            return { ...data, slug: `${data.title}-slug` };
          },
          onAfterCreate: (_context, row) => {
            if (row.title === "late") throw new Problem("forbidden", "Cannot keep this one");
          },
        },
      }),
      resource(notes, { ...of, path: "closed", capabilities: {} }),
    ],
  }), work);
}

testOnEngines(
  "an import of all rows writes every row, or none and names the lines",
  (engine) =>
    withImports(engine, async (service) => {
      const { get, send } = service;
      const post = (path: string, body: string, headers: Record<string, string> = ndjson) =>
        send("POST", `/api/${path}`, body, headers);
      const count = async () => (await get("/api/notes/count", json_)).body.count;
      assertEquals((await post("closed/import", "{}")).status, 404);

      const good = await post("notes/import", lines(note(1), "", note(2), note(3)));
      assertEquals([good.status, good.body], [200, { rows: 3, written: 3 }]);
      const first = (await get("/api/notes/1", json_)).body;
      assertEquals([first.title, first.rank], ["title 1", 7]);
      assert(typeof first.createdAt === "string", "a generated field is filled in");

      const bad = await post(
        "notes/import",
        lines(note(4), { id: 5, ownerId: "a" }, "{", note(6), [], { ...note(7), rank: "x" }),
      );
      assertEquals(bad.status, 422);
      assertEquals(bad.body.details, {
        rows: 6,
        written: 0,
        errors: [
          { line: 2, path: "title", message: "is required" },
          { line: 3, path: "", message: "is not JSON" },
          { line: 5, path: "", message: "must be an object" },
          { line: 6, path: "rank", message: "must be a whole number" },
        ],
      });
      assertEquals(await count(), 3);

      // What only the database knows.
      const taken = await post(
        "notes/import",
        lines(note(10), { ...note(11), slug: "a" }, note(12), { ...note(13), slug: "a" }, note(1)),
      );
      assertEquals([taken.status, errorsOf(taken)], [422, [
        [4, "slug", "is taken by another row"],
        [5, "id", "is taken by another row"],
      ]]);
      assertEquals(await count(), 3);

      const strict = await post("strict/import", lines({ ...note(20), tittle: 1 }));
      assertEquals(errorsOf(strict), [[1, "tittle", 'is not a field. Did you mean "title"?']]);

      const outside = await post("own/import", lines(note(30), { ...note(31), ownerId: "bob" }));
      assertEquals(errorsOf(outside), [
        [2, "", "Cannot create: the row would lie outside your scope"],
      ]);
      assertEquals((await post("own/import", lines({ ...note(30), rank: 1 }))).status, 200);
      assertEquals(
        (await get("/api/notes/30", json_)).body.rank,
        7,
        "a field that is not writable",
      );

      const hooked = await post(
        "hooked/import",
        lines(note(40), { ...note(41), title: "no" }, { ...note(42), title: "late" }),
      );
      assertEquals(errorsOf(hooked), [[2, "", "Cannot take this one"]]);
      const late = await post("hooked/import", lines(note(40), { ...note(42), title: "late" }));
      assertEquals(errorsOf(late), [[2, "", "Cannot keep this one"]]);
      assertEquals((await post("hooked/import", lines(note(40)))).status, 200);
      assertEquals((await get("/api/notes/40", json_)).body.slug, "title 40-slug");

      const dry = await post("notes/import?dryRun=true", lines(note(50), note(51)));
      assertEquals([dry.status, dry.body], [200, { rows: 2, written: 0 }]);
      const dryTaken = await post("notes/import?dryRun=true", lines(note(50), note(1)));
      assertEquals(errorsOf(dryTaken), [[2, "id", "is taken by another row"]]);
      assertEquals(await count(), 5);

      const refusals: readonly (readonly [string, string, Record<string, string>, number])[] = [
        ["notes/import", "{}", { ...ndjson, "content-type": "application/json" }, 415],
        ["notes/import", "{}", { ...ndjson, "content-encoding": "gzip" }, 415],
        ["notes/import", "{}", { ...ndjson, "idempotency-key": "k".repeat(20) }, 400],
        ["notes/import?mode=some", "{}", ndjson, 400],
        ["notes/import?chunk=10", "{}", ndjson, 400],
        ["notes/import?mode=chunks&chunk=0", "{}", ndjson, 400],
        ["notes/import?mode=chunks&dryRun=true", "{}", ndjson, 400],
        ["notes/import", "{}", { "content-type": "application/x-ndjson" }, 401],
        ["strict/import", "x".repeat(10_001), ndjson, 413],
      ];
      for (const [path, body, headers, status] of refusals) {
        assertEquals((await post(path, body, headers)).status, status, path);
      }
      const wide = await post(
        "notes/import",
        lines(note(60), { ...note(61), x: "y".repeat(2_000) }),
      );
      assertEquals(errorsOf(wide), [[2, "", "is longer than 2000 bytes"]]);
      assertEquals(await count(), 5);
    }),
);

testOnEngines(
  "an import by chunks names the lines that it did not write",
  (engine) =>
    withImports(engine, async ({ get, send, app }) => {
      const ids = async () =>
        (await get("/api/notes?limit=100&select=id", json_)).body.items.map(({ id }: Note) => id);
      const bodies = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10].map((id) =>
        id === 3 ? { id } : id === 8 ? { ...note(id), id: 1 } : note(id)
      );
      const some = await send(
        "POST",
        "/api/notes/import?mode=chunks&chunk=2",
        lines(...bodies),
        ndjson,
      );
      assertEquals([some.status, some.body.details], [422, {
        rows: 10,
        written: 6,
        errors: [
          { line: 3, path: "title", message: "is required" },
          { line: 3, path: "ownerId", message: "is required" },
          { line: 8, path: "id", message: "is taken by another row" },
        ],
        unwritten: [{ from: 3, to: 4 }, { from: 7, to: 8 }],
      }]);
      assertEquals(await ids(), [1, 2, 5, 6, 9, 10]);

      // A client that leaves: what it has sent in whole chunks stays, and all or nothing is nothing.
      for (const [mode, expected] of [["all", 6], ["chunks&chunk=30", 6 + 90]] as const) {
        const sent = Array.from({ length: 100 }, (_, index) => ({
          ...note(100 + index),
          x: "y".repeat(1_800),
        }));
        const broken = new ReadableStream<Uint8Array>({
          pull(controller) {
            const next = sent.splice(0, 40);
            if (next.length === 0) controller.error(new Error("gone"));
            else controller.enqueue(new TextEncoder().encode(lines(...next)));
          },
        });
        const request = new Request(`http://test/api/notes/import?mode=${mode}`, {
          method: "POST",
          body: broken,
          headers: ndjson,
        });
        const answer = await app.fetch(request);
        const { code, details } = await answer.json();
        assertEquals([answer.status, code], [400, "INVALID_BODY"]);
        assertEquals(details?.written, mode === "all" ? undefined : 90);
        assertEquals((await get("/api/notes/count", json_)).body.count, expected);
      }
    }),
);

testOnEngines(
  "an export is imported, and exported again byte by byte",
  (engine) =>
    withImports(engine, async ({ get, send }) => {
      const blank = await send("POST", "/api/kinds/import", lines({}, {}), ndjson);
      assertEquals(blank.body, { rows: 2, written: 2 }, "rows of nothing but defaults");
      for (const id of [1, 2]) await send("DELETE", `/api/kinds/${id}`, undefined, json_);
      const given = [
        {
          id: 1,
          name: 'quote " comma , and\r\nlines\nof\rit',
          amount: 9007199254740991,
          ratio: 0.30000000000000004,
          price: "12345678.90",
          serial: "9223372036854775807",
          done: true,
          at: "2024-01-31T12:00:00.000001Z",
          day: "2024-02-29",
          mark: "01890a5d-ac96-774b-bcce-b302099a8057",
          data: { a: [1, "x, y", null], "é": "☃", nested: { deep: [] } },
          raw: "/+8=",
        },
        { id: 2, name: "", done: false, data: "text", amount: -5, raw: "" },
        { id: 3, name: null, data: [], ratio: -1e-7, amount: 0 },
        { id: 4, name: " a tab\t and a snow☃man 👍 ", data: 12.5, ratio: 1e21 },
        { id: 5, name: "true", data: true, serial: "-1", price: "-0.01" },
        { id: 6, name: "12", data: "12" },
      ];
      const written = await send("POST", "/api/kinds/import", lines(...given), ndjson);
      assertEquals(written.body, { rows: 6, written: 6 });
      for (
        const [type, headers] of [["text/csv", csv], ["application/x-ndjson", ndjson]] as const
      ) {
        const before = await get("/api/kinds", { ...json_, accept: type });
        for (const { id } of given) await send("DELETE", `/api/kinds/${id}`, undefined, json_);
        const again = await send("POST", "/api/kinds/import", before.body, headers);
        assertEquals([again.status, again.body], [200, { rows: 6, written: 6 }], type);
        assertEquals((await get("/api/kinds", { ...json_, accept: type })).body, before.body);
      }
      const line = lines({ id: 7, data: 9007199254740993.5 }).replace(
        "9007199254740994",
        "12345678901234567890.5",
      );
      assertEquals((await send("POST", "/api/kinds/import", line, ndjson)).status, 200);
      for (const [body, ...errors] of wrongCsv) {
        const answer = await send("POST", "/api/kinds/import", body, csv);
        assertEquals(errorsOf(answer), errors, JSON.stringify(body));
      }
      const marked = await send("POST", "/api/kinds/import", '\ufeff"id",name\n"10",x', csv);
      assertEquals(marked.body, { rows: 1, written: 1 });
      const latin = await send("POST", "/api/kinds/import", "", csv);
      assertEquals(latin.body, { rows: 0, written: 0 });
    }),
);

const wrongCsv: readonly [string, ...unknown[]][] = [
  ["id,name,id\r\n", [1, "id", "occurs twice in the header"]],
  ["id,name\r\n20\r\n21,a,b\r\n", [2, "", "has 1 fields, and the names are 2"], [
    3,
    "",
    "has 3 fields, and the names are 2",
  ]],
  ['id,name\r\n20,"a\r\nb"\r\nx,y\r\n', [4, "id", "must be a whole number"]],
  ['id,name\r\n20,"a"b\r\n', [2, "", "has text after a closing quote"]],
  ['id,name\r\n20,a"b\r\n', [2, "", "has a quote inside of a field that begins without one"]],
  ['id,name\r\n20,a\r\n21,"b\r\n', [3, "", "has a quote that is not closed"]],
  ["id,done,data\r\n20,maybe,5\r\n", [2, "done", "must be true or false"]],
  ["id,data\r\n20,{\r\n", [2, "data", "must be JSON"]],
  [`id,data\r\n20,${"[".repeat(200)}${"]".repeat(200)}\r\n`, [2, "data", "must be JSON"]],
  ["id,naem\r\n20,a\r\n", [1, "naem", 'is not a field. Did you mean "name"?']],
  ["id;name\r\n20;a\r\n", [1, "", "has names with ; between them"]],
];

type Note = { readonly id: number };

function note(id: number): Record<string, unknown> {
  return { id, title: `title ${id}`, ownerId: "ada" };
}

function lines(...values: readonly unknown[]): string {
  return values.map((value) => `${typeof value === "string" ? value : JSON.stringify(value)}\n`)
    .join("");
}

function errorsOf({ body }: Answer): readonly unknown[] {
  const { errors = [] } = body.details ?? {};
  return errors.map((
    { line, path, message }: { line: number; path: string; message: string },
  ) => [line, path, message]);
}
