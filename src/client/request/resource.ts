import { type Handle, handle } from "./handle.ts";
import { type KeyInput, keyPath } from "./key_path.ts";
import { queryText, type QueryValue } from "./query_text.ts";
import { unexpectedAnswer } from "./service_error.ts";
import type { ClientRequest } from "./transport.ts";

/** What a request takes beside the parameters of its query. */
interface Options {
  readonly signal?: AbortSignal;
  readonly ifNoneMatch?: string | null;
  readonly [parameter: string]: QueryValue | AbortSignal;
}

/**
 * The requests to one resource, as they are sent. Their types are those of `ResourceClient`, which
 * the compiler cannot compare with what a service answers.
 */
export function createRequests(own: Handle) {
  const { transport, path } = own;

  async function json(request: ClientRequest): Promise<{ value: unknown; etag: string | null }> {
    const response = await transport.send(request);
    return { value: await valueOf(response), etag: response.headers.get("etag") };
  }

  return {
    [handle]: own,
    async list({ signal, ...query }: Options = {}) {
      return (await json({ method: "GET", path: path + queryText(query), signal })).value;
    },
    // deno-lint-ignore require-await -- a key that no URL can hold rejects, as everything does
    async get(key: KeyInput, { signal, ifNoneMatch, ...query }: Options = {}) {
      const headers = ifNoneMatch ? { "if-none-match": ifNoneMatch } : {};
      return json({
        method: "GET",
        path: `${path}/${keyPath(key)}${queryText(query)}`,
        headers,
        signal,
      });
    },
  };
}

/** The JSON of an answer; null where it has no body. */
async function valueOf(response: Response): Promise<unknown> {
  if (response.body === null) return null;
  try {
    return await response.json();
  } catch (cause) {
    throw unexpectedAnswer(response, { cause });
  }
}
