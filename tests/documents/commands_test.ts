/** The commands of the documents, each in a folder with the files that it names. */
import { DatabaseSync } from "node:sqlite";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { root } from "../repository/module_graph.ts";
import { scratchFolder } from "../support/scratch.ts";
import { block } from "./blocks.ts";
import { commandsOf, runCommand, runCommands, shownBy } from "./commands.ts";

/** A folder with a database of a shop, a configuration that serves it, and its tables. */
async function withShop(
  work: (folder: string) => Promise<void>,
  { isConfigured = true } = {},
): Promise<void> {
  await using folder = await scratchFolder();
  const cwd = folder.path;
  const shop = new DatabaseSync(`${cwd}/shop.db`);
  shop.exec(`CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT NOT NULL);
    CREATE TABLE clients (id INTEGER PRIMARY KEY, name TEXT, city TEXT);
    INSERT INTO notes VALUES (1, 'tea')`);
  shop.close();
  const declared = `import { integer, table, text } from "${root}mod.ts";
    export const notes = table("notes", { id: integer().primaryKey(), title: text().notNull() });`;
  await Deno.writeTextFile(`${cwd}/schema.ts`, declared);
  const configuration = isConfigured ? "service.config.ts" : "unused.ts";
  await Deno.writeTextFile(
    `${cwd}/${configuration}`,
    `import { all, openDatabase, resource } from "${root}mod.ts";
    import { notes } from "./schema.ts";
    export default {
      db: await openDatabase("node-sqlite:shop.db"),
      kv: "service.kv",
      resources: [resource(notes, { id: notes.id, auth: { public: true, create: () => all() } })],
    };`,
  );
  await Deno.chmod(`${cwd}/shop.db`, 0o600);
  await work(cwd);
}

async function statusOf(url: string): Promise<number> {
  const response = await fetch(url);
  await response.body?.cancel();
  return response.status;
}

Deno.test("docs/authentication.md, docs/dashboard.md: accounts and keys, and an operator", () =>
  withShop(async (cwd) => {
    const page = block("docs/authentication.md", "deno run -A cli.ts users add ada@example.com");
    const [created = ""] = /^.*keys create .*$/m.exec(page) ?? [];
    const [before = "", after = ""] = page.split(created);
    await runCommands(before, { cwd, isOneProcess: true });
    const { output: key } = await runCommand(commandsOf(created)[0] ?? "", { cwd });
    assertMatch(key, /\S{20}/);
    const { output: listed } = await runCommand("deno run -A cli.ts keys list", { cwd });
    const [, id = ""] = /^([0-9a-f]{12}) /m.exec(listed) ?? [];
    const outputs = await runCommands(after, {
      cwd,
      isOneProcess: true,
      replace: { "4be1f0c2a9d3": id },
    });
    assertMatch(outputs.at(-1) ?? "", /evoked/);
    const dashboard = block("docs/dashboard.md", "deno run -A cli.ts users add ada@example.com");
    const statuses: number[] = [];
    await runCommands(dashboard, {
      cwd,
      onService: async (url) => void statuses.push(await statusOf(`${url}/__service/ui/`)),
    });
    assertEquals(statuses, [200]);
  }, { isConfigured: false }));

Deno.test("docs/billing.md: credits are granted, listed and audited", () =>
  withShop(async (cwd) => {
    (await Deno.openKv(`${cwd}/app.kv`)).close();
    const outputs = await runCommands(block("docs/billing.md", "deno run -A cli.ts credits"), {
      cwd,
      isOneProcess: true,
    });
    assertEquals([outputs[0], outputs[2]], ["100", "ada: 100, 1 entries, right"]);
    assertMatch(outputs[1] ?? "", /welcome/);
  }));

Deno.test("README.md: the demonstration and a file are served", () =>
  withShop(async (cwd) => {
    const statuses: number[] = [];
    const [demo = "", file = ""] = commandsOf(
      block("README.md", "npx -y deno@2.9.6 run -A cli.ts  "),
    );
    for (const [command, path] of [[demo, "books"], [file, "notes"]] as const) {
      await runCommand(command, {
        cwd,
        onService: async (url) => void statuses.push(await statusOf(`${url}/api/${path}`)),
      });
    }
    assertEquals(statuses, [200, 200]);
  }, { isConfigured: false }));

Deno.test("docs/configuration/command-line.md: imports, checks and backups", () =>
  withShop(async (cwd) => {
    await Deno.writeTextFile(`${cwd}/clients.csv`, "name;city\nAda;London\n");
    const imported = block(
      "docs/configuration/command-line.md",
      "deno run -A cli.ts import clients",
    );
    const [command = ""] = commandsOf(imported);
    const refused = await runCommand(command, { cwd });
    assertEquals(refused.code, 1);
    assertStringIncludes(refused.output, shownBy(imported));
    await runCommands(`${command} --delimiter ';'`, { cwd });

    await Deno.mkdir(`${cwd}/web/dist`, { recursive: true });
    await Deno.writeTextFile(`${cwd}/web/dist/index.html`, "<title>the page</title>");
    const checks = block("docs/configuration/command-line.md", "deno run -A cli.ts check ");
    await runCommands(checks, { cwd, replace: { FILE: "service.config.ts" } });

    const backups = block("docs/configuration/command-line.md", "deno run -A cli.ts backup ");
    const [first = "", second = "", restore = ""] = commandsOf(backups);
    await runCommands(`${first}\n${second}`, { cwd });
    const [copy = ""] = [...Deno.readDirSync(`${cwd}/backups`)].map(({ name }) => name).sort();
    for (const name of [...Deno.readDirSync(cwd)].map(({ name }) => name)) {
      if (/^(?:shop\.db|service\.kv)/.test(name)) await Deno.remove(`${cwd}/${name}`);
    }
    await runCommands(restore, { cwd, replace: { "2026-11-30T14-42-52Z": copy } });
    const shop = new DatabaseSync(`${cwd}/shop.db`);
    assertEquals({ ...shop.prepare("SELECT name, city FROM clients").get() }, {
      ...{ name: "Ada", city: "London" },
    });
    shop.close();
  }));

Deno.test("docs/descriptions.md, docs/web.md: descriptions of a service, and its page", () =>
  withShop(async (cwd) => {
    const [written = "", check = ""] = commandsOf(
      block("docs/descriptions.md", "deno run -A cli.ts openapi --yaml"),
    );
    await runCommands(written, { cwd });
    assertMatch(await Deno.readTextFile(`${cwd}/openapi.yaml`), /^openapi:/m);
    await runCommands("deno run -A cli.ts openapi > openapi.json", { cwd });
    await runCommands(check, { cwd });
    await Deno.mkdir(`${cwd}/web/dist`, { recursive: true });
    await Deno.writeTextFile(
      `${cwd}/web/package.json`,
      '{"scripts":{"build":"cp ../page.html dist/index.html"}}',
    );
    await Deno.writeTextFile(`${cwd}/page.html`, "<title>the page</title>");
    const types = commandsOf(block("docs/descriptions.md", "deno run -A cli.ts types >"));
    await runCommands(block("docs/web.md", "npm --prefix web run build"), {
      cwd,
      async onService(url, child) {
        assertMatch(
          await (await fetch(url, { headers: { accept: "text/html" } })).text(),
          /the page/,
        );
        const [, token = ""] = /Bearer (\S+?)'?\s/.exec(child.stdout()) ?? [];
        const [own = "", other = "", stale = ""] = types;
        await runCommands(other, { cwd, replace: { "https://example.com": url, "…": token } });
        assertMatch(await Deno.readTextFile(`${cwd}/api.d.ts`), /Clients/);
        assertEquals((await runCommand(stale, { cwd })).code, 1);
        await runCommands(`${own}\n${stale}`, { cwd });
      },
    });
  }));

Deno.test("docs/search.md: the index of a file is built again", () =>
  withShop(async (cwd) => {
    const page = block("docs/search.md", "deno run -A cli.ts search reindex");
    const [command = ""] = commandsOf(page);
    // The progress is for a terminal, which `script` is.
    const program = command.replace("deno", Deno.execPath()).replace("cli.ts", `${root}cli.ts`);
    const args = ["-qec", program, "/dev/null"];
    const { stdout } = await new Deno.Command("script", { args, cwd, stdin: "null" }).output();
    const [last = ""] = new TextDecoder().decode(stdout).trim().split("\r").slice(-1);
    assertStringIncludes(last, shownBy(page).replaceAll("51200", "1"));
  }));

Deno.test("docs/hosts.md: workers are replaced by SIGHUP, and stopped", () =>
  withShop(async (cwd) => {
    const [start = "", replace = "", stop = ""] = commandsOf(
      block("docs/hosts.md", "deno run -A cli.ts --config service.config.ts --workers 4"),
    );
    // Two workers are replaced as four are, in less time.
    await runCommand(start.replace("--workers 4", "--workers 2"), {
      cwd,
      async onService(url, child) {
        const at = { cwd, replace: { $pid: String(child.pid) } };
        await runCommands(replace, at);
        await child.logged(/"event":"worker_started"/, 3);
        assertEquals(await statusOf(`${url}/api/notes`), 200);
        await runCommands(stop, at);
        assertEquals(await child.ended(), 0);
      },
    });
  }));

Deno.test("docs/client.md: an example is started as its head says", async () => {
  const [command = ""] = commandsOf(block("docs/client.md", "npx -y deno@2.9.6 run -A examples/"));
  const [, file = ""] = /(examples\/\S+\.ts)$/.exec(command) ?? [];
  // tests/examples/examples_test.ts runs the command of the head.
  const head = await Deno.readTextFile(root + file);
  assert(head.includes(` *     ${command.replace("npx -y deno@2.9.6", "deno")}\n`));
});
