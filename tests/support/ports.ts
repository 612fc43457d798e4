/** A port of the loopback that is free now. */
export function freePort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return listener.addr.port;
}

/** Two different ports of the loopback that are free now: a second call can find the first again. */
export function twoFreePorts(): readonly [number, number] {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return [listener.addr.port, freePort()];
}

/** Resolves once a server accepts connections on the port, or once the signal is aborted. */
export async function untilListening(port: number, signal?: AbortSignal): Promise<void> {
  while (signal?.aborted !== true) {
    try {
      (await Deno.connect({ hostname: "127.0.0.1", port })).close();
      return;
    } catch (error) {
      if (!(error instanceof Deno.errors.ConnectionRefused)) throw error;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}
