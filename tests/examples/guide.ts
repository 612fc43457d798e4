/** The guides of docs/guides: their files, and their commands with what they print. */
import { assert, assertEquals } from "@std/assert";
import { root } from "../repository/module_graph.ts";
import { type Child, startChild } from "../serve/child_process.ts";
import { scratchFolder } from "../support/scratch.ts";
import { matchesAnswer } from "./example.ts";

/** A block of commands, and the lines that follow them as comments: what the block prints. */
interface Step {
  readonly commands: readonly string[];
  readonly answer: string;
}

/** The files that a guide names before their content, by name. */
export function filesOf(text: string): ReadonlyMap<string, string> {
  const blocks = text.matchAll(/`([\w.]+\.\w+)`[^`]*:\n\n```\w+[^\n]*\n([^]*?)^```$/gm);
  return new Map([...blocks].map(([, name = "", content = ""]) => [name, content]));
}

export function stepsOf(text: string): readonly Step[] {
  return [...text.matchAll(/^```sh\n([^]*?)^```$/gm)].map(([, block = ""]) => {
    const lines = block.trim().split("\n");
    return {
      commands: lines.filter((line) => !line.startsWith("# ")),
      answer: lines.flatMap((line) => line.startsWith("# ") ? [line.slice(2)] : []).join("\n"),
    };
  });
}

interface GuideOptions {
  /** Prepares the folder, in place of the commands that fetch something. */
  readonly prepare?: (folder: string) => void | Promise<void>;
  readonly env?: Readonly<Record<string, string>>;
  /** Changes the text, for example names that tests share. */
  readonly change?: (text: string) => string;
}

/** Follows a guide in an empty folder, command by command, and compares what they print. */
export async function followGuide(name: string, options: GuideOptions): Promise<void> {
  const { change = (text) => text } = options;
  const text = change(Deno.readTextFileSync(`${root}docs/guides/${name}.md`));
  await using folder = await scratchFolder();
  const cwd = folder.path;
  const env = { NO_COLOR: "1", SERVICE_SECRET: "a secret for the tests only", ...options.env };
  await Deno.symlink(root, `${cwd}/resource-api`);
  await options.prepare?.(cwd);
  for (const [file, content] of filesOf(text)) await Deno.writeTextFile(`${cwd}/${file}`, content);
  let [service, port]: [Child | null, string] = [null, ""];
  try {
    for (const { commands, answer } of stepsOf(text)) {
      const [command = ""] = commands;
      if (/^(?:git|cp|mkdir) /.test(command)) continue;
      if (startsService(command)) {
        await service?.[Symbol.asyncDispose]();
        service = startChild([...argumentsOf(command, env), "--port", "0"], {
          ...{ cwd, env, permissions: [] },
        });
        [, port = ""] = await service.printed(/http:\/\/127\.0\.0\.1:(\d+)/);
        const [, token = ""] = /Bearer (\S+)/.exec(service.stdout()) ?? [];
        if (token !== "") Object.assign(env, { TOKEN: token });
        continue;
      }
      if (/cli\.ts uninstall/.test(command)) await service?.[Symbol.asyncDispose]();
      const script = commands.join("\n").replaceAll("127.0.0.1:8000", `127.0.0.1:${port}`)
        .replaceAll(/\bcurl /g, "curl -sS -w '\\n' ")
        .replaceAll(/^deno /gm, `${Deno.execPath()} `);
      const { success, stdout, stderr } = await new Deno.Command("sh", {
        args: ["-c", script],
        ...{ cwd, env },
      }).output();
      const printed = new TextDecoder().decode(stdout).trim();
      assert(success, `${command}: ${new TextDecoder().decode(stderr)}${printed}`);
      if (!matchesAnswer(printed, answer)) assertEquals(printed, answer, command);
    }
  } finally {
    await service?.[Symbol.asyncDispose]();
  }
}

/** Whether a command serves until it is stopped. */
function startsService(command: string): boolean {
  return /^deno run .*resource-api\/cli\.ts(?! (?:keys|types|uninstall|users)\b)/.test(command);
}

/** The words of `deno run …`, as a shell reads them. */
function argumentsOf(command: string, env: Readonly<Record<string, string>>): readonly string[] {
  const words = command.replace(/^deno run /, "").match(/'[^']*'|"[^"]*"|\S+/g) ?? [];
  return words.map((word) =>
    word.replaceAll(/["']/g, "").replaceAll(/\$(\w+)/g, (_, name) => env[name] ?? "")
  );
}
