import { assertEquals } from "@std/assert";
import { createBrowserTests, until } from "../client/browser/in_browser.ts";
import { startDashboardSite } from "./dashboard_site.ts";
import { openWatched, visit } from "./watched_page.ts";

const test = createBrowserTests();

test("a list shows labels in place of foreign keys, and a row shows the rows that name it", async ({ context }) => {
  await using site = await startDashboardSite();
  const { page, done } = await openWatched(context, `${site.url}#/data/books?orderBy=id`);
  const labels: string[] = [];
  page.on("request", (request) => {
    if (request.url().includes("/api/authors?")) labels.push(request.url());
  });
  await page.getByRole("row", { name: /View with a Grain of Sand Wisława Szymborska 2/ }).waitFor();
  assertEquals(labels.length, 1, "one request for all rows in view");
  await page.getByRole("link", { name: "Ursula K. Le Guin" }).first().click();
  await page.waitForURL(/authors\/1$/);

  const related = page.getByRole("region", { name: "books by authorId" });
  await related.getByRole("row", { name: /1 The Dispossessed novel/ }).waitFor();
  assertEquals(await related.locator("tbody tr").count(), 2);
  await page.getByRole("link", { name: "New row of books" }).click();
  await page.getByLabel("title text").fill("https://example.com/a");
  await page.getByRole("link", { name: "Open" }).waitFor();
  await page.getByRole("button", { name: "Create" }).click();
  await page.getByText("Saved.").or(page.getByRole("button", { name: "Delete …" })).waitFor();
  assertEquals((await (await site.send("GET", "/api/books/5")).json()).authorId, 1);
  await visit(page, "data/authors/1");
  await page.getByRole("link", { name: "Show in books" }).click();
  await page.getByText("3 rows", { exact: true }).waitFor();
  await done();
});

test("the width and the order of the columns are changed, and kept for each table", async ({ context }) => {
  await using site = await startDashboardSite();
  const { page, done } = await openWatched(context, `${site.url}#/data/books`);
  const head = page.getByRole("columnheader", { name: "title" });
  const width = async () => Math.round((await head.boundingBox())?.width ?? 0);
  await page.getByText("4 rows").waitFor();
  const usual = await width();
  const handle = await head.locator(".resize").boundingBox();
  const [x, y] = [(handle?.x ?? 0) + 2, (handle?.y ?? 0) + 5];
  await page.mouse.move(x, y);
  await page.mouse.down();
  await page.mouse.move(x + 130, y, { steps: 3 });
  await page.mouse.up();
  assertEquals(await width(), usual + 130);
  await page.reload();
  await page.getByText("4 rows").waitFor();
  assertEquals(await width(), usual + 130);
  await page.getByRole("button", { name: "title", exact: true }).press("Alt+ArrowLeft");
  await until(page, `document.querySelectorAll("th")[2].offsetWidth === ${usual + 117}`);
  await head.locator(".resize").dblclick();
  await until(page, `document.querySelectorAll("th")[2].offsetWidth === ${usual}`);

  // The order of the columns is kept, too.
  await page.getByText("Columns", { exact: true }).click();
  await page.getByRole("button", { name: "Move title to the left" }).click();
  await until(page, `document.querySelectorAll("th")[1].innerText === "title"`);
  await page.goto(`${site.url}#/`);
  await page.getByRole("link", { name: "books" }).click();
  await until(page, `document.querySelectorAll("th")[1]?.innerText === "title"`);
  await done();
});

test("hundreds of tables are grouped by schema with their number", async ({ context }) => {
  await using site = await startDashboardSite();
  // The tables of SQLite have no schemas.
  await context.route("**/report/service", async (route) => {
    const response = await route.fetch();
    const report = await response.json();
    const [books] = report.resources.filter(({ name }: { name: string }) => name === "books");
    const others = Array.from({ length: 200 }, (_, at) => {
      const schema = at % 2 ? "sales" : "stock";
      const name = `${schema}.table_${at}`;
      return { ...books, schema, name, path: name };
    });
    await route.fulfill({
      response,
      json: { ...report, resources: [...report.resources, ...others] },
    });
  });
  const { page, done } = await openWatched(context, `${site.url}#/`);
  const navigation = page.getByRole("navigation");
  await navigation.getByText("sales 100").waitFor();
  await navigation.getByRole("link", { name: "books" }).waitFor();
  assertEquals(await navigation.getByRole("link", { name: "table_7", exact: true }).count(), 0);
  await navigation.getByText("sales 100").click();
  await navigation.getByRole("link", { name: "table_7", exact: true }).waitFor();
  await page.getByLabel("Search resources").fill("table_19");
  await navigation.getByText("stock 5").waitFor();
  await navigation.getByRole("link", { name: "table_198", exact: true }).waitFor();
  await page.getByLabel("Search resources").fill("");
  await visit(page, "data/stock.table_8");
  await page.getByRole("heading", { level: 1, name: "stock.table_8" }).waitFor();
  assertEquals(await navigation.locator("[aria-current=page]").innerText(), "table_8");
  await done();
});
