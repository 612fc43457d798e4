import { assertEquals } from "@std/assert";
import { openDatabase } from "../../../mod.ts";
import { run, scratchFolder } from "../../support/scratch.ts";
import { createNote, startMortalSite, startSite } from "./browser_site.ts";
import { createBrowserTests, until, untilShown } from "./in_browser.ts";

const test = createBrowserTests();

test("a page creates, reads, changes, counts and deletes rows", async ({ open }) => {
  await using site = await startSite();
  const page = await open(site.origin);
  const result = await page.evaluate(`(async () => {
    const { value, etag } = await api.notes.create({ title: "Tea" });
    await api.notes.createBatch([{ title: "Milk" }, { title: "Süß" }]);
    const known = await api.notes.get(value.id, { ifNoneMatch: etag });
    await api.notes.update(value.id, { title: "Green tea" }, { ifMatch: etag });
    const conflict = await api.notes.update(value.id, { title: "x" }, { ifMatch: etag })
      .catch(({ name, slug, status }) => ({ name, slug, status }));
    await api.notes.delete(2);
    const titles = [];
    for await (const { title } of api.notes.all({ limit: 1, orderBy: ["-id"] })) titles.push(title);
    const { items } = await api.notes.list({ filter: rsql\`title==\${"Süß"}\`, select: ["id"] });
    return { known: known.value, conflict, titles, items, count: await api.notes.count() };
  })()`);
  assertEquals(result, {
    known: null,
    conflict: { name: "ConflictError", slug: "precondition-failed", status: 412 },
    titles: ["Süß", "Green tea"],
    items: [{ id: 3 }],
    count: 2,
  });
});

test("a live list continues after its service was killed and started again, with what was written in between", async ({ open, context }) => {
  await using folder = await scratchFolder();
  const url = `sqlite:${folder.path}/site.db`;
  await using site = await startMortalSite(url);
  const page = await open(site.origin);
  await createNote(site.origin, "before");
  await untilShown(page, ["before"]);

  await site.kill();
  await until(page, "list.get().status === 'stale'");
  await untilShown(page, ["before"]);
  const db = await openDatabase(url);
  await run(db, "INSERT INTO notes (title) VALUES ('while it was down')");
  await db.close();
  await site.start();
  await untilShown(page, ["before", "while it was down"]);
  await createNote(site.origin, "after");
  await untilShown(page, ["before", "while it was down", "after"]);

  await context.setOffline(true);
  await site.kill();
  await until(page, "list.get().status === 'offline'");
  await site.start();
  await createNote(site.origin, "while it was offline");
  await context.setOffline(false);
  await untilShown(page, ["before", "while it was down", "after", "while it was offline"]);
  assertEquals(await page.evaluate("statuses"), [
    ...["connecting", "live", "stale", "live", "offline", "live"],
  ]);
});
