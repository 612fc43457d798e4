/** The files of examples/production and the project of docs/production.md, as the tests use them. */
import { runOrThrow } from "../support/debian_packages.ts";

export const root = new URL("../../", import.meta.url).pathname;
export const kit = `${root}examples/production/`;
export const guide = Deno.readTextFileSync(`${root}docs/production.md`);

/** The code blocks of a document in a language, in order. */
export function blocks(document: string, language: string): readonly string[] {
  const pattern = new RegExp(`^\`\`\`${language}\n([^]*?)^\`\`\``, "gm");
  return [...document.matchAll(pattern)].map(([, text = ""]) => text);
}

/** Writes the project of the guide into a folder, with what it needs of a clone of this package. */
export async function writeProject(folder: string): Promise<void> {
  const [configuration = ""] = blocks(guide, "json");
  const [config = "", main = ""] = blocks(guide, "ts ignore");
  await Deno.mkdir(`${folder}/resource-api/dashboard`, { recursive: true });
  await Deno.mkdir(`${folder}/resource-api/dev`);
  for (const path of ["mod.ts", "cli.ts", "deno.json", "exports", "src", "dev/std"]) {
    await runOrThrow("cp", ["-r", root + path, `${folder}/resource-api/${path}`], {});
  }
  await Deno.copyFile(
    `${root}dashboard/deno.json`,
    `${folder}/resource-api/dashboard/deno.json`,
  );
  // The versions that are there already: a test asks no registry for newer ones.
  await Deno.copyFile(`${root}deno.lock`, `${folder}/deno.lock`);
  await Deno.writeTextFile(`${folder}/deno.json`, configuration);
  await Deno.writeTextFile(`${folder}/service.config.ts`, config);
  await Deno.writeTextFile(`${folder}/main.ts`, main);
}

/** An instruction of a Dockerfile. */
export interface Instruction {
  readonly verb: string;
  readonly rest: string;
}

/** Reads a Dockerfile: one instruction a line, and a line that ends in a backslash continues. */
export function readDockerfile(name: string): readonly Instruction[] {
  const text = Deno.readTextFileSync(kit + name).replaceAll(/^#.*\n/gm, "")
    .replaceAll(/\\\n\s*/g, "");
  return text.trim().split("\n").map((line) => {
    const [, verb = "", rest = ""] = /^([A-Z]+) (.*)$/.exec(line) ?? [];
    return { verb, rest };
  });
}

/** The settings of a unit of systemd, in order; a line that ends in a backslash continues. */
export function readUnit(name: string): readonly (readonly [name: string, value: string])[] {
  const text = Deno.readTextFileSync(kit + name).replaceAll(/^#.*\n/gm, "")
    .replaceAll(/\\\n\s*/g, "");
  return [...text.matchAll(/^(\w+)=(.*)$/gm)].map(([, key = "", value = ""]) => [key, value]);
}
