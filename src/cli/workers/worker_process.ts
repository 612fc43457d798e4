import { spawn } from "node:child_process";
import {
  enveloped,
  type ListenOrder,
  reportIn,
  type ReportOf,
  type WorkerOrder,
} from "./worker_messages.ts";
import { shareVariable, type WorkerShare } from "./worker_share.ts";

/** How a process has ended. */
export interface WorkerEnd {
  readonly pid: number;
  readonly exitCode: number;
  /** `exit code 2`, or the name of a signal. */
  readonly reason: string;
}

/** A worker ended before it did what was waited for. */
export class WorkerEnded extends Error {
  readonly end: WorkerEnd;

  constructor(end: WorkerEnd) {
    super(`A worker ended: ${end.reason}`);
    this.end = end;
  }
}

/** A worker, as its supervisor sees it. The promises of its reports reject where it ends before. */
export interface WorkerProcess {
  readonly number: number;
  readonly pid: number;
  readonly prepared: Promise<ReportOf<"prepared">>;
  readonly listening: Promise<ReportOf<"listening">>;
  readonly ready: Promise<ReportOf<"ready">>;
  /** Never rejects. */
  readonly ended: Promise<WorkerEnd>;
  hasEnded(): boolean;
  /** Sends an order; nothing where it has ended. */
  send(order: ListenOrder | WorkerOrder): void;
  /** Resolves once it knows the client of the connection from this port, or has ended. */
  note(port: number, client: string): Promise<void>;
  /** Sends a signal; on Windows, which has none for other processes, it stops gracefully as well. */
  stop(signal: "SIGTERM" | "SIGINT"): void;
  /** Ends it at once; `reason` says why, in place of the signal. */
  kill(reason?: string): void;
}

/** Called for what a worker does to the port. */
export interface PortEvents {
  /** It accepts connections at this port: also again, after it has run out of descriptors. */
  onListening(port: number): void;
  /** It accepts none any more, or has ended. */
  onLeft(): void;
}

/** Starts this program again as a worker, with the flags that it needs. */
export function startWorker(
  program: string,
  args: readonly string[],
  share: WorkerShare,
  events: PortEvents,
): WorkerProcess {
  const flags = ["--unstable-kv", "--unstable-cron", "--unstable-net"];
  const child = spawn(Deno.execPath(), ["run", "-A", ...flags, program, ...args], {
    env: { ...Deno.env.toObject(), ...shareVariable(share) },
    // Its end of the channel closes with this process, however that ends.
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  const prepared = Promise.withResolvers<ReportOf<"prepared">>();
  const listening = Promise.withResolvers<ReportOf<"listening">>();
  const ready = Promise.withResolvers<ReportOf<"ready">>();
  const noted = new Map<number, () => void>();
  const ended = Promise.withResolvers<WorkerEnd>();
  let hasEnded = false;
  let killedFor: string | undefined;

  child.on("message", (message: unknown) => {
    const report = reportIn(message);
    if (report?.kind === "prepared") prepared.resolve(report);
    else if (report?.kind === "ready") ready.resolve(report);
    else if (report?.kind === "noted") noted.get(report.port)?.();
    else if (report?.kind === "left") events.onLeft();
    else if (report?.kind === "listening") {
      events.onListening(report.port);
      listening.resolve(report);
    }
  });
  const pid = child.pid ?? 0;
  child.on("error", (error) => end({ pid, exitCode: 1, reason: error.message }));
  child.on("exit", (code, signal) => {
    end({ pid, exitCode: code ?? 1, reason: killedFor ?? signal ?? `exit code ${code}` });
  });

  function end(how: WorkerEnd): void {
    hasEnded = true;
    events.onLeft();
    ended.resolve(how);
    for (const { promise, reject } of [prepared, listening, ready]) {
      // Only some of them are waited for.
      promise.catch(() => {});
      reject(new WorkerEnded(how));
    }
    for (const resolve of noted.values()) resolve();
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
    ended: ended.promise,
    hasEnded: () => hasEnded,
    send,
    async note(port, client) {
      const { promise, resolve } = Promise.withResolvers<void>();
      noted.set(port, resolve);
      send({ kind: "note", port, client });
      if (!hasEnded) await promise;
      noted.delete(port);
    },
    stop(signal) {
      if (hasEnded) return;
      if (Deno.build.os !== "windows") child.kill(signal);
      else if (child.connected) child.disconnect();
    },
    kill(reason) {
      if (hasEnded) return;
      killedFor = reason;
      child.kill("SIGKILL");
    },
  };
}
