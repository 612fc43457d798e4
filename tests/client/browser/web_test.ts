import { assertEquals } from "@std/assert";
import { scratchFolder } from "../../support/scratch.ts";
import { writeFiles } from "../../service/web/web_support.ts";
import { openBrowserApp } from "./browser_service.ts";
import { createNote } from "./browser_site.ts";
import { createBrowserTests, until } from "./in_browser.ts";

const test = createBrowserTests();

/** A page as a bundler writes it: a script with a hash in its name, and an inline script. */
const files = {
  "index.html": `<!doctype html><meta charset="utf-8"><title>Notes</title>
    <link rel="icon" href="data:,"><link rel="stylesheet" href="/assets/app-BxA1_9zK.css">
    <ul id="notes"></ul><script>globalThis.inline = true;</script>
    <script type="module" src="/assets/app-BxA1_9zK.js"></script>`,
  "assets/app-BxA1_9zK.css": "ul { color: rgb(1, 2, 3) }",
  "assets/app-BxA1_9zK.js": `
    import { createClient, liveList } from "/__service/client.js";
    globalThis.reports = [];
    document.addEventListener("securitypolicyviolation", ({ violatedDirective, blockedURI }) =>
      reports.push(violatedDirective + " " + blockedURI));
    globalThis.api = createClient({ baseUrl: "" });
    liveList(api.notes, { orderBy: ["id"] }).subscribe(({ items }) => {
      notes.textContent = items.map(({ title }) => title).join();
    });`,
};

test("a built page runs under its policy: deep link, live list and proof of work", async ({ open }) => {
  await using scratch = await scratchFolder();
  await writeFiles(scratch.path, files);
  const { app, db } = await openBrowserApp("sqlite::memory:", { web: scratch.path });
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, app.fetch);
  const origin = `http://127.0.0.1:${server.addr.port}`;
  try {
    const page = await open(`${origin}/notes/5`);
    const logged: string[] = [];
    page.on("console", (message) => logged.push(message.text()));
    await page.evaluate(`api.notes.create({ title: "Tea" })`);
    await until(page, `notes.textContent === "Tea"`);
    await createNote(origin, "Milk");
    await until(page, `notes.textContent === "Tea,Milk"`);
    const workers: string[] = [];
    page.on("worker", (worker) => workers.push(worker.url().slice(0, 20)));
    // By chance, the page can find a solution before a worker has begun.
    for (let round = 0; round < 20 && workers.length === 0; round++) {
      assertEquals(
        await page.evaluate(`api.proofs.create({ title: "a" }).then(({ value }) => value.title)`),
        "a",
      );
    }
    assertEquals(workers[0], "data:text/javascript");
    assertEquals(await page.evaluate("[inline, getComputedStyle(notes).color]"), [
      true,
      "rgb(1, 2, 3)",
    ]);
    assertEquals([await page.evaluate("reports"), logged.filter((one) => /Policy/.test(one))], [
      ...[[], []],
    ]);
    // The policy forbids what it is there to forbid.
    await page.evaluate(
      `document.body.append(Object.assign(document.createElement("script"), { textContent: "globalThis.injected = 1" }))`,
    );
    await until(page, "reports.length > 0");
    assertEquals(await page.evaluate("[typeof injected, reports]"), ["undefined", [
      "script-src-elem inline",
    ]]);
  } finally {
    app.drain();
    await server.shutdown();
    await app.close();
    await db.close();
  }
});
