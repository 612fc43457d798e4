import { parse } from "@std/yaml";
import { assert, assertEquals, assertMatch } from "@std/assert";
import { findProgram } from "../support/debian_packages.ts";
import { promtoolForTests } from "../support/promtool.ts";
import { scratchFolder } from "../support/scratch.ts";
import { testUnless } from "../support/skip.ts";
import { withObservedService } from "../service/observability/observed_service.ts";
import { guide, kit, readUnit, root } from "./kit.ts";

const { path: folder } = await scratchFolder();
globalThis.addEventListener("unload", () => Deno.removeSync(folder, { recursive: true }));
const promtool = await promtoolForTests(folder);
const noPromtool = "missing" in promtool ? promtool.missing : null;
const analyze = await findProgram(["systemd-analyze"]);
const noAnalyze = analyze === null ? "no systemd-analyze on the PATH" : null;

const names = [...Deno.readDirSync(kit)].map(({ name }) => name).sort();
const units = names.filter((name) => /\.(?:service|timer)$/.test(name));
const rules = Deno.readTextFileSync(`${kit}alerts.yml`);
const alerts = [...rules.matchAll(/^ +- alert: (\w+)$/gm)].map(([, name = ""]) => name);

async function run(program: string, args: readonly string[], cwd = kit) {
  const command = new Deno.Command(program, { args: [...args], cwd, env: { SYSTEMD_COLORS: "0" } });
  const { code, stdout, stderr } = await command.output();
  const output = new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
  return { code, output };
}

const runPromtool = (args: readonly string[], cwd?: string) =>
  run("path" in promtool ? promtool.path : "", args, cwd);

/** The expressions of the board, with values instead of Grafana's variables. */
function expressionsOfBoard(): readonly string[] {
  const { panels }: { panels: { targets: { expr: string }[]; datasource: { uid: string } }[] } =
    JSON.parse(Deno.readTextFileSync(`${kit}grafana.json`));
  assertEquals(new Set(panels.map(({ datasource }) => datasource.uid)), new Set(["${datasource}"]));
  return panels.flatMap(({ targets }) => targets).map(({ expr }) =>
    expr.replaceAll("$__rate_interval", "5m").replaceAll(/\$\w+/g, "x")
  );
}

testUnless(
  noAnalyze,
  "systemd finds no fault in the units, and sees one that is there",
  async () => {
    const path = await Deno.makeTempDir({ dir: folder });
    // systemd wants the program to exist.
    const write = (change: (text: string) => string) => {
      for (const name of units) {
        const text = Deno.readTextFileSync(kit + name).replace("/usr/local/bin/deno", "/bin/true");
        Deno.writeTextFileSync(`${path}/${name}`, change(text));
      }
    };
    write((text) => text);
    assertEquals(await run(analyze ?? "", ["verify", ...units], path), { code: 0, output: "" });
    for (const name of units.filter((unit) => unit.endsWith(".service"))) {
      const security = ["security", "--offline=true", "--no-pager", "--threshold=20", name];
      const { code, output } = await run(analyze ?? "", security, path);
      assertEquals(code, 0, output);
    }
    write((text) => text.replace("StateDirectory=", "StateDirectroy="));
    assertMatch((await run(analyze ?? "", ["verify", ...units], path)).output, /StateDirectroy/);
  },
);

Deno.test("the unit waits longer than a service needs to stop, and hides the data", () => {
  const settings = new Map(readUnit("my-app.service"));
  // The default of stopDeadlineMs is 10 s.
  assert(Number(settings.get("TimeoutStopSec")) > 10);
  assertEquals([settings.get("UMask"), settings.get("StateDirectoryMode")], ["0077", "0700"]);
  const compose = parse(Deno.readTextFileSync(`${kit}compose.yaml`));
  assertMatch(JSON.stringify(compose), /"read_only":true.*"stop_grace_period":"15s"/);
  const ignored = Deno.readTextFileSync(`${kit}.dockerignore`).split("\n");
  assertEquals([".env", "data", ".git"].filter((name) => !ignored.includes(name)), []);
});

testUnless(
  noPromtool,
  "promtool finds no fault in the metrics of a service, and sees one that is there",
  () =>
    withObservedService({ kv: ":memory:" }, async ({ send }) => {
      await send("POST", "/api/notes", { body: { title: "x" }, headers: { "x-user": "ann" } });
      for (const path of ["/api/notes", "/api/notes/1", "/api/notes/9", "/healthz", "/nothing"]) {
        await send("GET", path);
      }
      const text = await (await send("GET", "/__service/metrics")).text();
      const check = async (metrics: string) => {
        const path = `${folder}/metrics.txt`;
        await Deno.writeTextFile(path, metrics);
        const command = '"$0" check metrics < "$1"';
        return await run("sh", ["-c", command, "path" in promtool ? promtool.path : "", path]);
      };
      assertEquals(await check(text), { code: 0, output: "" });
      const { code } = await check(text.replaceAll("_requests_total", "_requests"));
      assertEquals(code === 0, false);
    }),
);

testUnless(
  noPromtool,
  "promtool accepts the alerts, their tests and the configuration",
  async () => {
    for (
      const args of [
        ["check", "rules", "alerts.yml"],
        ["test", "rules", "alerts_test.yml"],
        ["check", "config", "--syntax-only", "prometheus.yml"],
      ]
    ) {
      const { code, output } = await runPromtool(args);
      assertEquals(code, 0, output);
    }
    const tested = Deno.readTextFileSync(`${kit}alerts_test.yml`);
    const untested = alerts.filter((name) =>
      !tested.includes(`alertname: ${name}\n        exp_alerts:\n          - exp_labels`)
    );
    assertEquals(untested, [], "each alert fires in a test");
  },
);

testUnless(noPromtool, "every expression of the board can be parsed", async () => {
  const written = expressionsOfBoard().map((expr, index) =>
    `      - { record: "board:${index}", expr: ${JSON.stringify(expr)} }`
  );
  assert(written.length > 20);
  const path = `${folder}/board.yml`;
  const head = ["groups:", "  - name: board", "    rules:"];
  await Deno.writeTextFile(path, [...head, ...written, ""].join("\n"));
  const { code, output } = await runPromtool(["check", "rules", path]);
  assertEquals(code, 0, output);
  await Deno.writeTextFile(path, (await Deno.readTextFile(path)).replace("sum(", "sum(("));
  assertEquals((await runPromtool(["check", "rules", path])).code === 0, false);
});

Deno.test("a service has every metric and label of the alerts and of the board", () =>
  withObservedService({ kv: ":memory:" }, async ({ send, metrics }) => {
    await send("GET", "/api/notes");
    const found = new Set((await metrics.snapshot()).map(({ name }) => name));
    const table = Deno.readTextFileSync(`${root}docs/observability.md`);
    // Another test compares the table with all metrics, also those of Postgres and of the outbox.
    const labels = new Map(
      [...table.matchAll(/^\| `(\w+)` +\| \w+ +\| (.*?) *\|/gm)].map((
        [, name = "", found = ""],
      ) => [name, new Set(found.match(/\w+/g))]),
    );
    const elsewhere = /^(?:db_client|resource_api_db_pool|resource_api_search_outbox)_/;
    const expressions = [
      ...expressionsOfBoard(),
      ...rules.match(/expr: (?:\|\n(?: {10}.*\n)+|.*\n)/g) ?? [],
    ];
    const allLabels = new Set([...labels.values()].flatMap((some) => [...some]));
    const unknown = expressions.flatMap((expression) => {
      const used = [
        ...expression.matchAll(
          /\b((?:resource_api|http_server|db_client|process)_\w+)(?:\{(.*?)\})?/g,
        ),
      ];
      return used.flatMap(([, series = "", matchers = ""]) => {
        const name = series.replace(/_(?:bucket|sum|count)$/, "");
        const known = labels.has(series) ? series : name;
        const wrong = [...matchers.matchAll(/(\w+)(?:=|!)/g)].map(([, label = ""]) => label)
          .filter((label) =>
            !["job", "instance"].includes(label) && !labels.get(known)?.has(label)
          );
        const isThere = elsewhere.test(known) ? labels.has(known) : found.has(known);
        return isThere ? wrong : allLabels.has(series) ? [] : [series];
      });
    });
    assertEquals(unknown, []);
    assert(expressions.length > 40);
  }));

Deno.test("each alert has a section that says what to do, and names observations that exist", () => {
  const sections = [...guide.matchAll(/^### (\w+)$/gm)].map(([, name]) => name);
  assertEquals(sections, alerts);
  const kinds = /kind=~"([\w|]+)"/.exec(rules)?.[1]?.split("|") ?? [];
  const source = Deno.readTextFileSync(`${root}src/runtime/runtime.ts`);
  assertEquals(kinds.filter((kind) => !source.includes(`\n  ${kind}: {`)), []);
  assert(kinds.length > 3);
});

Deno.test("docs/production.md links every file of the kit, and docs/upgrading.md has this version", () => {
  const shown = names.filter((name) => !["alerts_test.yml", ".dockerignore"].includes(name));
  const missing = shown.filter((name) => !guide.includes(`(../examples/production/${name})`));
  assertEquals(missing.filter((name) => name !== "my-app-backup.service"), []);
  const { version } = JSON.parse(Deno.readTextFileSync(`${root}deno.json`));
  const upgrading = Deno.readTextFileSync(`${root}docs/upgrading.md`);
  assert(upgrading.includes(`\n## ${version}\n`), "a section of the current version");
});
