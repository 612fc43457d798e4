import { assert, assertEquals } from "@std/assert";
import { chromium } from "playwright-core";
import { integer, openDatabase, resource, serve, table } from "../../mod.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { chromiumForTests } from "../support/chromium.ts";
import { testUnless } from "../support/skip.ts";

const browser = await chromiumForTests();
const things = table("things", { id: integer().primaryKey() });

async function served(work: (url: string) => Promise<void>): Promise<void> {
  const db = await openDatabase("sqlite::memory:");
  await db.createTables([things]);
  const server = await serve({
    port: 0,
    db,
    secret: "a secret for the tests only",
    runtime: systemRuntime(() => {}),
    openapi: { ui: true },
    resources: [resource(things, { id: things.id, auth: { public: true } })],
    onListen() {},
  });
  try {
    await work(server.url);
  } finally {
    await server.stop();
  }
}

testUnless(
  "missing" in browser ? browser.missing : null,
  "the reference shows the operations in a browser, from the service alone",
  async () => {
    if ("missing" in browser) throw new Error(browser.missing);
    await served(async (url) => {
      const running = await chromium.launch({ executablePath: browser.path });
      try {
        const page = await running.newPage();
        const refused: string[] = [];
        const asked: string[] = [];
        page.on("console", (message) => {
          if (message.type() === "error") refused.push(message.text());
        });
        page.on("request", (request) => asked.push(request.url()));
        await page.goto(`${url}/__service/reference`);
        await page.waitForSelector('[data-path="/api/things/{id}"]');
        assertEquals(asked.filter((one) => !one.startsWith(url) && !one.startsWith("data:")), []);
        // A browser asks for an icon by itself.
        assertEquals(refused.filter((one) => !/404/.test(one)), []);
      } finally {
        await running.close();
      }
    });
  },
);

Deno.test("the reference is of the service's own files, under a strict policy", async () => {
  await served(async (url) => {
    const page = await fetch(`${url}/__service/reference`);
    const policy = page.headers.get("content-security-policy") ?? "";
    assert(policy.includes("script-src 'self'") && !policy.includes("unsafe"));
    assert(!/https?:/.test(await page.text()), "no other host");
    for (const name of ["swagger-ui-bundle.js", "swagger-ui.css", "start.js"]) {
      const file = await fetch(`${url}/__service/reference/${name}`);
      assertEquals([file.status, (await file.text()).length > 100], [200, true]);
    }
    for (const name of ["package.json", "%2e%2e/deno.json", "swagger-ui.js"]) {
      const file = await fetch(`${url}/__service/reference/${name}`);
      await file.body?.cancel();
      assertEquals(file.status, 404);
    }
  });
});
