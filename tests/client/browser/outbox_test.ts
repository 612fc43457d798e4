import { assertEquals } from "@std/assert";
import { run } from "../../support/scratch.ts";
import { createNote, type Site, startSite } from "./browser_site.ts";
import { createBrowserTests, until, untilShown } from "./in_browser.ts";

const test = createBrowserTests();

/** The notes as the service has them, with how often each was written. */
async function notesOf({ db }: Site): Promise<readonly (readonly [string, number])[]> {
  const { rows } = await run(db, "SELECT title, version FROM notes ORDER BY id");
  return rows.map(([title, version]) => [String(title), Number(version)]);
}

test("edits without a network survive a reload and arrive once, and a conflict is a dead letter", async ({ open, context }) => {
  await using site = await startSite();
  const page = await open(`${site.origin}/?tabs&outbox`);
  await page.evaluate("keepPage()");
  for (const title of ["first", "second"]) await createNote(site.origin, title);
  await untilShown(page, ["first", "second"]);

  await context.setOffline(true);
  await page.evaluate(`{
    outbox.update(api.notes, 1, { title: "first, mine" });
    outbox.update(api.notes, 2, { title: "second, mine" });
    const third = outbox.create(api.notes, { title: "third" });
    outbox.update(api.notes, third, { title: "third, changed" });
  }`);
  // At once: what is written in the last millisecond is stored as well.
  await page.reload();
  await until(page, "outbox.get().waiting === 4");
  // Offline, the rows that these writes change are not known to the new page.
  await untilShown(page, ["third, changed …"]);
  await run(site.db, "UPDATE notes SET title = 'second, theirs', version = 2 WHERE id = 2");
  const writes = () => site.requests.filter((one) => one.includes("/api/notes"));
  assertEquals(writes().length, 2);

  await context.setOffline(false);
  await untilShown(page, ["first, mine", "second, theirs", "third, changed"]);
  await until(page, "outbox.get().waiting === 0");
  assertEquals(await page.evaluate("shown('letters')"), '["second, mine: precondition-failed"]');
  assertEquals(await notesOf(site), [
    ...[["first, mine", 2], ["second, theirs", 2], ["third, changed", 2]] as const,
  ]);
  assertEquals(writes().slice(2).toSorted(), [
    ...["PATCH /api/notes/1 200", "PATCH /api/notes/2 412", "PATCH /api/notes/3 200"],
    "POST /api/notes 201",
  ]);
});

test("of 1,000 writes in one tick, a reload in the next moment loses none", async ({ open, context }) => {
  await using site = await startSite();
  const page = await open(`${site.origin}/?outbox`);
  await page.evaluate("keepPage()");
  await until(page, "list.get().status === 'live'");
  await context.setOffline(true);
  await page.evaluate(
    `for (let n = 0; n < 1_000; n++) outbox.create(api.notes, { title: "n" + n })`,
  );
  // The page has had no time to store all of them: it stores the others while it ends.
  await page.reload();
  await until(page, "outbox.get().waiting === 1_000");
  assertEquals(
    await page.evaluate("outbox.get().jobs.map(({ body }) => body.title)"),
    Array.from({ length: 1_000 }, (_, n) => `n${n}`),
  );
});
