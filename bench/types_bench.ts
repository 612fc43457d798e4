/**
 * The time of `deno check` for programs over an `Api` of 200 resources with twelve fields each, and
 * for a program that only imports the client. The modules are cached. Each run has a different
 * text, because Deno remembers checked programs. Also the time of completions in an editor, over an
 * `Api` of 100 resources, by the language service of TypeScript after each change of the program.
 */
import ts from "typescript";
import { root } from "../tests/repository/module_graph.ts";
import { scratchFolder } from "../tests/support/scratch.ts";
import { manyResourcesProgram } from "../tests/types/client/many_resources.ts";

const runs = 5;
const resources = 200;
const small = {
  "main.ts": `import { createClient } from "@svc/resource-api/client"; createClient;\n`,
};

async function median(files: Readonly<Record<string, string>>): Promise<number> {
  await using folder = await scratchFolder();
  const imports = { "@svc/resource-api/client": `${root}exports/client.ts` };
  await Deno.writeTextFile(`${folder.path}/deno.json`, JSON.stringify({ imports }));
  const times: number[] = [];
  for (let run = 0; run <= runs; run++) {
    for (const [name, text] of Object.entries(files)) {
      await Deno.writeTextFile(`${folder.path}/${name}`, `${text}\n// ${run}\n`);
    }
    const start = performance.now();
    const { success, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["check", "--no-lock", "main.ts"],
      cwd: folder.path,
    }).output();
    if (!success) throw new Error(new TextDecoder().decode(stderr));
    // The first run downloads and prepares the modules, so it does not count.
    if (run > 0) times.push(performance.now() - start);
  }
  return times.sort((a, b) => a - b)[Math.floor(runs / 2)] ?? 0;
}

/** The places at which an editor asks for completions, in the text of a program. */
const places = {
  "api.": "api.",
  "select": 'api.things7.list({ select: ["',
  "filter": 'api.things7.list({ filter: "textField==x;',
  "include": 'api.things7.list({ include: ["parent.',
};

/** Measures completions of TypeScript's language service over an `Api` of 100 resources. */
function completions(): void {
  const program = manyResourcesProgram(100, 20);
  const texts = new Map([["/api.ts", program["api.ts"]], ["/main.ts", ""]]);
  let version = 0;
  const service = ts.createLanguageService({
    getCompilationSettings: () => ({
      ...{ strict: true, noEmit: true, allowImportingTsExtensions: true, types: [] },
      ...{ target: ts.ScriptTarget.ES2024, module: ts.ModuleKind.ESNext },
      ...{
        moduleResolution: ts.ModuleResolutionKind.Bundler,
        lib: ["lib.es2024.d.ts", "lib.dom.d.ts"],
      },
      paths: { "@svc/resource-api/client": [`${root}exports/client.ts`] },
    }),
    getScriptFileNames: () => [...texts.keys()],
    getScriptVersion: (file) => texts.has(file) ? `${version}` : "0",
    getScriptSnapshot: (file) => {
      const text = texts.get(file) ?? ts.sys.readFile(file);
      return text === undefined ? undefined : ts.ScriptSnapshot.fromString(text);
    },
    getCurrentDirectory: () => "/",
    getDefaultLibFileName: ts.getDefaultLibFilePath,
    fileExists: (file) => texts.has(file) || ts.sys.fileExists(file),
    readFile: (file) => texts.get(file) ?? ts.sys.readFile(file),
  });
  for (const [name, place] of Object.entries(places)) {
    const times: number[] = [];
    let count = 0;
    for (let run = 0; run <= runs; run++) {
      const before = `${program["main.ts"]}\n// ${run}\n${place}`;
      texts.set("/main.ts", before);
      version++;
      const start = performance.now();
      count = service.getCompletionsAtPosition("/main.ts", before.length, {})?.entries.length ?? 0;
      // The first run parses the libraries, so it does not count.
      if (run > 0) times.push(performance.now() - start);
    }
    const time = times.sort((a, b) => a - b)[Math.floor(runs / 2)] ?? 0;
    console.log(`completion after \`${name}\`: ${count} entries in ${time.toFixed(0)} ms`);
  }
}

completions();
const seconds = (ms: number) => `${(ms / 1000).toFixed(2)} s`;
console.log(`only the import: ${seconds(await median(small))}`);
for (const used of [1, 20, resources]) {
  const time = await median(manyResourcesProgram(resources, used));
  console.log(`${resources} resources, ${used} of them in four requests each: ${seconds(time)}`);
}
