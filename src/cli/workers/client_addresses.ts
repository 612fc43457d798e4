import type { Listenable } from "../../listener.ts";

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
      if (remoteAddr.transport !== "tcp") return fetch(request, info);
      const hostname = clients.get(remoteAddr.port) ?? remoteAddr.hostname;
      return fetch(request, {
        remoteAddr: { transport: "tcp", hostname, port: remoteAddr.port },
        // Deno makes the promise when it is asked for.
        get completed() {
          return info.completed;
        },
      });
    },
  };
}
