/**
 * The tables of options in `docs/configuration/`, from the description of the options: which options
 * there are, which are required, and their defaults. The meaning of an option is written by hand and
 * stays as it is. A new option gets a row with the values that it takes.
 *
 * `deno task docs:options` writes the documents, `--check` only compares.
 */
import { serviceOptionRules } from "../src/app/config.ts";
import { openDatabaseOptionRules } from "../src/engines/open_driver.ts";
import { postgresOptionRules } from "../src/engines/postgres/driver/postgres_options.ts";
import type { Option } from "../src/options/option.ts";
import { resourceOptionRules } from "../src/resource/define/check_resource_definition.ts";

type Members = Readonly<Record<string, Option<unknown>>>;

/** The pages with tables of options by their subject. The first page has the table of the subject. */
export const optionPages = {
  service: ["service.md", "key-value-store.md", "abuse-protection.md", "routes.md"],
  resource: ["resource.md", "relations.md", "procedures.md"],
  database: ["database.md"],
} as const;

type Subject = keyof typeof optionPages;

const described: Readonly<Record<Subject, Members>> = {
  service: membersOf(serviceOptionRules),
  resource: membersOf(resourceOptionRules),
  database: { ...membersOf(openDatabaseOptionRules), ...membersOf(postgresOptionRules) },
};

const subjects: readonly Subject[] = ["service", "resource", "database"];
const folder = new URL("../docs/configuration/", import.meta.url);

/** Returns the pages of a subject, in the order of `optionPages`. */
export function readPages(subject: Subject): readonly string[] {
  return optionPages[subject].map((page) => Deno.readTextFileSync(new URL(page, folder)));
}

/**
 * Returns the pages of a subject with their tables as the options are described. Throws for a row of
 * no option, and for an option without a row if no page has a table for the row.
 */
export function withOptionTables(subject: Subject, pages: readonly string[]): readonly string[] {
  const sections = pages.map((page) => sectionsOf(page, described[subject]));
  const headings = new Set(sections.flat().map(({ path }) => path));
  return sections.map((page) => page.map((section) => sectionWith(section, headings)).join(""));
}

/** Returns an equal string for tables that differ only in the widths of their columns. */
export function tidy(document: string): string {
  return document.replaceAll(/ +\|/g, " |").replaceAll(/-{3,}/g, "---");
}

/** A section of a page, from its heading to the next one. */
interface Section {
  readonly lines: string[];
  /** The options in the tables of the section; null if the section is about no group of options. */
  readonly members: Members | null;
  readonly path: string;
}

function sectionsOf(page: string, members: Members): readonly Section[] {
  return page.split(/^(?=## )/m).map((text): Section => {
    const lines = text.split("\n");
    if (!text.startsWith("## ")) return { lines, members, path: "" };
    const [, path] = /^## `([\w.]+)`$/.exec(lines[0] ?? "") ?? [];
    return path === undefined
      ? { lines, members: null, path: "" }
      : { lines, members: membersAt(path.split("."), members), path };
  });
}

function sectionWith({ lines, members, path }: Section, headings: ReadonlySet<string>): string {
  if (members === null) return lines.join("\n");
  const shown = new Set<string>();
  /** The index after the first table. */
  let end = -1;
  let hasDefaults = false;
  for (const [index, line] of lines.entries()) {
    const [first, second, ...others] = cellsOf(line);
    if (first === "option") hasDefaults = second === "unless set";
    const [, name] = /^`(\w+)`$/.exec(first ?? "") ?? [];
    if (name === undefined || !isInOptionTable(lines, index)) continue;
    const option = members[name] ?? descendant(name, members);
    if (option === undefined) throw new Error(`There is no option ${path} ${name}`);
    shown.add(name);
    const fact = hasDefaults ? factOf(option) : null;
    // Names of headers have capitals in documents but not in code.
    const isSaid = fact === null || fact.toLowerCase() === second?.toLowerCase();
    if (!isSaid) lines[index] = `| ${[first, fact, ...others].join(" | ")} |`;
    if (end < 0) end = lines.findIndex((line, at) => at > index && !line.startsWith("|"));
  }
  const missing = Object.entries(members).filter(([name]) =>
    !shown.has(name) && !headings.has(path === "" ? name : `${path}.${name}`)
  );
  if (missing.length > 0 && shown.size > 0) {
    const rows = missing.map(([name, option]) =>
      `| ${
        [`\`${name}\``, ...hasDefaults ? [factOf(option) ?? "none"] : [], option.rules.takes]
          .join(" | ")
      } |`
    );
    lines.splice(end, 0, ...rows);
  }
  return lines.join("\n");
}

function cellsOf(line: string): readonly string[] {
  return line.startsWith("|") ? line.split("|").slice(1, -1).map((cell) => cell.trim()) : [];
}

/** Returns true if the table that contains a line has the title of option tables. */
function isInOptionTable(lines: readonly string[], index: number): boolean {
  let first = index;
  while (lines[first - 1]?.startsWith("|")) first--;
  return cellsOf(lines[first] ?? "")[0] === "option";
}

function membersAt([name, ...rest]: readonly string[], members: Members): Members | null {
  const option = name === undefined ? undefined : members[name];
  if (option === undefined) throw new Error(`There is no option ${name}`);
  const below = membersOf(option);
  return rest.length === 0
    ? (Object.keys(below).length === 0 ? null : below)
    : membersAt(rest, below);
}

/** Returns the options inside an option: the members of a group, or those of each alternative. */
function membersOf({ rules: { shape } }: Option<unknown>): Members {
  if (shape.kind === "group") return shape.members;
  if (shape.kind === "named" || shape.kind === "list") return membersOf(shape.each);
  if (shape.kind !== "either") return {};
  return Object.assign({}, ...shape.options.map(membersOf));
}

/** Finds a nested option, because a table may also contain options of its options. */
function descendant(name: string, members: Members): Option<unknown> | undefined {
  for (const option of Object.values(members)) {
    const below = membersOf(option);
    const found = below[name] ?? descendant(name, below);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Returns the cell for the column "unless set", or null if the description has no such fact. */
function factOf({ rules: { isRequired, defaultValue, shape } }: Option<unknown>): string | null {
  if (defaultValue === undefined) return isRequired === true ? "required" : null;
  if (typeof defaultValue === "boolean") return `\`${defaultValue}\``;
  if (typeof defaultValue === "string") {
    return defaultValue === "" || shape.kind === "name"
      ? `\`${JSON.stringify(defaultValue)}\``
      : `\`${defaultValue}\``;
  }
  if (typeof defaultValue !== "number") return null;
  if (defaultValue === dayMs) return "a day";
  if (defaultValue > 0 && defaultValue % mebibyte === 0) return `${defaultValue / mebibyte} MiB`;
  const isPort = shape.kind === "number" && shape.to === 65_535;
  return isPort ? String(defaultValue) : defaultValue.toLocaleString("en-US");
}

const dayMs = 86_400_000;
const mebibyte = 1_048_576;

if (import.meta.main) {
  for (const subject of subjects) {
    const current = readPages(subject);
    for (const [index, generated] of withOptionTables(subject, current).entries()) {
      if (tidy(generated) === tidy(current[index] ?? "")) continue;
      const page = new URL(optionPages[subject][index] ?? "", folder).pathname;
      if (Deno.args.includes("--check")) {
        console.error(`${page}: run deno task docs:options`);
        Deno.exit(1);
      }
      Deno.writeTextFileSync(page, generated);
      const { success } = new Deno.Command(Deno.execPath(), { args: ["fmt", "-q", page] })
        .outputSync();
      if (!success) Deno.exit(1);
    }
  }
}
