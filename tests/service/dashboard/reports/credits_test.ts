import { assertEquals } from "@std/assert";
import { openCreditsLedger } from "../../../../exports/billing.ts";
import { anyEngine, withDashboard } from "./dashboard_service.ts";

Deno.test("the report of credits has the balance of an account, and its newest entries", async () => {
  const credits = await openCreditsLedger({ kv: ":memory:" });
  await credits.grant("ada", 50, { reason: "welcome" });
  await credits.consume("ada", 20);
  await withDashboard(anyEngine, [], () => ({
    resources: [],
    adminUI: { authorize: () => true, credits },
  }), async ({ get, report }) => {
    const { balance, entries } = await report("credits?account=ada");
    const shown = entries.map(({ kind, amount }: Record<string, unknown>) => [kind, amount]);
    assertEquals([balance, shown], [30, [["consume", -20], ["grant", 50]]]);
    assertEquals(await report("credits?account=none"), { balance: 0, entries: [] });
    assertEquals((await get("/__service/ui/report/credits")).status, 400);
    const account = encodeURIComponent("x".repeat(5_000));
    assertEquals((await get(`/__service/ui/report/credits?account=${account}`)).status, 422);
  });
  await credits.close();
});
