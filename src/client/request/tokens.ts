import type { CreateClientOptions } from "./client_options.ts";

/** A bearer token as it was given. */
export interface Token {
  /** Without one a request is sent without a token. */
  readonly value: string | null | undefined | false;
  /** How many refreshes came before it. */
  readonly age: number;
}

/** The tokens of a client's requests, which share one refresh. */
export interface Tokens {
  /** The token for a new request. */
  current(): Promise<Token>;
  /** The token to use after this one was refused; without a value where there is no other. */
  after(refused: Token): Promise<Token>;
}

/** Asks the source for tokens: for each request, and once more for all that are refused together. */
export function createTokens(source: CreateClientOptions["token"]): Tokens {
  let refreshes = 0;
  let refreshing: Promise<Token> | null = null;

  async function ask(refresh: boolean): Promise<Token> {
    // The source may take its time, in which another request has the token refreshed.
    const age = refreshes;
    const value = typeof source === "function" ? await source({ refresh }) : !refresh && source;
    return { value, age: refresh ? ++refreshes : age };
  }

  return {
    current: () => refreshing ?? ask(false),
    // Another request may have had the token refreshed while this one was on its way.
    after: ({ age }) =>
      age < refreshes ? ask(false) : (refreshing ??= ask(true).finally(() => refreshing = null)),
  };
}
