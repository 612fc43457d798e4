/**
 * Imports of a file into SQLite or Postgres, compared with a plain loop over a prepared statement:
 * `deno run -A bench/import_bench.ts [rows] [turns] [postgres://…]`. Each line is a separate
 * process, so its peak of memory (VmHWM, Linux only) is that of one import. The plain loop inserts
 * parsed rows in one transaction. Reading and parsing the file is timed separately, and "with
 * reading" adds that time. The loop for CSV splits lines at commas and removes quotes, which is
 * correct only for these rows.
 */
import { createReadStream } from "node:fs";
import process from "node:process";
import Database from "better-sqlite3";
import { all, createApp, integer, openDatabase, real, resource, table, text } from "../mod.ts";
import { boolean } from "../mod.ts";
import { median } from "./figures.ts";
import { manyRowsByPostgres } from "./import_postgres.ts";

const notes = table("notes", {
  id: integer().primaryKey(),
  title: text().notNull(),
  body: text(),
  done: boolean(),
  size: real(),
  createdOn: text().as("created_on"),
});

type Note = {
  readonly id: number;
  readonly title: string;
  readonly body: string;
  readonly done: boolean;
  readonly size: number;
  readonly createdOn: string;
};

interface Figures {
  readonly ms: number;
  /** The processor time of all threads of the process, in milliseconds. */
  readonly cpuMs: number;
  readonly parseMs: number;
  readonly parseCpuMs: number;
  readonly peakMb: number;
}

const scenarios = [
  ...["bare", "bare csv", "import", "import csv"] as const,
  ...["request, all", "request, chunks", "request, all, csv"] as const,
];
type Scenario = (typeof scenarios)[number];

const [one, ...rest] = Deno.args;
if (one === "--one") await measureHere(rest);
else await compare(Number(one ?? 1_000_000), Number(rest[0] ?? 3), rest[1] ?? null);

async function compare(rows: number, turns: number, server: string | null): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    await writeFiles(folder, rows);
    console.log(`${Deno.version.deno}, ${navigator.hardwareConcurrency} cores, ${rows} rows`);
    const figures = new Map<Scenario, Figures[]>(scenarios.map((name) => [name, []]));
    for (let turn = 0; turn < turns; turn++) {
      for (const [name, list] of figures) list.push(await measure(name, folder, server));
    }
    const of = (name: Scenario, what: keyof Figures) =>
      median((figures.get(name) ?? []).map((figure) => figure[what]));
    for (const name of scenarios) {
      // On a machine with other work, the processor time is more exact than the elapsed time.
      const [ms, cpuMs] = [of(name, "ms"), of(name, "cpuMs")];
      const ratio = (bare: number, ours: number) => (bare / ours).toFixed(2);
      const loop = name.endsWith("csv") ? "bare csv" : "bare";
      const [bareMs, bareCpuMs] = [of(loop, "ms"), of(loop, "cpuMs")];
      const withReading = name === loop ? [ms, cpuMs] as const : [
        bareMs + of(loop, "parseMs"),
        bareCpuMs + of(loop, "parseCpuMs"),
      ] as const;
      console.log(
        `${name.padEnd(17)} ${Math.round(rows / ms * 1_000)} rows/s; of the bare loop ${
          ratio(bareMs, ms)
        } (processor ${ratio(bareCpuMs, cpuMs)}), of it with reading ${
          ratio(withReading[0], ms)
        } (processor ${ratio(withReading[1], cpuMs)}); peak ${Math.round(of(name, "peakMb"))} MB`,
      );
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

async function writeFiles(folder: string, rows: number): Promise<void> {
  const lines = await Deno.open(`${folder}/notes.ndjson`, { write: true, create: true });
  const csv = await Deno.open(`${folder}/notes.csv`, { write: true, create: true });
  const encoder = new TextEncoder();
  await csv.write(encoder.encode("id,title,body,done,size,createdOn\r\n"));
  for (let id = 1; id <= rows;) {
    let [ofLines, ofCsv] = ["", ""];
    for (const end = Math.min(rows, id + 5_000); id <= end; id++) {
      const [title, size, done] = [`Note number ${id}`, id * 1.5, id % 2 === 0];
      const body = `some text, of row ${id} and "more"`;
      ofLines += `${JSON.stringify({ id, title, body, done, size, createdOn: "2026-01-01" })}\n`;
      ofCsv += `${id},${title},"${body.replaceAll('"', '""')}",${done},${size},2026-01-01\r\n`;
    }
    await writeAll(lines, encoder.encode(ofLines));
    await writeAll(csv, encoder.encode(ofCsv));
  }
  lines.close();
  csv.close();
}

async function writeAll(file: Deno.FsFile, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length;) at += await file.write(bytes.subarray(at));
}

async function measure(name: Scenario, folder: string, server: string | null): Promise<Figures> {
  const { stdout, success } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", import.meta.filename ?? "", "--one", name, folder, server ?? ""],
    stderr: "inherit",
  }).output();
  if (!success) throw new Error(`${name} failed`);
  return JSON.parse(new TextDecoder().decode(stdout));
}

async function measureHere([name = "", folder = "", server = ""]: readonly string[]) {
  const place = server === "" ? `sqlite:${folder}/notes.db` : server;
  await removeFile(folder);
  const db = await openDatabase(place);
  if (server !== "") await db.query({ text: 'DROP TABLE IF EXISTS "notes"', values: [] });
  await db.createTables([notes]);
  const times = name.startsWith("bare")
    ? await bare(formatOf(name), folder, server, () => db.close())
    : await imported(name, folder, db);
  const status = await Deno.readTextFile("/proc/self/status");
  const peakMb = Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]) / 1_000;
  console.log(JSON.stringify({ ...times, peakMb }));
}

function cpuMsSince(before: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}

async function removeFile(folder: string): Promise<void> {
  for (const ending of ["", "-wal", "-shm"]) {
    await Deno.remove(`${folder}/notes.db${ending}`).catch(() => {});
  }
}

type Format = "ndjson" | "csv";

function formatOf(name: string): Format {
  return name.endsWith("csv") ? "csv" : "ndjson";
}

/** Both formats have one line for each row. */
function parseLines(lines: readonly string[], format: Format): readonly Note[] {
  return format === "csv" ? lines.slice(1).map(splitLine) : lines.map((line) => JSON.parse(line));
}

function splitLine(line: string): Note {
  const [id, title = "", ...rest] = line.split(",");
  const [done, size, createdOn = ""] = rest.splice(-3);
  const body = rest.join().slice(1, -1).replaceAll('""', '"');
  return { id: Number(id), title, body, done: done === "true", size: Number(size), createdOn };
}

async function bare(
  format: Format,
  folder: string,
  server: string,
  closed: () => Promise<void>,
) {
  await closed();
  const startedAt = performance.now();
  const parseCpu = process.cpuUsage();
  const whole = await Deno.readTextFile(`${folder}/notes.${format}`);
  const rows = parseLines(whole.trimEnd().split(/\r?\n/), format);
  const parseMs = performance.now() - startedAt;
  const parseCpuMs = cpuMsSince(parseCpu);
  if (server !== "") {
    const cpu = process.cpuUsage();
    return {
      parseMs,
      parseCpuMs,
      ms: await manyRowsByPostgres(server, rows),
      cpuMs: cpuMsSince(cpu),
    };
  }
  const file = new Database(`${folder}/notes.db`);
  file.pragma("journal_mode = WAL");
  file.pragma("synchronous = FULL");
  const insert = file.prepare("INSERT INTO notes VALUES (?, ?, ?, ?, ?, ?)");
  const loopAt = performance.now();
  const cpu = process.cpuUsage();
  file.exec("BEGIN");
  for (const { id, title, body, done, size, createdOn } of rows) {
    insert.run(id, title, body, done ? 1 : 0, size, createdOn);
  }
  file.exec("COMMIT");
  const ms = performance.now() - loopAt;
  const cpuMs = cpuMsSince(cpu);
  file.close();
  return { parseMs, parseCpuMs, ms, cpuMs };
}

async function imported(
  name: string,
  folder: string,
  db: Awaited<ReturnType<typeof openDatabase>>,
) {
  const app = await createApp({
    db,
    secret: "sixteen or more characters",
    auth: {
      middleware: async (context, next) => {
        context.set("user", { id: "ada" });
        await next();
      },
    },
    resources: [
      resource(notes, {
        id: notes.id,
        auth: { create: () => all() },
        capabilities: { enableImport: true },
      }),
    ],
  });
  const format = formatOf(name);
  const file = await Deno.open(`${folder}/notes.${format}`);
  const cpu = process.cpuUsage();
  const startedAt = performance.now();
  if (name.startsWith("request")) {
    const mode = name.includes("chunks") ? "chunks&chunk=10000" : "all";
    const answer = await app.fetch(
      new Request(`http://bench/api/notes/import?mode=${mode}`, {
        method: "POST",
        headers: { "content-type": format === "csv" ? "text/csv" : "application/x-ndjson" },
        body: file.readable,
      }),
    );
    if (!answer.ok) throw new Error(await answer.text());
  } else {
    file.close();
    const path = `${folder}/notes.${format}`;
    const open = () => createReadStream(path, { highWaterMark: 256 * 1024 });
    await app.import("notes", { open, format, isAtHand: true, isAlone: true });
  }
  const ms = performance.now() - startedAt;
  const cpuMs = cpuMsSince(cpu);
  await app.close();
  await db.close();
  return { parseMs: 0, parseCpuMs: 0, ms, cpuMs };
}
