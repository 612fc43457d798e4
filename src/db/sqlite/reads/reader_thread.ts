import type { Worker } from "node:worker_threads";
import { keepAlive } from "../../../runtime/event_loop.ts";
import type { Clock } from "../../../runtime/runtime.ts";
import { hasSpareDescriptors } from "../../../runtime/spare_descriptors.ts";
import { DatabaseError } from "../../database_error.ts";
import type { SqliteLibrary } from "../sqlite_library.ts";
import type { ReaderAnswer, ReaderData, ThreadRead } from "./serve_reads.ts";

/** A thread that reads a SQLite file over a connection of its own, one statement at a time. */
export interface ReaderThread {
  /** Runs a read; the one before it must have been answered. */
  post(read: ThreadRead): void;
  /** Ends the read with this number, if it runs. */
  cancel(id: number): void;
  /** Ends the thread; resolves when it has closed the file. */
  close(): Promise<void>;
}

/** What a reader thread of a SQLite file is started with, and its callbacks. */
export interface ReaderThreadOptions {
  readonly path: string;
  readonly library: SqliteLibrary["source"];
  readonly clock: Clock;
  /** Called with the answer of each read. */
  onAnswer(answer: Exclude<ReaderAnswer, string>): void;
  /** Called when it has ended, by whatever cause; `wasReady` where it could read before. */
  onEnd(wasReady: boolean, error: unknown): void;
}

/** What a thread opens, eight times: clients may open connections while it starts. */
const spareDescriptors = 64;

/** A thread that is inside of a long comparison notices only later that it is to end. */
const maxCloseMs = 2_000;

/**
 * Starts a reader thread of a SQLite file. Rejects where the host has no threads, and as
 * `overloaded` while the process has too few file descriptors for one: Deno ends the whole process
 * where a thread finds none. It does not keep the process alive.
 */
export async function startReaderThread(options: ReaderThreadOptions): Promise<ReaderThread> {
  const { path, library } = options;
  const threads = await import("node:worker_threads");
  if (!hasSpareDescriptors(spareDescriptors)) {
    throw new DatabaseError("overloaded", new Error("Too few file descriptors are free"));
  }
  const cancelled = new Int32Array(new SharedArrayBuffer(4));
  const data: ReaderData = { path, library, cancelled };
  const worker: Worker = new threads.Worker(program(), { workerData: data });
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  let wasReady = false;
  let failure: unknown = new Error("The thread has ended");
  worker.on("message", (answer: ReaderAnswer) => {
    if (answer === "ready") wasReady = true;
    else if (answer === "closed") end();
    else options.onAnswer(answer);
  });
  // The reads keep the process alive, and not the threads that wait for some.
  worker.unref();
  worker.on("error", (error) => {
    failure = error;
    // Deno ends the thread, but does not always say so.
    finish();
  });
  worker.on("exit", finish);
  let hasEnded = false;

  function finish(): void {
    if (hasEnded) return;
    hasEnded = true;
    end();
    options.onEnd(wasReady, failure);
  }

  return {
    post: (read) => worker.postMessage(read),
    cancel: (id) => void Atomics.store(cancelled, 0, id),
    async close() {
      const letGo = keepAlive();
      worker.postMessage("close");
      const cancelTimer = options.clock.after(maxCloseMs, end);
      await ended;
      cancelTimer();
      await worker.terminate();
      letGo();
    },
  };
}

/** Only a file can be named as it is: another URL is imported by a program in a URL. */
function program(): URL {
  const url = new URL("./serve_reads.ts", import.meta.url);
  if (url.protocol === "file:") return url;
  return new URL(
    `data:text/javascript,${encodeURIComponent(`import ${JSON.stringify(url.href)};`)}`,
  );
}
