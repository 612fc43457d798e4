/** A proxy between a client and the Postgres of the tests, which fails as networks and proxies do. */
export interface PostgresProxy extends AsyncDisposable {
  /** The URL through the proxy. */
  readonly url: string;
  /** How many connections it accepted. */
  readonly taken: () => number;
  /** Passes nothing on in either direction, as if every packet were lost. */
  stall(): void;
  /** Passes on what it holds, and everything after it. */
  resume(): void;
  /** Ends every connection. What it holds is lost. */
  cut(): void;
}

/** `admits` is called for each connection, which passes, now or later, or is closed at once. */
export function postgresProxy(
  target: string | (() => string),
  admits: () => Promise<boolean> = () => Promise.resolve(true),
  address = "127.0.0.1",
): PostgresProxy {
  const targetNow = typeof target === "string" ? () => target : target;
  const listener = Deno.listen({ hostname: address, port: 0 });
  const open = new Set<Deno.Conn>();
  let taken = 0;
  let stalled: PromiseWithResolvers<void> | null = null;
  const held = () =>
    new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
      async transform(bytes, controller) {
        while (stalled !== null) await stalled.promise;
        controller.enqueue(bytes);
      },
    });

  function resume(): void {
    stalled?.resolve();
    stalled = null;
  }

  function cut(): void {
    for (const connection of open) close(connection);
  }

  function close(connection: Deno.Conn): void {
    open.delete(connection);
    try {
      connection.close();
    } catch (error) {
      // The connection has ended already.
      if (!(error instanceof Deno.errors.BadResource)) throw error;
    }
  }

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
    if (!await admits()) return close(client);
    const { hostname, port } = new URL(targetNow());
    const server = await Deno.connect({ hostname, port: Number(port) }).catch(() => null);
    if (server === null) return close(client);
    // The connection was cut while the server accepted it.
    if (!open.has(client)) return server.close();
    open.add(server);
    // Either side may end in the middle: what could not be passed on is lost, as in a network.
    await Promise.allSettled([
      client.readable.pipeThrough(held()).pipeTo(server.writable),
      server.readable.pipeThrough(held()).pipeTo(client.writable),
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
    stall: () => void (stalled ??= Promise.withResolvers()),
    resume,
    cut,
    async [Symbol.asyncDispose]() {
      listener.close();
      resume();
      cut();
      await accepting;
    },
  };
}
