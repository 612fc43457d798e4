import type { Page } from "playwright-core";
import { assert, assertEquals } from "@std/assert";
import { createBrowserTests, until } from "../client/browser/in_browser.ts";
import { hostile } from "./dashboard_service.ts";
import { startDashboardSite } from "./dashboard_site.ts";
import { openWatched, visit } from "./watched_page.ts";

const test = createBrowserTests();

test("the data browser filters, sorts, hides columns, peeks at a row, and its link shows the same", async ({ context }) => {
  await using site = await startDashboardSite();
  const { page, done } = await openWatched(context, `${site.url}#/data/books`);
  const titles = async () => await page.locator(".grid tbody td:nth-child(3)").allInnerTexts();
  await page.getByText("4 rows").waitFor();
  assertEquals(await titles(), [
    ...["The Dispossessed", "View with a Grain of Sand", hostile, "=1+1"],
  ]);

  await page.getByRole("button", { name: "genre", exact: true }).click();
  await page.getByRole("button", { name: "title", exact: true }).click({ modifiers: ["Shift"] });
  await page.waitForURL(/orderBy=genre%2Ctitle/);
  await page.getByLabel("Value for title").fill("th");
  await page.getByLabel("Value for title").press("Enter");
  await page.getByText("2 rows").waitFor();
  assertEquals(await titles(), ["The Dispossessed", "View with a Grain of Sand"]);
  assertEquals(await page.getByLabel("Filter", { exact: true }).inputValue(), "title=icontains=th");

  await page.getByText("Columns", { exact: true }).click();
  await page.getByRole("checkbox", { name: "genre" }).uncheck();
  await page.getByText("1 column hidden").waitFor();
  await page.getByRole("button", { name: "Look at authors 1" }).click();
  await page.getByRole("dialog", { name: "authors" }).getByText("Ursula K. Le Guin").first()
    .waitFor();

  const link = page.url();
  await page.goto("about:blank");
  await page.goto(link);
  await page.getByText("2 rows; 1 column hidden").waitFor();
  await page.getByLabel("Filter", { exact: true }).fill("title=");
  await page.getByRole("button", { name: "Apply" }).click();
  await page.getByRole("alert").getByText("(at “=”)").waitFor();
  await done();
});

test("a cell is a text, whatever it has; NULL is not the empty text; a long text is cut", async ({ context }) => {
  await using site = await startDashboardSite();
  const { page, done } = await openWatched(context, `${site.url}#/data/books`);
  const notes = page.locator(".grid tbody td:nth-child(9)");
  await page.getByText("4 rows").waitFor();
  const [none, empty, long, formula] = await notes.allInnerTexts();
  assertEquals([none, empty, formula], ["NULL", "empty", "@sum"]);
  assertEquals([long?.length, long?.at(-1)], [201, "…"]);

  await visit(page, "data/books/3");
  await page.getByRole("button", { name: "Show all 1,000,000 characters" }).click();
  assertEquals((await page.getByLabel("note text").inputValue()).length, 1_000_000);
  assertEquals(await page.getByRole("heading", { level: 1 }).innerText(), hostile);
  assertEquals(await page.locator("img, main script").count(), 0);
  await done();
});

test("a long table is scrolled with a bounded document, down and up again", async ({ context }) => {
  await using site = await startDashboardSite(20_000);
  const { page, done } = await openWatched(context, `${site.url}#/data/numbers`);
  await page.getByText("200 rows of 20,000 reached").waitFor();
  const grid = page.locator(".grid");
  // Each turn the bar is at the end of what was reached.
  for (let turn = 0; turn < 15; turn++) {
    await scrollTo(page, "grid.scrollHeight");
    await page.waitForTimeout(20);
  }
  await until(page, "Number([...document.querySelectorAll('.grid tbody a')].at(-1)?.text) > 1500");
  assert(await grid.locator("tr").count() < 60);
  await scrollTo(page, "0");
  await grid.getByRole("link", { name: "1", exact: true }).waitFor();
  await done();
});

test("an export has what is filtered, and no formulas", async ({ context }) => {
  await using site = await startDashboardSite();
  const { page, done } = await openWatched(
    context,
    `${site.url}#/data/books?filter=genre==essay;id>3&columns=id,title,price,note`,
  );
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name: "Export CSV" }).click(),
  ]);
  assertEquals(download.suggestedFilename(), "books.csv");
  const text = await Deno.readTextFile(await download.path());
  assertEquals(text, "id,title,price,note\r\n4,'=1+1,-5.00,'@sum\r\n");
  await done();
});

test("a live list shows what is written elsewhere", async ({ context }) => {
  await using site = await startDashboardSite();
  const { page, done } = await openWatched(context, `${site.url}#/data/books`);
  await page.getByText("4 rows").waitFor();
  await page.getByRole("checkbox", { name: "Live" }).check();
  await page.getByText("4 rows, live").waitFor();
  const answer = await site.send("PATCH", "/api/books/2", { title: "Changed elsewhere" });
  assertEquals(answer.status, 200);
  await answer.body?.cancel();
  await page.locator("tr.changed").getByText("Changed elsewhere").waitFor();
  await done();
});

/** Scrolls the table to a height. */
async function scrollTo(page: Page, height: string): Promise<void> {
  await page.evaluate(
    `{ const grid = document.querySelector(".grid"); grid.scrollTo(0, ${height}) }`,
  );
}
