import { root } from "../../repository/module_graph.ts";
import { scratchFolder } from "../../support/scratch.ts";

/** A program as a browser loads it, with everything that it imports; `/src/…` is this repository's. */
export async function bundledPage(program: string): Promise<string> {
  await using folder = await scratchFolder();
  const entry = `${folder.path}/page.ts`;
  await Deno.writeTextFile(
    entry,
    program.replaceAll(/from "\/(src|exports)\//g, `from "file://${root}$1/`),
  );
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["bundle", "--platform", "browser", "--no-check", entry],
    cwd: root,
  }).output();
  if (!success) throw new Error(new TextDecoder().decode(stderr));
  return new TextDecoder().decode(stdout);
}
