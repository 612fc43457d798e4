import { assertEquals } from "@std/assert";
import type { Page } from "playwright-core";
import { createBrowserTests, until } from "../client/browser/in_browser.ts";
import { startDashboardSite } from "./dashboard_site.ts";
import { openWatched, visit } from "./watched_page.ts";

const test = createBrowserTests();

/** Waits until the table of the page has this number of rows. */
const untilRows = (page: Page, count: number) =>
  until(page, `document.querySelectorAll(".table tbody tr").length === ${count}`);

test("requests are searched by a form, opened by a link, and read page by page", async ({ context }) => {
  await using site = await startDashboardSite();
  const api = site.url.replace("/__service/ui", "/api");
  const send = async (path: string, headers = {}) =>
    await (await fetch(api + path, { headers })).body?.cancel();
  for (let id = 1; id <= 60; id++) await send(`/authors/${id}`);
  await send("/numbers?limit=1");
  await send("/numbers?limit=x", { "x-request-id": "from-a-client" });
  const { page, done } = await openWatched(context, `${site.url}#/requests`);
  const rows = page.getByRole("region", { name: "Requests" }).locator("tbody tr");
  await page.getByRole("row", { name: /GET \/api\/numbers 400/ }).waitFor();
  await untilRows(page, 50);
  await page.getByRole("link", { name: "Older requests" }).click();
  await page.getByRole("row", { name: /\/api\/authors\/1 / }).waitFor();
  await untilRows(page, 12);
  await page.getByRole("link", { name: "Newest requests" }).click();
  await page.getByLabel("Path begins with").fill("/api/numbers");
  await page.getByLabel("Status").selectOption({ label: "4xx" });
  await page.keyboard.press("Tab");
  await page.getByRole("button", { name: "Search" }).press("Enter");
  await page.getByRole("row", { name: /invalid-parameter from-a-client/ }).waitFor();
  await untilRows(page, 1);
  await page.getByRole("button", { name: "Refresh" }).click();
  await rows.getByRole("link").click();
  await page.getByRole("heading", { level: 1, name: "Request", exact: true }).waitFor();
  await page.getByText("from-a-client").waitFor();
  await page.getByRole("link", { name: "All requests" }).click();
  await page.getByLabel("From").fill("2099-01-01T00:00");
  await page.getByRole("button", { name: "Search" }).click();
  await page.getByText("The log contains no such request.").waitFor();
  assertEquals(await page.getByLabel("From").inputValue(), "2099-01-01T00:00");
  await done();
});

test("a group of problems leads to its requests", async ({ context }) => {
  await using site = await startDashboardSite();
  const api = site.url.replace("/__service/ui", "/api");
  for (const path of ["/authors/97", "/authors/98", "/numbers/99", "/authors/1"]) {
    await (await fetch(api + path)).body?.cancel();
  }
  const { page, done } = await openWatched(context, `${site.url}#/problems`);
  await page.getByRole("row", { name: "/api/authors/:id" })
    .getByRole("link", { name: "Show requests" }).click();
  await page.getByRole("row", { name: /\/api\/authors\/98 404/ }).waitFor();
  await untilRows(page, 2);
  await done();
});

test("the load of an hour, a day and a month has charts, and a table with the same numbers", async ({ context }) => {
  await using site = await startDashboardSite();
  const api = site.url.replace("/__service/ui", "/api");
  for (let turn = 0; turn < 3; turn++) await (await fetch(`${api}/authors`)).body?.cancel();
  const { page, done } = await openWatched(context, `${site.url}#/load`);
  for (const span of ["hour", "day", "month"]) {
    await page.getByRole("link", { name: `Last ${span}` }).click();
    await page.locator(`[aria-current=page]:text("Last ${span}")`).waitFor();
    await page.getByRole("img", { name: /^Durations: p50 [\d.,]+ ms/ }).waitFor();
    const cells = page.getByRole("region", { name: "Load" }).locator("tbody td:nth-child(2)");
    const counts = (await cells.allTextContents()).map(Number);
    assertEquals(counts.reduce((sum, count) => sum + count, 0), 3, span);
  }
  await done();
});

test("a slow statement shows its plan when the operator asks for it", async ({ context }) => {
  // No machine counts so many rows in a millisecond.
  await using site = await startDashboardSite(300_000);
  const api = site.url.replace("/__service/ui", "/api");
  await (await fetch(`${api}/numbers/count?filter=square>5`)).body?.cancel();
  const { page, done } = await openWatched(context, `${site.url}#/statements`);
  const row = page.getByRole("row", { name: /\/api\/numbers\/count SELECT/ });
  await row.getByRole("button", { name: "Show plan" }).click();
  await row.getByRole("status").getByText(/SCAN/).waitFor();
  await visit(page, "requests");
  await done();
});
