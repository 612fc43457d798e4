import { Semaphore } from "../../runtime/queues/semaphore.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import type { StopSignal } from "../stop_signals.ts";
import { KernelBalancer } from "./kernel_balancer.ts";
import { startWorker, type WorkerProcess } from "./worker_process.ts";
import type { WorkerShare } from "./worker_share.ts";

/** The program that each worker runs, and the data that workers share. */
export interface WorkerGroupOptions {
  /** The URL of the program's main module. */
  readonly program: string;
  readonly args: readonly string[];
  /** The data that the supervisor passes to all workers. */
  readonly share: Omit<WorkerShare, "number">;
}

/** The worker processes that serve one port together. */
export class WorkerGroup {
  readonly #options: WorkerGroupOptions;
  readonly #runtime: Runtime;
  readonly #processes = new Set<WorkerProcess>();
  /** Workers start to listen one after the other: the balancer must know their order. */
  readonly #listening = new Semaphore(1);
  #balancer: KernelBalancer | null = null;
  #isStopping = false;

  constructor(options: WorkerGroupOptions, runtime: Runtime) {
    this.#options = options;
    this.#runtime = runtime;
  }

  /** True if the group is stopping, so that no more workers are started. */
  get isStopping(): boolean {
    return this.#isStopping;
  }

  /**
   * Starts a worker, and resolves when it listens. Rejects with {@link WorkerEnded} if it ends
   * before, and with an Error of one sentence if the first worker cannot use the port.
   */
  async start(number: number): Promise<WorkerProcess> {
    const worker = this.#spawn(number);
    await this.#listen(worker);
    return worker;
  }

  /** Starts a replacement, which listens when its app is ready. Rejects if it ends before. */
  async startReady(number: number): Promise<WorkerProcess> {
    const worker = this.#spawn(number);
    await worker.prepared;
    const cancel = this.#runtime.clock.after(readyWithinMs, () => worker.kill(notReady));
    await worker.ready;
    cancel();
    await this.#listen(worker);
    return worker;
  }

  #spawn(number: number): WorkerProcess {
    if (this.#isStopping) throw new Error("No worker starts any more");
    const { program, args, share } = this.#options;
    const worker = startWorker(program, args, { ...share, number }, {
      onListening: (port) => this.#balancer?.add(worker, port),
      onLeft: () => this.#balancer?.remove(worker),
    });
    this.#processes.add(worker);
    void worker.ended.then(() => this.#processes.delete(worker));
    return worker;
  }

  async #listen(worker: WorkerProcess): Promise<void> {
    const { host, port } = await worker.prepared;
    await this.#listening.run(async () => {
      this.#balancer ??= new KernelBalancer(host, port);
      worker.send(this.#balancer.listenOrder());
      await worker.listening;
    });
    this.#runtime.observe({ kind: "worker_started", worker: worker.number, pid: worker.pid });
  }

  /** Orders a worker to retire: it finishes its requests while others get new connections. */
  async retire(worker: WorkerProcess): Promise<void> {
    if (worker.hasEnded()) return;
    this.#balancer?.retire(worker);
    await this.#untilEnded(worker);
  }

  /** Stops all workers and waits for their ends. Null sends no signal: they have received it. */
  async stop(signal: StopSignal | null): Promise<void> {
    this.#isStopping = true;
    await Promise.all([...this.#processes].map(async (worker) => {
      if (signal !== null) worker.stop(signal);
      await this.#untilEnded(worker);
    }));
  }

  kill(): void {
    for (const worker of this.#processes) worker.kill();
  }

  /** Waits for the end of a worker. Kills it if its event loop is blocked. */
  async #untilEnded(worker: WorkerProcess): Promise<void> {
    const killLate = ({ stopDeadlineMs }: { readonly stopDeadlineMs: number }) =>
      this.#runtime.clock.after(stopDeadlineMs + graceMs, () => worker.kill());
    void worker.prepared.then(killLate, () => null);
    await worker.ended;
  }
}

/** How long the app of a replacement may take to become ready, in milliseconds. */
const readyWithinMs = 30_000;

const notReady = `SIGKILL, since it was not ready within ${readyWithinMs} ms`;

/** How long a worker may take to end after its last response, in milliseconds. */
const graceMs = 5_000;
