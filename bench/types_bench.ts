/**
 * The time of `deno check` for programs over an `Api` of 200 resources with twelve fields each, and
 * for a program that only imports the client. The modules are cached. Each run has a different
 * text, because Deno remembers checked programs.
 */
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

const seconds = (ms: number) => `${(ms / 1000).toFixed(2)} s`;
console.log(`only the import: ${seconds(await median(small))}`);
for (const used of [1, 20, resources]) {
  const time = await median(manyResourcesProgram(resources, used));
  console.log(`${resources} resources, ${used} of them in four requests each: ${seconds(time)}`);
}
