import { Problem } from "../../problem/problem.ts";
import { readBytes } from "../../runtime/read_bytes.ts";
import { JsonFields } from "./json_fields.ts";

/** How the API of a provider is called. */
export interface VendorApiOptions {
  /** For messages. */
  readonly provider: string;
  /** Without a slash at its end. */
  readonly baseUrl: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly fetch: typeof fetch;
  /** The longest time for one call. */
  readonly timeoutMs: number;
}

/** One call of the API of a provider. */
export interface VendorCall {
  readonly method: "GET" | "POST" | "PATCH" | "DELETE";
  /** Percent-encoded. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

/** Calls the JSON API of a provider, each call once. */
export class VendorApi {
  readonly #options: VendorApiOptions;

  /** Makes no call yet. */
  constructor(options: VendorApiOptions) {
    this.#options = options;
  }

  /** The answer's fields. Throws a `billing-failed` Problem where there is no good answer. */
  async send(call: VendorCall): Promise<JsonFields> {
    const answer = await this.find(call);
    if (answer === null) throw billingFailed(this.#options.provider, new Error("status 404"));
    return answer;
  }

  /**
   * The elements of all pages of a list. `next` gives the query of the page after one; undefined
   * after the last. Throws a `billing-failed` Problem for more than {@link maxListed}.
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

  /** The answer's fields; null for a 404. */
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
      // Of the network, of the provider, or of what it answered: none is a fault of this program.
      throw billingFailed(provider, error);
    }
  }
}

/** The most elements of a list of a provider that are read. */
export const maxListed = 1_000;

const maxAnswerBytes = 4 * 1024 * 1024;

/** The Problem of a provider that refused or did not answer; the cause is observed, never sent. */
export function billingFailed(provider: string, cause: unknown): Problem {
  return new Problem("billing-failed", `Cannot do this: the billing provider ${provider} failed`, {
    cause,
  });
}
