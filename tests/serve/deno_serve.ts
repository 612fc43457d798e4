/** An app under `deno serve`, which ends with its test. */
export interface DenoServe extends AsyncDisposable {
  readonly port: number;
}

/** Starts `deno serve` for a module, on the loopback and at a free port. */
export async function startDenoServe(module: string): Promise<DenoServe> {
  const process = new Deno.Command(Deno.execPath(), {
    args: ["serve", "-A", "--host", "127.0.0.1", "--port", "0", module],
    stderr: "piped",
    stdout: "piped",
    env: { NO_COLOR: "1" },
  }).spawn();
  let printed = "";
  let port = NaN;
  for await (const text of process.stderr.pipeThrough(new TextDecoderStream())) {
    printed += text;
    port = Number(/127\.0\.0\.1:(\d+)/.exec(printed)?.[1]);
    if (!Number.isNaN(port)) break;
  }
  return {
    port,
    async [Symbol.asyncDispose]() {
      process.kill();
      await process.stdout.cancel();
      await process.status;
    },
  };
}
