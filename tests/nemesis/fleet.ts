/** The processes of the service under attack. */
import { type Child, type ChildOptions, startChild } from "../serve/child_process.ts";
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
  readonly #host: string;
  readonly #port = freePort();
  readonly #options: Pick<ChildOptions, "env" | "startedBy">;
  #child: Child | null = null;
  readonly #children: Child[] = [];
  /** How many processes have started to serve, which each may have a share of a budget. */
  starts = 0;

  constructor(
    workers: number,
    options: Pick<ChildOptions, "env" | "startedBy">,
    host = "127.0.0.1",
  ) {
    this.#host = host;
    this.url = `http://${host}:${this.#port}`;
    this.workers = workers;
    this.#options = options;
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

  /** What all processes have reported, also those that have ended. */
  reports(): string {
    return this.#children.map((child) => child.stderr()).join("\n");
  }

  /** How often a process reported that it counts tokens without the shared store. */
  unshared(): number {
    return this.reports().split('"limits_unshared"').length - 1;
  }

  async start(): Promise<void> {
    const several = this.workers > 1 ? ["--workers", String(this.workers)] : [];
    this.starts += this.workers;
    const listen = ["--host", this.#host, "--port", String(this.#port)];
    this.#child = startChild(
      ["--no-check", program, "--config", config, ...listen, ...several],
      { ...this.#options, maxLifeMs },
    );
    this.#children.push(this.#child);
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
