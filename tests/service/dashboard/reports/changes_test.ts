import { assertEquals } from "@std/assert";
import { all, integer, resource, table, text, uuid } from "../../../../mod.ts";
import { hiddenMark, testOnEngines } from "../../../support/http.ts";
import { run } from "../../../support/scratch.ts";
import { anyEngine, withDashboard } from "./dashboard_service.ts";

const notes = table("notes", {
  id: integer().primaryKey(),
  title: text().notNull(),
  size: integer(),
  secret: text(),
});
const links = table("links", {
  from: text().notNull().primaryKey(),
  to: uuid().notNull().primaryKey(),
  rank: integer(),
});
const others = table("others", { id: integer().primaryKey(), name: text() });

const ada = { "x-user": "ada" };
const rights = { public: true, create: () => all(), update: () => all(), delete: () => all() };
const config = () => ({
  resources: [
    resource(notes, {
      id: notes.id,
      auth: rights,
      fields: { readable: [notes.id, notes.title, notes.size] },
    }),
    resource(links, { id: [links.from, links.to], auth: rights }),
    resource(others, { id: others.id, auth: { public: { read: true } } }),
  ],
});

interface Change {
  readonly operation: string;
  readonly before: Record<string, unknown> | null;
  readonly after: Record<string, unknown> | null;
  readonly at: number;
}

testOnEngines(
  "the report of changes has those of one row, the newest first, and no hidden column",
  (engine) =>
    withDashboard(engine, [notes, links, others], config, async ({ db, send, report }) => {
      const start = Date.now();
      const big = 9_007_199_254_740_993n;
      for (const id of [7, 71, 17]) {
        await send("POST", "/api/notes", { id, title: `note ${id}` }, ada);
      }
      await run(db, `UPDATE notes SET secret = '${hiddenMark}a', size = ${big} WHERE id = 7`);
      await send("DELETE", "/api/notes/71", undefined, ada);
      await send("DELETE", "/api/notes/7", undefined, ada);
      const { changes, ...rest } = await report("changes?resource=notes&id=7");
      assertEquals(rest, { recorded: "triggers", keptMs: 3_600_000, next: null });
      const shown = changes.map(({ operation, before, after }: Change) => [
        ...[operation, before, after],
      ]);
      const first = { id: 7, title: "note 7", size: null };
      // A number that no double has is a string of its digits.
      const second = { ...first, size: String(big) };
      assertEquals(shown, [
        ["delete", second, null],
        ["update", first, second],
        ["insert", null, first],
      ]);
      for (const { at } of changes) assertEquals(at > start - 2_000 && at < start + 60_000, true);
      const [page, rows] = [
        await report("changes?resource=notes&id=7&limit=2"),
        changes.slice(0, 2),
      ];
      assertEquals([page.changes, page.next], [rows, rows[1].sequence]);
      const older = await report(`changes?resource=notes&id=7&limit=2&before=${page.next}`);
      assertEquals([older.changes, older.next], [changes.slice(2), null]);
    }),
);

testOnEngines(
  "changes of rows with composite keys are found, whatever is in their texts",
  (engine) =>
    withDashboard(engine, [notes, links, others], config, async ({ send, report }) => {
      const to = "0d3f5a6e-7b1c-4a51-9d2f-3f1b8f1f2a3b";
      for (const [rank, from] of ['a"b', "a%b", "ä,\\", "a_b"].entries()) {
        assertEquals((await send("POST", "/api/links", { from, to, rank }, ada)).status, 201, from);
        const id = encodeURIComponent(`${encodeURIComponent(from)},${to.toUpperCase()}`);
        const { changes } = await report(`changes?resource=links&id=${id}`);
        assertEquals(changes.map(({ after }: Change) => after?.rank), [rank], from);
      }
    }),
);

testOnEngines(
  "a row whose key has changed has the changes of both keys",
  (engine) =>
    withDashboard(engine, [notes, links, others], config, async ({ db, send, report }) => {
      await send("POST", "/api/notes", { id: 1, title: "one" }, ada);
      await run(db, "UPDATE notes SET id = 2 WHERE id = 1");
      const operations = async (id: number) =>
        (await report(`changes?resource=notes&id=${id}`)).changes
          .map(({ operation }: Change) => operation);
      assertEquals([await operations(1), await operations(2)], [["update", "insert"], ["update"]]);
    }),
);

Deno.test("the report of changes says where none are recorded, and what is wrong", () =>
  withDashboard(anyEngine, [notes, links, others], config, async ({ get, report }) => {
    assertEquals(await report("changes?resource=others&id=1"), {
      ...{ changes: [], recorded: "no", keptMs: null, next: null },
    });
    const wrong = [
      "",
      "?resource=notes",
      "?resource=nothing&id=1",
      "?resource=notes&id=x",
      "?resource=notes&id=1&limit=0",
      "?resource=notes&id=1&limit=1e3",
      "?resource=notes&id=1&before=-1",
      "?resource=notes&id=%25",
    ];
    for (const query of wrong) {
      const { status, body } = await get(`/__service/ui/report/changes${query}`);
      assertEquals([status, body.type], [400, "/__service/problems/invalid-parameter"], query);
    }
  }));
