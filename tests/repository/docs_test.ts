import { assertEquals } from "@std/assert";
import { helpText } from "../../src/cli/arguments.ts";
import { builtInOperators } from "../../src/filter/operators/operator_registry.ts";
import { problemCodes, type ProblemSlug } from "../../src/protocol/problem_codes.ts";
import { problemExplanations, problemsToCome } from "../../src/protocol/problem_explanations.ts";
import { root, sourceFiles } from "./module_graph.ts";

Deno.test("docs/errors.md has a section for every problem, with the sentences that are served", () => {
  const sections = read("errors.md").split(/^## /m).slice(1);
  const shown = sections.map((section) => {
    const [slug = "", facts = "", explanation = ""] = section.trim().split(/\n\n/);
    return [slug, facts, explanation.replaceAll(/\s+/g, " ")];
  });
  // Object.keys of a table whose keys are the slugs.
  const slugs = Object.keys(problemCodes) as ProblemSlug[];
  assertEquals(
    shown,
    slugs.map((slug) => {
      const { status, title } = problemCodes[slug];
      const note = problemsToCome.has(slug) ? " Not answered by this version yet." : "";
      return [slug, `${status}, “${title}”.${note}`, problemExplanations[slug]];
    }),
  );
});

Deno.test("the problems that are said to be still to come are those that nothing throws", () => {
  const code = sourceFiles("src").filter((file) => !file.startsWith("src/protocol/"))
    .map((file) => Deno.readTextFileSync(root + file)).join("\n");
  const unused = Object.keys(problemCodes).filter((slug) => !code.includes(`"${slug}"`));
  assertEquals([...problemsToCome].sort(), unused.sort());
});

Deno.test("docs/filter.md describes every operator under each of its symbols", () => {
  const text = read("filter.md");
  const missing = builtInOperators.flatMap((operator) => operator.symbols)
    .filter((symbol) => !text.includes(`\`${symbol}\``));
  assertEquals(missing, []);
});

Deno.test("docs/configuration.md has a row or a heading for every option", async () => {
  const told = new Set(
    read("configuration.md").split("\n").flatMap((line) => {
      const [, subject = ""] = /^(?:\| (.*?) +\||#+ (.*))/.exec(line)?.filter(Boolean) ?? [];
      return [...subject.matchAll(/`(\w+)`/g)].map(([, option]) => option);
    }),
  );
  const options = await optionNames(["ServeConfig", "ResourceOptions", "OpenDatabaseOptions"]);
  assertEquals(options.includes("ListenOptions.stopDeadlineMs"), true, "inherited options count");
  assertEquals(options.filter((option) => !told.has(option.split(".")[1])), []);
});

Deno.test("docs/configuration.md has a row for every option of the command line", () => {
  const rows = read("configuration.md").match(/^\| `--.*?\|/gm)?.join() ?? "";
  const missing = [...helpText.matchAll(/^ .*?(--[a-z]+)/gm)].map(([, option = ""]) => option)
    .filter((option) => !rows.includes(`\`${option}\``));
  assertEquals(missing, []);
});

Deno.test("docs mention every header of this service's own", () => {
  const docs = documents("docs").map((path) => Deno.readTextFileSync(root + path)).join("\n")
    .toLowerCase();
  const headers = new Set<string>();
  for (const file of sourceFiles("src")) {
    const text = Deno.readTextFileSync(root + file);
    for (
      const [, name] of text.matchAll(/["'`]((?:service|idempotency|ratelimit)-?[\w-]*)["'`]/gi)
    ) {
      // A header's name has a hyphen or is RateLimit; `service` alone is a word.
      if (name !== undefined && /-|ratelimit$/i.test(name)) headers.add(name.toLowerCase());
    }
  }
  const codes: readonly string[] = Object.keys(problemCodes);
  const missing = [...headers].filter((name) => !codes.includes(name) && !docs.includes(name));
  assertEquals(missing, []);
});

/** The options of these interfaces and of the option bags that they name, as `Interface.option`. */
async function optionNames(start: readonly string[]): Promise<string[]> {
  const interfaces = await exportedInterfaces();
  const found: string[] = [];
  const seen = new Set<string>();
  const waiting = [...start];
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    const definition = interfaces.get(name);
    if (seen.has(name)) continue;
    seen.add(name);
    assertEquals(definition !== undefined, true, `there is an exported interface ${name}`);
    for (const member of [...definition?.properties ?? [], ...definition?.methods ?? []]) {
      found.push(`${name}.${member.name}`);
    }
    waiting.push(
      ...typeNames(definition).filter((other) => /(?:Options|Config|Capabilities)$/.test(other)),
    );
  }
  return found;
}

interface InterfaceDoc {
  readonly properties?: readonly { readonly name: string }[];
  readonly methods?: readonly { readonly name: string }[];
}

async function exportedInterfaces(): Promise<ReadonlyMap<string, InterfaceDoc>> {
  const { stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["doc", "--json", ...sourceFiles("src")],
    cwd: root,
    stderr: "inherit",
  }).output();
  const { nodes }: {
    nodes: Record<string, {
      symbols: { name: string; declarations: { kind: string; def: InterfaceDoc }[] }[];
    }>;
  } = JSON.parse(new TextDecoder().decode(stdout));
  return new Map(
    Object.values(nodes).flatMap(({ symbols }) => symbols).flatMap(({ name, declarations }) =>
      declarations.filter(({ kind }) => kind === "interface").map(({ def }) => [name, def] as const)
    ),
  );
}

/** Every type that is named anywhere in a piece of `deno doc`'s output. */
function typeNames(piece: unknown): string[] {
  if (typeof piece !== "object" || piece === null) return [];
  return Object.entries(piece).flatMap(([key, value]) =>
    key === "typeName" && typeof value === "string" ? [value] : typeNames(value)
  );
}

function documents(folder: string): string[] {
  return [...Deno.readDirSync(root + folder)].flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    return entry.isDirectory ? documents(path) : path.endsWith(".md") ? [path] : [];
  });
}

function read(document: string): string {
  return Deno.readTextFileSync(`${root}docs/${document}`);
}
