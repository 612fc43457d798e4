/** An app under `deno serve`, stopped with its test. */
export interface DenoServe extends AsyncDisposable {
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
): DenoServe {
  const process = new Deno.Command(Deno.execPath(), {
    args: ["serve", ...permissions, ...flags, "--host", "127.0.0.1", "--port", "0", module],
    stderr: "piped",
    stdout: "piped",
    env: { NO_COLOR: "1", ...env },
  }).spawn();
  let output = "";
  let grown = Promise.withResolvers<void>();
  const collect = async (stream: ReadableStream<Uint8Array>) => {
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
  return {
    port: async () => Number((await printed(/127\.0\.0\.1:(\d+)/))[1]),
    printed,
    output: () => output,
    async [Symbol.asyncDispose]() {
      if (!hasEnded) process.kill("SIGKILL");
      await process.status;
      await collected;
    },
  };
}
