import type { CreateClientOptions } from "./client_options.ts";

/** A bearer token as it was given. */
export interface Token {
  /** Null sends a request without a token. */
  readonly value: string | null;
  /** How many refreshes came before it. */
  readonly age: number;
}

/** The tokens of a client's requests, which share one refresh. */
export interface Tokens {
  /** The token for a new request. */
  current(): Promise<Token>;
  /** The token to use after this one was refused; null where there is no other. */
  after(refused: Token): Promise<Token | null>;
}

/** Asks the source for tokens: for each request, and once more for all that are refused together. */
export function createTokens(source: CreateClientOptions["token"] = undefined): Tokens {
  let refreshes = 0;
  let refreshing: Promise<Token> | null = null;

  async function ask(refresh: boolean): Promise<Token> {
    const value = typeof source === "function" ? await source({ refresh }) : source ?? null;
    if (refresh) refreshes++;
    return { value, age: refreshes };
  }

  return {
    current: () => refreshing ?? ask(false),
    async after({ age }) {
      if (typeof source !== "function") return null;
      // Another request may have had the token refreshed while this one was on its way.
      const next = age < refreshes ? ask(false) : refreshing ??= ask(true).finally(() => {
        refreshing = null;
      });
      const token = await next;
      return token.value === null ? null : token;
    },
  };
}
