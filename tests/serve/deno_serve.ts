/** A listening program, for example an app under `deno serve`, stopped with its test. */
export interface Program extends AsyncDisposable {
  /** The port, once it listens. Fails where the process ends before. */
  port(): Promise<number>;
  /** Resolves once the output matches; fails where the process ends before. */
  printed(pattern: RegExp): Promise<RegExpExecArray>;
  /** Both outputs so far. */
  output(): string;
}

/** Permissions, flags and environment variables. */
export interface DenoServeOptions {
  /** Instead of all, `-A`. */
  readonly permissions?: readonly string[];
  readonly flags?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** Starts `deno serve` for a module, on the loopback and at a free port. */
export function startDenoServe(
  module: string,
  { permissions = ["-A"], flags = [], env = {} }: DenoServeOptions = {},
): Program {
  const listener = ["--host", "127.0.0.1", "--port", "0"];
  return startProgram(["serve", ...permissions, ...flags, ...listener, module], { env });
}

/** Starts `deno` with these arguments. */
export function startProgram(
  args: readonly string[],
  { env = {}, cwd }: { readonly env?: DenoServeOptions["env"]; readonly cwd?: string },
): Program {
  const process = new Deno.Command(Deno.execPath(), {
    args: [...args],
    stdin: "null",
    stderr: "piped",
    stdout: "piped",
    env: { NO_COLOR: "1", ...env },
    ...(cwd === undefined ? {} : { cwd }),
  }).spawn();
  let output = "";
  let grown = Promise.withResolvers<void>();
  const collect = async (stream: ReadableStream<Uint8Array<ArrayBuffer>>) => {
    for await (const text of stream.pipeThrough(new TextDecoderStream())) {
      output += text;
      grown.resolve();
      grown = Promise.withResolvers();
    }
  };
  const collected = Promise.all([collect(process.stdout), collect(process.stderr)]);
  let hasEnded = false;
  void collected.then(() => {
    hasEnded = true;
    grown.resolve();
  });
  const printed = async (pattern: RegExp) => {
    for (let match = pattern.exec(output);; match = pattern.exec(output)) {
      if (match !== null) return match;
      if (hasEnded) throw new Error(`It ended without printing ${pattern}: ${output}`);
      await grown.promise;
    }
  };
  const kill = (signal: Deno.Signal) => {
    try {
      process.kill(signal);
    } catch (error) {
      // It has ended, and its output is not read to the end yet.
      if (!(error instanceof TypeError)) throw error;
    }
  };
  return {
    port: async () => Number((await printed(/http:\/\/127\.0\.0\.1:(\d+)/))[1]),
    printed,
    output: () => output,
    async [Symbol.asyncDispose]() {
      if (!hasEnded) kill("SIGTERM");
      // Killed at once, it would not remove its temporary files.
      const killTimer = setTimeout(() => kill("SIGKILL"), 1_000);
      await process.status;
      clearTimeout(killTimer);
      await collected;
    },
  };
}
