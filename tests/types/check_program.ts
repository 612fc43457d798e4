import { dirname } from "node:path";
import { scratchFolder } from "../support/scratch.ts";
import { root } from "../repository/module_graph.ts";

/** What TypeScript reports about one place of a program. */
export interface TypeError {
  readonly file: string;
  readonly line: number;
  readonly column: number;
  /** All lines of the message, with its reasons and what is declared where. */
  readonly message: string;
}

/**
 * Checks a program that imports the package, as `deno check` does in a folder outside
 * the repository, and returns the errors; also those in the files of the package.
 */
export async function checkProgram(
  files: Readonly<Record<string, string>>,
  compilerOptions: Readonly<Record<string, unknown>> = {},
): Promise<readonly TypeError[]> {
  await using folder = await scratchFolder();
  const { exports }: { readonly exports: Readonly<Record<string, string>> } = JSON.parse(
    await Deno.readTextFile(`${root}deno.json`),
  );
  const imports = {
    ...Object.fromEntries(
      Object.entries(exports).map(([name, file]) => [
        name.replace(".", "@svc/resource-api"),
        file.replace("./", root),
      ]),
    ),
    "zod": "npm:zod@^4.0.0",
    "@hono/hono": "npm:hono@^4.13.0",
    "@hono/hono/": "npm:/hono@^4.13.0/",
  };
  const configuration = JSON.stringify({ imports, compilerOptions });
  await Deno.writeTextFile(`${folder.path}/deno.json`, configuration);
  // The versions that are there already: a test asks no registry for newer ones.
  await Deno.copyFile(`${root}deno.lock`, `${folder.path}/deno.lock`);
  for (const [file, text] of Object.entries(files)) {
    await Deno.mkdir(dirname(`${folder.path}/${file}`), { recursive: true });
    await Deno.writeTextFile(`${folder.path}/${file}`, text);
  }
  return await typeErrors(folder.path, Object.keys(files));
}

/** What `deno check` reports that runs in a folder with these arguments. */
export async function typeErrors(
  folder: string,
  args: readonly string[],
): Promise<readonly TypeError[]> {
  const { stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["check", ...args],
    cwd: folder,
    env: { NO_COLOR: "1" },
    stdout: "null",
    stderr: "piped",
  }).output();
  return parseErrors(new TextDecoder().decode(stderr), folder);
}

function parseErrors(output: string, folder: string): TypeError[] {
  const [first = "", ...blocks] = output.split(/^(?=TS\d+ \[ERROR\])/m);
  // Anything but a type error, such as an import that cannot be resolved.
  const failure = /^error:(?! Type checking failed).*/m.exec(first);
  if (failure !== null) throw new Error(failure[0]);
  return blocks.map((block) => {
    const [, file = "", line, column] = /^ {4}at file:\/\/(\S+):(\d+):(\d+)$/m.exec(block) ?? [];
    return {
      file: file.replace(`${folder}/`, ""),
      line: Number(line),
      column: Number(column),
      message: block,
    };
  });
}
