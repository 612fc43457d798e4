/** Runs blocks of commands of the command line, in a folder that has what they name. */
import { assertEquals } from "@std/assert";
import { parseArguments } from "../../src/cli/arguments.ts";
import { root } from "../repository/module_graph.ts";
import { type Child, startProgram } from "../serve/child_process.ts";

export interface CommandsOptions {
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
  /** What the commands name, and what the test has in its place: addresses and keys. */
  readonly replace?: Readonly<Record<string, string>>;
  /**
   * True if all commands run in one process: loading the program takes longer than most of them.
   * They must load no configuration, which a process loads once.
   */
  readonly isOneProcess?: boolean;
  /** Called with each service that a command has started, which is then stopped. */
  readonly onService?: (url: string, child: Child) => void | Promise<void>;
}

/** The commands of a block, one a line, without comments. */
export function commandsOf(text: string): readonly string[] {
  return text.replaceAll(/\\\n\s*/g, "").split("\n")
    .map((line) => line.replace(/(?:^| +)# .*$/, "").trim())
    .filter((line) => line !== "");
}

/** The text that a block shows below its commands, as comments. */
export function shownBy(text: string): string {
  return [...text.matchAll(/^# (.*)$/gm)].map(([, line]) => line).join("\n");
}

/** Runs each command, which must succeed, and returns what each has printed. */
export async function runCommands(
  text: string,
  options: CommandsOptions,
): Promise<readonly string[]> {
  if (options.isOneProcess === true) {
    const list = commandsOf(text).map((command) => wordsOf(replaced(command, options)) ?? []);
    return await runInOneProcess(list, options);
  }
  const printed: string[] = [];
  for (const command of commandsOf(text)) {
    const { code, output } = await runCommand(command, options);
    assertEquals(code, 0, `${command}\n${output}`);
    printed.push(output);
  }
  return printed;
}

async function runInOneProcess(
  list: readonly (readonly string[])[],
  { cwd, env = {} }: CommandsOptions,
): Promise<readonly string[]> {
  const program = `${root}tests/documents/command_process.ts`;
  const script = 'exec "$0" run -A "$@" 2>&1';
  const args = [Deno.execPath(), program, JSON.stringify(list)];
  await using child = startProgram(["sh", "-c", script, ...args], {
    cwd,
    env: { SERVICE_SECRET: "a secret for the tests only", ...env },
  });
  await child.ended();
  const outputs = child.stdout().split(/^exit code (\d+)\n/m);
  const codes = outputs.filter((_output, index) => index % 2 === 1);
  assertEquals(codes, list.map(() => "0"), child.stdout());
  return list.map((_words, index) => (outputs[2 * index] ?? "").trim());
}

/** Runs a command until it ends, or a service until it listens. */
export async function runCommand(
  command: string,
  options: CommandsOptions,
): Promise<{ readonly code: number; readonly output: string }> {
  const { cwd, env = {}, onService } = options;
  const text = replaced(command, options);
  const words = wordsOf(text.replace(/^\w+=\S+ /, "").replace(/ > \S+$/, ""));
  const isService = words !== null && kindOf(words, command) === "serve";
  const script = text.replace(/\bdeno (run -A )/, `exec ${Deno.execPath()} $1`)
    .replace(/^(\w+=\S+) exec /, "export $1; exec ")
    .replace(/ (?=(?:cli\.ts|examples\/\S+\.ts)(?: |$))/, ` ${root}`) +
    (isService ? " --port 0" : "");
  await using child = startProgram(["sh", "-c", script], {
    cwd,
    env: { SERVICE_SECRET: "a secret for the tests only", ...env },
  });
  if (isService) {
    const [, url = ""] = await child.printed(/(http:\/\/127\.0\.0\.1:\d+)\/healthz/);
    await onService?.(url, child);
    return { code: 0, output: child.stdout() };
  }
  const code = await child.ended();
  return { code, output: (child.stdout() + child.stderr()).trim() };
}

function replaced(command: string, { replace = {} }: CommandsOptions): string {
  let text = command.replace(/^npx -y deno@[\d.]+ /, "deno ");
  for (const [from, to] of Object.entries(replace)) text = text.replaceAll(from, to);
  return text;
}

/** The arguments of `cli.ts`, as a shell reads them; null for another command. */
function wordsOf(text: string): readonly string[] | null {
  const [, rest] = /^deno run -A cli\.ts((?: [^>]*)?)$/.exec(text) ?? [];
  if (rest === undefined) return null;
  return (rest.match(/'[^']*'|"[^"]*"|\S+/g) ?? [])
    .map((word) => word.replaceAll(/^['"]|['"]$/g, ""));
}

function kindOf(words: readonly string[], command: string): string {
  const parsed = parseArguments(words);
  if (parsed.kind === "misused") throw new Error(`${command}: ${parsed.message}`);
  return parsed.kind;
}
