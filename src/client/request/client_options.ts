import type { RequiredCaptcha } from "./service_error.ts";
import type { ClientEnvironment } from "../../api/client_environment.ts";

/** The options of a client. */
export interface CreateClientOptions {
  /** Where the service is, as `https://example.com`; the empty string is the origin of the page. */
  readonly baseUrl: string;
  /** The path below which the resources are; `/api` unless set. */
  readonly basePath?: string | undefined;
  /**
   * The bearer token, or a function that gives it: it is asked for each request, and once more with
   * `refresh: true` after a 401. Null sends the request without one.
   */
  readonly token?: string | TokenSource | undefined;
  /** Headers of every request. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Sends the requests in the place of the runtime's `fetch`, as `app.fetch` in one process. */
  readonly fetch?: ClientEnvironment["fetch"] | undefined;
  /** How long an answer may take, its body included; 30,000 unless set, 0 is without limit. */
  readonly timeoutMs?: number | undefined;
  /** True if and how proof of work is done. */
  readonly pow?: ClientPow | undefined;
  /** Shows a CAPTCHA and gives its token. Without it a request that needs one is refused. */
  readonly captcha?: ((challenge: RequiredCaptcha) => Promise<string>) | undefined;
  /** The header for the CAPTCHA's token, where the service reads another one. */
  readonly captchaHeader?: string | undefined;
  /** Other surroundings than those of the runtime, in part or in whole, as in tests. */
  readonly environment?: Partial<ClientEnvironment> | undefined;
}

/** Returns the bearer token of a request; null for none. */
export type TokenSource = (
  wanted: { readonly refresh: boolean },
) => string | null | Promise<string | null>;

/** True if and how the client does the proof of work that a request requires. */
export interface ClientPow {
  /** `false` refuses requests that need it; `true` unless set. */
  readonly enabled?: boolean | undefined;
  /** How many challenges of one request are solved before it is refused; 3 unless set. */
  readonly maxAttempts?: number | undefined;
  /** Solves a challenge in the place of the own solver, which is loaded when it is needed. */
  readonly solve?: PowSolver | undefined;
}

/** Returns the nonce for a challenge of proof of work. */
export type PowSolver = (
  challenge: { readonly token: string; readonly difficulty: number },
  options: { readonly signal?: AbortSignal | undefined },
) => Promise<string>;
