import { chromium } from "playwright-core";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { root } from "../repository/module_graph.ts";
import { runChild, startProgram } from "../serve/child_process.ts";
import { chromiumForTests } from "../support/chromium.ts";
import { findProgram, runOrThrow } from "../support/debian_packages.ts";
import { freePort } from "../support/ports.ts";
import { scratchFolder } from "../support/scratch.ts";
import { testUnless } from "../support/skip.ts";
import { matchesAnswer } from "./example.ts";
import { stepsOf } from "./guide.ts";
import { createList, fillAccount } from "./starter_page.ts";

const port = freePort();
const origin = `http://localhost:${port}`;
const settings = { PORT: String(port), npm_config_audit: "false", npm_config_fund: "false" };
const guide = Deno.readTextFileSync(`${root}docs/guides/first-page.md`)
  .replaceAll("http://localhost:8000", origin);
const [setup, request, test, built, ...others] = stepsOf(guide);
const [rule = "", column = ""] = [...guide.matchAll(/^```ts ignore\n([^]*?)\n```$/gm)]
  .map(([, text = ""]) => text);

const [browser, npm] = [await chromiumForTests(), await findProgram(["npm"])];
const folder = await scratchFolder();
let project = folder.path;
const missing = "missing" in browser
  ? browser.missing
  : npm === null
  ? "no npm on the PATH"
  : await install();

Deno.test.afterAll(async () => await folder[Symbol.asyncDispose]());

/** Runs the first commands of the guide, except the last. Returns null, or why this failed. */
async function install(): Promise<string | null> {
  const [clone = "", ...commands] = setup?.commands ?? [];
  assertMatch(clone, /^git clone \S+ resource-api$/);
  assertEquals(commands.pop(), "deno task dev");
  // The clone has the files of this folder, and a folder of its own for the packed client.
  const cloned = `${folder.path}/resource-api`;
  await Deno.mkdir(`${cloned}/dashboard`, { recursive: true });
  const files = ["mod.ts", "cli.ts", "deno.json", "deno.lock", "LICENSE", "exports", "src", "dev"];
  for (const path of [...files, "dashboard/deno.json"]) {
    await runOrThrow("cp", ["-r", root + path, `${cloned}/${path}`], {});
  }
  for (const command of commands) {
    const [verb, path = ""] = command.split(" ");
    if (verb === "cd") project = `${folder.path}/${path}`;
    else {
      const { success, output } = await run(command);
      if (/network|ENOTFOUND|ECONN|EAI_AGAIN/.test(output)) {
        return "npm cannot download the packages of the page";
      }
      assert(success, `${command}: ${output}`);
    }
  }
  return null;
}

/** Runs a command of the guide in the folder of the project. */
async function run(command: string) {
  const { success, stdout, stderr } = await new Deno.Command("sh", {
    args: ["-c", command.replace(/^deno /, `${Deno.execPath()} `)],
    cwd: project,
    env: { ...settings, NO_COLOR: "1", npm_config_prefer_offline: "true" },
  }).output();
  const output = [stdout, stderr].map((one) => new TextDecoder().decode(one)).join("");
  return { success, output };
}

/** Starts a command of the guide that serves. */
function serve(command: string | undefined) {
  const words = command?.split(" ") ?? [];
  assertEquals(words.slice(0, 2), ["deno", "task"]);
  const options = { cwd: project, env: settings, maxLifeMs: 90_000 };
  return startProgram([Deno.execPath(), ...words.slice(1)], options);
}

async function edit(path: string, from: string, to: string): Promise<void> {
  const text = await Deno.readTextFile(`${project}/${path}`);
  assertStringIncludes(text, from);
  await Deno.writeTextFile(`${project}/${path}`, text.replace(from, () => to));
}

testUnless(
  missing,
  "docs/guides/first-page.md leads to a live page, a new column, tests and a built page",
  async () => {
    if ("missing" in browser) throw new Error(browser.missing);
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
        await using dev = serve("deno task dev");
        await dev.printed(/all resources\n/);
        const [, printed = ""] = /^```\n(Migrated[^]*?)\n```$/m.exec(guide) ?? [];
        const shown = dev.stdout().slice(dev.stdout().indexOf("Migrated")).trim();
        if (!matchesAnswer(shown, printed)) assertEquals(shown, printed);
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

        assertStringIncludes(await Deno.readTextFile(`${project}/service.config.ts`), rule);
        const [command = ""] = request?.commands ?? [];
        const refused = (await run(command.replace("curl ", "curl -sS "))).output;
        if (!matchesAnswer(refused, request?.answer ?? "")) assertEquals(refused, request?.answer);

        const args = ["@svc/resource-api/cli", "dev"];
        const second = await runChild(args, { cwd: project, env: settings });
        const running = "another dev already runs with the page in web: stop it";
        assertEquals([second.code, second.stderr], [2, `Cannot run dev: ${running}\n`]);

        await page.evaluate("globalThis.isSamePage = true");
        await edit(
          "tables.ts",
          "  createdAt: createdAt()",
          `  ${column}\n  createdAt: createdAt()`,
        );
        const [, added = "", written = ""] = /^`dev` prints `(.*?)` and `(.*?)`/m.exec(guide) ?? [];
        await dev.printed(RegExp(`^${added}$[^]*^${written}$[^]*all resources\n`, "m"));
        const replaced = guide.matchAll(/`([^`\n]+)`\s+by\s+(?:the line\s+)?`([^`\n]+)`/g);
        for (const [, from = "", to = ""] of replaced) await edit("web/src/App.tsx", from, to);
        await edit("web/src/App.tsx", "        Lists <", "        My lists <");
        await page.getByText("My lists").waitFor();
        await page.getByRole("listitem").getByText("low", { exact: true }).waitFor();
        assertEquals(await page.evaluate("globalThis.isSamePage"), true, "it was not reloaded");
        dev.signal("SIGTERM");
        assertEquals(await dev.ended(), 0, dev.stderr());
        assertEquals(dev.stdout().includes("web │"), false, dev.stdout());
      }
      // Without the check of types, which takes as long as all other commands.
      const tested = await run(`${test?.commands.join("\n")} --no-check`);
      assertStringIncludes(tested.output, test?.answer ?? "nothing");
      const [build = "", start] = built?.commands ?? [];
      const { success, output } = await run(build);
      assert(success, output);
      await using service = serve(start);
      await service.logged(/listening/);
      const found = await page.goto(`${origin}/any/deep/link`);
      assertMatch(await found?.text() ?? "", /<script type="module" crossorigin src="\/assets\//);
      await page.getByRole("region", { name: "Music" }).waitFor();
      assertEquals(await page.getByLabel("Solaris").isChecked(), true);
      assertEquals([complaints, others], [[], []]);
    } finally {
      await chrome.close();
    }
  },
);
