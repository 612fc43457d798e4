import { assertEquals } from "@std/assert";
import { createApp } from "../../src/app/app.ts";
import { openDatabase } from "../../src/engines/open_database.ts";
import { reopeningApp } from "../../src/cli/reopen/replaceable_app.ts";

Deno.test("a column that had another type for a short time was a 500 of the request in that time", async () => {
  const app = await createApp({ db: await openDatabase("sqlite::memory:"), resources: [] });
  let version = "before";
  let failures = 1;
  const failing = {
    ...app,
    fetch: async (request: Request) =>
      failures-- > 0 ? new Response(null, { status: 500 }) : await app.fetch(request),
  };
  const reopening = reopeningApp(failing, {
    // A look of which the tables have the same description, and another version.
    ended: () => Promise.resolve(void (version = "after")),
    version: () => version,
    current: () => Promise.resolve(),
  });
  const ask = async (method: string) =>
    (await reopening.app.fetch(new Request("http://localhost/healthz", { method }))).status;
  assertEquals(await ask("GET"), 200);
  [failures, version] = [1, "before"];
  assertEquals(await ask("POST"), 503);
  // Without another version it is a fault of the service.
  [failures, version] = [1, "after"];
  assertEquals(await ask("GET"), 500);
  await app.close();
});
