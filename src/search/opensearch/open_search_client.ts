import type { Client, ClientOptions as LibraryOptions } from "@opensearch-project/opensearch";

export interface ClientOptions {
  readonly nodes: readonly string[];
  readonly auth: { readonly username: string; readonly password: string } | undefined;
  readonly ssl:
    | { readonly ca: string | undefined; readonly rejectUnauthorized: boolean }
    | undefined;
  readonly timeoutMs: number;
}

export interface OpenSearchRequest {
  readonly method: "GET" | "PUT" | "POST" | "DELETE" | "HEAD";
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: Record<string, unknown>;
  readonly lines?: readonly Record<string, unknown>[];
  readonly signal?: AbortSignal;
  readonly timeoutMs?: number;
}

export type OpenSearchClient = ReturnType<typeof createOpenSearchClient>;

export function createOpenSearchClient(options: ClientOptions) {
  let loading: Promise<Client> | null = null;
  return {
    /** Returns the response of a server. A status of 404 does not throw. */
    async request(
      { method, path, query, body, lines, signal, timeoutMs }: OpenSearchRequest,
    ): Promise<{ readonly status: number; readonly body: unknown }> {
      const client = await (loading ??= connect(options));
      signal?.throwIfAborted();
      const call = client.transport.request({
        ...{ method, path },
        ...(query === undefined ? {} : { querystring: query }),
        ...(body === undefined ? {} : { body }),
        ...(lines === undefined ? {} : { bulkBody: [...lines] }),
      }, { ignore: [404], ...(timeoutMs === undefined ? {} : { requestTimeout: timeoutMs }) });
      const abort = () => call.abort();
      signal?.addEventListener("abort", abort);
      try {
        const { statusCode, body } = await call;
        return { status: statusCode ?? 0, body };
      } finally {
        signal?.removeEventListener("abort", abort);
      }
    },
    async close() {
      const client = await loading?.catch(() => null);
      await client?.close();
    },
  };
}

async function connect({ nodes, auth, ssl, timeoutMs }: ClientOptions): Promise<Client> {
  const { Client } = await import("@opensearch-project/opensearch");
  const tls: LibraryOptions["ssl"] = ssl === undefined ? undefined : {
    rejectUnauthorized: ssl.rejectUnauthorized,
    ...(ssl.ca === undefined ? {} : { ca: ssl.ca }),
  };
  return new Client({
    nodes: [...nodes],
    requestTimeout: timeoutMs,
    // If a node fails, the library sends the request to the other nodes, if there are any.
    maxRetries: nodes.length - 1,
    ...(auth === undefined ? {} : { auth }),
    ...(tls === undefined ? {} : { ssl: tls }),
  });
}
