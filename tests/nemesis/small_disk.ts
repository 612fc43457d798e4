/** Small file systems, which faults fill. */
import { sleep } from "../../src/runtime/runtime.ts";

/** Why no small file system can be mounted. */
export async function smallDisksAreMissing(): Promise<string | null> {
  const found = await mountSmallDisk().catch((error) => String(error));
  if (typeof found === "string") return found;
  await found[Symbol.asyncDispose]();
  return null;
}

/** A file system of few megabytes in memory. */
export async function mountSmallDisk(): Promise<AsyncDisposable & { readonly path: string }> {
  const path = await Deno.makeTempDir({ prefix: "resource-api-disk-" });
  await runProgram("mount", ["-t", "tmpfs", "-o", "size=64m", "tmpfs", path]);
  return {
    path,
    async [Symbol.asyncDispose]() {
      await runProgram("umount", ["-l", path]);
      await Deno.remove(path);
    },
  };
}

async function runProgram(program: string, args: readonly string[]): Promise<void> {
  const command = new Deno.Command(program, { args: [...args], stdin: "null", stdout: "null" });
  const { success, stderr } = await command.output();
  if (!success) throw new Error(`no ${program}: ${new TextDecoder().decode(stderr).trim()}`);
}

/** Fills a file system except for a few bytes, and keeps it full. */
export async function fill(folder: string, work: () => Promise<void>): Promise<void> {
  const path = `${folder}/filling`;
  using file = await Deno.open(path, { write: true, create: true });
  const full = Promise.withResolvers<void>();
  let isOver = false;
  const filling = (async () => {
    for (let size = 2 ** 20; !isOver;) {
      try {
        await file.write(new Uint8Array(size));
      } catch {
        // Halved until not even one page fits.
        if (size > 4_096) size /= 2;
        else {
          full.resolve();
          await sleep(5);
        }
      }
    }
  })();
  await full.promise;
  await work();
  isOver = true;
  await filling;
  await Deno.remove(path);
}
