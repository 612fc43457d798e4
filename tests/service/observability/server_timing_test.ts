import { assert, assertEquals, assertMatch } from "@std/assert";
import { testOnDialects } from "../../support/http.ts";
import { withObservedService } from "./observed_service.ts";

const header = "server-timing";
const asking = { headers: { "service-timing": "1" } };

testOnDialects(
  "in development an answer says how long it took, and its statements",
  async (engine) => {
    const db = await engine.open();
    await withObservedService({ db }, async ({ send }) => {
      const timingOf = async (method: string, path: string, body?: unknown) => {
        const headers = { "x-user": "ann", ...asking.headers };
        const answer = await send(method, path, { body, headers });
        return answer.headers.get(header) ?? "";
      };
      const statements = (count: string) =>
        new RegExp(`^total;dur=\\d+\\.\\d\\d, db;dur=\\d+\\.\\d\\d;desc="${count}"$`);
      assertMatch(
        await timingOf("POST", "/api/notes", { title: "x" }),
        statements("1 statement"),
      );
      assertMatch(await timingOf("GET", "/api/notes/1"), statements("1 statement"));
      await timingOf("POST", "/api/notes", { title: "y" });
      assertMatch(
        await timingOf("GET", "/api/notes?limit=1&totalCount=true"),
        statements("2 statements"),
      );
      assertMatch(await timingOf("GET", "/healthz"), /^total;dur=\d+\.\d\d$/);
      assertMatch(await timingOf("GET", "/nothing"), /^total;dur=\d+\.\d\d$/);
      // In a transaction.
      const batch = await timingOf("POST", "/api/notes/batch", { items: [{ title: "y" }] });
      const [, total = "", database = ""] = /^total;dur=(.*), db;dur=(.*?);/.exec(batch) ?? [];
      assert(Number(total) >= Number(database) && Number(database) > 0, batch);
    });
    await db.close();
  },
);

Deno.test("requests at the same time have times of their own", () =>
  withObservedService({}, async ({ send }) => {
    const answers = await Promise.all(
      Array.from(
        { length: 20 },
        (_, nth) => send("GET", nth % 2 === 0 ? "/api/notes/1" : "/healthz", asking),
      ),
    );
    answers.forEach(({ headers }, nth) =>
      assertEquals(headers.get(header)?.includes('desc="1 statement"'), nth % 2 === 0)
    );
  }));

Deno.test("an answer whose headers cannot be changed, or that has the header, has it as well", () =>
  withObservedService({
    middleware: [async (context, next) => {
      const { path } = context.req;
      if (path === "/redirects") return Response.redirect("http://localhost/elsewhere", 303);
      if (path === "/fails") return Response.error();
      await next();
      if (path === "/healthz") context.header(header, "cache;dur=1");
      return undefined;
    }],
  }, async ({ send }) => {
    const redirect = await send("GET", "/redirects", asking);
    assertEquals([redirect.status, redirect.headers.get("location")], [
      ...[303, "http://localhost/elsewhere"],
    ]);
    assertMatch(redirect.headers.get(header) ?? "", /^total/);
    assertMatch(
      (await send("GET", "/healthz", asking)).headers.get(header) ?? "",
      /^cache;dur=1, total/,
    );
    assertEquals((await send("GET", "/fails", asking)).status, 500);
  }));

Deno.test("in production, and where no request asks, no answer says how long it took", async () => {
  for (const config of [{ env: "production" } as const, { observability: { metrics: true } }]) {
    await withObservedService(config, async ({ send }) => {
      for (const path of ["/api/notes", "/api/notes/9", "/nothing", "/healthz"]) {
        const answer = await send("GET", path, asking);
        assertEquals(answer.headers.has(header), !("env" in config), path);
        assertEquals((await send("GET", path)).headers.has(header), false);
      }
    });
  }
});
