import { Problem } from "../../problem/problem.ts";
import { readBytes } from "../../runtime/read_bytes.ts";
import { JsonFields } from "./json_fields.ts";

/** The options for calling the API of a provider. */
export interface VendorApiOptions {
  /** Name of the provider in messages. */
  readonly provider: string;
  /** Base URL without a trailing slash. */
  readonly baseUrl: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly fetch: typeof fetch;
  /** Timeout of one call, in milliseconds. */
  readonly timeoutMs: number;
}

/** One call of the API of a provider. */
export interface VendorCall {
  readonly method: "GET" | "POST" | "PATCH" | "DELETE";
  /** Percent-encoded path. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

/** Calls the JSON API of a provider. Calls are not retried. */
export class VendorApi {
  readonly #options: VendorApiOptions;

  /** Makes no call yet. */
  constructor(options: VendorApiOptions) {
    this.#options = options;
  }

  /** Returns the fields of the response. Throws a `billing-failed` Problem for any error. */
  async send(call: VendorCall): Promise<JsonFields> {
    const answer = await this.find(call);
    if (answer === null) throw billingFailed(this.#options.provider, new Error("status 404"));
    return answer;
  }

  /**
   * Returns the elements of all pages of a list. `next` returns the query of the following page, or
   * undefined after the last page. Throws a `billing-failed` Problem for more than {@link
   * maxListed}.
   */
  async listAll(
    call: VendorCall,
    name: string,
    next: (answer: JsonFields, page: number) => Readonly<Record<string, string>> | undefined,
  ): Promise<readonly JsonFields[]> {
    const all: JsonFields[] = [];
    let more: Readonly<Record<string, string>> | undefined = {};
    for (let page = 1; more !== undefined; page++) {
      const answer = await this.send({ ...call, query: { ...call.query, ...more } });
      all.push(...answer.list(name));
      more = next(answer, page);
      if (all.length > maxListed || page > maxListed) {
        throw billingFailed(this.#options.provider, new Error(`the list is over ${maxListed}`));
      }
    }
    return all;
  }

  /** Returns the fields of the response; null for a 404. */
  async find({ method, path, query = {}, body }: VendorCall): Promise<JsonFields | null> {
    const { provider, baseUrl, headers, fetch, timeoutMs } = this.#options;
    const search = new URLSearchParams(query).toString();
    try {
      const response = await fetch(`${baseUrl}${path}${search === "" ? "" : `?${search}`}`, {
        method,
        headers: body === undefined ? headers : { "content-type": "application/json", ...headers },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        redirect: "error",
        signal: AbortSignal.timeout(timeoutMs),
      });
      const bytes = await readBytes(response.body, { limit: maxAnswerBytes });
      if (typeof bytes === "string") throw new Error("the answer is too long");
      const text = new TextDecoder().decode(bytes);
      if (response.status === 404 && method === "GET") return null;
      if (!response.ok) throw new Error(`status ${response.status}: ${text.slice(0, 500)}`);
      return new JsonFields(text === "" ? {} : JSON.parse(text));
    } catch (error) {
      // The cause is the network, the provider or its response, and not this program.
      throw billingFailed(provider, error);
    }
  }
}

/** Limit of elements that are read from a list of a provider. */
export const maxListed = 1_000;

const maxAnswerBytes = 4 * 1024 * 1024;

/** Returns the Problem for a provider that failed; the cause is observed and never sent. */
export function billingFailed(provider: string, cause: unknown): Problem {
  return new Problem("billing-failed", `Cannot do this: the billing provider ${provider} failed`, {
    cause,
  });
}
