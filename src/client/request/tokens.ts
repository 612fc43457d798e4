import type { CreateClientOptions } from "./client_options.ts";

/** A bearer token as the source has returned it. */
export interface Token {
  /** Without a value, a request is sent without a token. */
  readonly value: string | null | undefined | false;
  /** Number of refreshes that preceded this token. */
  readonly age: number;
}

/** The tokens of a client's requests. All requests share one refresh. */
export interface Tokens {
  /** Returns the token for a new request. */
  current(): Promise<Token>;
  /** Returns the token to use after this token was refused, or a token without a value. */
  after(refused: Token): Promise<Token>;
}

/**
 * Returns the tokens of a source. It is called for each request, and once for all refused requests.
 */
export function createTokens(source: CreateClientOptions["token"]): Tokens {
  let refreshes = 0;
  let refreshing: Promise<Token> | null = null;

  async function ask(refresh: boolean): Promise<Token> {
    // While the source is working, another request may have caused a refresh of the token.
    const age = refreshes;
    const value = typeof source === "function" ? await source({ refresh }) : !refresh && source;
    return { value, age: refresh ? ++refreshes : age };
  }

  return {
    current: () => refreshing ?? ask(false),
    // While this request was in flight, another request may have caused a refresh of the token.
    after: ({ age }) =>
      age < refreshes ? ask(false) : (refreshing ??= ask(true).finally(() => refreshing = null)),
  };
}
