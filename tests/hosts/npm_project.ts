import { chromium } from "playwright-core";
import { assert, assertEquals, assertMatch } from "@std/assert";
import { createList, fillAccount } from "../examples/starter_page.ts";
import { startProgram } from "../serve/child_process.ts";
import { freePort } from "../support/ports.ts";

/** Where and with which programs a project is created. */
export interface NewProjectOptions {
  /** An empty folder. */
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
  /** The path of Chromium. */
  readonly browser: string;
}

/** Seconds from the first command to the first row of the page. */
export interface FirstRow {
  readonly elapsed: number;
  /** Processor time of all commands and of the browser. */
  readonly machine: number;
}

/**
 * Creates a project with a page by npm, and uses it as its user does: first with `dev`, and then
 * its tests, its types, and its built page.
 */
export async function checkNewProject(
  { folder, env: given, browser }: NewProjectOptions,
): Promise<FirstRow> {
  const port = freePort();
  const [origin, project] = [`http://localhost:${port}`, `${folder}/app`];
  const env = { ...given, npm_config_yes: "true", PORT: String(port) };
  const npm = async (cwd: string, ...args: readonly string[]) => {
    await using command = startProgram(["npm", ...args], { cwd, env, maxLifeMs: 120_000 });
    const code = await command.ended();
    const output = command.stdout() + command.stderr();
    assertEquals(code, 0, `npm ${args.join(" ")}: ${output}`);
    return output;
  };
  const [startedAt, before] = [performance.now(), await secondsOfDescendants()];
  const printed = await npm(folder, "create", "resource-api", "app", "--", "--web");
  const next = "  cd app\n  npm install\n  npm --prefix web install\n  npm run dev\n";
  assert(printed.includes(`Next:\n\n${next}`), printed);
  await npm(project, "install");
  await npm(project, "--prefix", "web", "install");
  const chrome = await chromium.launch({ executablePath: browser });
  try {
    const page = await chrome.newPage();
    page.setDefaultTimeout(30_000);
    let first: FirstRow;
    {
      const options = { cwd: project, env, maxLifeMs: 120_000 };
      await using dev = startProgram(["npm", "run", "dev"], options);
      await dev.printed(/the page\n/);
      await page.goto(`${origin}/`);
      await fillAccount(page, "Sign up");
      await page.getByPlaceholder("A new list").fill("Books");
      await page.keyboard.press("Enter");
      await page.getByRole("region", { name: "Books" }).waitFor();
      const machine = await secondsOfDescendants() - before;
      first = { elapsed: (performance.now() - startedAt) / 1_000, machine };
      await createList(origin, "Music");
      await page.getByRole("region", { name: "Music" }).waitFor();
      const tables = `${project}/tables.ts`;
      const text = await Deno.readTextFile(tables);
      await Deno.writeTextFile(tables, text.replace("  status:", "  notes: text(),\n  status:"));
      await dev.printed(/Written: web\/src\/api\.d\.ts\n/);
      dev.signal();
    }
    assertMatch(await npm(project, "test"), /\b4 passed .* 0 failed/);
    await npm(project, "run", "check");
    await npm(project, "--prefix", "web", "run", "build");
    await using service = startProgram(["npm", "start"], { cwd: project, env });
    using _stopped = { [Symbol.dispose]: () => service.signal() };
    await service.logged(/"listening"/);
    const built = await page.goto(`${origin}/any/deep/link`);
    assertMatch(await built?.text() ?? "", /<script type="module" crossorigin src="\/assets\//);
    await page.getByRole("region", { name: "Music" }).waitFor();
    return first;
  } finally {
    await chrome.close();
  }
}

/** Returns the processor time of the child processes of this process, and of their children. */
async function secondsOfDescendants(): Promise<number> {
  const parents = new Map<number, number>();
  const ticks = new Map<number, number>();
  for await (const { name } of Deno.readDir("/proc")) {
    const stat = /^\d+$/.test(name)
      ? await Deno.readTextFile(`/proc/${name}/stat`).catch(() => "")
      : "";
    // The fields after the name, from the third on (proc(5)).
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ").map(Number);
    parents.set(Number(name), fields[1] ?? 0);
    const [own, ended] = [fields.slice(11, 13), fields.slice(13, 15)];
    const counted = Number(name) === Deno.pid ? ended : [...own, ...ended];
    ticks.set(Number(name), counted.reduce((sum, value) => sum + value, 0));
  }
  const isBelow = (pid: number | undefined): boolean =>
    pid === Deno.pid || (pid !== undefined && pid > 1 && isBelow(parents.get(pid)));
  return [...ticks].reduce((sum, [pid, value]) => isBelow(pid) ? sum + value : sum, 0) / 100;
}
