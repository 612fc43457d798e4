import type { Listenable } from "../../listen/listener.ts";

/** The clients of proxied connections, by the port from which the proxy connects. */
export interface ClientAddresses {
  note(port: number, client: string): void;
  /** Handles a request with the address of the client instead of that of the proxy. */
  answer: Listenable["fetch"];
}

/** Creates the record of clients for an app. An entry is valid until the port's next connection. */
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

/** The info of a proxied connection. */
class PassedInfo implements Deno.ServeHandlerInfo {
  readonly #info: Deno.ServeHandlerInfo;
  readonly remoteAddr: Deno.NetAddr;

  constructor(info: Deno.ServeHandlerInfo, hostname: string) {
    this.#info = info;
    this.remoteAddr = { transport: "tcp", hostname, port: 0 };
  }

  /** Deno creates the promise lazily. */
  get completed(): Promise<void> {
    return this.#info.completed;
  }
}
