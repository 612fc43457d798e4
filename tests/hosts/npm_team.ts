/** A project with the packed packages and without a registry, as docs/hosts.md says. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { startProgram } from "../serve/child_process.ts";

const guide = Deno.readTextFileSync(new URL("../../docs/hosts.md", import.meta.url));
const [, packing = "", using_ = ""] =
  /### Without a registry\n[^]*?```sh\n([^]*?)```[^]*?```sh\n([^]*?)```/.exec(guide) ?? [];

/** Checks that the tasks exist, and that the archives they write are those that npm installs. */
export function checkPackedNames(): void {
  const { tasks } = JSON.parse(
    Deno.readTextFileSync(new URL("../../deno.json", import.meta.url)),
  );
  const packed = [...packing.matchAll(/^deno task (\S+) +# \S+\/(\S+\.tgz)$/gm)];
  assertEquals(packed.map(([, task = ""]) => task in tasks), [true, true]);
  for (const [, , archive = ""] of packed) assert(using_.includes(`packages/${archive}`), archive);
}

/**
 * Runs the commands in a folder whose `packages/` has the archives: all of them, or those that
 * install nothing.
 */
export async function followTeamGuide(
  folder: string,
  { env = {}, isComplete }: {
    readonly env?: Readonly<Record<string, string>>;
    readonly isComplete: boolean;
  },
): Promise<void> {
  let cwd = folder;
  for (const command of using_.trim().split("\n")) {
    const [verb, target = ""] = command.split(" ");
    if (verb === "cd") {
      cwd = `${folder}/${target}`;
      continue;
    }
    if (!isComplete && /--prefix|run dev/.test(command)) continue;
    const program = isComplete ? command : command.replace(/^npx .* -- /, "../node_modules/.bin/")
      .replace("npm install", "npm install --package-lock-only --prefer-offline");
    await using child = startProgram(["sh", "-c", `exec ${program}`], {
      ...{ cwd, env, maxLifeMs: 120_000 },
    });
    if (/run dev$/.test(command)) await child.printed(/the page\n/);
    else assertEquals(await child.ended(), 0, `${command}: ${child.stdout()}${child.stderr()}`);
  }
  const { dependencies } = JSON.parse(await Deno.readTextFile(`${cwd}/package.json`));
  assertMatch(dependencies["resource-api"], /^file:\.\.\/packages\//);
}
