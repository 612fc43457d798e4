import { chromium, type Page } from "playwright-core";
import { assertEquals } from "@std/assert";
import { openDatabase } from "../../mod.ts";
import { chromiumForTests } from "../support/chromium.ts";
import { scratchFolder } from "../support/scratch.ts";
import { testUnless } from "../support/skip.ts";
import { readExample, startExample } from "./example.ts";

const browser = await chromiumForTests();
const example = readExample("live_page.ts");

async function withPage(work: (page: Page, folder: string) => Promise<void>): Promise<void> {
  if ("missing" in browser) throw new Error(browser.missing);
  await using folder = await scratchFolder();
  const running = await chromium.launch({ executablePath: browser.path });
  try {
    const page = await running.newPage();
    // Whatever the page shows later, it was loaded once.
    const loads: string[] = [];
    const errors: string[] = [];
    page.on("load", () => loads.push(page.url()));
    page.on("pageerror", (error) => errors.push(error.message));
    page.on("console", (message) => {
      if (message.text().includes("Content Security Policy")) errors.push(message.text());
    });
    await work(page, folder.path);
    assertEquals([loads.length, errors], [1, []]);
  } finally {
    await running.close();
  }
}

/** Waits until the page shows these notes, and no others. */
async function untilShown(page: Page, titles: readonly string[]): Promise<void> {
  const items = page.locator("li");
  for (const [index, title] of titles.entries()) {
    await items.nth(index).filter({ hasText: title }).waitFor();
  }
  await items.nth(titles.length).waitFor({ state: "detached" });
}

testUnless(
  "missing" in browser ? browser.missing : null,
  "examples/live_page.ts shows what others write, and resumes after a restart, without reload",
  () =>
    withPage(async (page, cwd) => {
      const env = { SERVICE_SECRET: "a secret for the tests only" };
      const first = await startExample(example, { cwd, env });
      const { port } = first;
      const origin = `http://127.0.0.1:${port}`;
      await page.goto(origin);
      await page.getByLabel("Note").fill("written here");
      await page.getByRole("button", { name: "Add" }).click();
      await untilShown(page, ["written here"]);
      const written = await fetch(`${origin}/api/notes`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: '{"title":"written by another"}',
      });
      assertEquals(written.status, 201);
      await written.body?.cancel();
      await untilShown(page, ["written here", "written by another"]);

      // A stream that does not continue makes the page empty first.
      const kept = await page.locator("li").nth(1).elementHandle();

      await first[Symbol.asyncDispose]();
      const db = await openDatabase(`sqlite:${cwd}/live_page.db`);
      for (
        const text of [
          "DELETE FROM notes WHERE id = 1",
          "INSERT INTO notes (visitor, title) VALUES ('x', 'written while it was down')",
        ]
      ) await db.driver.query({ text, values: [] });
      await db.close();
      await using _second = await startExample(example, { cwd, env, port });
      await untilShown(page, ["written by another", "written while it was down"]);
      assertEquals(await kept?.isVisible(), true);
      assertEquals(await kept?.textContent(), "written by another");
    }),
);
