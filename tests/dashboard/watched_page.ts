import type { BrowserContext, Page } from "playwright-core";
import { assertEquals } from "@std/assert";

/** Opens a page of the dashboard; what it must not do fails the test when `done` is called. */
export async function openWatched(
  context: BrowserContext,
  url: string,
): Promise<{ readonly page: Page; done(): Promise<void> }> {
  const page = await context.newPage();
  const faults: string[] = [];
  page.on("console", (message) => {
    // A refusal that a test has asked for is shown in the page, and is no fault of it.
    const isRefusal = message.text().startsWith("Failed to load resource");
    if (["error", "warning"].includes(message.type()) && !isRefusal) faults.push(message.text());
  });
  page.on("pageerror", (error) => faults.push(error.message));
  await page.addInitScript(`addEventListener("securitypolicyviolation", (event) =>
    console.error("Security policy:", event.violatedDirective, event.blockedURI))`);
  await page.goto(url);
  return {
    page,
    async done() {
      assertEquals(faults, []);
      await page.close();
    },
  };
}

/** Leads to a place by its hash, as a link does. */
export async function visit(page: Page, place: string): Promise<void> {
  await page.evaluate(`location.hash = ${JSON.stringify(`#/${place}`)}`);
}
