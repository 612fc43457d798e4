import { assert, assertEquals } from "@std/assert";
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

test("a file is imported with its progress, cancelled, refused by its lines, and exported by a link", async ({ open }) => {
  await using site = await startSite();
  const page = await open(site.origin);
  const imported = await page.evaluate<{
    done: unknown;
    sent: number[];
    total: number;
    reason: string;
    refused: { name: string; errors: { line: number; path: string }[] };
  }>(`(async () => {
    const file = new File(["title\\n" + ("x".repeat(2_000) + "\\n").repeat(1_000)], "notes.csv");
    const sent = [];
    const onProgress = (progress) => sent.push(progress.sent);
    const cancelling = new AbortController();
    const cancel = ({ sent }) => sent > 0 && cancelling.abort(new Error("cancelled"));
    const { message: reason } = await importFile(api.notes, file, {
      ...{ signal: cancelling.signal, onProgress: cancel },
    }).catch((error) => error);
    const done = await importFile(api.notes, file, { onProgress });
    const wrong = "id,title\\n900001,a\\nx,b\\n";
    const { name, report } = await importFile(api.notes, wrong, { onProgress() {} })
      .catch((error) => error);
    return { done, sent, total: file.size, reason, refused: { name, errors: report.errors } };
  })()`);
  const { done, sent, total, reason, refused } = imported;
  assertEquals(done, { rows: 1_000, written: 1_000 });
  assertEquals([sent[0], sent.at(-1), reason], [0, total, "cancelled"]);
  assert(sent.length > 1, `${sent}`);
  assertEquals(refused.name, "ImportError");
  assertEquals(refused.errors.map(({ line, path }) => [line, path]), [[3, "id"]]);

  const downloading = page.waitForEvent("download");
  await page.evaluate(`(async () => {
    const link = document.createElement("a");
    link.href = await exportUrl(api.notes, { filter: "id<=2", select: ["id"] });
    link.download = "";
    link.click();
  })()`);
  const download = await downloading;
  assertEquals(download.suggestedFilename(), "notes.csv");
  assertEquals(await Deno.readTextFile(await download.path()), "id\r\n1\r\n2\r\n");
});
