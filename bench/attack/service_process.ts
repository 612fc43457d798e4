/** The service under attack and the clients beside the attack, as the benchmarks start them. */
import type { OthersFigures, Waits } from "./others.ts";
import { type Process, type ProcessOptions, startProcess } from "./processes.ts";
import type { Content } from "./tables.ts";

/** A service that listens. */
export interface ServiceProcess extends AsyncDisposable {
  readonly process: Process;
  readonly port: string;
}

/** Starts the service with a heap of at most 1 GiB, and warms it up. */
export async function startService(
  url: string,
  content: Content,
  options: ProcessOptions,
): Promise<ServiceProcess> {
  const process = startProcess("service.ts", [url, content], {
    ...options,
    v8Flags: "--max-old-space-size=1024",
  });
  return await warmedUp(process);
}

/** Starts an idle server in addition to the service. */
export async function startIdleServer(): Promise<ServiceProcess> {
  return await warmedUp(startProcess("idle.ts", []));
}

async function warmedUp(process: Process): Promise<ServiceProcess> {
  const port = (await process.nextLine())?.replace("port ", "");
  if (port === undefined) throw new Error("The service did not start; try --verbose");
  // The first requests of a process are slower, because they compile the code that they run.
  await watchOthers([port, "1"]);
  return { process, port, [Symbol.asyncDispose]: () => process[Symbol.asyncDispose]() };
}

/** Runs `others.ts` with these arguments to its end. */
export async function watchOthers(args: readonly string[]): Promise<OthersFigures> {
  await using others = startProcess("others.ts", args, { isVerbose: true });
  await others.nextLine();
  return await figuresOf(others);
}

/** Returns the next line of a child as JSON of this type. */
export async function figuresOf<Figures>(child: Process): Promise<Figures> {
  const line = await child.nextLine();
  if (line === null) throw new Error("A client of the benchmark ended; try --verbose");
  return JSON.parse(line);
}

/** Returns the waits before the attack and the longest waits during the attack, for the tables. */
export function showWaits(before: Waits, during: Waits): string {
  const failures = during.failures === 0 ? "" : `, ${during.failures} failed`;
  return `${ms(before.p99)} → ${ms(during.p99)} (${ms(during.max)})${failures}`;
}

/** Returns the waits of the idle server's clients: the p99 and the longest. */
export function showIdle({ healthz }: OthersFigures): string {
  return `${ms(healthz.p99)} (${ms(healthz.max)})`;
}

function ms(milliseconds: number): string {
  return milliseconds.toFixed(milliseconds < 10 ? 1 : 0);
}

/** Prints a row of a Markdown table to the standard output. */
export function printRow(cells: readonly string[]): void {
  console.log(`| ${cells.join(" | ")} |`);
}
