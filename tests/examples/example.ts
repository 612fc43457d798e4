import { startProgram } from "../serve/deno_serve.ts";

const root = new URL("../../", import.meta.url).pathname;

/** What the comment at the head of an example says to try: a command, and what it prints. */
export interface Trial {
  readonly command: string;
  /** The lines of the comment below the command; `…` stands for anything. Null where none are. */
  readonly answer: string | null;
}

/** An example of `examples/`, as its head describes it. */
export interface Example {
  readonly name: string;
  /** Commands before the start: they fill a database, for example. */
  readonly preparation: readonly string[];
  /** The command that starts it: `deno run …` or `deno serve …`. */
  readonly start: string;
  /** Commands with which it is tried while it runs, in this order. */
  readonly trials: readonly Trial[];
}

/** The names of all examples; a page belongs to the one that serves it. */
export const exampleNames: readonly string[] = [...Deno.readDirSync(`${root}examples`)]
  .map(({ name }) => name).filter((name) => name.endsWith(".ts")).sort();

/** Reads the head of an example: commands are indented, and `# ` begins what they print. */
export function readExample(name: string): Example {
  const source = Deno.readTextFileSync(`${root}examples/${name}`);
  const [, head = ""] = /^\/\*\*([^]*?)\*\//.exec(source) ?? [];
  const lines = head.replaceAll(/\\\n \*\s*/g, "").split("\n")
    .flatMap((line) => /^ \* {5}(.*)$/.exec(line)?.[1] ?? []);
  let start = "";
  const preparation: string[] = [];
  const trials: Trial[] = [];
  for (const line of lines) {
    const last = trials.at(-1);
    if (!line.startsWith("# ")) {
      if (start === "" && /(?:^| )deno (?:run|serve) /.test(line)) start = line;
      else if (start === "") preparation.push(line);
      else trials.push({ command: line, answer: null });
    } else if (last !== undefined) {
      const answer = [last.answer, line.slice(2)].filter((part) => part !== null).join("\n");
      trials[trials.length - 1] = { ...last, answer };
    }
  }
  return { name, preparation, start, trials };
}

/** A running example. */
export interface RunningExample extends AsyncDisposable {
  readonly port: number;
  /** Resolves once what it prints matches. */
  printed(pattern: RegExp): Promise<RegExpExecArray>;
}

/** Where an example and its commands run, and at which port; a free one unless set. */
export interface RunOptions {
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly port?: number;
}

/** Starts an example by the command of its head, but for the port. */
export async function startExample(
  { start }: Example,
  { cwd, env = {}, port = 0 }: RunOptions,
): Promise<RunningExample> {
  const [, subcommand = "", rest = ""] = /deno (run|serve) (.*)$/.exec(start) ?? [];
  const listener = subcommand === "serve"
    ? ["--host", "127.0.0.1", "--port", String(port)]
    : ["--preload", `${root}tests/examples/listen_at_port.ts`];
  const words = rest.split(" ").map((word) => word.endsWith(".ts") ? root + word : word);
  // `deno serve` looks for it in the current folder, which is the root for a user.
  const config = ["--config", `${root}deno.json`];
  const server = startProgram([subcommand, ...config, ...listener, ...words], {
    cwd,
    env: { ...env, TEST_PORT: String(port) },
  });
  return {
    port: await server.port(),
    printed: server.printed,
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

/** Runs a command of a head as a shell does, and gives what it prints. */
export async function runCommand(
  command: string,
  { cwd, env = {}, port = 0 }: RunOptions,
): Promise<string> {
  const text = command.replaceAll(/127\.0\.0\.1:\d+/g, `127.0.0.1:${port}`)
    .replace(/^deno (.*?)examples\//, `${Deno.execPath()} $1${root}examples/`)
    .replace(/^curl /, "curl -sS ");
  const { success, stdout, stderr } = await new Deno.Command("sh", {
    args: ["-c", text],
    cwd,
    env: { NO_COLOR: "1", ...env, TEST_PORT: String(port) },
  }).output();
  if (!success) throw new Error(`${command}: ${new TextDecoder().decode(stderr)}`);
  return new TextDecoder().decode(stdout).trim();
}

/** Whether a text is the one that a head shows. */
export function matchesAnswer(text: string, answer: string): boolean {
  const pattern = answer.split("…").map((part) => RegExp.escape(part)).join("[^]*");
  return new RegExp(`^${pattern}$`).test(text);
}
