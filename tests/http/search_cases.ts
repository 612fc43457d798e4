import { assert, assertEquals } from "@std/assert";
import { as, createNotes, find, hidden, type SearchEngine, withNotes } from "./search_support.ts";

/** A test of what a search answers, for any engine. */
export interface SearchCase {
  readonly name: string;
  run(engine: SearchEngine): Promise<void>;
}

/** What every engine must answer alike. */
export const searchCases: SearchCase[] = [];

function searchCase(name: string, run: SearchCase["run"]): void {
  searchCases.push({ name, run });
}

searchCase(
  "a search finds rows by all of its words, the last one as a prefix",
  (engine) =>
    withNotes(engine, async (service) => {
      await createNotes(service, [
        { id: 1, title: "green tea", body: "from japan" },
        { id: 2, title: "black tea", body: "from india" },
        { id: 3, title: "coffee", body: "from india, black" },
      ]);
      const sorted = async (query: string) => (await find(service, query)).ids.toSorted();
      assertEquals(await sorted("q=tea"), [1, 2]);
      assertEquals(await sorted("q=black+india"), [2, 3]);
      assertEquals(await sorted("q=india+bla"), [2, 3]);
      assertEquals(await sorted("q=TEA+Japan"), [1]);
      assertEquals(await sorted("q=tea+coffee"), []);
      assertEquals(await find(service, "q=from&limit=2&offset=4"), { ids: [], total: 3 });
      assertEquals((await find(service, "q=from&limit=2")).total, 3);
      const { body } = await service.get("/api/notes/search?q=coffee", as("ada"));
      assertEquals(body, {
        items: [{
          id: 3,
          ownerId: "ada",
          title: "coffee",
          body: "from india, black",
          shout: "COFFEE",
        }],
        total: 1,
      });
      const selected = "/api/notes/search?q=coffee&highlight=true&select=id";
      assertEquals((await service.get(selected, as("ada"))).body, {
        // Computed fields are in every answer.
        items: [{ id: 3, shout: "COFFEE" }],
        total: 1,
        highlights: { 3: { title: ["<em>coffee</em>"] } },
      });
      const wrong = await service.get("/api/notes/search?q=coffee&select=nothing", as("ada"));
      assertEquals([wrong.status, wrong.body.code], [400, "INVALID_PARAMETER"]);
    }),
);

searchCase(
  "every kind of write keeps the index up to date",
  (engine) =>
    withNotes(engine, async (service) => {
      const { send } = service;
      const write = async (method: string, path: string, body?: unknown) => {
        const answer = await send(method, `/api/notes${path}`, body, as("ada"));
        assert(answer.status < 300, `${method} ${path}: ${JSON.stringify(answer.body)}`);
      };
      const ids = async (q: string) => (await find(service, `q=${q}`)).ids.toSorted();
      await write("POST", "", { id: 1, ownerId: "ada", title: "alpha" });
      await createNotes(service, [{ id: 2, title: "bravo" }, { id: 3, title: "bravo" }]);
      assertEquals([await ids("alpha"), await ids("bravo")], [[1], [2, 3]]);
      await write("PATCH", "/1", { title: "bravo" });
      assertEquals([await ids("alpha"), await ids("bravo")], [[], [1, 2, 3]]);
      await write("PUT", "/1", { ownerId: "ada", title: "charlie" });
      assertEquals([await ids("charlie"), await ids("bravo")], [[1], [2, 3]]);
      await write("PATCH", "/batch", { filter: "title==bravo", patch: { title: "delta" } });
      assertEquals([await ids("delta"), await ids("bravo")], [[2, 3], []]);
      await write("PUT", "/batch", { items: [{ id: 2, ownerId: "ada", title: "echo" }] });
      assertEquals([await ids("delta"), await ids("echo")], [[3], [2]]);
      const items = [{ id: 3, ownerId: "ada", title: "echo" }, {
        id: 4,
        ownerId: "ada",
        title: "echo",
      }];
      await write("POST", "/batch/upsert", { items });
      assertEquals(await ids("echo"), [2, 3, 4]);
      await write("DELETE", "/2");
      await write("DELETE", "/batch", { filter: "id==3" });
      assertEquals(await ids("echo"), [4]);
      await write("POST", "/2/restore");
      assertEquals(await ids("echo"), [2, 4]);
    }),
);

searchCase(
  "scope, filter and soft delete come before paging, and the total is exact",
  (engine) =>
    withNotes(engine, async (service) => {
      await createNotes(
        service,
        Array.from({ length: 60 }, (_, index) => ({
          id: index + 1,
          title: "common",
          body: index % 3 === 0 ? "third" : null,
          ownerId: index % 2 === 0 ? "ada" : "bob",
        })),
      );
      assertEquals((await find(service, "q=common&limit=5")).total, 30);
      assertEquals((await find(service, "q=common", "bob")).total, 30);
      assertEquals(await find(service, "q=common", "eve"), { ids: [], total: 0 });
      const filter = encodeURIComponent("id=gt=30;title==common");
      const pages: number[] = [];
      for (let offset = 0; offset < 15; offset += 4) {
        const page = await find(service, `q=common&filter=${filter}&limit=4&offset=${offset}`);
        assertEquals([page.total, page.ids.length], [15, Math.min(4, 15 - offset)]);
        pages.push(...page.ids);
      }
      assertEquals(
        pages.toSorted((a, b) => a - b),
        Array.from({ length: 15 }, (_, n) => 31 + 2 * n),
      );
      await service.send("DELETE", "/api/notes/31", undefined, as("ada"));
      assertEquals((await find(service, `q=common&filter=${filter}`)).total, 14);
      // Past the service: neither the row nor its owner is what the index knows.
      const run = (text: string) => service.db.driver.query({ text, values: [] });
      await run("DELETE FROM notes WHERE id = 33");
      await run("UPDATE notes SET owner_id = 'bob' WHERE id = 35");
      await run("UPDATE notes SET deleted_at = '2026-01-01T00:00:00.000000Z' WHERE id = 37");
      const { ids, total } = await find(service, `q=common&filter=${filter}`);
      assertEquals([total, ids.length], [11, 11]);
      assert(ids.every((id) => ![31, 33, 35, 37].includes(id)));
    }),
);

searchCase(
  "no q is an operator, and an empty one is refused",
  (engine) =>
    withNotes(engine, async (service) => {
      const title = `"(C++) foo-bar AND <b>secret:x</b> it's node.js`;
      await createNotes(service, [{ id: 1, title, secret: hidden("swordfish") }, {
        id: 2,
        title: "other",
      }]);
      const status = async (q: string) => {
        const query = `/api/notes/search?highlight=true&q=${encodeURIComponent(q)}`;
        return await service.get(query, as("ada"));
      };
      const hostile = [
        ...[
          '"',
          "(",
          "C++",
          "foo-bar",
          "AND",
          "secret:x",
          "<b>",
          "it's",
          "node.js",
          "%",
          "*",
          "^x",
        ],
        ...[
          "{title secret}:x",
          "NEAR(a b)",
          "a NOT b",
          "-a",
          "title:other OR",
          "\u0000",
          "💣",
          "' OR 1=1--",
        ],
        ...["((((((((((", "\\", "a* b*", "foo & | ! <-> bar:*", "\u202e", "ß", "İ", "١٢٣"],
      ];
      for (const q of hostile) {
        const { status: code, body } = await status(q);
        assertEquals(code, 200, `${q}: ${JSON.stringify(body)}`);
      }
      for (const q of ["C++", "foo-bar", "AND", "secret:x", "it's", "node.js", '"(C++)']) {
        assertEquals((await status(q)).body.total, 1, q);
      }
      for (const q of ["***", '"', "()", "\u0000"]) {
        assertEquals((await status(q)).body, { items: [], total: 0, highlights: {} });
      }
      for (const q of ["", "  ", "x".repeat(10_000), "a ".repeat(100)]) {
        assertEquals((await status(q)).status, 400);
      }
      assertEquals((await service.get("/api/notes/search", as("ada"))).status, 400);
      assertEquals((await status("swordfish")).body.total, 0);
    }),
);

searchCase(
  "highlights mark the words, and escape everything else",
  (engine) =>
    withNotes(engine, async (service) => {
      const title = `<script>alert("tea")</script> & Téa`;
      await createNotes(service, [{ id: 1, title, body: "no match" }, {
        id: 2,
        title: "tea",
        body: `${"word ".repeat(200)}tea${" word".repeat(200)}`,
      }]);
      const { body } = await service.get("/api/notes/search?q=tea&highlight=true", as("ada"));
      assertEquals(body.highlights["1"], {
        title: [
          "&lt;script&gt;alert(&quot;<em>tea</em>&quot;)&lt;/script&gt; &amp; <em>Téa</em>",
        ],
      });
      const [part] = body.highlights["2"].body;
      assertEquals([body.highlights["2"].title, part.length < 200], [["<em>tea</em>"], true]);
      assert(part.includes("word <em>tea</em> word"));
      const plain = await service.get("/api/notes/search?q=tea", as("ada"));
      assertEquals(Object.keys(plain.body), ["items", "total"]);
    }),
);

searchCase(
  "weights decide the order, and fields can be taken out",
  (engine) =>
    withNotes(engine, async (service) => {
      await createNotes(service, [
        { id: 1, title: "plain", body: "needle" },
        { id: 2, title: "needle", body: "plain" },
        { id: 3, title: "other", body: "other", ownerId: "ada" },
      ]);
      assertEquals((await find(service, "q=needle")).ids, [2, 1]);
      assertEquals((await find(service, "q=ada")).ids, []);
    }, { search: { fields: { title: { weight: 10 }, ownerId: { searchable: false } } } }),
);

searchCase(
  "limit and offset are checked, and misspelt parameters refused",
  (engine) =>
    withNotes(engine, async ({ get }) => {
      for (
        const bad of [
          ...[
            "limit=0",
            "limit=x",
            "offset=-1",
            "offset=1.5",
            "offset=x",
            "offset=9981",
            "highlight=1",
          ],
          ...["Offset=1", "q=b", "filter=secret==x", "filter=nothing==x", "offset=1&offset=2"],
        ]
      ) {
        assertEquals((await get(`/api/notes/search?q=a&${bad}`, as("ada"))).status, 400, bad);
      }
      assertEquals(
        (await get("/api/notes/search?q=a&limit=1000&offset=9900", as("ada"))).status,
        200,
      );
      assertEquals((await get("/api/notes/count?offset=1", as("ada"))).status, 400);
      assertEquals((await get("/api/notes/search?q=a")).status, 401);
      const allowed = await get("/api/notes/search?q=a", as("ada"));
      assertEquals(allowed.status, 200);
    }),
);

/** Lower-case words, none of which is a part of another: every engine agrees about them. */
const corpus = [
  ...[
    "amber",
    "birch",
    "cobalt",
    "delta",
    "ember",
    "fjord",
    "gravel",
    "harbor",
    "indigo",
    "jungle",
  ],
  ...["kernel", "lagoon", "meadow", "nectar", "orchid", "pepper", "quartz", "raven", "saddle"],
  ...["thistle", "umbrella", "velvet", "walnut", "xenon", "yonder", "zephyr"],
];

/** The same numbers in every run. */
function* numbers(seed: number): Generator<number> {
  for (let state = seed;; state = (state * 1_103_515_245 + 12_345) % 2_147_483_648) {
    yield state >> 8;
  }
}

searchCase(
  "a corpus of random notes gives the ids and totals of a plain search",
  (engine) =>
    withNotes(engine, async (service) => {
      const random = numbers(7);
      const pick = (count: number) => random.next().value % count;
      const words = (count: number) =>
        Array.from({ length: count }, () => corpus[pick(corpus.length)] ?? "");
      const rows = Array.from({ length: 300 }, (_, index) => ({
        id: index + 1,
        title: words(1 + pick(4)).join(" "),
        body: pick(4) === 0 ? null : words(1 + pick(12)).join(", "),
        ownerId: pick(3) === 0 ? "bob" : "ada",
      }));
      await createNotes(service, rows);
      for (let turn = 0; turn < 60; turn++) {
        const wanted = words(1 + pick(2));
        const user = pick(2) === 0 ? "ada" : "bob";
        const above = pick(300);
        const expected = rows.filter((row) =>
          row.ownerId === user && row.id > above &&
          wanted.every((word) => `${row.title} ${row.body ?? ""}`.split(/[ ,]+/).includes(word))
        ).map(({ id }) => id);
        const query = `q=${wanted.join("+")}&filter=id%3E${above}&limit=100`;
        const found = await find(service, query, user);
        assertEquals([found.ids.toSorted((a, b) => a - b), found.total], [
          expected,
          expected.length,
        ], query);
      }
    }),
);

/** Cases of ten thousand rows, for one of each engine. */
export const longSearchCases: readonly SearchCase[] = [{
  name: "of ten thousand hits a filter passes a tenth: totals are exact and pages full",
  run: (engine) =>
    withNotes(engine, async (service) => {
      const run = (text: string) => service.db.driver.query({ text, values: [] });
      for (let from = 1; from <= 10_000; from += 500) {
        const rows = Array.from({ length: 500 }, (_, index) => {
          const id = from + index;
          return `(${id}, 'ada', 'common ${corpus[id % 26]}', '${id % 10 === 0 ? "kept" : "not"}')`;
        });
        await run(`INSERT INTO notes (id, owner_id, title, body) VALUES ${rows.join(", ")}`);
      }
      await service.app.reindex();
      const filter = "filter=body%3D%3Dkept";
      const seen = new Set<number>();
      for (let offset = 0; offset < 1_000; offset += 100) {
        const page = await find(service, `q=common&${filter}&limit=100&offset=${offset}`);
        assertEquals([page.ids.length, page.total], [100, 1_000]);
        for (const id of page.ids) seen.add(id);
      }
      assertEquals(seen.size, 1_000);
      assert([...seen].every((id) => id % 10 === 0));
      const beyond = await find(service, `q=common&${filter}&offset=1000`);
      assertEquals(beyond, { ids: [], total: 1_000 });
      const last = await find(service, "q=common&limit=100&offset=9900");
      assertEquals([last.ids.length, last.total], [100, 10_000]);
      // The index still has all of them: of another owner, marked deleted, of no row.
      await run("UPDATE notes SET owner_id = 'bob' WHERE id <= 1000");
      await run("UPDATE notes SET deleted_at = '2026-01-01T00:00:00.000000Z' WHERE id > 9000");
      await run("DELETE FROM notes WHERE id > 1000 AND id <= 2000");
      assertEquals((await find(service, `q=common&${filter}&limit=100`)).total, 700);
      assertEquals(
        (await find(service, `q=common&${filter}&limit=100&offset=600`)).ids.length,
        100,
      );
      assertEquals((await find(service, `q=common&${filter}`, "bob")).total, 100);
    }),
}];
