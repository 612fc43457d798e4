/**
 * Writes figures that the code determines into documents: `<!--get-files-->55<!--/-->`. Each figure
 * is read from the file that defines it.
 *
 * `deno task docs:figures` writes the documents, `--check` only compares.
 */
const root = new URL("../", import.meta.url);

interface Source {
  readonly file: string;
  /** The pattern of the code. Its first group is the figure. */
  readonly pattern: RegExp;
  /** True to show bytes as kB with two digits. */
  readonly isSize?: true;
}

const sizes = "dev/client_sizes.ts";
const sizeOf = (entry: string): Source => ({
  file: sizes,
  pattern: new RegExp(`name: "${entry}",.*?limit: ([0-9_]+)`, "s"),
  isSize: true,
});

/** The names of the figures, and their places in the code. */
const sources: Readonly<Record<string, Source>> = {
  "get-files": { file: "dev/files_touched.ts", pattern: /GET: \{ files: (\d+)/ },
  "patch-files": { file: "dev/files_touched.ts", pattern: /PATCH: \{ files: (\d+)/ },
  "mod-names": { file: "tests/repository/public_api_test.ts", pattern: /maxNames = (\d+)/ },
  "folder-files": { file: "tests/repository/layering_test.ts", pattern: /files\.length > (\d+)/ },
  "file-lines": { file: "tests/repository/size_test.ts", pattern: /maxLinesOfFile = (\d+)/ },
  "function-lines": {
    file: "tests/repository/size_test.ts",
    pattern: /maxLinesOfFunction = (\d+)/,
  },
  "client-core": sizeOf("core"),
  "client-lists": sizeOf("with live lists"),
  "client-outbox": sizeOf("with live lists, shared tabs and the outbox"),
  "client-accounts": sizeOf("accounts, beside requests"),
  "client-collections": sizeOf("collections of TanStack DB, beside live lists"),
  "client-react": sizeOf("the binding to React, beside live lists"),
  "client-filters": sizeOf("evaluation of filters, loaded when a list with a filter needs it"),
  "client-solver": sizeOf("solver of proofs of work, loaded when it is needed"),
};

/** The documents with figures. */
export const documentsWithFigures: readonly string[] = [
  "CONTRIBUTING.md",
  "docs/architecture.md",
  "docs/client.md",
  "docs/style.md",
];

/** Returns the document with the figures of the code. Throws for an unknown name of a figure. */
export function withFigures(document: string): string {
  return document.replaceAll(
    /<!--([a-z-]+)-->[^<]*<!--\/-->/g,
    (_, name: string) => `<!--${name}-->${figureOf(name)}<!--/-->`,
  );
}

function figureOf(name: string): string {
  const source = sources[name];
  if (source === undefined) throw new Error(`There is no figure "${name}"`);
  const text = Deno.readTextFileSync(new URL(source.file, root));
  const [, figure] = source.pattern.exec(text) ?? [];
  if (figure === undefined) throw new Error(`${source.file} has no figure "${name}"`);
  return source.isSize ? (Number(figure.replaceAll("_", "")) / 1_000).toFixed(2) : figure;
}

if (import.meta.main) {
  for (const path of documentsWithFigures) {
    const current = Deno.readTextFileSync(new URL(path, root));
    const generated = withFigures(current);
    if (generated === current) continue;
    if (Deno.args.includes("--check")) {
      console.error(`${path}: run deno task docs:figures`);
      Deno.exit(1);
    }
    Deno.writeTextFileSync(new URL(path, root), generated);
  }
}
