import { assertEquals } from "@std/assert";
import { createBrowserTests, until } from "../client/browser/in_browser.ts";
import { startDashboardSite } from "./dashboard_site.ts";
import { openWatched, visit } from "./watched_page.ts";

const test = createBrowserTests();

test("cells are edited with the keyboard, and a save never overwrites what another client wrote", async ({ context }) => {
  await using site = await startDashboardSite();
  const row = async (id: number) => await (await site.send("GET", `/api/books/${id}`)).json();
  const { page, done } = await openWatched(context, `${site.url}#/data/books`);
  const press = async (...keys: readonly string[]) => {
    for (const key of keys) await page.keyboard.press(key);
  };
  const active = () => page.locator("td.active").innerText();
  await page.getByText("4 rows").waitFor();
  await page.getByRole("grid").focus();
  await press("ArrowDown", "ArrowRight");
  assertEquals(await active(), "The Dispossessed");
  // A letter replaces the value, Enter saves and goes down, Shift+Enter goes up.
  await page.keyboard.type("New title");
  await press("Enter");
  await until(page, "document.querySelector('td.active')?.innerText.startsWith('View with')");
  assertEquals((await row(1)).title, "New title");
  // Escape discards.
  await press("F2");
  await page.locator("#cell-input").fill("Discarded");
  await press("Escape");
  assertEquals(await active(), "View with a Grain of Sand");
  // Tab saves and goes to the right; choices and booleans are selects.
  await press("ArrowRight", "ArrowRight", "Enter");
  await page.locator("#cell-input").selectOption("essay");
  await press("Tab");
  await until(page, "document.querySelector('td.active')?.innerText === '12.00'");
  assertEquals((await row(2)).genre, "essay");
  // An invalid value stays in the editor with its problem. Delete writes NULL.
  await page.keyboard.type("cheap");
  await press("Enter");
  await page.locator(".cell-editor").getByText(/^price must/).waitFor();
  await press("Escape", "Delete", "Enter");
  await until(page, "document.querySelector('td.active')?.innerText === 'NULL'");
  await until(page, "document.activeElement?.role === 'grid'");
  assertEquals((await row(2)).price, null);

  // A choice has no empty value, and a letter does not replace it.
  await press("ArrowUp", "ArrowRight", "Delete", "Enter");
  await page.locator(".cell-editor").getByText("inPrint must be true or false").waitFor();
  await press("Escape", "x");
  await until(page, "document.querySelector('#cell-input')?.value === 'true'");
  await press("Escape", "ArrowDown");

  // The key of a row opens its page; Back returns to the active cell.
  await press("Home", "Enter");
  await page.waitForURL(/data\/books\/3$/);
  await page.goBack();
  await until(page, "document.querySelector('td.active')?.innerText === '3'");

  await press("Control+Home");
  await page.getByRole("grid").focus();
  await press("Control+Home", "ArrowRight", "F2");
  await until(page, "document.querySelector('#cell-input')?.value === 'New title'");
  await page.locator("#cell-input").fill("Mine");
  await (await site.send("PATCH", "/api/books/1", { title: "Theirs" })).body?.cancel();
  await press("Enter");
  await page.getByRole("heading", { name: "The row has changed since you read it" }).waitFor();
  await page.getByRole("radio", { name: "title: mine" }).check();
  await page.getByRole("button", { name: "Save the choice" }).click();
  await page.getByRole("gridcell", { name: "Mine", exact: true }).waitFor();
  assertEquals((await row(1)).title, "Mine");

  // An unsaved cell is asked about, and a click on another cell saves it.
  await press("F2");
  await page.locator("#cell-input").fill("Unsaved");
  await visit(page, "problems");
  await page.getByRole("dialog", { name: "This page has unsaved changes" })
    .getByRole("button", { name: "Stay" }).click();
  await page.locator("#cell-1-1").click();
  await page.getByRole("gridcell", { name: "Unsaved", exact: true }).waitFor();
  assertEquals((await row(1)).title, "Unsaved");
  await until(page, "document.activeElement?.role === 'grid'");
  assertEquals(await active(), "View with a Grain of Sand");
  await done();
});

test("cells are copied and pasted as TSV, with a preview, in one batch that notices other writes", async ({ context }) => {
  await using site = await startDashboardSite();
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  const { page, done } = await openWatched(
    context,
    `${site.url}#/data/books?columns=id,title,price,note`,
  );
  const copied = () => page.evaluate("navigator.clipboard.readText()");
  const paste = async (text: string) => {
    await page.evaluate(`navigator.clipboard.writeText(${JSON.stringify(text)})`);
    await page.getByRole("grid").focus();
    await page.keyboard.press("Control+v");
  };
  await page.getByText("4 rows").waitFor();
  await page.locator("#cell-0-1").click();
  await page.locator("#cell-1-3").click({ modifiers: ["Shift"] });
  await page.keyboard.press("Control+c");
  assertEquals(
    await copied(),
    'The Dispossessed\t9.50\t\nView with a Grain of Sand\t12.00\t""',
  );
  await page.locator("#cell-0-1").click();
  await paste('"a ""b""\tc"\t1.50\t""\nPlain\tcheap\t');
  const dialog = page.getByRole("dialog");
  await dialog.getByText("1 of the cells cannot have the pasted values.").waitFor();
  await page.keyboard.press("Escape");
  await paste('"a ""b""\tc"\t1.50\t""\nPlain\t12.00\t\n');
  await dialog.getByRole("heading", { name: "Change 5 cells in 2 rows" }).waitFor();
  await (await site.send("PATCH", "/api/books/2", { owner: "eve" })).body?.cancel();
  await dialog.getByRole("button", { name: "Save" }).click();
  await dialog.getByRole("alert").getByText(/412/).waitFor();
  await page.keyboard.press("Escape");
  await paste('"a ""b""\tc"\t1.50\t""\nPlain\t12.00\t\n');
  await dialog.getByRole("button", { name: "Save" }).click();
  await page.getByRole("gridcell", { name: "Plain" }).waitFor();
  const { items } = await (await site.send("GET", "/api/books?select=title,price,note&limit=2"))
    .json();
  assertEquals(items, [
    { title: 'a "b"\tc', price: "1.50", note: "" },
    { title: "Plain", price: "12.00", note: null },
  ]);
  // A batch by filter also advances the version, so that no older edit overwrites it.
  const before = (await (await site.send("GET", "/api/books/1")).json()).version;
  const many = { filter: "id==1", patch: { note: "many" } };
  await (await site.send("PATCH", "/api/books/batch", many)).body?.cancel();
  assertEquals((await (await site.send("GET", "/api/books/1")).json()).version, before + 1);
  // A single cell fills a larger range.
  await page.locator("#cell-0-3").click();
  await page.locator("#cell-1-3").click({ modifiers: ["Shift"] });
  await paste("same");
  await dialog.getByRole("heading", { name: "Change 2 cells in 2 rows" }).waitFor();
  await page.keyboard.press("Escape");
  await done();
});

test("many rows are selected, changed and deleted with a count and a preview, in one batch each", async ({ context }) => {
  await using site = await startDashboardSite(1_500);
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  const { page, done } = await openWatched(context, `${site.url}#/data/numbers`);
  const writes: string[] = [];
  page.on("request", (request) => {
    if (request.method() !== "GET") writes.push(`${request.method()} ${request.postData()}`);
  });
  await page.getByText("200 rows of 1,500 reached").waitFor();
  const bar = page.getByRole("toolbar", { name: "Selected rows" });
  for (const id of ["2", "4"]) {
    await page.getByRole("checkbox", { name: `Select ${id}`, exact: true }).check();
  }
  await page.locator("#cell-5-1").click();
  await page.keyboard.press(" ");
  await bar.getByText("3 rows selected").waitFor();
  await bar.getByRole("button", { name: "Copy" }).click();
  await bar.getByText("3 rows selected").waitFor();
  await until(
    page,
    "navigator.clipboard.readText().then((text) => text.startsWith('id\\tsquare'))",
  );
  await bar.getByRole("button", { name: "Change …" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Field").selectOption("parity");
  await dialog.getByLabel("parity text").fill("new");
  await dialog.getByRole("row", { name: "6 even → new" }).waitFor();
  await dialog.getByRole("button", { name: "Change 3 rows" }).click();
  await bar.getByText("3 rows changed").waitFor();
  await page.getByRole("row", { name: "Select 4 4 16 new" }).waitFor();
  assertEquals(writes, ['PATCH {"filter":"id=in=(2,4,6)","patch":{"parity":"new"}}']);

  await visit(page, "data/numbers?filter=id>1000");
  await page.getByText("200 rows of 500 reached").waitFor();
  await page.getByRole("checkbox", { name: "Select all loaded rows" }).check();
  await bar.getByRole("button", { name: "Select all 500 rows that match" }).click();
  await bar.getByRole("button", { name: "Delete …" }).click();
  await dialog.getByText("every row that matches id>1000").waitFor();
  await dialog.getByText("and 492 rows more").waitFor();
  await dialog.getByRole("button", { name: "Delete 500 rows" }).click();
  await bar.getByText("500 rows deleted").waitFor();
  await page.getByText("No rows").waitFor();
  assertEquals(writes.slice(1), ['DELETE {"filter":"id>1000"}']);
  await done();
});
