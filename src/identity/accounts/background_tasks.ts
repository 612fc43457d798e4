import { type Observer, runAfterPendingIo } from "../../runtime/runtime.ts";

/** Runs work after responses were sent. The app waits for all such work before it closes. */
export class BackgroundTasks {
  readonly #observe: Observer;
  readonly #running = new Set<Promise<void>>();

  constructor(observe: Observer) {
    this.#observe = observe;
  }

  run(work: () => Promise<void>): void {
    const running = new Promise<void>((resolve) => runAfterPendingIo(resolve)).then(work)
      .catch((error) => this.#observe({ kind: "account_work_failed", error }))
      .finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  async finish(): Promise<void> {
    await Promise.all(this.#running);
  }
}
