import process from "node:process";
import { createReadStream } from "node:fs";
import { createApp } from "../../app/app.ts";
import { Problem } from "../../problem/problem.ts";
import { consoleObserver } from "../../runtime/console_observer.ts";
import { systemRuntime } from "../../runtime/system_runtime.ts";
import { configOfSource } from "../database/command_config.ts";
import { Misuse } from "../command_options.ts";
import { pathExists } from "../path_exists.ts";
import { printable } from "../printable.ts";
import type { ImportCommand } from "./import_arguments.ts";
import type { Clock } from "../../runtime/runtime.ts";
import type { AcceptingOption, ImportOutcome } from "../../api/imports.ts";
import { withOption } from "../../resource/import/line_errors.ts";

export async function runImportCommand(command: ImportCommand): Promise<number> {
  const runtime = systemRuntime(consoleObserver());
  const { file, format, into, chunk, dryRun, reading, json } = command;
  const isAtHand = file !== "-";
  if (isAtHand && !await pathExists(file)) {
    throw new Misuse(`Cannot read ${file}: there is no such file`);
  }
  const config = await configOfSource(command, runtime, false);
  const app = await createApp(config);
  const progress = new ImportProgress(runtime.clock);
  try {
    const outcome = await app.import(into, {
      open: () => isAtHand ? createReadStream(file, { highWaterMark: readBytes }) : process.stdin,
      ...{ ...reading, format, isAtHand, isAlone: true, dryRun, chunk: chunk ?? undefined },
      onProgress: (counts) => progress.show(counts),
    });
    progress.end();
    if (json) console.log(JSON.stringify({ ...outcome, dryRun }));
    else console.error(progress.done(outcome, dryRun));
    return 0;
  } catch (error) {
    progress.end();
    if (!(error instanceof Problem)) throw error;
    if (json) console.log(JSON.stringify({ message: error.message, ...error.details }));
    else reportLines(error);
    return 1;
  } finally {
    await app.close();
    // If no row was written to a SQLite file, `close` restores the file's journal mode.
    if ("driver" in config.db) await config.db.close();
  }
}

const readBytes = 256 * 1024;

function reportLines({ message, details = {} }: Problem): void {
  const { errors, unwritten, rows, written } = details;
  const named = Array.isArray(errors) ? errors : [];
  if (named.length === 0) console.error(printable(message));
  for (const error of named) {
    const { line, path } = error;
    const place = [line === undefined ? "" : `line ${line}`, path].filter((part) => part !== "");
    console.error(printable(`${place.join(", ")}: ${withOption(error, forShell)}`));
  }
  for (const { from, to } of Array.isArray(unwritten) ? unwritten : []) {
    console.error(`not written: lines ${from} to ${to ?? "the end"}`);
  }
  if (rows !== undefined) console.error(`${written} of ${rows} rows written`);
}

function forShell({ name, value }: AcceptingOption): string {
  if (name === "ignoreExtra") return "--ignore-extra";
  const isPlain = /^[\w./=-]+$/.test(value);
  return `--${name} ${isPlain ? value : `'${value.replaceAll("'", "'\\''")}'`}`;
}

/** Milliseconds between two lines about the progress. */
const everyMs = 1_000;

export class ImportProgress {
  readonly #isTerminal = process.stderr.isTTY === true;
  readonly #clock: Pick<Clock, "elapsedMs">;
  readonly #beganAt: number;
  #shownAt: number;
  #isOpen = false;

  constructor(clock: Pick<Clock, "elapsedMs">) {
    this.#clock = clock;
    this.#beganAt = this.#shownAt = clock.elapsedMs();
  }

  show({ rows }: ImportOutcome): void {
    const now = this.#clock.elapsedMs();
    if (now - this.#shownAt < everyMs) return;
    this.#shownAt = now;
    const line = `${rows} rows, ${this.#perSecond(rows)} rows/s`;
    this.#isOpen = this.#isTerminal;
    process.stderr.write(this.#isTerminal ? `\r${line}` : `${line}\n`);
  }

  end(): void {
    if (this.#isOpen) process.stderr.write("\n");
    this.#isOpen = false;
  }

  done({ rows, written }: ImportOutcome, dryRun: boolean): string {
    const seconds = ((this.#clock.elapsedMs() - this.#beganAt) / 1_000).toFixed(1);
    const done = dryRun
      ? `${rows} rows can be written, and none was`
      : `${written} of ${rows} rows written`;
    return `${done} in ${seconds} s, ${this.#perSecond(rows)} rows/s`;
  }

  #perSecond(rows: number): number {
    return Math.round(rows / Math.max(1, this.#clock.elapsedMs() - this.#beganAt) * 1_000);
  }
}
