/**
 * Every fenced block of README.md and docs/ is run by a test, or excepted with a reason. A new block
 * that matches no rule fails the check.
 */
import { assertEquals } from "@std/assert";
import { blocks, callsOfBlock } from "../documents/blocks.ts";
import { root } from "./module_graph.ts";

/** The first rule that matches a block says by what the block is run. */
interface Rule {
  readonly document: RegExp;
  readonly language: RegExp;
  readonly text?: RegExp;
  /** The test that takes the block from the document and runs it. */
  readonly test?: string;
  /** Why no test runs the blocks, and how many blocks there are. */
  readonly because?: string;
  readonly count?: number;
}

const guides = "(?:existing-postgres|from-pocketbase|from-supabase)";
const shell = /^sh$/;
const any = /^/;

const rules: readonly Rule[] = [
  { document: any, language: /^ts$/, test: "tests/run.ts" },
  {
    document: /^docs\/from_postgrest/,
    language: /^(?:http|ts ignore)$/,
    test: "tests/http/from_postgrest_test.ts",
  },
  { document: /^docs\/rights/, language: /^ts ignore$/, test: "tests/examples/rights_guide.ts" },
  {
    document: /^docs\/rights/,
    language: /^$/,
    text: /^Cannot serve/,
    test: "tests/http/rights_mistakes_test.ts",
  },
  { document: RegExp(`guides/${guides}`), language: any, test: "tests/examples/guides_test.ts" },
  {
    document: /guides\/first-page/,
    language: /^(?:sh|ts ignore|)$/,
    test: "tests/examples/starter_page_test.ts",
  },
  {
    document: /^docs\/production/,
    language: /^(?:json|ts ignore)$/,
    test: "tests/production/kit.ts",
  },
  {
    document: /^docs\/production/,
    language: shell,
    text: /^deno /,
    test: "tests/production/project_test.ts",
  },
  {
    document: /^docs\/production/,
    language: shell,
    because: "needs a systemd or a Docker daemon; the files that it copies are tested",
    count: 2,
  },
  {
    document: /^docs\/supabase/,
    language: /^(?:sql|ts ignore)$/,
    test: "tests/acting/supabase_guide_test.ts",
  },
  {
    document: /^(?:README|docs\/queries)/,
    language: shell,
    text: /^curl /,
    test: "tests/cli/command_line_test.ts",
  },
  {
    document: /^(?:README|docs\/hosts)/,
    language: /^json$/,
    test: "tests/repository/outside_test.ts",
  },
  {
    document: /^docs\/hosts/,
    language: /^ts ignore$/,
    text: /node-server/,
    test: "tests/hosts/hosts_test.ts",
  },
  {
    document: /^docs\/hosts/,
    language: shell,
    text: /^npm install @hono/,
    test: "tests/hosts/hosts_test.ts",
  },
  {
    document: /^docs\/hosts/,
    language: shell,
    text: /^npx resource-api/,
    test: "tests/hosts/npm_service.ts",
  },
  {
    document: /^docs\/hosts/,
    language: shell,
    text: /^(?:deno task npm-package|npx -y --package)/,
    test: "tests/hosts/npm_team.ts",
  },
  {
    document: /^docs\/configuration\/resource/,
    language: /^json$/,
    test: "tests/http/history_test.ts",
  },
  {
    document: /^docs\/contracts\/history/,
    language: /^sql$/,
    test: "tests/http/history_attacks_test.ts",
  },
  {
    document: /^docs\/proof-of-work/,
    language: shell,
    test: "tests/guard/pow_by_hand_test.ts",
  },
  {
    document: /^docs\/existing-databases/,
    language: /^sql$/,
    text: /event_trigger/,
    test: "tests/cli/reopen_test.ts",
  },
  {
    document: /^docs\/authentication/,
    language: shell,
    text: /^auth=/,
    test: "tests/identity/documented_test.ts",
  },
  {
    document: /^docs\/upgrading/,
    language: shell,
    because: "checks the project of the reader",
    count: 1,
  },
  {
    document: /^docs\/(?:performance|reliability)/,
    language: shell,
    because: "measures for minutes; the tasks and files exist, and their types are checked",
    count: 6,
  },
  {
    document: any,
    language: /^$/,
    because: "is a diagram, a grammar or a message of a table of rights, and no code",
    count: 8,
  },
];

const calls = callsOfBlock();

Deno.test("every code block of the documents is run by a test, or has a reason", () => {
  const faults: string[] = [];
  const counts = new Map<Rule, string[]>();
  const isCalled = calls.map(() => 0);
  for (const block of blocks) {
    const place = `${block.document}: ${block.text.split("\n", 1)[0]}`;
    const call = calls.findIndex(({ document, start }) =>
      document === block.document && block.text.startsWith(start)
    );
    if (call !== -1) {
      isCalled[call] = (isCalled[call] ?? 0) + 1;
      continue;
    }
    const rule = rules.find(({ document, language, text = any }) =>
      document.test(block.document) && language.test(block.language) && text.test(block.text)
    );
    if (rule === undefined) faults.push(`no rule: [${block.language}] ${place}`);
    else counts.set(rule, [...counts.get(rule) ?? [], place]);
  }
  for (const rule of rules) {
    const found = counts.get(rule) ?? [];
    if (found.length === 0) faults.push(`no block: ${rule.document} ${rule.language}`);
    if (rule.count !== undefined && rule.count !== found.length) {
      faults.push(`${found.length} blocks, not ${rule.count}: ${rule.because}`, ...found);
    }
  }
  for (const [index, { document, start }] of calls.entries()) {
    const once = calls.findIndex((one) => one.document === document && one.start === start);
    if (once === index && isCalled[index] !== 1) {
      faults.push(`${isCalled[index]} blocks of ${document} start with ${start}`);
    }
  }
  assertEquals(faults, []);
  const reasons = [...counts].flatMap(([{ because }, { length }]) =>
    because === undefined ? [] : [`${length} (${because})`]
  );
  const excepted = rules.reduce((sum, { count = 0 }) => sum + count, 0);
  console.log(`${blocks.length - excepted} of ${blocks.length} blocks are run; not run:`);
  for (const reason of reasons) console.log(`  ${reason}`);
});

Deno.test("the tests that run blocks of documents read these documents", () => {
  const missing = rules.flatMap(({ document, test }) => {
    if (test === undefined) return [];
    const text = Deno.readTextFileSync(root + test);
    const names = [...new Set(blocks.map((block) => block.document))]
      .filter((name) => document.test(name));
    const base = (name: string) => name.replace(/^.*\//, "").replace(/\.md$/, "");
    return text.includes('"docs"') || names.every((name) => text.includes(base(name)))
      ? []
      : [`${test}: ${names.join(", ")}`];
  });
  assertEquals(missing, []);
});

Deno.test("the benchmarks that the documents name are tasks and files", () => {
  const { tasks } = JSON.parse(Deno.readTextFileSync(`${root}deno.json`));
  const commands = blocks.filter(({ document }) => /performance|reliability/.test(document))
    .flatMap(({ text }) => text.match(/^deno (?:task \S+|run -A \S+)/gm) ?? []);
  assertEquals(commands.length > 30, true, `${commands.length} commands`);
  for (const command of commands) {
    const [, task] = /^deno task (\S+)/.exec(command) ?? [];
    const script = task === undefined ? command : tasks[task];
    const [, file = "nothing"] = /(\S+\.ts)$/.exec(script ?? "") ?? [];
    assertEquals(Deno.statSync(root + file).isFile, true, command);
  }
});

Deno.test("the calls that run a block are found in the text of a test", () => {
  const text = 'block("docs/x.md", "a\\n\\"b");\nblock(\n  "docs/y.md",\n  \'{\\n"c": 1\',\n);';
  assertEquals(callsOfBlock([text]), [
    { document: "docs/x.md", start: 'a\n"b' },
    { document: "docs/y.md", start: '{\n"c": 1' },
  ]);
});
