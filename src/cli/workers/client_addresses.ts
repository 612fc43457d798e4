import type { Listenable } from "../../listen/listener.ts";

/** The clients whose connections a proxy passes, by the port from which the proxy sends. */
export interface ClientAddresses {
  note(port: number, client: string): void;
  /** Answers with the address of the client in place of that of the proxy. */
  answer: Listenable["fetch"];
}

/** Makes the record of clients for an app. What is noted of a port holds until its next connection. */
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

/** What is known of a connection that the proxy passes. */
class PassedInfo implements Deno.ServeHandlerInfo {
  readonly #info: Deno.ServeHandlerInfo;
  readonly remoteAddr: Deno.NetAddr;

  constructor(info: Deno.ServeHandlerInfo, hostname: string) {
    this.#info = info;
    this.remoteAddr = { transport: "tcp", hostname, port: 0 };
  }

  /** Deno makes the promise when it is asked for. */
  get completed(): Promise<void> {
    return this.#info.completed;
  }
}
