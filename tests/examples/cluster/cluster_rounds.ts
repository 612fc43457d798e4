/** Rounds over the cluster of the example: writers, streams, a rolling restart and a failover. */
import type { Cluster } from "../../../examples/cluster/cluster.ts";
import { sleep } from "../../../src/runtime/runtime.ts";
import { Follower, Requests } from "../../nemesis/clients.ts";
import type { Namespace } from "../../nemesis/namespace.ts";
import { Readiness } from "../../nemesis/readiness.ts";
import { ClusterWriter, type OrderRow } from "./cluster_writers.ts";

export interface RoundsOptions {
  readonly cluster: Cluster;
  /** The namespace of the server 127.0.0.2. Null if there is none. */
  readonly namespace: Namespace | null;
  readonly isSynchronous: boolean;
  readonly writers: number;
  readonly streams: number;
  /** The pause of a writer between two writes, in milliseconds. */
  readonly pauseMs: number;
  /** How long no primary can be reached, in milliseconds. */
  readonly outageMs: number;
  /** How long a request with a key is repeated after the round, in milliseconds. */
  readonly confirmMs: number;
  /** How long streams may take to equal the table, in milliseconds. */
  readonly agreeLimitMs: number;
}

export interface RoundOutcome {
  readonly fault: string;
  readonly acknowledged: number;
  readonly failed: number;
  readonly lost: number;
  /** From the promotion to the first acknowledged write, in milliseconds. */
  readonly firstWriteMs: number;
  /** From the end of the writers until all streams equalled the table, in milliseconds. */
  readonly agreedMs: number;
  readonly wrong: readonly string[];
}

/** The responses of nginx while it reaches no service. */
const ofNginx = [502, 504];
const streamsOfAddress = 25;
const lateStandby = "kill -9, late standby";

export class ClusterRounds implements AsyncDisposable {
  readonly #options: RoundsOptions;
  readonly #followers: readonly Follower[];
  readonly #requests: Requests[] = [];
  readonly #wrong: string[] = [];
  #rounds = 0;
  #knownFaults = 0;

  constructor(options: RoundsOptions) {
    this.#options = options;
    const { cluster, streams, writers } = options;
    this.#followers = Array.from({ length: streams }, (_one, at) => {
      const from = Math.floor(at / streamsOfAddress);
      if (at % streamsOfAddress === 0) this.#openRequests(`127.0.1.${from + 1}`);
      // A few streams follow all orders.
      const query = at % 20 === 0 ? "" : `filter=customer==c${at % writers}`;
      const interest = { user: "", query, path: "/api/orders" };
      const requests = this.#requests[from];
      if (requests === undefined) throw new Error("There is no client for this address");
      return new Follower(interest, requests, () => ({ url: cluster.url }));
    });
  }

  async run(): Promise<RoundOutcome> {
    const { cluster, isSynchronous, confirmMs } = this.#options;
    const round = `r${++this.#rounds}`;
    const fault = this.#nextFault();
    const requests = this.#openRequests(undefined);
    const acknowledgedAt: number[] = [];
    let isOver = false;
    const customers = Array.from({ length: this.#options.writers }, (_one, at) => `c${at}`);
    const writers = await Promise.all(customers.map(async (customer) =>
      new ClusterWriter({
        ...{ customer, round, requests, url: cluster.url },
        token: await cluster.tokenOf(customer),
        acknowledged: () => acknowledgedAt.push(performance.now()),
      })
    ));
    const writing = Promise.all(
      writers.map((writer) => writer.writeUntil(() => isOver, this.#options)),
    );
    const readiness = new Readiness(cluster.services.map((url) => ({ url })), this.#wrong);
    await sleep(500);
    await cluster.restartServices();
    const promotedAt = await this.#failOver(fault, readiness);
    await this.#untilServing(requests);
    isOver = true;
    await writing;
    await readiness.stop();
    const firstWriteMs = (acknowledgedAt.find((at) => at > promotedAt) ?? Infinity) - promotedAt;
    const endedAt = performance.now();
    const rows = await this.#untilAgreed();
    const agreedMs = performance.now() - endedAt;
    const found = writers.map((writer) =>
      writer.check(rows.filter(({ title }) => title.startsWith(`${round} `)))
    );
    const lost = found.flatMap(({ lost }) => lost);
    if (isSynchronous) this.#wrong.push(...lost.map((one) => `acknowledged and lost: ${one}`));
    this.#wrong.push(...found.flatMap(({ twice }) => twice).map((one) => `twice: ${one}`));
    if (confirmMs > 0) {
      const open = writers.flatMap((one) => one.open());
      this.#wrong.push(...open.map((one) => `no response tells the outcome of ${one}`));
    }
    this.#wrong.push(...this.#takeFaultsOfFollowers());
    const sum = (numbers: readonly number[]) => numbers.reduce((left, right) => left + right, 0);
    return {
      ...{ fault, lost: lost.length, firstWriteMs: Math.round(firstWriteMs) },
      acknowledged: sum(writers.map((writer) => writer.acknowledgements)),
      failed: sum(writers.map((writer) => writer.failures)),
      agreedMs: Math.round(agreedMs),
      wrong: this.#wrong.splice(0),
    };
  }

  /** Makes the old primary the standby, and removes the rows of the round. */
  async prepareNext(): Promise<void> {
    const { cluster, namespace } = this.#options;
    await namespace?.setLink("up");
    await cluster.rejoin();
    await cluster.primary.run("shop", (sql) => sql.unsafe("DELETE FROM orders"));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#followers.map((one) => one.stop()));
    for (const one of this.#requests) one[Symbol.dispose]();
  }

  #nextFault(): string {
    const { namespace, cluster } = this.#options;
    const isApart = cluster.primary.address === cluster.addressOf("127.0.0.2");
    if (namespace !== null && isApart && this.#rounds % 4 === 3) return "partition";
    return this.#rounds % 4 === 1 ? lateStandby : "kill -9";
  }

  #openRequests(localAddress: string | undefined): Requests {
    const report = (text: string) => this.#wrong.push(text);
    const address = localAddress === undefined ? {} : { localAddress };
    const requests = new Requests(report, { ...address, more: ofNginx });
    this.#requests.push(requests);
    return requests;
  }

  /** Returns the time of the promotion. */
  async #failOver(fault: string, readiness: Readiness): Promise<number> {
    const { cluster, namespace, outageMs } = this.#options;
    const promotion = Promise.withResolvers<number>();
    const { standby } = cluster;
    if (fault === lateStandby) {
      // A primary without a synchronous standby acknowledges writes in this second.
      await standby.stopFollowing();
      await sleep(1_000);
    }
    await readiness.outage(async () => {
      if (fault === "partition") await namespace?.setLink("down");
      else await cluster.primary.kill();
      await sleep(outageMs);
    });
    const watching = standby.run("postgres", async (sql) => {
      while ((await sql`SELECT pg_is_in_recovery() AS standby`)[0]?.["standby"]) await sleep(5);
      promotion.resolve(performance.now());
    });
    await cluster.failOver();
    await watching;
    return await promotion.promise;
  }

  async #untilServing(requests: Requests): Promise<void> {
    const { cluster } = this.#options;
    const limit = performance.now() + this.#options.agreeLimitMs;
    for (const url of cluster.services) {
      for (;;) {
        const ready = await requests.send({ url }, "GET", "/readyz", { user: "" });
        if (ready?.status === 200) break;
        if (performance.now() > limit) {
          this.#wrong.push(`${url} is not ready after the failover: ${ready?.text}`);
          return;
        }
        await sleep(50);
      }
    }
    await sleep(1_000);
  }

  /** Waits until each stream equals the table. Returns the rows of the table. */
  async #untilAgreed(): Promise<readonly OrderRow[]> {
    const limit = performance.now() + this.#options.agreeLimitMs;
    // The driver returns a bigint as a string.
    const text = "SELECT id::int, customer, title, quantity::int FROM orders";
    for (;;) {
      const rows: readonly OrderRow[] = await this.#options.cluster.primary.run(
        "shop",
        async (sql) => [...await sql.unsafe<OrderRow[]>(text)],
      );
      const differences = this.#followers.flatMap((one) => compare(one, rows));
      if (differences.length === 0) return rows;
      if (performance.now() > limit) {
        this.#wrong.push(`${differences.length} streams are wrong: ${differences[0]}`);
        return rows;
      }
      await sleep(50);
    }
  }

  #takeFaultsOfFollowers(): readonly string[] {
    const faults = this.#followers.flatMap(({ interest, held }) =>
      held.faults.map((text) => `the stream ${interest.query}: ${text}`)
    );
    const added = faults.slice(this.#knownFaults);
    this.#knownFaults = faults.length;
    return added;
  }
}

/** Returns the differences between a stream and the table. */
function compare({ interest, held }: Follower, rows: readonly OrderRow[]): readonly string[] {
  const customer = /c\d+$/.exec(interest.query)?.[0];
  const expected = new Set(
    rows.filter((row) => customer === undefined || row.customer === customer).map(print),
  );
  const shown = new Set(
    [...held.rows.values()].map(({ id, customer, title, quantity }) =>
      print({
        ...{ id: Number(id), customer: String(customer) },
        ...{ title: String(title), quantity: Number(quantity) },
      })
    ),
  );
  const [missing, more] = [expected.difference(shown), shown.difference(expected)];
  if (missing.size + more.size === 0) return [];
  return [`${interest.query} lacks ${[...missing][0]}, and has ${[...more][0]}`];
}

function print({ id, customer, title, quantity }: OrderRow): string {
  return JSON.stringify([id, customer, title, quantity]);
}
