import type { Worker } from "node:worker_threads";
import { type Clock, keepAlive } from "../../../../runtime/runtime.ts";
import { hasSpareDescriptors } from "../../../../runtime/spare_descriptors.ts";
import { DatabaseError } from "../../../../db/database_error.ts";
import type { SqliteLibrary } from "../sqlite_library.ts";
import type { ConnectionAdditions } from "../application_functions.ts";
import type { ReaderAnswer, ReaderStartData, ThreadRead } from "./serve_reads.ts";

export interface ReaderThread {
  post(read: ThreadRead): void;
  cancel(id: number): void;
  close(): Promise<void>;
}

export interface ReaderThreadOptions {
  readonly path: string;
  readonly library: SqliteLibrary["source"];
  readonly additions: ConnectionAdditions;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  onAnswer(answer: Exclude<ReaderAnswer, string>): void;
  onEnd(error: unknown): void;
}

/** File descriptors that must be free, because `new Worker` without any ends the process. */
const reservedDescriptors = 64;

/** The maximum wait for a thread to end, in milliseconds. A long comparison delays the end. */
const maxCloseMs = 2_000;

/** Starts a thread. Rejects as `overloaded` if too few file descriptors are free. */
export async function startReaderThread(options: ReaderThreadOptions): Promise<ReaderThread> {
  const { path, library, additions, clock, signal } = options;
  const threads = await import("node:worker_threads");
  signal.throwIfAborted();
  if (!hasSpareDescriptors(reservedDescriptors)) {
    throw new DatabaseError("overloaded", new Error("Too few file descriptors are free"));
  }
  const cancelled = new Int32Array(new SharedArrayBuffer(4));
  const data: ReaderStartData = { path, library, additions, cancelled };
  const worker: Worker = new threads.Worker(program(), { workerData: data });
  // A thread without a read must not keep the process alive. Each running read does that.
  worker.unref();
  const { promise: started, resolve: start, reject: refuse } = Promise.withResolvers<void>();
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  let state: "starting" | "running" | "ended" = "starting";
  worker.on("message", (answer: ReaderAnswer) => {
    if (answer === "ready") {
      state = "running";
      start();
    } else if (answer === "closed") finish(new Error("The thread was closed"));
    else options.onAnswer(answer);
  });
  // Deno ends a thread after an error, but may not report the end, so the error counts as the end.
  worker.on("error", finish);
  worker.on("exit", () => finish(new Error("The thread has ended")));
  const abort = () => finish(signal.reason);
  signal.addEventListener("abort", abort);

  function finish(error: unknown): void {
    const before = state;
    state = "ended";
    end();
    refuse(error);
    if (before === "running") options.onEnd(error);
  }

  try {
    await started;
  } catch (error) {
    await worker.terminate();
    throw error;
  } finally {
    signal.removeEventListener("abort", abort);
  }
  return {
    post: (read) => worker.postMessage(read),
    cancel: (id) => void Atomics.store(cancelled, 0, id),
    async close() {
      const letGo = keepAlive();
      worker.postMessage("close");
      const cancelTimer = clock.after(maxCloseMs, end);
      await ended;
      cancelTimer();
      await worker.terminate();
      letGo();
    },
  };
}

function program(): URL {
  const url = new URL("./serve_reads.ts", import.meta.url);
  if (url.protocol === "file:") return url;
  return new URL(
    `data:text/javascript,${encodeURIComponent(`import ${JSON.stringify(url.href)};`)}`,
  );
}
