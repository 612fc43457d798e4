/** The pages of the documentation site and their order, read from the lists of the documents. */
import { dirname, join } from "node:path/posix";

/** An entry of the sidebar: a page, a heading with entries, or both. */
export interface NavigationEntry {
  readonly text: string;
  /** The path of the page's Markdown file in the repository. */
  readonly source?: string;
  readonly entries: NavigationEntry[];
}

/** Returns the text of a file of the repository. */
type Read = (source: string) => string;

const contents = "docs/README.md";

/**
 * Returns the sections of `docs/README.md` with their pages. If the `README.md` of a folder lists
 * further pages of the folder, these pages are below it. A page that two lists have is only in the
 * first.
 */
export function readNavigation(read: Read): readonly NavigationEntry[] {
  const sections: NavigationEntry[] = [];
  let group: NavigationEntry | undefined;
  for (const line of read(contents).split("\n")) {
    const [, heading, label] = /^## (.+)|^(\S.*):$/.exec(line) ?? [];
    if (heading !== undefined) {
      group = { text: heading, entries: [] };
      sections.push(group);
    } else if (label !== undefined) {
      group = { text: label, entries: [] };
      sections.at(-1)?.entries.push(group);
    }
    const entry = pageOf(line, contents);
    if (entry !== null) group?.entries.push(entry);
  }
  const listed = new Set(sourcesOf(sections));
  addFolders(sections, read, listed);
  return sections;
}

/** Adds to each `README.md` of a folder of `docs/` the pages of its list. */
function addFolders(entries: readonly NavigationEntry[], read: Read, listed: Set<string>): void {
  for (const { source, entries: below } of entries) {
    addFolders(below, read, listed);
    if (source === undefined || !/^docs\/.+\/README\.md$/.test(source)) continue;
    for (const line of read(source).split("\n")) {
      const page = pageOf(line, source);
      if (page?.source === undefined || listed.has(page.source)) continue;
      listed.add(page.source);
      below.push(page);
    }
  }
}

/** Returns the page that an entry of a list or the first cell of a row links to, or null. */
function pageOf(line: string, from: string): NavigationEntry | null {
  const [, text = "", target] = /^(?:- |\| )\[(.+?)\]\(([^)#]+\.md)\)/.exec(line) ?? [];
  return target === undefined
    ? null
    : { text: text.replaceAll("`", ""), source: join(dirname(from), target), entries: [] };
}

/** Returns the Markdown files of all pages, in the order of the navigation. */
export function sourcesOf(entries: readonly NavigationEntry[]): string[] {
  return entries.flatMap(({ source, entries }) => [
    ...(source === undefined ? [] : [source]),
    ...sourcesOf(entries),
  ]);
}

/**
 * Returns the path of a page in the site. `docs/` is the root of the site, and a `README.md` is the
 * index of its folder. The index of the site is the front page of the repository.
 */
export function pagePath(source: string): string {
  if (source === contents) return "documentation.md";
  const path = source.startsWith("docs/") ? source.slice("docs/".length) : source.toLowerCase();
  return path.replace(/(^|\/)readme\.md$/i, "$1index.md");
}
