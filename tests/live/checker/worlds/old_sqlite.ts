/** Another program that writes to a SQLite file, with its own build of SQLite. */
export interface OldSqlite {
  /** Runs one statement, committed by itself; rejects with {@link Refused}. */
  run(sql: string): Promise<void>;
  /** Runs some statements as one transaction, without looking at what comes of each. */
  close(): Promise<void>;
}

/** The other program did not take a statement. */
export class Refused extends Error {}

/** Which program there is: its command line, and what it calls itself. */
export interface OldProgram {
  readonly name: string;
  readonly version: string;
  readonly args: (path: string) => readonly string[];
  /** What makes it print a line when it has come to it. */
  readonly echo: (line: string) => string;
  readonly encode: (sql: string) => string;
}

/** The first of them that this machine has, or why there is none. */
export async function findOldSqlite(): Promise<OldProgram | { readonly missing: string }> {
  for (const { probe, ...program } of programs) {
    const version = await versionOf(program.name, probe);
    if (version !== null) return { ...program, version };
  }
  return { missing: "neither sqlite3 nor python3 with sqlite3 is installed" };
}

const pythonLoop = `
import sqlite3, sys
db = sqlite3.connect(sys.argv[1], timeout=10, isolation_level=None)
for line in sys.stdin:
    if line.startswith("echo "):
        print(line[5:].strip(), flush=True)
        continue
    try:
        db.executescript(line) if line.startswith("BEGIN") else db.execute(line).fetchall()
    except sqlite3.Error as error:
        if db.in_transaction: db.execute("ROLLBACK")
        print("refused: " + str(error), flush=True)
`;

const programs = [
  {
    name: "sqlite3",
    probe: ["--version"],
    args: (path: string) => ["-batch", "-cmd", ".timeout 10000", path],
    echo: (line: string) => `.print ${line}`,
    encode: (sql: string) => `${oneLine(sql)};`,
  },
  {
    name: "python3",
    probe: ["-c", "import sqlite3; print(sqlite3.sqlite_version)"],
    args: (path: string) => ["-c", pythonLoop, path],
    echo: (line: string) => `echo ${line}`,
    encode: oneLine,
  },
];

function oneLine(sql: string): string {
  return sql.replaceAll(/\s+/g, " ");
}

async function versionOf(name: string, args: readonly string[]): Promise<string | null> {
  try {
    const command = new Deno.Command(name, { args: [...args], stdout: "piped", stderr: "null" });
    const { success, stdout } = await command.output();
    return success ? new TextDecoder().decode(stdout).split(" ")[0]?.trim() ?? null : null;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return null;
    throw error;
  }
}

/** Starts the program over a file. */
export function openOldSqlite(program: OldProgram, path: string): OldSqlite {
  const child = new Deno.Command(program.name, {
    args: [...program.args(path)],
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const writer = child.stdin.getWriter();
  const answers = lines(child.stdout);
  const errors = collect(child.stderr);
  let count = 0;
  return {
    async run(sql) {
      const end = `done-${++count}`;
      const before = errors.text.length;
      await writer.write(
        new TextEncoder().encode(`${program.encode(sql)}\n${program.echo(end)}\n`),
      );
      let said = "";
      for (let line = await answers(); line !== end; line = await answers()) said += line;
      // The shell prints what it refuses before it continues.
      said += errors.text.slice(before);
      if (said !== "") throw new Refused(said);
    },
    async close() {
      await writer.close();
      await child.status;
      await errors.ended;
    },
  };
}

function lines(stream: ReadableStream<Uint8Array<ArrayBuffer>>): () => Promise<string> {
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  return async () => {
    while (!text.includes("\n")) {
      const { value, done } = await reader.read();
      if (done) throw new Error("The other SQLite has ended");
      text += value;
    }
    const line = text.slice(0, text.indexOf("\n"));
    text = text.slice(line.length + 1);
    return line;
  };
}

function collect(
  stream: ReadableStream<Uint8Array<ArrayBuffer>>,
): { text: string; ended: Promise<void> } {
  const collected = { text: "", ended: Promise.resolve() };
  collected.ended = (async () => {
    for await (const text of stream.pipeThrough(new TextDecoderStream())) collected.text += text;
  })();
  return collected;
}
