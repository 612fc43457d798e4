import { chromium } from "playwright-core";
import { assert, assertEquals, assertMatch } from "@std/assert";
import manifest from "../../deno.json" with { type: "json" };
import { packNpmClient } from "../../dev/npm_client.ts";
import { runCommandLine } from "../../src/cli/command_line.ts";
import { runChild, startChild } from "../serve/child_process.ts";
import { chromiumForTests } from "../support/chromium.ts";
import { findProgram } from "../support/debian_packages.ts";
import { freePort } from "../support/ports.ts";
import { scratchFolder } from "../support/scratch.ts";
import { testUnless } from "../support/skip.ts";
import { createList, fillAccount } from "./starter_page.ts";

const [browser, npm] = [await chromiumForTests(), await findProgram(["npm"])];
const folder = await scratchFolder();
const project = `${folder.path}/app`;
const missing = "missing" in browser
  ? browser.missing
  : npm === null
  ? "no npm on the PATH"
  : await install();

Deno.test.afterAll(async () => await folder[Symbol.asyncDispose]());

/** Writes a project with a page, and installs its packages. Returns null, or why this failed. */
async function install(): Promise<string | null> {
  const { log } = console;
  console.log = () => {};
  const url = new URL("../../cli.ts", import.meta.url).href;
  await runCommandLine(["init", project, "--web"], { version: manifest.version, url });
  console.log = log;
  const packed = await packNpmClient(`${folder.path}/npm-client`);
  const described = `${project}/web/package.json`;
  const { dependencies, ...rest } = JSON.parse(await Deno.readTextFile(described));
  dependencies["@svc/resource-api-client"] = `file:${packed}`;
  await Deno.writeTextFile(described, JSON.stringify({ ...rest, dependencies }));
  const installed = await inWeb("install", "--prefer-offline", "--no-audit", "--no-fund");
  if (/network|ENOTFOUND|ECONN|EAI_AGAIN/.test(installed.output)) {
    return "npm cannot download the packages of the page";
  }
  assert(installed.success, installed.output);
  return null;
}

async function inWeb(...args: readonly string[]) {
  const command = new Deno.Command(npm ?? "", { args: [...args], cwd: `${project}/web` });
  const { success, stdout, stderr } = await command.output();
  const output = [stdout, stderr].map((one) => new TextDecoder().decode(one)).join("");
  return { success, output };
}

testUnless(
  missing,
  "the page of a new project shows the rows of another client, saved files, and the built page",
  async () => {
    if ("missing" in browser) throw new Error(browser.missing);
    const port = freePort();
    const origin = `http://localhost:${port}`;
    const options = { cwd: project, env: { PORT: String(port) }, maxLifeMs: 60_000 };
    const chrome = await chromium.launch({ executablePath: browser.path });
    const complaints: string[] = [];
    try {
      const context = await chrome.newContext();
      context.setDefaultTimeout(15_000);
      context.on("console", (message) => {
        // When dev stops, the client of Vite waits for Vite in a worker, which the policy forbids.
        const isOfRestart = /Failed to load resource|\[vite\]|Creating a worker/.test(
          message.text(),
        );
        if (message.type() === "error" && !isOfRestart) complaints.push(message.text());
      });
      context.on("weberror", (error) => complaints.push(error.error().message));
      const page = await context.newPage();
      {
        await using dev = startChild(["@svc/resource-api/cli", "dev"], options);
        await dev.printed(/the page/);
        await page.goto(`${origin}/`);
        await fillAccount(page, "Sign up");
        await page.getByPlaceholder("A new list").fill("Books");
        await page.keyboard.press("Enter");
        await page.getByRole("region", { name: "Books" }).getByPlaceholder("A new task")
          .fill("Solaris");
        await page.keyboard.press("Enter");
        await page.getByLabel("Solaris").click();
        await page.getByRole("checkbox", { name: "Solaris", checked: true }).waitFor();
        await createList(origin, "Music");
        await page.getByRole("region", { name: "Music" }).waitFor();

        const second = await runChild(["@svc/resource-api/cli", "dev"], options);
        const running = "another dev already runs with the page in web: stop it";
        assertEquals([second.code, second.stderr], [2, `Cannot run dev: ${running}\n`]);

        const app = `${project}/web/src/App.tsx`;
        const source = await Deno.readTextFile(app);
        await page.evaluate("globalThis.isSamePage = true");
        await Deno.writeTextFile(app, source.replace(/^( +)Lists </m, "$1My lists <"));
        await page.getByText("My lists").waitFor();
        assertEquals(await page.evaluate("globalThis.isSamePage"), true, "it was not reloaded");
        dev.signal("SIGTERM");
        assertEquals(await dev.ended(), 0, dev.stderr());
        assertEquals(dev.stdout().includes("web │"), false, dev.stdout());
      }
      const { success, output } = await inWeb("run", "build");
      assert(success, output);
      await using service = startChild(["--env-file=.env", "main.ts"], options);
      await service.logged(/listening/);
      const built = await page.goto(`${origin}/any/deep/link`);
      assertMatch(await built?.text() ?? "", /<script type="module" crossorigin src="\/assets\//);
      await page.getByRole("region", { name: "Music" }).waitFor();
      assertEquals(await page.getByLabel("Solaris").isChecked(), true);
      assertEquals(complaints, []);
    } finally {
      await chrome.close();
    }
  },
);
