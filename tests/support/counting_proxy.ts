/** A proxy in front of Postgres that counts what a client costs: statements and round trips. */

/** What went through a proxy since the last call of `reset`. */
export interface PostgresTraffic {
  /** The number of executed statements. */
  readonly statements: number;
  /** How often the client sent something while it had no outstanding statement. */
  readonly roundTrips: number;
  /** The number of messages in both directions. */
  readonly messages: number;
  /** The number of notifications that the server sent to the client. */
  readonly notifications: number;
}

export interface CountingProxy extends AsyncDisposable {
  /** The URL through the proxy. */
  readonly url: string;
  traffic(): PostgresTraffic;
  reset(): void;
}

/** Starts a proxy in front of the server of `target`. */
export function countingProxy(target: string): CountingProxy {
  const { hostname, port } = new URL(target);
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const open = new Set<Deno.Conn>();
  let [statements, roundTrips, counted, notifications] = [0, 0, 0, 0];

  async function serve(client: Deno.Conn): Promise<void> {
    const server = await Deno.connect({ hostname, port: Number(port) });
    for (const connection of [client, server]) open.add(connection);
    let outstanding = 0;
    const fromClient = messages(true, (type) => {
      counted++;
      if (type !== "S" && type !== "Q") return;
      if (outstanding++ === 0) roundTrips++;
      statements++;
    });
    // ReadyForQuery ends each statement, and the start of the connection.
    let isStarted = false;
    const fromServer = messages(false, (type) => {
      counted++;
      if (type === "A") notifications++;
      if (type !== "Z") return;
      if (isStarted) outstanding--;
      isStarted = true;
    });
    await Promise.allSettled([
      client.readable.pipeThrough(seen(fromClient)).pipeTo(server.writable),
      server.readable.pipeThrough(seen(fromServer)).pipeTo(client.writable),
    ]);
    for (const connection of [client, server]) open.delete(connection);
  }

  const accepting = (async () => {
    const running: Promise<void>[] = [];
    for await (const client of listener) running.push(serve(client));
    await Promise.all(running);
  })();
  const url = new URL(target);
  url.port = String(listener.addr.port);
  url.hostname = "127.0.0.1";
  // A request for TLS is no message that the proxy knows.
  url.searchParams.set("sslmode", "disable");
  return {
    url: url.href,
    traffic: () => ({ statements, roundTrips, messages: counted, notifications }),
    reset: () => void ([statements, roundTrips, counted, notifications] = [0, 0, 0, 0]),
    async [Symbol.asyncDispose]() {
      listener.close();
      for (const connection of open) {
        try {
          connection.close();
        } catch (error) {
          // It has ended by itself.
          if (!(error instanceof Deno.errors.BadResource)) throw error;
        }
      }
      await accepting;
    },
  };
}

function seen(take: (bytes: Uint8Array) => void) {
  return new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
    transform(bytes, controller) {
      take(bytes);
      controller.enqueue(bytes);
    },
  });
}

/** Calls `each` with the type of every message. The first message of a client has no type. */
function messages(isClient: boolean, each: (type: string) => void): (bytes: Uint8Array) => void {
  let held = new Uint8Array();
  let isFirst = isClient;
  return (bytes) => {
    const all = new Uint8Array(held.length + bytes.length);
    all.set(held);
    all.set(bytes, held.length);
    let at = 0;
    for (;;) {
      const head = isFirst ? 0 : 1;
      if (all.length - at < head + 4) break;
      const length = new DataView(all.buffer).getInt32(at + head);
      if (all.length - at < head + length) break;
      if (!isFirst) each(String.fromCharCode(all[at] ?? 0));
      isFirst = false;
      at += head + length;
    }
    held = all.slice(at);
  };
}
