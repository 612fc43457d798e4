import { chromium, type Page } from "playwright-core";
import { assert, assertEquals } from "@std/assert";
import { freePort } from "../../support/ports.ts";
import { createNote, type Site, startSite } from "./browser_site.ts";
import { createBrowserTests, until, untilShown } from "./in_browser.ts";

const port = freePort();
const test = createBrowserTests([`--remote-debugging-port=${port}`]);

/** Writes a note every twenty milliseconds until it is ended, which gives their titles. */
function writeNotes({ origin }: Site): AsyncDisposable & { end(): Promise<readonly string[]> } {
  const titles: string[] = [];
  let isEnding = false;
  const writing = (async () => {
    while (!isEnding) {
      const title = `note ${titles.length}`;
      await createNote(origin, title);
      titles.push(title);
      // Without a pause there are thousands on a slow machine, which a page takes long to show.
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  })();
  async function end(): Promise<readonly string[]> {
    isEnding = true;
    await writing;
    return titles;
  }
  return { end, [Symbol.asyncDispose]: async () => void await end() };
}

async function untilLive(pages: readonly Page[]): Promise<void> {
  for (const page of pages) await until(page, "list.get().status === 'live'");
}

test("three tabs share one stream, and lose nothing when the one that has it reloads or is closed", async ({ open }) => {
  await using site = await startSite();
  const url = `${site.origin}/?tabs`;
  const pages = await Promise.all([open(url), open(url), open(url)]);
  await untilLive(pages);
  await createNote(site.origin, "to all");
  for (const page of pages) await untilShown(page, ["to all"]);
  await untilOneStream(site);

  await using writer = writeNotes(site);
  const ends: readonly ((leader: Page) => Promise<unknown>)[] = [
    (leader) => leader.reload(),
    (leader) => leader.close(),
  ];
  const left = new Set(pages);
  for (const leave of ends) {
    const leader = await leaderOf([...left]);
    left.delete(leader);
    await leave(leader);
    await Promise.any([...left].map((page) => until(page, "leads()")));
    if (leave === ends[0]) left.add(leader);
    await untilLive([...left]);
  }
  const titles = ["to all", ...await writer.end()];
  for (const page of left) await untilShown(page, titles);
  assertEquals(left.size, 2);
  await untilOneStream(site);
});

/** The service notices a little later that a stream was left. */
async function untilOneStream(site: Site): Promise<void> {
  for (let turns = 0; site.streams.open > 1 && turns < 100; turns++) {
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  assertEquals(site.streams.open, 1);
}

/** The tab whose lock the others wait for. */
async function leaderOf(pages: readonly Page[]): Promise<Page> {
  for (const page of pages) if (await page.evaluate("leads()")) return page;
  throw new Error("No tab has the stream");
}

test("a tab that is hidden hands over to a visible one", async ({ browser }) => {
  await using site = await startSite();
  // Playwright makes all pages visible, but for those that it finds in a browser of its own.
  await using other = await chromium.connectOverCDP(`http://127.0.0.1:${port}`, {
    noDefaults: true,
  });
  const [context] = other.contexts();
  if (context === undefined) throw new Error("A browser has a profile");
  const pages = [await context.newPage(), await context.newPage()];
  for (const page of pages) await page.goto(`${site.origin}/?tabs`);
  await untilLive(pages);
  await using writer = writeNotes(site);
  for (const page of [...pages, ...pages]) {
    await page.bringToFront();
    await until(page, "document.visibilityState === 'visible' && leads()");
  }
  const titles = await writer.end();
  for (const page of pages) {
    await untilShown(page, titles);
    assertEquals(await page.evaluate("statuses"), ["connecting", "live"]);
    await page.close();
  }
  assert(browser.isConnected());
});

test("a list that is refused says why in every tab", async ({ open }) => {
  await using site = await startSite();
  const url = `${site.origin}/?tabs`;
  for (const page of [await open(url), await open(url)]) {
    await page.evaluate(`globalThis.refused = liveList(api.notes, { filter: "nothing==1" });
      refused.subscribe(() => {})`);
    await until(page, "refused.get().status === 'closed'");
    const error = await page.evaluate(`{
      const { error } = refused.get();
      [error instanceof ServiceError, error.slug, error.status];
    }`);
    assertEquals(error, [true, "filter-parse-error", 400]);
  }
});

test("a page that may not have locks has a stream of its own", async ({ open }) => {
  await using site = await startSite();
  const page = await open(`${site.origin}/sandboxed?tabs`);
  await until(page, "list.get().status === 'live'");
});
