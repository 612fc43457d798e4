/** The processes of the service under attack. */
import { type Child, startChild } from "../serve/child_process.ts";
import { program } from "../cli/workers/several_workers.ts";
import { freePort } from "../support/ports.ts";
import { childrenOf, signalProcess } from "../support/process_tree.ts";

const config = new URL("service_config.ts", import.meta.url).pathname;
/** Later than the end of every run: the nemesis ends the processes itself. */
const maxLifeMs = 24 * 3_600_000;

/** A service on one port: one process, or a supervisor and its workers. */
export class Member {
  readonly url: string;
  readonly workers: number;
  readonly #port = freePort();
  readonly #env: Readonly<Record<string, string>>;
  #child: Child | null = null;
  /** How many processes have started to serve, which each may have a share of a budget. */
  starts = 0;

  constructor(workers: number, env: Readonly<Record<string, string>>) {
    this.url = `http://127.0.0.1:${this.#port}`;
    this.workers = workers;
    this.#env = env;
  }

  /** The process that was started. */
  get pid(): number {
    if (this.#child === null) throw new Error("The service does not run");
    return this.#child.pid;
  }

  /** The processes that serve requests. */
  serving(): readonly number[] {
    return this.workers > 1 ? childrenOf(this.pid) : [this.pid];
  }

  /** What the processes have reported since the start. */
  reports(): string {
    return this.#child?.stderr() ?? "";
  }

  async start(): Promise<void> {
    const several = this.workers > 1 ? ["--workers", String(this.workers)] : [];
    this.starts += this.workers;
    this.#child = startChild(
      ["--no-check", program, "--config", config, "--port", String(this.#port), ...several],
      { env: this.#env, maxLifeMs },
    );
    await this.#child.printed(/http:\/\/[^/]+\/healthz/);
  }

  /** Kills every process, and starts again on the same port. */
  async killAndStart(): Promise<void> {
    const before = this.#child;
    if (before === null) return;
    for (const pid of [...childrenOf(before.pid), before.pid]) signalProcess(pid, "SIGKILL");
    await before.ended();
    await this.start();
  }

  signal(name: Deno.Signal): void {
    this.#child?.signal(name);
  }

  async stop(): Promise<void> {
    await this.#child?.[Symbol.asyncDispose]();
  }
}
