import { Buffer } from "node:buffer";
import { assertEquals } from "@std/assert";
import { createBrowserTests } from "../client/browser/in_browser.ts";
import { startDashboardSite } from "./dashboard_site.ts";
import { openWatched } from "./watched_page.ts";

const test = createBrowserTests();

test("CSV is imported with a mapping, a preview and the place of each problem", async ({ context }) => {
  await using site = await startDashboardSite();
  const { page, done } = await openWatched(context, `${site.url}#/data/books`);
  await page.getByText("4 rows").waitFor();
  const dialog = page.getByRole("dialog", { name: "Import rows into books" });
  const load = async (csv: string) => {
    await page.getByRole("button", { name: "Import …" }).click();
    await dialog.getByLabel("A CSV or TSV file").setInputFiles({
      ...{
        name: "books.csv",
        mimeType: "text/csv",
        buffer: Buffer.from(csv),
      },
    });
  };
  await load('Title;author_id;Kind;price;note\r\n"A ""b"";c";1;essay;cheap;\r\nD;2;;1.50;""\r\n');
  await dialog.getByText("2 rows, 1 with problems").waitFor();
  await dialog.getByText("Row 1: price must be a decimal number").waitFor();
  assertEquals(await dialog.getByLabel("Field of author_id").inputValue(), "authorId");
  assertEquals(await dialog.getByLabel("Field of Kind").inputValue(), "");
  await dialog.getByLabel("Field of price").selectOption("");
  await dialog.getByLabel("Field of Kind").selectOption("genre");
  await dialog.getByText("2 rows, no problems").waitFor();
  await dialog.getByRole("button", { name: "Import 2 rows" }).click();
  await dialog.getByText("2 rows imported.").waitFor();
  await dialog.getByRole("button", { name: "Close" }).click();
  await page.getByText("6 rows").waitFor();
  const { items } = await (await site.send(
    "GET",
    "/api/books?filter=id>4&select=title,authorId,genre,price,note&orderBy=id",
  )).json();
  assertEquals(items, [
    { title: 'A "b";c', authorId: 1, genre: "essay", price: null, note: null },
    { title: "D", authorId: 2, genre: "novel", price: null, note: "" },
  ]);

  // The service refuses a key that exists, unless the operator updates the rows that exist.
  await load("id,title,authorId\n9,New,1\n1,Changed,1\n");
  await dialog.getByRole("button", { name: "Import 2 rows" }).click();
  await dialog.getByRole("alert").getByText(/^The import has stopped: Row 2: .*Nothing was written/)
    .waitFor();
  await dialog.getByLabel("Update rows that exist").check();
  await dialog.getByRole("button", { name: "Import 2 rows" }).click();
  await dialog.getByText("2 rows imported.").waitFor();
  await dialog.getByRole("button", { name: "Close" }).click();
  await page.getByRole("gridcell", { name: "Changed" }).waitFor();
  await done();
});
