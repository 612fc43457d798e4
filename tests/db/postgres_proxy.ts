/** A proxy between a client and the Postgres of the tests, which fails as networks and proxies do. */
export interface PostgresProxy extends AsyncDisposable {
  /** The URL through the proxy. */
  readonly url: string;
  /** How many connections it accepted. */
  readonly taken: () => number;
}

/** `admits` is called for each connection, which passes, now or later, or is closed at once. */
export function postgresProxy(
  target: string | (() => string),
  admits: () => Promise<boolean>,
): PostgresProxy {
  const targetNow = typeof target === "string" ? () => target : target;
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const open = new Set<Deno.Conn>();
  let taken = 0;

  async function accept(): Promise<void> {
    const running: Promise<void>[] = [];
    for await (const client of listener) {
      taken++;
      running.push(serve(client));
    }
    await Promise.all(running);
  }

  async function serve(client: Deno.Conn): Promise<void> {
    open.add(client);
    if (!await admits()) {
      open.delete(client);
      return client.close();
    }
    const { hostname, port } = new URL(targetNow());
    const server = await Deno.connect({ hostname, port: Number(port) }).catch(() => null);
    if (server === null) {
      open.delete(client);
      return client.close();
    }
    open.add(server);
    // Either side may end in the middle: what could not be passed on is lost, as in a network.
    await Promise.allSettled([
      client.readable.pipeTo(server.writable),
      server.readable.pipeTo(client.writable),
    ]);
    open.delete(client);
    open.delete(server);
  }

  const accepting = accept();
  const url = new URL(targetNow());
  url.port = String(listener.addr.port);
  return {
    url: url.href,
    taken: () => taken,
    async [Symbol.asyncDispose]() {
      listener.close();
      for (const connection of open) connection.close();
      await accepting;
    },
  };
}
