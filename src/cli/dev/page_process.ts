import type { Clock } from "../../runtime/runtime.ts";
import { pathExists } from "../path_exists.ts";

export async function startPage(folder: string, clock: Clock) {
  if (!await pathExists(`${folder}/node_modules`)) {
    console.log(`${prefix}run  npm --prefix ${folder} install  and dev again to start the page`);
    return null;
  }
  await lockPage(folder);
  const port = findFreePort();
  const address = ["--host", "127.0.0.1", "--port", String(port), "--strictPort"];
  // Without these options, Vite prints its own address. The page has the service's address.
  const quiet = ["--clearScreen=false", "--logLevel=warn"];
  const args = ["run", "--silent", "dev", "--", ...address, ...quiet];
  const child = new Deno.Command(isWindows ? "npm.cmd" : "sh", {
    args: isWindows ? args : ["-c", endsWithParent, "sh", "npm", ...args],
    cwd: folder,
    env: { VITE_PORT: String(port), CI: "" },
    ...{ stdin: "piped", stdout: "piped", stderr: "piped" },
    // In a separate process group, a signal to the group also stops the children of npm.
    detached: !isWindows,
  }).spawn();
  void printLines(child.stdout, console.log);
  void printLines(child.stderr, console.error);
  let hasEnded = false;
  void child.status.then(({ code }) => {
    if (!hasEnded) console.error(`${prefix}npm run dev has ended with ${code}`);
    hasEnded = true;
  });
  // Waits until Vite listens, because a page that is opened earlier would show an error.
  while (!hasEnded && !await accepts(port)) {
    await new Promise<void>((resolve) => clock.after(50, resolve));
  }
  return {
    url: `http://127.0.0.1:${port}`,
    stop() {
      if (hasEnded) return;
      hasEnded = true;
      if (isWindows) child.kill();
      else Deno.kill(-child.pid, "SIGTERM");
    },
  };
}

/** Locks the page until this process ends, so that a second `dev` fails with a clear message. */
async function lockPage(folder: string): Promise<void> {
  const path = `${folder}/node_modules/.resource-api-dev`;
  const file = await Deno.open(path, { create: true, write: true });
  if (await file.tryLock(true)) return;
  file.close();
  throw new Error(`Cannot run dev: another dev already runs with the page in ${folder}: stop it`);
}

/** A shell script: runs its arguments, and ends its process group when its input ends. */
const endsWithParent = `exec 3<&0; { cat <&3 >/dev/null; kill 0; } & "$@" 3<&-
  code=$?; kill $!; exit $code`;

const prefix = "web │ ";

const isWindows = Deno.build.os === "windows";

function findFreePort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return listener.addr.port;
}

async function accepts(port: number): Promise<boolean> {
  try {
    (await Deno.connect({ hostname: "127.0.0.1", port })).close();
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.ConnectionRefused) return false;
    throw error;
  }
}

async function printLines(
  stream: ReadableStream<Uint8Array<ArrayBuffer>>,
  print: (line: string) => void,
): Promise<void> {
  let rest = "";
  for await (const text of stream.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) print(prefix + line);
  }
  if (rest !== "") print(prefix + rest);
}
