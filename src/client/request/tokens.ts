import type { CreateClientOptions } from "./client_options.ts";

export interface Token {
  /** The token. Without a value, the request has no `Authorization` header. */
  readonly value: string | null | undefined | false;
  /** The number of refreshes before this token was returned. */
  readonly age: number;
}

/** The bearer tokens for a client's requests. Simultaneous requests share one refresh. */
export interface Tokens {
  /** Returns the token for a new request. */
  current(): Promise<Token>;
  /** Returns a token newer than `refused`, or a token without a `value`. */
  after(refused: Token): Promise<Token>;
}

/** Creates tokens from a source. Requests that were refused together cause only one new call. */
export function createTokens(source: CreateClientOptions["token"]): Tokens {
  let refreshes = 0;
  let refreshing: Promise<Token> | null = null;

  async function ask(refresh: boolean): Promise<Token> {
    // Another request may start a refresh while the source is working.
    const age = refreshes;
    const value = typeof source === "function" ? await source({ refresh }) : !refresh && source;
    return { value, age: refresh ? ++refreshes : age };
  }

  return {
    current: () => refreshing ?? ask(false),
    // While this request was in flight, another request may have refreshed the token.
    after: ({ age }) =>
      age < refreshes ? ask(false) : (refreshing ??= ask(true).finally(() => refreshing = null)),
  };
}
