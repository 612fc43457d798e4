import { assertEquals } from "@std/assert";
import { readPages } from "../../dev/docs_options.ts";
import { helpText } from "../../src/cli/help.ts";
import { serviceOptionRules } from "../../src/app/config.ts";
import { openDatabaseOptionRules } from "../../src/engines/open_driver.ts";
import { builtInOperators } from "../../src/filter/operators/operator_registry.ts";
import { passwordAuthOptionRules } from "../../src/identity/accounts/password_auth_options.ts";
import { jwtAuthOptionRules } from "../../src/identity/jwt/jwt_auth_options.ts";
import { apiKeyAuthOptionRules } from "../../src/identity/keys/api_keys.ts";
import type { Option } from "../../src/options/option.ts";
import { problemCodes, type ProblemSlug } from "../../src/protocol/problem_codes.ts";
import { futureProblems, problemExplanations } from "../../src/protocol/problem_explanations.ts";
import { resourceOptionRules } from "../../src/resource/define/check_resource_definition.ts";
import { everyOption } from "../options/wrong_values.ts";
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
      const note = futureProblems.has(slug) ? " Not answered by this version yet." : "";
      return [slug, `${status}, “${title}”.${note}`, problemExplanations[slug]];
    }),
  );
});

Deno.test("the problems that are said to be still to come are those that nothing throws", () => {
  const code = sourceFiles("src").filter((file) => !file.startsWith("src/protocol/"))
    .map((file) => Deno.readTextFileSync(root + file)).join("\n");
  const unused = Object.keys(problemCodes).filter((slug) => !code.includes(`"${slug}"`));
  assertEquals([...futureProblems].sort(), unused.sort());
});

Deno.test("docs/filter.md describes every operator under each of its symbols", () => {
  const text = read("filter.md");
  const missing = builtInOperators.flatMap((operator) => operator.symbols)
    .filter((symbol) => !text.includes(`\`${symbol}\``));
  assertEquals(missing, []);
});

Deno.test("docs/configuration has a row or a heading for every option", async () => {
  const told = new Set(
    [...readPages("service"), ...readPages("resource"), ...readPages("database")]
      .flatMap((page) => page.split("\n")).flatMap((line) => {
        const [, subject = ""] = /^(?:\| (.*?) +\||#+ (.*))/.exec(line)?.filter(Boolean) ?? [];
        return [...subject.matchAll(/`(\w+)`/g)].map(([, option]) => option);
      }),
  );
  const options = await optionNames(["ServeConfig", "ResourceOptions", "OpenDatabaseOptions"]);
  assertEquals(options.includes("ListenOptions.stopDeadlineMs"), true, "inherited options count");
  assertEquals(options.filter((option) => !told.has(option.split(".")[1])), []);
});

for (
  const [subject, description] of [
    ["service", serviceOptionRules],
    ["resource", resourceOptionRules],
    ["database", openDatabaseOptionRules],
  ] as const
) {
  Deno.test(`docs/configuration has the default and the names of every option: ${subject}`, () => {
    const sections = readPages(subject).flatMap((page) => page.split(/^## /m));
    const wrong = everyOption(description, {}).flatMap(({ path, option }) => {
      const told = textOf(sections, path).replaceAll("`", "").toLowerCase();
      const isTold = shownValues(option)
        .every((forms) => forms.some((form) => told.includes(form.toLowerCase())));
      return isTold ? [] : [`${path.join(".")}: ${told}`];
    });
    assertEquals(wrong, []);
  });
}

Deno.test("docs/authentication.md has a row for every option of the authenticators, with its default", () => {
  const text = read("authentication.md");
  const rows = text.split("\n").filter((line) => line.startsWith("| `"));
  const wrong = [
    passwordAuthOptionRules,
    jwtAuthOptionRules,
    apiKeyAuthOptionRules,
  ].flatMap((description) =>
    everyOption(description, {}).flatMap(({ path, option }) => {
      const own = rows.filter((row) => row.startsWith(`| \`${path.at(-1)}\` `));
      const told = own.join("\n").replaceAll("`", "").toLowerCase();
      const isTold = own.length > 0 &&
        shownValues(option).every((forms) =>
          forms.some((form) => told.includes(form.toLowerCase()))
        );
      return isTold ? [] : [path.join(".")];
    })
  );
  // Long lists of names, which the standards have; and the pages of links, in the row of these.
  const excused = ["algorithms", "algorithms.0", "links.verify", "links.reset"];
  assertEquals(wrong.filter((path) => !excused.includes(path)), []);
});

Deno.test("docs/authentication.md has every route of accounts, every mail and every event", () => {
  const text = read("authentication.md");
  const named = [
    ...literals("src/identity/accounts/account_routes.ts", /path: "(\/[\w/]+)"/g),
    ...literals("src/identity/accounts/mails.ts", /^ {2}\| "([\w-]+)"/gm),
    ...literals(
      "src/runtime/observations/account_facts.ts",
      /^ {2}(?:\| ")?([\w-]+)(?:";?$|: \{)/gm,
    ),
  ];
  assertEquals(named.length > 20, true, "they are found");
  assertEquals(named.filter((name) => !RegExp(`\`(?:POST )?${name}\``).test(text)), []);
});

function literals(file: string, pattern: RegExp): readonly string[] {
  return [...Deno.readTextFileSync(root + file).matchAll(pattern)].map(([, name = ""]) => name);
}

/** The row of an option, or its own section, or the row of its group. */
function textOf(sections: readonly string[], path: readonly string[]): string {
  const sectionOf = (group: readonly string[]) =>
    group.length === 0
      ? sections[0]
      : sections.find((one) => one.startsWith(`\`${group.join(".")}\`\n`));
  const group = path.slice(0, -1);
  const row = RegExp(`^\\| \`${path.at(-1)}\` .*(\\n\\| {3,}\\|.*)*`, "m");
  return sectionOf(group)?.match(row)?.[0] ?? sectionOf(path) ??
    (group.length === 0 ? "" : textOf(sections, group));
}

/** What a row must hold, each in one of several forms: its default, the names that it takes. */
function shownValues({ rules }: Option<unknown>): readonly (readonly string[])[] {
  const { shape, defaultValue } = rules;
  const names = shape.kind === "name" ? shape.names.map((name) => [name]) : [];
  if (defaultValue === undefined || typeof defaultValue === "object") return names;
  if (typeof defaultValue !== "number") return [...names, [String(defaultValue)]];
  return [...names, [
    defaultValue.toLocaleString("en-US"),
    String(defaultValue),
    ...(defaultValue % 1_048_576 === 0 ? [`${defaultValue / 1_048_576} MiB`] : []),
    ...(defaultValue === 86_400_000 ? ["a day"] : []),
  ]];
}

Deno.test("docs/configuration has a row for every option of the command line", () => {
  const rows = read("configuration/command-line.md").match(/^\| `--.*?\|/gm)?.join() ?? "";
  const missing = [...helpText.matchAll(/^ .*?(--[a-z-]+)/gm)].map(([, option = ""]) => option)
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
