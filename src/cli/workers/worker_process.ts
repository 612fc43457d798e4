import { spawn } from "node:child_process";
import { unstableFlags } from "../restart_with_kv.ts";
import { shareVariable, type WorkerShare } from "./worker_share.ts";

export interface WorkerExit {
  readonly pid: number;
  readonly exitCode: number;
  /** Why the process ended: `exit code 2`, or the name of a signal. */
  readonly reason: string;
}

export class WorkerEnded extends Error {
  readonly end: WorkerExit;

  constructor(end: WorkerExit) {
    super(`A worker ended: ${end.reason}`);
    this.end = end;
  }
}

/** A worker process. Its promises reject if it ends before it has sent the awaited report. */
export type WorkerProcess = ReturnType<typeof startWorker>;

interface WorkerEvents {
  /** Called when the worker listens at this port, perhaps again after a failure. */
  onListening(port: number): void;
  onLeft(): void;
  onReadings(report: ReadingsReport): void;
  /** Called when no more reports can arrive. */
  onDisconnected(): void;
}

const flags = [...unstableFlags, "--unstable-net"];

export function startWorker(
  program: string,
  args: readonly string[],
  share: WorkerShare,
  events: WorkerEvents,
) {
  const child = spawn(Deno.execPath(), ["run", "-A", ...flags, program, ...args], {
    env: { ...Deno.env.toObject(), ...shareVariable(share) },
    // When this process ends for any reason, the channel closes, and the worker stops.
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  const prepared = Promise.withResolvers<ReportOf<"prepared">>();
  const listening = Promise.withResolvers<ReportOf<"listening">>();
  const ready = Promise.withResolvers<ReportOf<"ready">>();
  const ended = Promise.withResolvers<WorkerExit>();
  let hasEnded = false;
  let killedFor: string | undefined;

  child.on("message", (message: unknown) => {
    const report = reportIn(message);
    if (report?.kind === "prepared") prepared.resolve(report);
    else if (report?.kind === "ready") ready.resolve(report);
    else if (report?.kind === "left") events.onLeft();
    else if (report?.kind === "readings") events.onReadings(report);
    else if (report?.kind === "listening") {
      events.onListening(report.port);
      listening.resolve(report);
    }
  });
  const pid = child.pid ?? 0;
  child.on("error", (error) => end({ pid, exitCode: 1, reason: error.message }));
  child.on("disconnect", events.onDisconnected);
  child.on("exit", (code, signal) => {
    end({ pid, exitCode: code ?? 1, reason: killedFor ?? signal ?? `exit code ${code}` });
  });

  function end(how: WorkerExit): void {
    hasEnded = true;
    events.onLeft();
    ended.resolve(how);
    for (const { promise, reject } of [prepared, listening, ready]) {
      // Some of these promises are never awaited. An unhandled rejection would end this process.
      promise.catch(() => {});
      reject(new WorkerEnded(how));
    }
  }

  function send(order: ListenOrder | WorkerOrder): void {
    if (!hasEnded && child.connected) child.send(enveloped(order));
  }

  return {
    number: share.number,
    pid,
    prepared: prepared.promise,
    listening: listening.promise,
    ready: ready.promise,
    /** Resolves when the worker has ended. Never rejects. */
    ended: ended.promise,
    hasEnded: () => hasEnded,
    /** Has no effect if the worker has ended. */
    send,
    /** Sends a signal. Windows has no signals: closing the channel stops the worker there. */
    stop(signal: "SIGTERM" | "SIGINT") {
      if (hasEnded) return;
      if (Deno.build.os !== "windows") child.kill(signal);
      else if (child.connected) child.disconnect();
    },
    kill(reason?: string) {
      if (hasEnded) return;
      killedFor = reason;
      child.kill("SIGKILL");
    },
  };
}

export type WorkerReport =
  | {
    readonly kind: "prepared";
    readonly host: string;
    readonly port: number;
    readonly stopDeadlineMs: number;
  }
  /** The app is ready: `/readyz` no longer responds with 503. */
  | { readonly kind: "ready" }
  | { readonly kind: "listening"; readonly port: number; readonly banner: string }
  /** The worker accepts no more connections, and finishes its open connections. */
  | { readonly kind: "left" }
  | ReadingsReport;

export interface ReadingsReport {
  readonly kind: "readings";
  /** The number of the supervisor's order; null if the worker reports without an order. */
  readonly order: number | null;
  /** The number of the worker's request for the readings of all workers; null without a request. */
  readonly question: number | null;
  readonly readings: string;
}

type ReportOf<Kind> = Extract<WorkerReport, { readonly kind: Kind }>;

export type WorkerOrder =
  | { readonly kind: "retire"; readonly filter: LeftOutSocket }
  | { readonly kind: "unfilter" }
  | MetricsOrder;

export type MetricsOrder =
  | { readonly kind: "measure"; readonly order: number }
  | { readonly kind: "gathered"; readonly question: number; readonly readings: string };

export interface LeftOutSocket {
  readonly without: number;
  readonly of: number;
}

export interface ListenOrder {
  readonly kind: "listen";
  readonly host: string;
  readonly port: number;
}

/** Marks messages of this program, because libraries may use the same channel. */
const envelope = "resource-api";

export function enveloped(
  message: WorkerReport | ListenOrder | WorkerOrder,
): Record<string, unknown> {
  return { [envelope]: message };
}

function reportIn(message: unknown): WorkerReport | null {
  // The cast is safe: only `enveloped` creates the envelope, and the worker runs this program.
  return contentOf(message) as WorkerReport | null;
}

export function orderIn(message: unknown): ListenOrder | WorkerOrder | null {
  // The cast is safe: only `enveloped` creates the envelope, and the supervisor is this program.
  return contentOf(message) as ListenOrder | WorkerOrder | null;
}

function contentOf(message: unknown): unknown {
  if (typeof message !== "object" || message === null) return null;
  return Object.entries(message).find(([name]) => name === envelope)?.[1] ?? null;
}
