import type { Listenable } from "../../listen/listener.ts";

/** The addresses of clients behind the proxy, by the local port of the proxy's connection. */
export interface ClientAddresses {
  note(port: number, client: string): void;
  /** Handles a request with the address of the client instead of the proxy's address. */
  answer: Listenable["fetch"];
}

/** Creates the table of client addresses. A port's next connection replaces the port's entry. */
export function clientAddresses(fetch: Listenable["fetch"]): ClientAddresses {
  const clients = new Map<number, string>();
  return {
    note: (port, client) => clients.set(port, client),
    answer(request, info) {
      const { remoteAddr } = info;
      const client = remoteAddr.transport === "tcp" ? clients.get(remoteAddr.port) : undefined;
      return fetch(request, client === undefined ? info : new PassedInfo(info, client));
    },
  };
}

/** The connection info of a request that came through the proxy. */
class PassedInfo implements Deno.ServeHandlerInfo {
  readonly #info: Deno.ServeHandlerInfo;
  readonly remoteAddr: Deno.NetAddr;

  constructor(info: Deno.ServeHandlerInfo, hostname: string) {
    this.#info = info;
    this.remoteAddr = { transport: "tcp", hostname, port: 0 };
  }

  /** The property is a getter, because Deno creates the promise lazily. */
  get completed(): Promise<void> {
    return this.#info.completed;
  }
}
