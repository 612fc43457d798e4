import { sleep } from "../../src/runtime/runtime.ts";
import type { Member } from "./fleet.ts";

/** Within this time, `/readyz` reports that the database is gone. */
const noticeLimitMs = 3_000;

/** Reads `/readyz` of each service all the time, and checks that no outage is called ready. */
export class Readiness {
  readonly #wrong: string[];
  readonly #reading: Promise<unknown>;
  /** When the present outage began. Null if there is none. */
  #outageAt: number | null = null;
  #isOver = false;

  constructor(members: readonly Pick<Member, "url">[], wrong: string[]) {
    this.#wrong = wrong;
    this.#reading = Promise.all(members.map((member) => this.#read(member)));
  }

  async outage(work: () => Promise<void>): Promise<void> {
    this.#outageAt = performance.now();
    await work();
    this.#outageAt = null;
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#reading;
  }

  async #read({ url }: Pick<Member, "url">): Promise<void> {
    while (!this.#isOver) {
      const askedAt = performance.now();
      const outageAt = this.#outageAt;
      const status = await statusOf(`${url}/readyz`);
      const isLate = outageAt !== null && askedAt > outageAt + noticeLimitMs;
      if (isLate && status === 200 && this.#outageAt === outageAt) {
        const lasted = Math.round(askedAt - outageAt);
        this.#wrong.push(`/readyz is 200, ${lasted} ms after the database was gone`);
      }
      await sleep(200);
    }
  }
}

/** Null if there was no response. */
async function statusOf(url: string): Promise<number | null> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(20_000) });
    await response.body?.cancel();
    return response.status;
  } catch (error) {
    if (error instanceof TypeError || error instanceof DOMException) return null;
    throw error;
  }
}
