import { assert, assertEquals } from "@std/assert";
import { createBrowserTests, until } from "../client/browser/in_browser.ts";
import { startDashboardSite } from "./dashboard_site.ts";
import { openWatched } from "./watched_page.ts";

const test = createBrowserTests();

test("the dashboard asks before the operator leaves unsaved edits, and keeps them on request", async ({ context }) => {
  await using site = await startDashboardSite();
  const { page, done } = await openWatched(context, `${site.url}#/data/books`);
  await page.getByRole("link", { name: "1", exact: true }).first().click();
  const title = page.getByLabel("title text");
  await title.fill("Half written");
  const menu = page.getByRole("link", { name: "numbers" });
  const dialog = page.getByRole("dialog", { name: "This page has unsaved changes" });

  await menu.click();
  await dialog.getByRole("button", { name: "Stay" }).click();
  await page.waitForURL(/data\/books\/1$/);
  assertEquals(await title.inputValue(), "Half written");

  await page.goBack();
  await dialog.waitFor();
  await page.keyboard.press("Escape");
  await page.waitForURL(/data\/books\/1$/);
  assertEquals(await title.inputValue(), "Half written");
  // The browser asks, too, before it closes or reloads the tab.
  assert(
    await page.evaluate(
      "!dispatchEvent(new Event('beforeunload', { cancelable: true }))",
    ),
  );

  await menu.click();
  await dialog.getByRole("button", { name: "Keep and leave" }).click();
  await page.getByRole("heading", { name: "numbers" }).waitFor();
  await (await site.send("PATCH", "/api/books/1", { title: "Theirs" })).body?.cancel();
  await page.goBack();
  await page.getByText("These changes are not saved yet.").waitFor();
  assertEquals(await title.inputValue(), "Half written");
  // The edits change the row that the operator has read, and not the row of now.
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByRole("heading", { name: "The row has changed since you read it" }).waitFor();
  await page.getByRole("button", { name: "Drop my changes" }).click();
  await until(page, "document.querySelector('#field-title').value === 'Theirs'");

  await title.fill("Discarded");
  await menu.click();
  await dialog.getByRole("button", { name: "Discard and leave" }).click();
  await page.getByRole("heading", { name: "numbers" }).waitFor();
  await page.goBack();
  await until(page, "document.querySelector('#field-title')?.value === 'Theirs'");
  await done();
});

test("Back and the link of the trail return to the position in the list, and show its changes", async ({ context }) => {
  await using site = await startDashboardSite(3_000);
  const { page, done } = await openWatched(context, `${site.url}#/data/numbers?filter=id>5`);
  await page.getByText("200 rows of 2,995 reached").waitFor();
  const grid = page.locator(".grid");
  for (const reached of [400, 600, 800]) {
    await grid.evaluate((element) => element.scrollTo(0, element.scrollHeight));
    await page.getByText(`${reached} rows of 2,995 reached`).waitFor();
  }
  await grid.evaluate((element) => element.scrollTo(0, 13_800));
  const row = grid.getByRole("link", { name: "506", exact: true });
  await row.click();
  await page.getByLabel("parity text").fill("changed");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByText("Saved.").waitFor();
  for (const back of [() => page.goBack(), () => page.locator(".trail a").click()]) {
    await back();
    await grid.getByRole("row", { name: "506 256036 changed" }).waitFor();
    assertEquals(await grid.evaluate((element) => element.scrollTop), 13_800);
    await row.click();
    await page.getByLabel("parity text").waitFor();
  }
  await done();
});
