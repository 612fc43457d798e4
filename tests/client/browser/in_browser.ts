import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";
import { assertEquals } from "@std/assert";
import { chromiumForTests } from "../../support/chromium.ts";
import { testUnless } from "../../support/skip.ts";

const installed = await chromiumForTests();

/** What a test has of the browser: a profile of its own. */
export interface InBrowser {
  readonly browser: Browser;
  readonly context: BrowserContext;
  /** Opens a page as a tab; it is shown once its script has run. */
  open(url: string): Promise<Page>;
}

/**
 * Defines tests that share one Chromium. An error that no script of a page has caught fails them.
 * They are skipped without a browser, and where something else is `missing`.
 */
export function createBrowserTests(
  args: readonly string[] = [],
  missing: string | null = null,
): (name: string, work: (tools: InBrowser) => Promise<void>) => void {
  let running: Promise<Browser> | null = null;
  async function run(work: (tools: InBrowser) => Promise<void>): Promise<void> {
    if ("missing" in installed) throw new Error(installed.missing);
    running ??= chromium.launch({ executablePath: installed.path, args: [...args] });
    const browser = await running;
    const context = await browser.newContext();
    const errors: string[] = [];
    context.on("weberror", (error) => errors.push(error.error().message));
    const open = async (url: string) => {
      const page = await context.newPage();
      await page.goto(url);
      return page;
    };
    try {
      await work({ browser, context, open });
      assertEquals(errors, []);
    } finally {
      await context.close();
    }
  }
  Deno.test.afterAll(async () => await (await running)?.close());
  // The browser is started in the first test, and serves the others.
  const shared = { sanitizeOps: false, sanitizeResources: false };
  const reason = "missing" in installed ? installed.missing : missing;
  return (name, work) => testUnless(reason, name, () => run(work), shared);
}

/** Waits until an expression, or what it promises, is true in a page; fails with what that shows. */
export async function until(page: Page, expression: string): Promise<void> {
  const end = performance.now() + 10_000;
  while (!await page.evaluate(expression)) {
    if (performance.now() > end) {
      const shown = await page.locator("body").innerText({ timeout: 1_000 });
      throw new Error(`Not in time: ${expression} in\n${shown}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** Waits until a page shows these notes, and no others. */
export function untilShown(page: Page, titles: readonly string[]): Promise<void> {
  return until(page, `shown("notes") === ${JSON.stringify(JSON.stringify(titles))}`);
}
