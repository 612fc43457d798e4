import { Problem } from "../../problem/problem.ts";
import { readBytes } from "../../runtime/read_bytes.ts";
import { JsonFields } from "./json_fields.ts";

export interface VendorApiOptions {
  readonly provider: string;
  readonly baseUrl: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly fetch?: typeof fetch | undefined;
  readonly timeoutMs: number;
}

export interface VendorCall {
  readonly method: "GET" | "POST" | "PATCH" | "DELETE";
  /** Percent-encoded path of the call. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

/** Sends calls to the JSON API of a provider, without retries. */
export class VendorApi {
  readonly #options: VendorApiOptions;

  constructor(options: VendorApiOptions) {
    this.#options = options;
  }

  async send(call: VendorCall): Promise<JsonFields> {
    const answer = await this.find(call);
    if (answer === null) throw this.failed(new Error("status 404"));
    return answer;
  }

  /** Reads all pages: `next` returns the query of the next page. Throws above {@link maxListed}. */
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
        throw this.failed(new Error(`the list is over ${maxListed}`));
      }
    }
    return all;
  }

  expect<Part>(part: Part | null | undefined, fault: string): Part {
    if (part !== null && part !== undefined) return part;
    throw this.failed(new Error(fault));
  }

  failed(cause: unknown): Problem {
    return providerProblem(this.#options.provider, cause);
  }

  /** Sends a call, and returns the response's fields. Returns null if a GET has a 404. */
  async find({ method, path, query = {}, body }: VendorCall): Promise<JsonFields | null> {
    const { baseUrl, headers, fetch: send = fetch, timeoutMs } = this.#options;
    const search = new URLSearchParams(query).toString();
    try {
      const response = await send(`${baseUrl}${path}${search === "" ? "" : `?${search}`}`, {
        method,
        headers: body === undefined ? headers : { "content-type": "application/json", ...headers },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        redirect: "error",
        signal: AbortSignal.timeout(timeoutMs),
      });
      const bytes = await readBytes(response.body, { limit: maxAnswerBytes });
      if (typeof bytes === "string") throw new Error("the response is too long");
      const text = new TextDecoder().decode(bytes);
      if (response.status === 404 && method === "GET") return null;
      if (!response.ok) throw new Error(`status ${response.status}: ${text.slice(0, 500)}`);
      return new JsonFields(text === "" ? {} : JSON.parse(text));
    } catch (error) {
      throw this.failed(error);
    }
  }
}

/** Descriptions of invalid responses. Only the operator sees these strings. */
export const noCheckout = "the response has no checkout";
export const noSubscription = "the response is not a subscription";

export const maxListed = 1_000;

const maxAnswerBytes = 4 * 1024 * 1024;

/** Returns the Problem for a failed call. Only the operator sees `cause`. */
export function providerProblem(provider: string, cause: unknown): Problem {
  return new Problem("billing-failed", `Cannot do this: the billing provider ${provider} failed`, {
    cause,
  });
}
