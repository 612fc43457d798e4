import type { RequiredCaptcha } from "./service_error.ts";
import type { ClientEnvironment } from "../../api/client_environment.ts";

/** The options of a client. */
export interface CreateClientOptions {
  /** Origin of the service, such as `https://example.com`. An empty string: the page's origin. */
  readonly baseUrl: string;
  /** Path below which the resources are. Default: `/api`. */
  readonly basePath?: string | undefined;
  /**
   * Bearer token, or a function that returns it. The function is called for each request, and again
   * with `refresh: true` after a 401. Null sends the request without a token.
   */
  readonly token?: string | TokenSource | undefined;
  /** Headers of every request. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Sends the requests instead of `fetch`, for instance `app.fetch` in the same process. */
  readonly fetch?: ClientEnvironment["fetch"] | undefined;
  /**
   * The timeout of a request with its response, in milliseconds. Default: 30,000. 0: no timeout.
   */
  readonly timeoutMs?: number | undefined;
  /** Settings of proof of work. */
  readonly pow?: ClientPow | undefined;
  /** Shows a CAPTCHA and returns its token. If absent, requests that need a CAPTCHA fail. */
  readonly captcha?: ((challenge: RequiredCaptcha) => Promise<string>) | undefined;
  /** Header for the token of the CAPTCHA, if the service reads another header than the default. */
  readonly captchaHeader?: string | undefined;
  /** Replacements for parts of the runtime environment, for instance in tests. */
  readonly environment?: Partial<ClientEnvironment> | undefined;
}

/** Returns the bearer token of a request, or null for a request without a token. */
export type TokenSource = (
  wanted: { readonly refresh: boolean },
) => string | null | Promise<string | null>;

/** How the client does the proof of work that a request requires. */
export interface ClientPow {
  /** `false` lets requests that need proof of work fail. Default: `true`. */
  readonly enabled?: boolean | undefined;
  /** Number of challenges that are solved for one request before it fails. Default: 3. */
  readonly maxAttempts?: number | undefined;
  /** Solves a challenge instead of the built-in solver, which is loaded on demand. */
  readonly solve?: PowSolver | undefined;
}

/** Returns the nonce for a proof-of-work challenge. */
export type PowSolver = (
  challenge: { readonly token: string; readonly difficulty: number },
  options: { readonly signal?: AbortSignal | undefined },
) => Promise<string>;
