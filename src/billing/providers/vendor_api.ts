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

const maxAnswerBytes = 4 * 1024 * 1024;

/** The Problem of a provider that refused or did not answer; the cause is observed, never sent. */
export function billingFailed(provider: string, cause: unknown): Problem {
  return new Problem("billing-failed", `Cannot do this: the billing provider ${provider} failed`, {
    cause,
  });
}
