import { assertEquals } from "@std/assert";
import { all, integer, resource, table, text } from "../../../../mod.ts";
import { consoleObserver } from "../../../../src/runtime/console_observer.ts";
import { anyEngine, withDashboard } from "./dashboard_service.ts";

const notes = table("notes", { id: integer().primaryKey(), title: text().notNull() });

const config = () => ({
  resources: [resource(notes, { id: notes.id, auth: { public: true, create: () => all() } })],
});

Deno.test("each write of an operator is audited and observed, whatever came of it", () =>
  withDashboard(anyEngine, [notes], config, async ({ get, send, report, observations }) => {
    const place = "/__service/ui/api/notes";
    const grace = { "x-user": "grace" };
    assertEquals((await send("POST", place, { id: 1, title: "one" }, grace)).status, 201);
    assertEquals((await send("PATCH", `${place}/1`, { title: 7 }, grace)).status, 422);
    assertEquals((await send("DELETE", `${place}/1?secret=1`)).status, 204);
    // Reads, and what others write, are none of it.
    await get(place, grace);
    await send("POST", "/api/notes", { id: 2, title: "two" }, grace);
    const { entries } = await report("audit");
    const shown = entries.map(({ at, ...entry }: { readonly at: number }) => {
      assertEquals(Math.abs(at - Date.now()) < 60_000, true);
      return entry;
    });
    assertEquals(shown, [
      { method: "DELETE", path: "/api/notes/1", status: 204, user: null },
      { method: "PATCH", path: "/api/notes/1", status: 422, user: "grace" },
      { method: "POST", path: "/api/notes", status: 201, user: "grace" },
    ]);
    const observed = observations.filter(({ kind }) => kind === "operator_write");
    const expected = shown.toReversed().map((entry: object) => ({
      kind: "operator_write",
      ...entry,
    }));
    assertEquals(observed, expected);
    const lines: string[] = [];
    const observe = consoleObserver({ format: "text", write: (line) => lines.push(line) });
    for (const one of observed) observe(one);
    assertEquals(lines.length, 3);
    assertEquals(
      ["grace", "PATCH", "/api/notes/1", "422"].map((word) => lines[1]?.includes(word)),
      [true, true, true, true],
    );
  }));

Deno.test("the audit holds the last 500 writes", () =>
  withDashboard(anyEngine, [notes], config, async ({ send, report }) => {
    for (let id = 1; id <= 502; id++) await send("DELETE", `/__service/ui/api/notes/${id}`);
    const { entries } = await report("audit");
    assertEquals([entries.length, entries[0].path, entries.at(-1).path], [
      ...[500, "/api/notes/502", "/api/notes/3"],
    ]);
  }));
