/** Requests of a client through a proxy. */
import { openEventStream } from "../support/event_stream.ts";
import type { ProxyName } from "../support/proxies.ts";
import type { ProxiedService } from "./proxied_service.ts";
import type { ProxyPorts, Setting } from "./start_proxies.ts";

/** How a client reaches the service: one of the sites that the proxy offers. */
export interface Site {
  readonly name: "HTTP/1.1" | "HTTP/2";
  readonly url: string;
  readonly client: Deno.HttpClient;
}

/** A service with a proxy in front. */
export interface Through {
  readonly proxy: ProxyName;
  readonly setting: Setting;
  readonly ports: ProxyPorts;
  readonly service: ProxiedService;
  /** The sites of the proxy: with the file of the documents, HTTP/2 with TLS is among them. */
  readonly sites: readonly Site[];
}

export interface Sent {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly json?: unknown;
}

export interface Received {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** Sends a request to a path of a site, and reads the response to its end. */
export async function send(
  { url, client }: Site,
  path: string,
  { method = "GET", headers = {}, json }: Sent = {},
): Promise<Received> {
  const response = await fetch(url + path, {
    method,
    client,
    headers: json === undefined ? headers : { ...headers, "content-type": "application/json" },
    ...(json === undefined ? {} : { body: JSON.stringify(json) }),
  });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

/** Opens a live stream at a site. */
export function openStream(
  { url, client }: Site,
  path: string,
  headers: Readonly<Record<string, string>> = {},
) {
  return openEventStream(
    (signal) => fetch(url + path, { signal, client, headers }),
    () => {},
  );
}

/** Sends the text on a connection, and returns the whole that comes until the server closes. */
export async function exchange(port: number, text: string): Promise<string> {
  using connection = await connect(port);
  await connection.send(text);
  return await connection.untilEnd();
}

export interface RawConnection extends Disposable {
  send(text: string): Promise<void>;
  /** Reads until the text is there; returns all of it that has come since the start. */
  until(text: string): Promise<string>;
  untilEnd(): Promise<string>;
}

/** Opens a connection on which a test sends what no HTTP client would. */
export async function connect(port: number): Promise<RawConnection> {
  const connection = await Deno.connect({ hostname: "127.0.0.1", port });
  const decoder = new TextDecoder();
  let received = "";
  const read = async () => {
    const buffer = new Uint8Array(16_384);
    const count = await connection.read(buffer).catch((error) => {
      if (error instanceof Deno.errors.ConnectionReset) return null;
      throw error;
    });
    if (count !== null) received += decoder.decode(buffer.subarray(0, count), { stream: true });
    return count !== null;
  };
  return {
    async send(text) {
      const bytes = new TextEncoder().encode(text);
      for (let sent = 0; sent < bytes.length;) {
        sent += await connection.write(bytes.subarray(sent));
      }
    },
    async until(text) {
      while (!received.includes(text)) {
        if (!await read()) throw new Error(`The connection ended before ${text}: ${received}`);
      }
      return received;
    },
    async untilEnd() {
      while (await read());
      return received;
    },
    [Symbol.dispose]: () => connection.close(),
  };
}
