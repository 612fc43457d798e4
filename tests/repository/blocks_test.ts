/**
 * Every fenced block of README.md and docs/ is run by a test, or read by this check, or excepted
 * with a reason. A new block that matches no rule fails the check.
 */
import { assertEquals } from "@std/assert";
import { stop, transform } from "esbuild";
import { parseArguments } from "../../src/cli/arguments.ts";
import { root } from "./module_graph.ts";

interface Block {
  readonly document: string;
  readonly language: string;
  readonly text: string;
}

/** The first rule that matches a block says by what the block is run. */
interface Rule {
  readonly document: RegExp;
  readonly language: RegExp;
  readonly text?: RegExp;
  /** The test that takes the block from the document and runs it. */
  readonly test?: string;
  /** Reads the block: its syntax, and names that exist. Returns what is wrong, or null. */
  readonly read?: (block: Block) => string | null | Promise<string | null>;
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
  {
    document: RegExp(`guides/${guides}`),
    language: /^ts ignore$/,
    text: /^\/\/ (?:PocketBase|supabase-js)/,
    read: readFragment,
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
    document: /^docs\/existing-databases/,
    language: /^(?:sql|sh)$/,
    because: "needs functions and tables of the reader; tests/db/functions has the same requests",
    count: 3,
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
  { document: any, language: shell, read: commandsOf },
  { document: any, language: /^json$/, read: readJson },
  { document: any, language: /^(?:ts|tsx|js) ignore$/, read: readFragment },
  {
    document: any,
    language: /^$/,
    because: "is a diagram, a grammar, a header or an output, and no code",
    count: 12,
  },
  { document: any, language: /^html$/, because: "is a part of a page", count: 1 },
  { document: any, language: /^sql$/, because: "is a part of a script of the reader", count: 2 },
];

// esbuild starts a process at the first call, and not in a test.
await transform("");
Deno.test.afterAll(() => stop());

const blocks = documentsBelow("docs").concat("README.md").toSorted().flatMap(blocksOf);

Deno.test("every code block of the documents is run by a test, is read here, or has a reason", async () => {
  const faults: string[] = [];
  const counts = new Map<Rule, string[]>();
  for (const block of blocks) {
    const place = `${block.document}: ${block.text.split("\n", 1)[0]}`;
    const rule = rules.find(({ document, language, text = any }) =>
      document.test(block.document) && language.test(block.language) && text.test(block.text)
    );
    if (rule === undefined) faults.push(`no rule: [${block.language}] ${place}`);
    else counts.set(rule, [...counts.get(rule) ?? [], place]);
    const fault = await rule?.read?.(block);
    if (typeof fault === "string") faults.push(`${place}: ${fault}`);
  }
  for (const rule of rules) {
    const found = counts.get(rule) ?? [];
    if (found.length === 0) faults.push(`no block: ${rule.document} ${rule.language}`);
    if (rule.count !== undefined && rule.count !== found.length) {
      faults.push(`${found.length} blocks, not ${rule.count}: ${rule.because}`, ...found);
    }
  }
  assertEquals(faults, []);
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

Deno.test("a misspelt command, task, fragment or export in a document is found", async () => {
  const block = (text: string) => ({ document: "docs/x.md", language: "sh", text });
  assertEquals(
    [
      commandsOf(block("deno run -A cli.ts shop.db --wirte")),
      commandsOf(block("deno task benhc:http")),
      commandsOf(block("rm x")),
      await readFragment(block("const a = ;")),
      await readFragment(block('import { eqq } from "@svc/resource-api";')),
      readJson(block("{ a: 1 }")),
    ].filter((fault) => fault === null),
    [],
  );
});

function documentsBelow(folder: string): readonly string[] {
  return [...Deno.readDirSync(root + folder)].flatMap(({ name, isDirectory }) => {
    const path = `${folder}/${name}`;
    return isDirectory ? documentsBelow(path) : path.endsWith(".md") ? [path] : [];
  });
}

function blocksOf(document: string): readonly Block[] {
  const pattern = /^( *)```([^\n]*)\n([^]*?)^\1```$/gm;
  return [...Deno.readTextFileSync(root + document).matchAll(pattern)]
    .map(([, indent = "", language = "", text = ""]) => ({
      ...{ document, language, text: text.replaceAll(RegExp(`^${indent}`, "gm"), "").trim() },
    }));
}

const tasks = ["deno.json", "examples/starter/deno.json"]
  .map((path) => JSON.parse(Deno.readTextFileSync(root + path)).tasks);

/** Returns the first command of a block that cannot be run as it is written, or null. */
function commandsOf({ text }: Block): string | null {
  const lines = text.replaceAll(/\\\n\s*/g, "").split("\n")
    .map((line) => line.replace(/(?:^| +)# .*$/, "").replace(/ > \S+$/, "").trim())
    .filter((line) => line !== "");
  return lines.map(faultOfCommand).find((fault) => fault !== null) ?? null;
}

function faultOfCommand(line: string): string | null {
  const command = line.replace(/^(?:\w+=\S* )?(?:npx -y deno@[\d.]+|deno) /, "deno ");
  const [, file, rest = ""] = /^deno run -A (?:resource-api\/)?(\S+\.ts)(.*)$/.exec(command) ?? [];
  if (file === "cli.ts") {
    const words = (rest.match(/'[^']*'|"[^"]*"|\S+/g) ?? [])
      .map((word) => word.replaceAll(/^['"]|['"]$/g, ""));
    const parsed = parseArguments(words);
    return parsed.kind === "misused" ? `${line}: ${parsed.message}` : null;
  }
  if (file !== undefined) return Deno.statSync(root + file).isFile ? null : line;
  const [, task] = /^deno task (\S+)/.exec(command) ?? [];
  if (task !== undefined) return tasks.some((one) => Object.hasOwn(one, task)) ? null : line;
  const isKnown = /^(?:kill (?:-HUP )?\$pid|export \w+=\S+|npm --prefix web run build)$/.test(line);
  return isKnown ? null : `${line}: no rule says what runs this command`;
}

function readJson({ text }: Block): string | null {
  try {
    JSON.parse(text);
    return null;
  } catch (error) {
    return String(error);
  }
}

/** Reads a fragment of a program, or of an object, and the names that it imports. */
async function readFragment(block: Block): Promise<string | null> {
  const text = block.text.replaceAll("…", "undefined");
  const imports = text.matchAll(/import (?:type )?\{([^}]*)\} from "@svc\/resource-api([\w/-]*)"/g);
  for (const [, names = "", subpath = ""] of imports) {
    const file = subpath === "" ? "mod.ts" : `exports${subpath.replaceAll("-", "_")}.ts`;
    const exported = Deno.readTextFileSync(root + file);
    for (const name of names.split(",").map((one) => one.trim().replace(/^type | as .*$/g, ""))) {
      if (!RegExp(`\\b${name}\\b`).test(exported)) return `${file} does not export ${name}`;
    }
  }
  const options = { loader: "tsx", logLevel: "silent" } as const;
  try {
    await transform(text, options);
    return null;
  } catch (error) {
    const isObject = await transform(`({${text}\n})`, options).then(() => true, () => false);
    return isObject ? null : String(error);
  }
}
