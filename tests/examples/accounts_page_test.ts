import { chromium, type Page } from "playwright-core";
import { assert, assertEquals } from "@std/assert";
import { chromiumForTests } from "../support/chromium.ts";
import { scratchFolder } from "../support/scratch.ts";
import { testUnless } from "../support/skip.ts";
import { readExample, startExample } from "./example.ts";

const browser = await chromiumForTests();
const email = "ada@example.com";
const password = "a password of many words";

async function fill(page: Page, button: string): Promise<void> {
  await page.getByLabel("E-mail").fill(email);
  await page.getByLabel("Password").fill(password);
  await page.getByRole("button", { name: button }).click();
}

testUnless(
  "missing" in browser ? browser.missing : null,
  "examples/accounts_page.ts: signup with work in a worker, login, live list, logout ends the streams",
  async () => {
    if ("missing" in browser) throw new Error(browser.missing);
    await using folder = await scratchFolder();
    const env = { SERVICE_SECRET: "a secret for the tests only" };
    await using running = await startExample(readExample("accounts_page.ts"), {
      cwd: folder.path,
      env,
    });
    const origin = `http://127.0.0.1:${running.port}`;
    const chrome = await chromium.launch({ executablePath: browser.path });
    try {
      const context = await chrome.newContext();
      const page = await context.newPage();
      const [requests, errors]: [string[], string[]] = [[], []];
      page.on("request", (request) => requests.push(request.url()));
      page.on("pageerror", (error) => errors.push(error.message));
      page.on("console", (message) => {
        if (message.text().includes("Content Security Policy")) errors.push(message.text());
      });
      const statusOf = (shown: Page, text: string) =>
        shown.getByRole("status").filter({ hasText: text }).waitFor();

      await page.goto(origin);
      await statusOf(page, "Signed out");
      await fill(page, "Sign up");
      await statusOf(page, "Follow the link in your mail");
      const solver = `${origin}/__service/client/find_nonce.js`;
      assert(requests.includes(solver), requests.join());
      await fill(page, "Log in");
      await statusOf(page, "wrong e-mail address or password");
      const [link] = await running.printed(/api\/auth\/verify#token=[\w-]+/);
      await page.goto(`${origin}/${link}`);
      await statusOf(page, "Your account is ready");
      await page.getByRole("link", { name: "Log in" }).click();
      await page.waitForURL(`${origin}/`);
      await fill(page, "Log in");
      await statusOf(page, `Signed in as ${email}`);

      const cookies = await context.cookies();
      assertEquals(cookies.map(({ name, httpOnly, sameSite }) => [name, httpOnly, sameSite]), [
        ["session", true, "Lax"],
      ]);
      assertEquals(await page.evaluate("document.cookie"), "");
      await page.getByLabel("Note").fill("Buy tea");
      await page.getByRole("button", { name: "Add" }).click();
      await page.locator("li").filter({ hasText: "Buy tea" }).waitFor();

      // Another window of the same browser has the session, and sees what is written here.
      const second = await context.newPage();
      await second.goto(origin);
      await second.locator("li").filter({ hasText: "Buy tea" }).waitFor();
      await page.getByLabel("Note").fill("Buy milk");
      await page.getByRole("button", { name: "Add" }).click();
      await second.locator("li").filter({ hasText: "Buy milk" }).waitFor();

      await page.getByRole("button", { name: "Log out" }).click();
      await statusOf(page, "Signed out");
      // Nothing happened in that window: its stream was ended by the service.
      await statusOf(second, "Signed out");
      assertEquals(await second.locator("li").count(), 0);
      assertEquals([await context.cookies(), errors], [[], []]);
    } finally {
      await chrome.close();
    }
  },
);
