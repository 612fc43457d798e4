/**
 * The tables of options in `docs/configuration.md`, from the description of the options: which
 * options there are, which are required, and their values unless set. What an option means is
 * written by hand and stays as it is; a new option gets a row with the values that it takes.
 *
 * `deno task docs:options` writes the document, `--check` only compares.
 */
import { serviceOptions } from "../src/app/config_options.ts";
import { openDatabaseOptions } from "../src/engines/open_driver.ts";
import { postgresOptions } from "../src/engines/postgres/driver/postgres_options.ts";
import type { Option } from "../src/options/option.ts";
import { resourceOptions } from "../src/resource/define/read_definition.ts";

type Members = Readonly<Record<string, Option<unknown>>>;

/** The chapters with tables of options, and what describes these. */
const chapters: readonly (readonly [title: string, described: Members])[] = [
  ["The service", membersOf(serviceOptions)],
  ["A resource", membersOf(resourceOptions)],
  ["Databases", { ...membersOf(openDatabaseOptions), ...membersOf(postgresOptions) }],
];

const path = new URL("../docs/configuration.md", import.meta.url).pathname;

/**
 * The document with its tables of options as they are described. Throws for a row of no option, and
 * for an option without a row where no table is there for one.
 */
export function withOptionTables(document: string): string {
  let text = document;
  for (const [title, described] of chapters) {
    const [before = "", rest] = text.split(`\n## ${title}\n`);
    if (rest === undefined) throw new Error(`There is no chapter "${title}"`);
    const end = rest.search(/^## /m);
    const chapter = end < 0 ? rest : rest.slice(0, end);
    const generated = chapterWith(chapter, described);
    text = `${before}\n## ${title}\n${generated}${rest.slice(chapter.length)}`;
  }
  return text;
}

/** The same string for a table whose columns are wider. */
export function tidy(document: string): string {
  return document.replaceAll(/ +\|/g, " |").replaceAll(/-{3,}/g, "---");
}

/** A section of a chapter, from its heading to the next one. */
interface Section {
  readonly lines: string[];
  /** The path of the options that its tables are about; null if that is no group. */
  readonly members: Members | null;
  readonly path: string;
}

function chapterWith(chapter: string, described: Members): string {
  const sections = chapter.split(/^(?=### )/m).map((text): Section => {
    const lines = text.split("\n");
    if (!text.startsWith("### ")) return { lines, members: described, path: "" };
    const [, path] = /^### `([\w.]+)`$/.exec(lines[0] ?? "") ?? [];
    return path === undefined
      ? { lines, members: null, path: "" }
      : { lines, members: membersAt(path.split("."), described), path };
  });
  const headings = new Set(sections.map(({ path }) => path));
  return sections.map((section) => sectionWith(section, headings)).join("");
}

function sectionWith({ lines, members, path }: Section, headings: ReadonlySet<string>): string {
  if (members === null) return lines.join("\n");
  const shown = new Set<string>();
  /** After the first table. */
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
    // Names of headers have capitals in documents.
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

/** Returns true if the first line of the table that a line is in has the title of options. */
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

/** The options inside of one: of a group its members, of several kinds those of each. */
function membersOf({ rules: { shape } }: Option<unknown>): Members {
  if (shape.kind === "group") return shape.members;
  if (shape.kind === "named" || shape.kind === "list") return membersOf(shape.each);
  if (shape.kind !== "either") return {};
  return Object.assign({}, ...shape.options.map(membersOf));
}

/** A table may also have the options inside of those that it is about. */
function descendant(name: string, members: Members): Option<unknown> | undefined {
  for (const option of Object.values(members)) {
    const below = membersOf(option);
    const found = below[name] ?? descendant(name, below);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** What stands in the column "unless set"; null if the description does not say it. */
function factOf({ rules: { isRequired, unlessSet, shape } }: Option<unknown>): string | null {
  if (unlessSet === undefined) return isRequired === true ? "required" : null;
  if (typeof unlessSet === "boolean") return `\`${unlessSet}\``;
  if (typeof unlessSet === "string") {
    return unlessSet === "" || shape.kind === "name"
      ? `\`${JSON.stringify(unlessSet)}\``
      : `\`${unlessSet}\``;
  }
  if (typeof unlessSet !== "number") return null;
  if (unlessSet === dayMs) return "a day";
  if (unlessSet > 0 && unlessSet % mebibyte === 0) return `${unlessSet / mebibyte} MiB`;
  const isPort = shape.kind === "number" && shape.to === 65_535;
  return isPort ? String(unlessSet) : unlessSet.toLocaleString("en-US");
}

const dayMs = 86_400_000;
const mebibyte = 1_048_576;

if (import.meta.main) {
  const current = Deno.readTextFileSync(path);
  const generated = withOptionTables(current);
  if (tidy(generated) !== tidy(current)) {
    if (Deno.args.includes("--check")) {
      console.error("docs/configuration.md: run deno task docs:options");
      Deno.exit(1);
    }
    Deno.writeTextFileSync(path, generated);
    const { success } = new Deno.Command(Deno.execPath(), { args: ["fmt", "-q", path] })
      .outputSync();
    Deno.exit(success ? 0 : 1);
  }
}
