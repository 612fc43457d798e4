import { countersName, instrument } from "./instrument.ts";

/** What the copy says about one of its files. */
export interface CopiedFile {
  /** The number of the file's first branch. */
  readonly from: number;
  /** The line of each branch. */
  readonly lines: readonly number[];
  /** The first branch of the function of each branch, as an index of `lines`. */
  readonly functions: readonly number[];
  /** The strings in the code of the file. */
  readonly words: readonly string[];
}

/** The content of `branches.json` in the copy. */
export interface BranchMap {
  /** The name of the global variable with the counters. */
  readonly counters: string;
  readonly count: number;
  readonly files: Readonly<Record<string, CopiedFile>>;
}

/** The root of the project, ending in a slash. */
const root = new URL("../../../", import.meta.url).pathname;

/** What the targets import. Each is a file or a folder at the root. */
const copied = ["deno.json", "deno.lock", "src", "tests/fuzz", "tests/filter", "dev/std"];

/**
 * Copies the project into a folder, with counters in each module of `src` that the entry imports.
 * The file `tests/fuzz/branches.json` of the copy contains a {@link BranchMap}.
 */
export async function instrumentedCopy(folder: string, entry: string): Promise<void> {
  for (const path of copied) await copy(root + path, `${folder}/${path}`);
  // The workspace of the configuration names this member, which has no part in fuzzing.
  await copy(`${root}dashboard/deno.json`, `${folder}/dashboard/deno.json`);
  const files: Record<string, CopiedFile> = {};
  let from = 0;
  for (const path of importedFiles(entry).filter((one) => one.startsWith("src/"))) {
    const { text, lines, functions, words } = instrument(
      await Deno.readTextFile(root + path),
      from,
    );
    await Deno.writeTextFile(`${folder}/${path}`, text);
    files[path] = { from, lines, functions, words };
    from += lines.length;
  }
  const map: BranchMap = { counters: countersName, count: from, files };
  await Deno.writeTextFile(`${folder}/tests/fuzz/branches.json`, JSON.stringify(map));
}

async function copy(from: string, to: string): Promise<void> {
  const { isDirectory } = await Deno.stat(from);
  if (!isDirectory) {
    await Deno.mkdir(to.slice(0, to.lastIndexOf("/")), { recursive: true });
    await Deno.copyFile(from, to);
    return;
  }
  for await (const { name } of Deno.readDir(from)) await copy(`${from}/${name}`, `${to}/${name}`);
}

const imports =
  /^(?:import|export)\b(?!\s+type\b)[^;'"]*?from\s+"(\.[^"]+)"|^import\s+"(\.[^"]+)"/gm;

/** Returns the files that a file imports when it is loaded, directly or not, and the file itself. */
export function importedFiles(entry: string): readonly string[] {
  const found = new Set<string>();
  const waiting = [entry];
  for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
    if (found.has(file)) continue;
    found.add(file);
    for (const [, path, plain] of Deno.readTextFileSync(root + file).matchAll(imports)) {
      const { pathname } = new URL(path ?? plain ?? "", `file:///${file}`);
      if (pathname.endsWith(".ts")) waiting.push(pathname.slice(1));
    }
  }
  return [...found].sort();
}
