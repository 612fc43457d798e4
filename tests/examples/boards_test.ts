import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";
import { assert, assertEquals } from "@std/assert";
import { packNpmClient } from "../../dev/npm_client.ts";
import { chromiumForTests } from "../support/chromium.ts";
import { findProgram } from "../support/debian_packages.ts";
import { scratchFolder } from "../support/scratch.ts";
import { testUnless } from "../support/skip.ts";
import { startProgram } from "../serve/deno_serve.ts";

const root = new URL("../../", import.meta.url).pathname;
const boards = `${root}examples/boards`;
const listenAtPort = `${root}tests/examples/listen_at_port.ts`;
const pages = ["plain", "react", "vue", "svelte", "tanstack"] as const;

const [browser, npm] = [await chromiumForTests(), await findProgram(["npm"])];
const folder = await scratchFolder();
const copied = `${folder.path}/examples/boards`;
const web = `${copied}/web`;
const missing = "missing" in browser
  ? browser.missing
  : npm === null
  ? "no npm on the PATH"
  : await build();

Deno.test.afterAll(async () => await folder[Symbol.asyncDispose]());

/** Builds a copy of the example as its head says. Returns null, or why the packages are missing. */
async function build(): Promise<string | null> {
  await Deno.mkdir(copied, { recursive: true });
  await run("cp", ["-r", "config.ts", "service.ts", "web", copied], boards);
  for (const made of ["node_modules", "dist", "package-lock.json"]) {
    await Deno.remove(`${web}/${made}`, { recursive: true }).catch(() => {});
  }
  // The folder that `deno task npm-client` writes, as the dependency of the boards names it.
  await packNpmClient(`${folder.path}/npm-client`);
  const installed = await run(npm ?? "", ["install", "--no-audit", "--no-fund"], web);
  if (/network|ENOTFOUND|ECONN|EAI_AGAIN/.test(installed.output)) {
    return "npm cannot download the packages of the boards";
  }
  assert(installed.success, installed.output);
  for (const script of ["check", "build"]) {
    const { success, output } = await run(npm ?? "", ["run", script], web);
    assert(success, output);
  }
  return null;
}

async function run(program: string, args: readonly string[], cwd: string) {
  const { success, stdout, stderr } = await new Deno.Command(program, { args: [...args], cwd })
    .output();
  const output = [stdout, stderr].map((one) => new TextDecoder().decode(one)).join("");
  return { success, output };
}

interface Shown {
  readonly name: string;
  readonly context: BrowserContext;
  readonly page: Page;
}

testUnless(
  missing,
  "the boards of all frameworks show and make the same changes",
  async () => {
    if ("missing" in browser) throw new Error(browser.missing);
    const options = ["--config", `${root}deno.json`, "--preload", listenAtPort];
    const env = {
      DATABASE: `sqlite:${folder.path}/boards.db`,
      SERVICE_SECRET: "a secret for the tests only",
      TEST_PORT: "0",
    };
    await using server = startProgram([
      "run",
      "-A",
      ...options,
      `${copied}/service.ts`,
    ], { env });
    const chrome = await chromium.launch({ executablePath: browser.path });
    const complaints: string[] = [];
    try {
      const origin = `http://127.0.0.1:${await server.port()}`;
      const shown = await Promise.all(
        pages.map((name) => open(chrome, name, origin, complaints)),
      );
      for (const { name, page } of shown) {
        await page.getByLabel("Add to To do").fill(`from ${name}`);
        await page.keyboard.press("Enter");
      }
      const titles = pages.map((name) => `from ${name}`);
      for (const { page } of shown) await hasCards(page, "To do", titles);

      // Each page renames one card, moves another, and deletes a third.
      for (const [index, { page }] of shown.entries()) {
        const title = titles[(index + 1) % titles.length] ?? "";
        await card(page, title).locator(".title").click();
        await page.getByLabel("Title", { exact: true }).fill(
          `${title}, renamed`,
        );
        await page.keyboard.press("Enter");
        for (const other of shown) {
          await card(other.page, `${title}, renamed`)
            .waitFor();
        }
        await card(page, `${title}, renamed`).dragTo(
          page.getByRole("region", { name: "Done" }),
        );
      }
      const done = titles.map((title) => `${title}, renamed`);
      for (const { page } of shown) await hasCards(page, "Done", done);
      for (const [index, { page }] of shown.entries()) {
        await page.getByLabel(`Delete ${done[(index + 2) % done.length]}`)
          .click();
      }
      for (const { page } of shown) await hasCards(page, "Done", []);

      // A write without a network waits, except with TanStack DB, which undoes it.
      const queued = shown.filter(({ name }) => name !== "tanstack");
      for (const { name, page, context } of queued) {
        await context.setOffline(true);
        await page.getByLabel("Add to Doing").fill(`later from ${name}`);
        await page.keyboard.press("Enter");
        await page.getByRole("status").filter({ hasText: "1 waiting" })
          .waitFor();
      }
      for (const { context } of queued) await context.setOffline(false);
      const later = queued.map(({ name }) => `later from ${name}`);
      for (const { page } of shown) await hasCards(page, "Doing", later);
      assertEquals(complaints, []);
    } finally {
      await chrome.close();
    }
  },
);

async function open(
  chrome: Browser,
  name: string,
  origin: string,
  complaints: string[],
): Promise<Shown> {
  const context = await chrome.newContext();
  context.setDefaultTimeout(10_000);
  context.on(
    "weberror",
    (error) => complaints.push(`${name}: ${error.error().message}`),
  );
  context.on("console", (message) => {
    const isNetwork = message.text().includes("net::ERR_");
    if (message.type() === "error" && !isNetwork) {
      complaints.push(`${name}: ${message.text()}`);
    }
  });
  const page = await context.newPage();
  await page.goto(`${origin}/${name}/`);
  await page.getByRole("status").filter({ hasText: /^\s*(live|ready)/ })
    .waitFor();
  return { name, context, page };
}

const card = (page: Page, title: string) =>
  page.getByRole("listitem").filter({
    has: page.getByText(title, { exact: true }),
  });

/** Waits until a column has these cards, and no others, in any order. */
async function hasCards(
  page: Page,
  column: string,
  titles: readonly string[],
): Promise<void> {
  const cards = page.getByRole("region", { name: column }).getByRole(
    "listitem",
  );
  for (const title of titles) {
    await cards.filter({ hasText: title }).first().waitFor();
  }
  await page.getByRole("heading", {
    name: `${column} ${titles.length}`,
    exact: true,
  }).waitFor();
}

Deno.test("the types of the boards are those of their service", async () => {
  const args = ["run", "-A", "cli.ts", "types", "--config", "examples/boards/config.ts"];
  const { success, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [...args, "--check", "examples/boards/web/api.d.ts"],
    cwd: root,
    env: { DATABASE: "sqlite::memory:", SERVICE_SECRET: "a secret for the tests only" },
  }).output();
  assert(success, new TextDecoder().decode(stderr));
});

Deno.test("the board of each framework has fewer than 250 lines", async () => {
  const files = [
    "public/plain/index.html",
    "react/main.tsx",
    "vue/Board.vue",
    "svelte/Board.svelte",
    "tanstack/main.tsx",
  ];
  for (const file of files) {
    const lines = (await Deno.readTextFile(`${boards}/web/${file}`)).split("\n").length;
    const shared = file.startsWith("public") ? 0 : 60;
    assert(lines + shared < 250, `${file}: ${lines}`);
  }
});
