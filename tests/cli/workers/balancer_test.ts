import { assertEquals, assertThrows } from "@std/assert";
import { KernelBalancer } from "../../../src/cli/workers/kernel_balancer.ts";
import { filterPort } from "../../../src/cli/workers/port_filter.ts";
import type { WorkerOrder, WorkerProcess } from "../../../src/cli/workers/worker_process.ts";
import { testUnless } from "../../support/skip.ts";

/** Sockets that share a port, by the names that the test gives them. */
class SharedPort implements AsyncDisposable {
  readonly #listeners = new Map<string, { listener: Deno.TcpListener; accepting: Promise<void> }>();
  readonly #reached = new Set<string>();
  #accepted = 0;
  #wanted = Promise.withResolvers<void>();
  port = 0;

  add(name: string): void {
    const listener = Deno.listen({ hostname: "127.0.0.1", port: this.port, reusePort: true });
    this.port = listener.addr.port;
    this.#listeners.set(name, { listener, accepting: this.#accept(name, listener) });
  }

  async close(name: string): Promise<void> {
    const { listener, accepting } = this.#listeners.get(name) ?? {};
    listener?.close();
    // The system keeps it while it waits for a connection.
    await accepting;
    this.#listeners.delete(name);
  }

  /** Which of them get any of sixty connections: in order, as letters. */
  async reached(): Promise<string> {
    this.#reached.clear();
    this.#accepted = 0;
    this.#wanted = Promise.withResolvers();
    for (let count = 0; count < connections; count++) {
      using _ = await Deno.connect({ hostname: "127.0.0.1", port: this.port });
    }
    await this.#wanted.promise;
    return [...this.#reached].sort().join("");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const name of [...this.#listeners.keys()]) await this.close(name);
  }

  async #accept(name: string, listener: Deno.TcpListener): Promise<void> {
    for await (const connection of listener) {
      connection.close();
      this.#reached.add(name);
      if (++this.#accepted === connections) this.#wanted.resolve();
    }
  }
}

const connections = 60;

/** Returns why this system cannot filter the connections of a port, or null if it can. */
function whyNoPortFilter(): string | null {
  try {
    using listener = Deno.listen({ hostname: "127.0.0.1", port: 0, reusePort: true });
    filterPort(listener.addr.port, null);
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

testUnless(
  whyNoPortFilter(),
  "a filter leaves out one of the sockets that share a port",
  async () => {
    await using shared = new SharedPort();
    for (const name of "abc") shared.add(name);
    assertEquals(await shared.reached(), "abc");
    filterPort(shared.port, { without: 0, of: 3 });
    assertEquals(await shared.reached(), "bc");
    filterPort(shared.port, { without: 1, of: 3 });
    assertEquals(await shared.reached(), "ac");
    filterPort(shared.port, { without: 2, of: 3 });
    assertEquals(await shared.reached(), "ab");

    await shared.close("c");
    assertEquals(await shared.reached(), "ab");
    shared.add("d");
    filterPort(shared.port, null);
    assertEquals(await shared.reached(), "abd");
  },
);

testUnless(
  whyNoPortFilter(),
  "the balancer knows the places of sockets after some were closed",
  async () => {
    await using shared = new SharedPort();
    const orders: WorkerOrder[] = [];
    const worker = (name: string) => {
      shared.add(name);
      // The balancer only sends orders to it.
      return { send: (order: WorkerOrder) => void orders.push(order) } as unknown as WorkerProcess;
    };
    const balancer = new KernelBalancer("127.0.0.1", 0);
    const [a, b, c, d] = [worker("a"), worker("b"), worker("c"), worker("d")];
    for (const each of [a, b, c, d]) balancer.add(each, shared.port);
    const retire = async (each: WorkerProcess) => {
      balancer.retire(each);
      const order = orders.pop();
      // By any of the sockets that are open.
      if (order?.kind === "retire") filterPort(shared.port, order.filter);
      return await shared.reached();
    };

    assertEquals(await retire(a), "bcd");
    await shared.close("a");
    balancer.remove(a);
    assertEquals(orders.pop(), { kind: "unfilter" });
    filterPort(shared.port, null);
    // The last has taken the place of the first.
    assertEquals(await retire(d), "bc");
    assertEquals(await retire(b), "cd");
    // One that is killed leaves without an order.
    await shared.close("b");
    balancer.remove(b);
    assertEquals(await retire(c), "d");
    // One that has listened again is the last.
    await shared.close("d");
    shared.add("d");
    balancer.add(d, shared.port);
    assertEquals(await retire(d), "c");
  },
);

Deno.test("a port that another service has is not shared with it", () => {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0, reusePort: true });
  assertThrows(
    () => new KernelBalancer("127.0.0.1", listener.addr.port),
    Error,
    `Cannot listen on http://127.0.0.1:${listener.addr.port}: the port is taken`,
  );
});
