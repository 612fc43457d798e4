/** What imports what, as Deno itself resolves it; and the files of the project. */

/** A module's imports: files of the project by path, everything else by its specifier. */
export interface ModuleImports {
  readonly files: readonly string[];
  /** Those of the files that are imported by a call, when it is reached. */
  readonly later: readonly string[];
  /** Those of the files of which only types are imported. */
  readonly types: readonly string[];
  /** `npm:postgres@^3.4.9`, `node:crypto`. */
  readonly packages: readonly string[];
}

/** The root of the project, ending in a slash. */
export const root: string = new URL("../../", import.meta.url).pathname;

/** The files that can be reached from outside: the exports of deno.json. */
export const exportedFiles: readonly string[] = Object.values(
  JSON.parse(Deno.readTextFileSync(`${root}deno.json`)).exports as Record<string, string>,
).map((path) => path.replace("./", ""));

/** The TypeScript files below the folder, as paths from the root. */
export function sourceFiles(folder: string): string[] {
  const found: string[] = [];
  for (const entry of Deno.readDirSync(root + folder)) {
    if (entry.name === "node_modules") continue;
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory) found.push(...sourceFiles(path));
    else if (path.endsWith(".ts")) found.push(path);
  }
  return found.sort();
}

/** Every file of the service with its imports, type-only ones included. */
export async function moduleGraph(): Promise<ReadonlyMap<string, ModuleImports>> {
  const files = [...new Set([...sourceFiles("src"), ...exportedFiles])];
  const entry = await Deno.makeTempFile({ suffix: ".ts" });
  try {
    await Deno.writeTextFile(
      entry,
      files.map((file) => `import "file://${root}${file}";`).join(""),
    );
    const command = new Deno.Command(Deno.execPath(), {
      args: ["info", "--json", "--no-lock", "--config", `${root}deno.json`, entry],
      stderr: "inherit",
    });
    const { stdout } = await command.output();
    const { modules }: { modules: InfoModule[] } = JSON.parse(new TextDecoder().decode(stdout));
    return new Map(
      modules.filter(({ specifier, error }) =>
        error === undefined && isOwn(specifier) && !isStandIn(specifier)
      )
        .map((module) => [ownPath(module.specifier), imports(module)]),
    );
  } finally {
    await Deno.remove(entry);
  }
}

/**
 * The files that a run can load from these: by import, or by a path in a literal, which is how
 * adapters are opened by URL scheme and workers are started.
 */
export function reachable(
  graph: ReadonlyMap<string, ModuleImports>,
  from: readonly string[],
): ReadonlySet<string> {
  const reached = new Set<string>();
  const waiting = [...from];
  for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
    if (reached.has(file) || !graph.has(file)) continue;
    reached.add(file);
    waiting.push(...graph.get(file)?.files ?? [], ...pathsInLiterals(file));
  }
  return reached;
}

/** `npm:/postgres@3.4.9/x.js` and `npm:postgres@^3` are both `postgres`; null for other schemes. */
export function packageName(specifier: string): string | null {
  return /^npm:\/?((?:@[^/]+\/)?[^@/]+)/.exec(specifier)?.[1] ?? null;
}

interface InfoModule {
  readonly specifier: string;
  /** Set where the file is missing, which is for the compiler to report. */
  readonly error?: string;
  readonly dependencies?: readonly {
    readonly specifier: string;
    readonly isDynamic?: boolean;
    readonly code?: { readonly specifier?: string };
    readonly type?: { readonly specifier?: string };
  }[];
}

function imports(module: InfoModule): ModuleImports {
  const files = new Set<string>();
  const later = new Set<string>();
  const types = new Set<string>();
  const packages = new Set<string>();
  for (const { specifier, isDynamic = false, code, type } of module.dependencies ?? []) {
    const target = code?.specifier ?? type?.specifier ?? specifier;
    if (isOwn(target) && !isStandIn(target)) {
      files.add(ownPath(target));
      if (isDynamic) later.add(ownPath(target));
      if (code === undefined) types.add(ownPath(target));
    } else packages.add(isStandIn(target) ? specifier : target);
  }
  return {
    files: [...files],
    later: [...later],
    types: [...types],
    packages: [...packages],
  };
}

function pathsInLiterals(file: string): string[] {
  const text = Deno.readTextFileSync(root + file);
  return [...text.matchAll(/["'`](\.{1,2}\/[\w./-]+\.ts)["'`]/g)]
    .map(([, path]) => ownPath(new URL(path ?? "", `file://${root}${file}`).href));
}

function isOwn(specifier: string): boolean {
  return specifier.startsWith(`file://${root}`);
}

/** The stand-ins for `@std/*` count as the packages they stand for. */
function isStandIn(specifier: string): boolean {
  return specifier.startsWith(`file://${root}dev/`);
}

function ownPath(specifier: string): string {
  return specifier.slice(`file://${root}`.length);
}
