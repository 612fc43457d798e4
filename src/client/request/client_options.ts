import type { RequiredCaptcha } from "./service_error.ts";
import type { ClientEnvironment } from "../../api/client_environment.ts";

/** The options of a client. */
export interface CreateClientOptions {
  /** The origin of the service, such as `https://example.com`. Empty for the origin of the page. */
  readonly baseUrl: string;
  /** The path that precedes all resources. Default: `/api`. */
  readonly basePath?: string | undefined;
  /** The bearer token, or a function that returns it for each request, and again after a 401. */
  readonly token?: string | TokenSource | undefined;
  /** The headers of every request. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Replaces the global `fetch` for all requests, for example `app.fetch`. */
  readonly fetch?: ClientEnvironment["fetch"] | undefined;
  /** Timeout of a request and its response, in milliseconds; 0 for none. Default: 30,000. */
  readonly timeoutMs?: number | undefined;
  /** How to handle requests that require proof of work. */
  readonly pow?: ClientPow | undefined;
  /** Shows a CAPTCHA and returns its token. Without this function, requests with a CAPTCHA fail. */
  readonly captcha?: ((challenge: RequiredCaptcha) => Promise<string>) | undefined;
  /** The header for the CAPTCHA token. Default: `Service-Captcha-Token`. */
  readonly captchaHeader?: string | undefined;
  /** Replacements for parts of the runtime environment, for instance in tests. */
  readonly environment?: Partial<ClientEnvironment> | undefined;
}

/** Returns the bearer token for a request, or null for a request without token. */
export type TokenSource = (
  wanted: { readonly refresh: boolean },
) => string | null | Promise<string | null>;

/** How the client handles requests that require proof of work. */
export interface ClientPow {
  /** If false, requests that need proof of work fail. Default: `true`. */
  readonly enabled?: boolean | undefined;
  /** The maximum number of challenges to solve for one request. Default: 3. */
  readonly maxAttempts?: number | undefined;
  /** Replaces the built-in solver, which is otherwise loaded on demand. */
  readonly solve?: PowSolver | undefined;
}

/** Returns the nonce for a proof-of-work challenge. */
export type PowSolver = (
  challenge: { readonly token: string; readonly difficulty: number },
  options: { readonly signal?: AbortSignal | undefined },
) => Promise<string>;
