import { scratchFolder } from "./scratch.ts";
import { freePort, untilListening } from "./ports.ts";

/** A KV Connect server of its own, on the loopback. */
export interface Denokv extends AsyncDisposable {
  readonly url: string;
  /** Ends it without a word. */
  kill(): Promise<void>;
  /** Starts it again, over what it has kept. */
  start(): Promise<void>;
  /** Asks until it is so. */
  untilAnswered(isSo: () => Promise<boolean>): Promise<void>;
}

const accessToken = "a token for the tests only";

/** Starts `denokv`, named by `DENOKV` or found on the `PATH`. */
export async function startDenokv(): Promise<Denokv> {
  const folder = await scratchFolder();
  const port = freePort();
  let server = spawn(folder.path, port);
  await untilListening(port);
  // Deno's client reads it when it opens a store.
  Deno.env.set("DENO_KV_ACCESS_TOKEN", accessToken);

  async function kill(): Promise<void> {
    server.kill("SIGKILL");
    await server.status;
  }
  return {
    url: `http://127.0.0.1:${port}`,
    kill,
    async start() {
      server = spawn(folder.path, port);
      await untilListening(port);
    },
    async untilAnswered(isSo) {
      while (!await isSo()) await new Promise((resolve) => setTimeout(resolve, 100));
    },
    async [Symbol.asyncDispose]() {
      await kill();
      await folder[Symbol.asyncDispose]();
    },
  };
}

const binary = findBinary();

/** Why it cannot be started; null where it can. */
startDenokv.missing = binary === null
  ? "denokv is not installed: put it on the PATH, or name it by DENOKV"
  : null;

function findBinary(): string | null {
  const named = Deno.env.get("DENOKV");
  if (named !== undefined) return named;
  const folders = (Deno.env.get("PATH") ?? "").split(":").filter((folder) => folder !== "");
  return folders.map((folder) => `${folder}/denokv`).find(isFile) ?? null;
}

function isFile(path: string): boolean {
  try {
    return Deno.statSync(path).isFile;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

function spawn(folder: string, port: number): Deno.ChildProcess {
  return new Deno.Command(binary ?? "denokv", {
    args: [
      ...["--sqlite-path", `${folder}/denokv.sqlite`, "serve"],
      ...["--access-token", accessToken, "--addr", `127.0.0.1:${port}`],
    ],
    stdin: "null",
    stdout: "null",
    stderr: "null",
  }).spawn();
}
