import type { CreateClientOptions } from "./client_options.ts";

export interface Token {
  /** The token. If the value is falsy, the request has no `Authorization` header. */
  readonly value: string | null | undefined | false;
  /** The number of refreshes up to this token, including the refresh that returned this token. */
  readonly age: number;
}

export type Tokens = ReturnType<typeof createTokens>;

/** Concurrent requests share one refresh of the token. */
export function createTokens(source: CreateClientOptions["token"]) {
  let refreshes = 0;
  let refreshing: Promise<Token> | null = null;

  async function ask(refresh: boolean): Promise<Token> {
    // Read before the call of `source`, during which another request can refresh.
    const age = refreshes;
    const value = typeof source === "function" ? await source({ refresh }) : !refresh && source;
    return { value, age: refresh ? ++refreshes : age };
  }

  return {
    current: () => refreshing ?? ask(false),
    /** Returns a newer token than the refused token, refreshed at most once for all requests. */
    after: ({ age }: Token) =>
      age < refreshes ? ask(false) : (refreshing ??= ask(true).finally(() => refreshing = null)),
  };
}
