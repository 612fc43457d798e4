import { assertEquals } from "@std/assert";
import { all, integer, resource, table } from "../../../../mod.ts";
import { anyEngine, withDashboard } from "./dashboard_service.ts";

const notes = table("notes", { id: integer().primaryKey() });

Deno.test("the report of budgets has the callers that have spent the largest parts first", () =>
  withDashboard(anyEngine, [notes], () => ({
    kv: ":memory:",
    abuseProtection: {
      budget: {
        classes: {
          anonymous: { capacity: 10, refillPerMinute: 0 },
          authenticated: { capacity: 100, refillPerMinute: 0 },
        },
      },
    },
    auth: {
      middleware: async (context, next) => {
        const id = context.req.header("x-user");
        if (id !== undefined) context.set("user", { id });
        await next();
      },
    },
    resources: [resource(notes, {
      id: notes.id,
      auth: { public: { read: true }, create: () => all() },
      cost: { read: 2 },
      rateLimit: { windowMs: 3_600_000, maxRequests: 50 },
    })],
  }), async ({ get, report }) => {
    assertEquals(await report("budgets"), { identities: [], total: 0 });
    await get("/api/notes");
    for (let n = 0; n < 3; n++) await get("/api/notes", { "x-user": "ada" });
    const { identities, total } = await report("budgets");
    assertEquals(total, 4);
    assertEquals(
      identities.map(({ limit, identity, spent, left }: Record<string, unknown>) => [
        ...[limit, identity, spent, left],
      ]),
      [
        ["anonymous", "address unknown", 2, 8],
        ["authenticated", "user ada", 6, 94],
        ["/api/notes", "user ada", 3, 47],
        ["/api/notes", "address unknown", 1, 49],
      ],
    );
    // What the operator reads costs nothing.
    await get("/__service/ui/api/notes", { "x-user": "ada" });
    assertEquals((await report("budgets")).identities.length, 4);
  }));
