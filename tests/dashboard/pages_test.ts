import axe from "axe-core";
import type { Page } from "playwright-core";
import { assertEquals } from "@std/assert";
import { createBrowserTests, until } from "../client/browser/in_browser.ts";
import { startDashboardSite } from "./dashboard_site.ts";
import { openWatched, visit } from "./watched_page.ts";

const test = createBrowserTests();

/** Every page, and what it shows once it is there. */
const pages: readonly (readonly [place: string, shows: string])[] = [
  ["", "Overview"],
  ["data/books", "books"],
  ["data/books/1", "The Dispossessed"],
  ["data/books/+new", "New row of books"],
  ["rights", "Rights"],
  ["filter?resource=books&filter=genre==novel", "Filter tester"],
  ["streams", "Live streams"],
  ["outbox", "Outbox"],
  ["credits", "Credits"],
  ["budgets", "Budgets"],
  ["requests", "Requests"],
  ["requests?status=4&path=/api&since=1", "Requests"],
  ["load?span=day", "Load"],
  ["problems", "Problems"],
  ["statements", "Slow statements"],
  ["audit", "Audit"],
  ["configuration", "Configuration"],
  ["nowhere", "Not found"],
];

/** Opens an editor or a dialog over the list, in which a cell is active. */
const editors: readonly (readonly [what: string, open: (page: Page) => Promise<void>])[] = [
  ["a refused value", async (page) => {
    await page.locator("#cell-0-4").click();
    await page.keyboard.type("x");
    await page.keyboard.press("Enter");
    await page.getByText(/^price must/).waitFor();
  }],
  ["the change of many rows", async (page) => {
    await page.getByRole("checkbox", { name: "Select all loaded rows" }).check();
    await page.getByRole("button", { name: "Change …" }).click();
  }],
];

test("every page opens by its link, and axe finds no fault in it, wide and light or narrow and dark", async ({ browser }) => {
  await using site = await startDashboardSite();
  const looks = [
    { viewport: { width: 1280, height: 800 }, colorScheme: "light" },
    { viewport: { width: 400, height: 800 }, colorScheme: "dark" },
  ] as const;
  for (const look of looks) {
    // The policy of the page allows no script but its own: this one is a part of the test.
    const context = await browser.newContext({ ...look, bypassCSP: true });
    const { page, done } = await openWatched(context, `${site.url}#/`);
    await page.evaluate(axe.source);
    for (const [place, shows] of pages) {
      await visit(page, place);
      await page.getByRole("heading", { level: 1, name: shows }).waitFor();
      assertEquals(await faultsOf(page), [], place);
    }
    for (const [what, open] of editors) {
      await visit(page, "data/books");
      await page.locator("#cell-0-1").click();
      await open(page);
      assertEquals(await faultsOf(page), [], what);
      await page.keyboard.press("Escape");
    }
    assertEquals(await page.evaluate("document.documentElement.scrollWidth <= innerWidth"), true);
    await done();
    await context.close();
  }
});

/** What axe finds, as a rule and an element. */
async function faultsOf(page: Page): Promise<unknown> {
  return await page.evaluate(`axe.run(document).then(({ violations }) => violations.flatMap(
    ({ id, nodes }) => nodes.map(({ html, failureSummary }) => id + ": " + html.slice(0, 200) + failureSummary.slice(0,300))))`);
}

test("the keyboard reaches what is searched: / and g open pages", async ({ context }) => {
  await using site = await startDashboardSite();
  const { page, done } = await openWatched(context, `${site.url}#/`);
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  await page.keyboard.press("/");
  await page.keyboard.type("numb");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "numbers" }).waitFor();
  await page.getByRole("link", { name: "Overview" }).focus();
  await page.keyboard.type("gr");
  await page.getByRole("heading", { name: "Rights" }).waitFor();
  await done();
});

test("the filter tester shows how many rows match a filter, or what is wrong with it", async ({ context }) => {
  await using site = await startDashboardSite();
  const { page, done } = await openWatched(context, `${site.url}#/filter?resource=books`);
  await page.getByLabel("Filter").fill("genre==novel;price>5");
  await page.getByRole("button", { name: "Test" }).click();
  await page.getByRole("status").getByText("1 row", { exact: true }).waitFor();
  await page.getByLabel("Filter").fill("genre=");
  await page.getByRole("button", { name: "Test" }).click();
  await page.getByRole("alert").waitFor();
  await done();
});

test("the audit shows what the operator wrote, the problems what was refused", async ({ context }) => {
  await using site = await startDashboardSite();
  for (const [id, status] of [[1, 200], [99, 404]] as const) {
    const answer = await site.send("PATCH", `/api/books/${id}`, { title: "Changed" });
    assertEquals(answer.status, status);
    await answer.body?.cancel();
  }
  await (await fetch(site.url.replace("/__service/ui", "/api/nothing"))).body?.cancel();
  const { page, done } = await openWatched(context, `${site.url}#/audit`);
  await page.getByRole("row", { name: /PATCH \/api\/books\/1 .*200/ }).waitFor();
  await visit(page, "problems");
  await page.getByRole("row", { name: /404 not-found 1/ }).waitFor();
  await done();
});

test("an entry of the outbox that was given up is replayed", async ({ context }) => {
  await using site = await startDashboardSite();
  const { app: { searchOutbox }, search } = site;
  search.isDown = true;
  await (await site.send("PATCH", "/api/books/1", { title: "Lost" })).body?.cancel();
  await searchOutbox?.drain();
  const { page, done } = await openWatched(context, `${site.url}#/outbox`);
  await page.getByRole("row", { name: /it is down/ }).waitFor();
  search.isDown = false;
  await page.getByRole("button", { name: "Replay", exact: true }).click();
  await page.getByText("1 entry is sent again.").waitFor();
  await searchOutbox?.drain();
  await page.getByText("Nothing was given up.").waitFor();
  const { items } = await (await site.send("GET", "/api/books/search?q=lost")).json();
  assertEquals(items.map(({ id }: { id: number }) => id), [1]);
  await done();
});

test("the charts follow the requests of the service", async ({ context }) => {
  await using site = await startDashboardSite();
  const { page, done } = await openWatched(context, `${site.url}#/`);
  await page.getByRole("heading", { name: "Requests" }).waitFor();
  const service = site.url.replace("/__service/ui", "/api/authors");
  let isOver = false;
  const asking = (async () => {
    while (!isOver) await (await fetch(service)).body?.cancel();
  })();
  await until(page, "/requests [1-9]/.test(document.querySelector('.chart').innerText)");
  await page.getByRole("img", { name: /Latency: p50 [\d.]+ ms/ }).waitFor();
  isOver = true;
  await asking;
  await done();
});

test("the rights of a viewed user show the rows, the policy and the reasons", async ({ context }) => {
  await using site = await startDashboardSite();
  const { page, done } = await openWatched(context, `${site.url}#/rights?as=ada`);
  const rights = page.getByRole("region", { name: "Rights of ada to" });
  await page.getByRole("combobox", { name: "Resource" }).selectOption("books");
  await rights.getByText('owner=="ada"').first().waitFor();
  await rights.getByRole("row", { name: /read 2 own books/ }).waitFor();
  await page.getByLabel("Id of a row").fill("3");
  await rights.getByText("not this row").first().waitFor();
  await done();
});
