import { buildRelease, commandPackages } from "../../dev/release.ts";
import { npmUnreachable } from "../support/npm_registry.ts";
import { scratchFolder } from "../support/scratch.ts";

/** A folder in which npm has installed the packages with commands, and more packages. */
export interface NpmFolder extends AsyncDisposable {
  readonly path: string;
}

/** Creates the folder, or returns why npm cannot install packages here. */
export async function npmFolder(
  packages: readonly string[] = [],
  { declarations = false } = {},
): Promise<NpmFolder | string> {
  const folder = await scratchFolder();
  try {
    await Deno.writeTextFile(`${folder.path}/package.json`, `{ "private": true }`);
    const packed = `${folder.path}/packed`;
    const archives = (await buildRelease(packed, commandPackages(declarations)))
      .map(({ filename }) => `${packed}/${filename}`);
    const flags = ["--prefer-offline", "--no-audit", "--no-fund", "--no-package-lock"];
    const { success, stderr } = await new Deno.Command("npm", {
      args: ["install", ...flags, ...archives, ...packages],
      cwd: folder.path,
    }).output();
    if (success) return folder;
    await folder[Symbol.asyncDispose]();
    const reason = new TextDecoder().decode(stderr);
    return await npmUnreachable() ?? Promise.reject(new Error(reason));
  } catch (error) {
    await folder[Symbol.asyncDispose]();
    if (error instanceof Deno.errors.NotFound) return "there is no npm";
    throw error;
  }
}
