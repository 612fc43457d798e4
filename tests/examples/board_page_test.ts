import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";
import { assertEquals } from "@std/assert";
import { chromiumForTests } from "../support/chromium.ts";
import { scratchFolder } from "../support/scratch.ts";
import { testUnless } from "../support/skip.ts";
import { readExample, startExample } from "./example.ts";

const browser = await chromiumForTests();

/** A browser of a user: a context has a storage, and a network, of its own. */
interface User {
  readonly context: BrowserContext;
  readonly page: Page;
}

/** Opens the board for two users, and fails for what a page complains of. */
async function withBoard(
  work: (users: { ada: User; bob: User; origin: string }) => Promise<void>,
): Promise<void> {
  if ("missing" in browser) throw new Error(browser.missing);
  await using folder = await scratchFolder();
  const env = { SERVICE_SECRET: "a secret for the tests only" };
  await using running = await startExample(readExample("board.ts"), { cwd: folder.path, env });
  const origin = `http://127.0.0.1:${running.port}`;
  const chrome = await chromium.launch({ executablePath: browser.path });
  try {
    const complaints: string[] = [];
    const users = { ada: await openUser(chrome), bob: await openUser(chrome) };
    for (const { context, page } of Object.values(users)) {
      context.on("weberror", (error) => complaints.push(error.error().message));
      context.on("console", (message) => {
        if (message.text().includes("Content Security Policy")) complaints.push(message.text());
      });
      context.on("request", (request) => {
        const url = request.url();
        if (!url.startsWith(origin) && !url.startsWith("data:")) complaints.push(url);
      });
      await page.goto(origin);
      await column(page, "To do", [first, "Press my title to change it", second]);
    }
    await work({ ...users, origin });
    assertEquals(complaints, []);
  } finally {
    await chrome.close();
  }
}

const first = "Drag me to Doing";
const second = "Open this page in a second window";

async function openUser(chrome: Browser): Promise<User> {
  const context = await chrome.newContext({ reducedMotion: "reduce" });
  context.setDefaultTimeout(10_000);
  return { context, page: await context.newPage() };
}

/** Waits until a column has these cards, and no others. */
async function column(page: Page, name: string, titles: readonly string[]): Promise<void> {
  const cards = page.getByRole("region", { name }).getByRole("listitem");
  for (const [index, title] of titles.entries()) {
    await cards.nth(index).and(card(page, title)).waitFor();
  }
  await cards.nth(titles.length).waitFor({ state: "detached" });
}

const card = (page: Page, title: string) =>
  page.getByRole("listitem").filter({ has: page.getByText(title, { exact: true }) });

const status = (page: Page, text: string) =>
  page.getByRole("status").filter({ hasText: text }).waitFor();

/** Waits until the service has every change of a page. */
const saved = (page: Page) => page.locator("li.pending").first().waitFor({ state: "detached" });

async function add(page: Page, name: string, title: string): Promise<void> {
  await page.getByLabel(`Add a card to ${name}`).fill(title);
  await page.keyboard.press("Enter");
}

async function rename(page: Page, title: string, next: string): Promise<void> {
  await card(page, title).getByText(title, { exact: true }).click();
  await page.getByRole("textbox", { name: "Title", exact: true }).fill(next);
  await page.keyboard.press("Enter");
}

/** Drags a card to the upper half of another one, or below the last one of a column. */
async function drag(page: Page, title: string, to: string): Promise<void> {
  const from = await card(page, title).boundingBox();
  const target = await card(page, to).or(page.getByLabel(to, { exact: true })).boundingBox();
  if (from === null || target === null) throw new Error("They are not shown");
  await page.mouse.move(from.x + from.width / 2, from.y + from.height / 2);
  await page.mouse.down();
  await page.mouse.move(target.x + 40, target.y + 4, { steps: 4 });
  await page.mouse.up();
}

testUnless(
  "missing" in browser ? browser.missing : null,
  "examples/board.ts: cards are added, dragged, renamed and deleted, and other windows show it",
  () =>
    withBoard(async ({ ada, bob, origin }) => {
      const tab = await ada.context.newPage();
      await tab.goto(origin);
      // The pointer moves slowly over a page that is not in front.
      await ada.page.bringToFront();
      await add(ada.page, "Doing", "Tea");
      await add(ada.page, "Doing", "Milk");
      const stop = "Stop the service, change some cards, and start it again";
      for (const page of [ada.page, tab, bob.page]) {
        await column(page, "Doing", [stop, "Tea", "Milk"]);
        await status(page, "Live");
      }

      await drag(bob.page, "Milk", "Tea");
      await drag(bob.page, first, stop);
      for (const page of [bob.page, ada.page]) {
        await column(page, "Doing", [first, stop, "Milk", "Tea"]);
      }
      await bob.page.getByLabel("Move Tea").press("ArrowUp");
      await bob.page.getByLabel("Move Tea").press("ArrowRight");
      await bob.page.getByLabel("Move Tea").and(bob.page.locator(":focus")).waitFor();
      await column(ada.page, "Done", ["Start the board", "Tea"]);
      await drag(ada.page, first, "Add a card to Done");
      await column(tab, "Done", ["Start the board", "Tea", first]);

      await rename(ada.page, "Tea", "Green tea");
      await column(bob.page, "Done", ["Start the board", "Green tea", first]);
      await card(ada.page, "Milk").hover();
      await ada.page.getByLabel("Delete Milk").click();
      await column(bob.page, "Doing", [stop]);
      await ada.page.getByRole("button", { name: "Undo" }).click();
      await column(bob.page, "Doing", [stop, "Milk"]);
    }),
);

testUnless(
  "missing" in browser ? browser.missing : null,
  "examples/board.ts: changes wait without a network, over a reload too; conflicts are for the user",
  () =>
    withBoard(async ({ ada, bob }) => {
      await ada.context.setOffline(true);
      await add(ada.page, "Done", "Tea");
      await rename(ada.page, "Tea", "Green tea");
      await drag(ada.page, first, "Add a card to Done");
      await rename(ada.page, second, "Ada's");
      await status(ada.page, "Offline · 4 changes waiting");
      await ada.page.locator("li.pending").nth(2).waitFor();
      await rename(bob.page, first, "Bob's first");
      await rename(bob.page, second, "Bob's");
      await saved(bob.page);

      await ada.context.setOffline(false);
      // What others have changed beside it is no conflict; a title that both have changed is one.
      await column(bob.page, "Done", ["Start the board", "Green tea", "Bob's first"]);
      await status(ada.page, "1 to decide");
      await card(ada.page, "Bob's").getByText("You wrote “Ada's”").waitFor();
      await ada.page.getByRole("button", { name: "Keep mine" }).click();
      await column(bob.page, "To do", ["Press my title to change it", "Ada's"]);
      await status(ada.page, "Live");

      await ada.context.route("**/api/cards/**", (route) => route.abort());
      await rename(ada.page, "Ada's", "Ada's second");
      await status(ada.page, "1 change waiting");
      await ada.page.reload();
      await status(ada.page, "1 change waiting");
      await column(ada.page, "To do", ["Press my title to change it", "Ada's second"]);
      await rename(bob.page, "Ada's", "Bob's second");
      await saved(bob.page);
      await rename(ada.page, "Green tea", "Mint tea");
      await card(bob.page, "Green tea").hover();
      await bob.page.getByLabel("Delete Green tea").click();
      await column(ada.page, "Done", ["Start the board", "Bob's first"]);
      await ada.context.unroute("**/api/cards/**");
      await status(ada.page, "2 to decide");
      await ada.page.getByRole("button", { name: "Keep theirs" }).click();
      await column(ada.page, "To do", ["Press my title to change it", "Bob's second"]);
      await card(ada.page, "Mint tea").getByText("Another user has deleted it").waitFor();
      await ada.page.getByRole("button", { name: "Restore" }).click();
      await column(bob.page, "Done", ["Start the board", "Mint tea", "Bob's first"]);
      await status(ada.page, "Live");
    }),
);
