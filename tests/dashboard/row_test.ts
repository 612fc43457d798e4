import { assertEquals } from "@std/assert";
import { createBrowserTests } from "../client/browser/in_browser.ts";
import { startDashboardSite } from "./dashboard_site.ts";
import { openWatched, visit } from "./watched_page.ts";

const test = createBrowserTests();

test("a row that has changed since it was read is not overwritten: the operator chooses field by field", async ({ context }) => {
  await using site = await startDashboardSite();
  const { page, done } = await openWatched(context, `${site.url}#/data/books/1`);
  await page.getByLabel("title text").fill("Mine");
  await page.getByLabel("note text").fill("my note");
  const theirs = { title: "Theirs", price: "10.00" };
  await (await site.send("PATCH", "/api/books/1", theirs)).body?.cancel();
  await page.getByRole("button", { name: "Save", exact: true }).click();

  await page.getByRole("heading", { name: "The row has changed since you read it" }).waitFor();
  const save = page.getByRole("button", { name: "Save the choice" });
  assertEquals(await save.isDisabled(), true);
  await page.getByRole("radio", { name: "title: mine" }).check();
  await save.click();
  await page.getByText("Saved.").waitFor();
  const row = await (await site.send("GET", "/api/books/1")).json();
  assertEquals([row.title, row.note, row.price], ["Mine", "my note", "10.00"]);
  await done();
});

test("the history of a row says who changed what, and restores a version", async ({ context }) => {
  await using site = await startDashboardSite();
  const { page, done } = await openWatched(context, `${site.url}#/data/books/1`);
  const history = page.getByRole("region", { name: "History" });
  await history.getByText("an earlier state").waitFor();
  for (const title of ["Hopes", "Fears"]) {
    await page.getByLabel("title text").fill(title);
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await history.getByText(title).waitFor();
  }
  assertEquals(await history.locator("ol > li strong").allInnerTexts(), [
    ...["update", "update", "an earlier state"],
  ]);
  const changes = await history.locator("ol > li").nth(1).locator("ul").innerText();
  assertEquals(/title.*The Dispossessed.*→.*Hopes/s.test(changes), true, changes);
  const restore = history.getByRole("button", { name: "Restore this version" });
  assertEquals(await restore.count(), 2);
  await restore.first().click();
  await history.getByText("revert").waitFor();
  assertEquals(await page.getByLabel("title text").inputValue(), "Hopes");
  const row = await (await site.send("GET", "/api/books/1")).json();
  assertEquals(row.title, "Hopes");

  // A version is not restored over a change that the operator has not seen.
  await (await site.send("PATCH", "/api/books/1", { title: "Theirs" })).body?.cancel();
  await restore.first().click();
  await history.getByText(/Cannot restore this version:.*412/).waitFor();
  await done();
});

test("a row is created with an author who is found by name, refused where it is wrong, deleted and restored", async ({ context }) => {
  await using site = await startDashboardSite();
  const { page, done } = await openWatched(context, `${site.url}#/data/books/+new`);
  await page.getByLabel("title text").fill("Hopes");
  await page.getByRole("button", { name: "Find authors for authorId" }).click();
  await page.getByLabel("Search authors by name").fill("szym");
  await page.getByRole("button", { name: "Wisława Szymborska" }).click();
  await page.getByRole("link", { name: "Wisława Szymborska" }).waitFor();
  await page.getByLabel("price decimal").fill("cheap");
  await page.getByRole("button", { name: "Create" }).click();
  await page.getByRole("alert").getByText(/^price must/).waitFor();
  await page.getByLabel("price decimal").fill("8.00");
  await page.getByRole("button", { name: "Create" }).click();
  await page.waitForURL(/books\/5$/);
  const row = await (await site.send("GET", "/api/books/5")).json();
  assertEquals([row.title, row.authorId, row.price, row.genre], ["Hopes", 2, "8.00", "novel"]);

  await page.getByRole("button", { name: "Delete …" }).click();
  await page.getByRole("button", { name: "Delete", exact: true }).click();
  await page.getByText("This row is marked deleted.").waitFor();
  await page.getByRole("button", { name: "Restore" }).click();
  await page.getByRole("button", { name: "Delete …" }).waitFor();
  await done();
});

test("a form shows the rules of its fields, and edits dates, timestamps and choices by inputs of their kind", async ({ context }) => {
  await using site = await startDashboardSite();
  const { page, done } = await openWatched(context, `${site.url}#/data/books/+new`);
  await page.getByLabel("title text").and(page.getByPlaceholder("required")).waitFor();
  const genre = page.getByLabel("genre text");
  assertEquals(await genre.locator("option").allInnerTexts(), [
    ...["default: novel", "essay", "novel", "poems"],
  ]);
  await page.getByLabel("note text").and(page.getByPlaceholder("NULL")).fill("x");
  await page.getByLabel("note text").fill("");
  await page.getByLabel("note text").and(page.getByPlaceholder("empty")).waitFor();
  await page.getByLabel("facts json").fill("{bad");
  await page.getByRole("alert").getByText(/^facts is not JSON/).waitFor();
  await page.getByRole("button", { name: "Undo all" }).click();

  await visit(page, "data/authors/1");
  await page.getByText("at most 60 characters").waitFor();
  await page.getByText("unique", { exact: true }).waitFor();
  await page.getByLabel("born date").fill("1929-10-21");
  await page.getByLabel("seenAt timestamp").fill("2024-02-29T12:30");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByText("Saved.").waitFor();
  const row = await (await site.send("GET", "/api/authors/1")).json();
  assertEquals([row.born, row.seenAt], ["1929-10-21", "2024-02-29T12:30:00.000Z"]);
  // The input of a timestamp cannot hold microseconds, so the dashboard shows them as text.
  const exact = "2024-02-29T12:30:00.123456Z";
  await (await site.send("PATCH", "/api/authors/1", { seenAt: exact })).body?.cancel();
  await page.reload();
  await page.getByLabel("name text").waitFor();
  assertEquals(await page.getByLabel("seenAt timestamp").inputValue(), exact);
  await done();
});

test("a view as a user shows what that user may read, and writes nothing", async ({ context }) => {
  await using site = await startDashboardSite();
  const { page, done } = await openWatched(context, `${site.url}#/data/books`);
  await page.getByText("4 rows").waitFor();
  await page.getByRole("button", { name: "View as …" }).click();
  await page.getByLabel("Id of the user").fill("ada");
  await page.getByRole("button", { name: "View", exact: true }).click();
  await page.getByText("Viewing as ada").waitFor();
  await page.getByText("2 rows").waitFor();
  assertEquals(await page.getByRole("link", { name: "New row" }).count(), 0);
  await page.getByRole("link", { name: "1", exact: true }).first().click();
  await page.getByLabel("title text").waitFor();
  assertEquals(await page.getByLabel("title text").isDisabled(), true);
  assertEquals(await page.getByRole("button", { name: /Save|Delete/ }).count(), 0);
  // A row of another user.
  await visit(page, "data/books/3?as=ada");
  await page.getByText("There is no row with this key.").waitFor();
  await page.getByRole("link", { name: "Exit" }).click();
  await page.getByRole("button", { name: "Save", exact: true }).waitFor();
  await done();
});
