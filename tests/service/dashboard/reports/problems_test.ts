import { assertEquals } from "@std/assert";
import { all, integer, Problem, resource, table, text } from "../../../../mod.ts";
import { anyEngine, withDashboard } from "./dashboard_service.ts";

const notes = table("notes", { id: integer().primaryKey(), title: text().notNull() });

const config = () => ({
  resources: [resource(notes, {
    id: notes.id,
    auth: { public: { read: true }, create: () => all() },
    strictInput: true,
    strictQuery: true,
    hooks: {
      onBeforeCreate(_context, { title }) {
        if (title === "fails") throw new TypeError("the mark-99887 of a row");
        if (title === "refused") throw new Problem("conflict", 'Cannot: "mark-99887" has 99887');
      },
    },
  })],
});

Deno.test("problems are grouped by their code and route, and hold no value of a request", () =>
  withDashboard(anyEngine, [notes], config, async ({ get, send, report }) => {
    assertEquals((await report("problems")).problems, []);
    const user = { "x-user": "mark-99887" };
    for (const id of [998871, 998872]) assertEquals((await get(`/api/notes/${id}`)).status, 404);
    await get("/api/notes?filter=mark-99887==1");
    await get("/api/notes?limit=mark-99887");
    await get("/api/mark-99887/mark-99887?mark-99887");
    await send("POST", "/api/notes", { id: 1, "mark-99887": "mark-99887" }, user);
    await send("POST", "/api/notes", '{"mark-99887', user);
    await send("POST", "/api/notes", { id: 1, title: "fails" }, user);
    await send("POST", "/api/notes", { id: 1, title: "refused" }, user);
    const found = await report("problems");
    assertEquals(/mark|9988/.test(JSON.stringify(found)), false, JSON.stringify(found));
    assertEquals(found.isComplete, true);
    const [last] = found.problems;
    assertEquals({ ...last, firstAt: 0, lastAt: 0 }, {
      ...{ code: "conflict", status: 409, count: 1, firstAt: 0, lastAt: 0 },
      ...{ method: "POST", path: "/api/notes" },
      detail: "The write conflicts with what is stored",
    });
    const groups = found.problems.map((
      { code, count, method, path }: typeof last,
    ) => `${count} ${code} ${method} ${path}`);
    assertEquals(groups.toSorted(), [
      "1 conflict POST /api/notes",
      "1 filter-parse-error GET /api/notes",
      "1 internal-error POST /api/notes",
      "1 invalid-body POST /api/notes",
      "1 invalid-parameter GET /api/notes",
      "1 not-found GET ",
      "1 validation-error POST /api/notes",
      "2 not-found GET /api/notes/:id",
    ]);
    const fault = found.problems.find(({ status }: typeof last) => status === 500);
    assertEquals(fault.detail, "TypeError");
  }));
