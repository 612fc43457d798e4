/** Child processes of tests: their output is collected, and none outlives its test. */
import { diskFolder } from "../support/disk.ts";

export interface ChildOptions {
  readonly cwd?: string;
  /** The most file descriptors that the child may have, also as `-S 64`: the soft limit alone. */
  readonly descriptors?: number | `-S ${number}`;
  /** A program that starts another one, with its arguments: it is given the command of the child. */
  readonly startedBy?: readonly string[];
  /** Instead of all, `-A`. */
  readonly permissions?: readonly string[];
  /** Environment variables beside those of the test. */
  readonly env?: Readonly<Record<string, string>>;
  /** How long it may live; half a minute unless set. */
  readonly maxLifeMs?: number;
}

export interface Child extends AsyncDisposable {
  readonly pid: number;
  /** The standard output so far. */
  stdout(): string;
  stderr(): string;
  /** Resolves once the standard output matches; throws with all output when it ends before. */
  printed(pattern: RegExp): Promise<RegExpExecArray>;
  /** The same of the standard error, which has to match so often. */
  logged(pattern: RegExp, count?: number): Promise<void>;
  /** Sends a signal, by default SIGTERM. */
  signal(name?: Deno.Signal): void;
  /** The exit code, once the process has ended by itself. */
  ended(): Promise<number>;
}

/** Starts `deno run` with these arguments, by default with all permissions. */
export function startChild(args: readonly string[], options: ChildOptions = {}): Child {
  const { descriptors, startedBy = [], permissions = ["-A"] } = options;
  const limited = descriptors === undefined
    ? []
    : ["sh", "-c", `ulimit -n ${descriptors}; exec "$@"`, "sh"];
  const command = [...limited, ...startedBy, Deno.execPath(), "run", ...permissions, ...args];
  return startProgram(command, options);
}

/** Starts any program. `ended()` resolves once all processes that print to its output have ended. */
export function startProgram(
  [program = "", ...rest]: readonly string[],
  options: Pick<ChildOptions, "cwd" | "permissions" | "env" | "maxLifeMs"> = {},
): Child {
  const { maxLifeMs = 30_000 } = options;
  const process = new Deno.Command(program, {
    args: rest,
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
    env: {
      NO_COLOR: "1",
      ...(options.permissions !== undefined && { TMPDIR: diskFolder }),
      ...options.env,
    },
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
  }).spawn();
  const stdout = collect(process.stdout);
  const stderr = collect(process.stderr);
  let hasEnded = false;
  process.status.then(() => hasEnded = true);
  // A child that hangs is killed, so that its test fails.
  const limit = setTimeout(() => hasEnded || process.kill("SIGKILL"), maxLifeMs);

  async function ended(): Promise<number> {
    const { code } = await process.status;
    await Promise.all([stdout.done, stderr.done]);
    clearTimeout(limit);
    return code;
  }

  return {
    pid: process.pid,
    stdout: () => stdout.text(),
    stderr: () => stderr.text(),
    async printed(pattern) {
      for await (const text of stdout.growth()) {
        const match = pattern.exec(text);
        if (match !== null) return match;
      }
      throw new Error(`It ended without printing ${pattern}:\n${stdout.text()}${stderr.text()}`);
    },
    async logged(pattern, count = 1) {
      for await (const text of stderr.growth()) {
        if (text.split(pattern).length > count) return;
      }
      throw new Error(`It ended without ${count} × ${pattern}:\n${stdout.text()}${stderr.text()}`);
    },
    signal: (name = "SIGTERM") => process.kill(name),
    ended,
    async [Symbol.asyncDispose]() {
      // By a SIGTERM a service would drain for seconds, and killed at once it would not remove its
      // temporary files.
      if (!hasEnded) process.kill("SIGINT");
      const killTimer = setTimeout(() => hasEnded || process.kill("SIGKILL"), 3_000);
      await ended();
      clearTimeout(killTimer);
    },
  };
}

/** Runs to the end and returns the output. */
export async function runChild(
  args: readonly string[],
  options: ChildOptions = {},
): Promise<{ code: number; stdout: string; stderr: string }> {
  await using child = startChild(args, options);
  const code = await child.ended();
  return { code, stdout: child.stdout(), stderr: child.stderr() };
}

interface Collected {
  text(): string;
  /** The whole text, each time it has grown. */
  growth(): AsyncIterable<string>;
  readonly done: Promise<void>;
}

function collect(stream: ReadableStream<Uint8Array<ArrayBuffer>>): Collected {
  let text = "";
  let finished = false;
  let grown = Promise.withResolvers<void>();
  async function read(): Promise<void> {
    for await (const piece of stream.pipeThrough(new TextDecoderStream())) {
      text += piece;
      grown.resolve();
      grown = Promise.withResolvers();
    }
    finished = true;
    grown.resolve();
  }
  return {
    text: () => text,
    done: read(),
    async *growth() {
      yield text;
      while (!finished) {
        await grown.promise;
        yield text;
      }
    },
  };
}
