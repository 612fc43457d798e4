import { startChild } from "../serve/child_process.ts";
import { type EventStream, openEventStream } from "../support/event_stream.ts";
import { ada } from "./accounts_support.ts";

const script = new URL("accounts_process.ts", import.meta.url).pathname;

/** A process with accounts. */
export interface AccountsProcess extends AsyncDisposable {
  readonly origin: string;
  post(path: string, body?: unknown, headers?: Record<string, string>): Promise<Response>;
  status(headers: Record<string, string>): Promise<number>;
  /** Logs in, and gives the header of the session. */
  logIn(password?: string): Promise<Record<string, string>>;
  subscribe(headers: Record<string, string>): Promise<EventStream>;
}

/** Starts a process over the files of a folder. */
export async function startAccounts(...args: readonly string[]): Promise<AccountsProcess> {
  const child = startChild([script, ...args], { maxLifeMs: 90_000 });
  const [, port] = await child.printed(/port (\d+)/);
  const origin = `http://127.0.0.1:${port}`;
  const post: AccountsProcess["post"] = (path, body, headers = {}) =>
    fetch(origin + path, {
      method: "POST",
      headers: {
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...headers,
      },
      body: body === undefined ? null : JSON.stringify(body),
    });
  return {
    origin,
    post,
    async status(headers) {
      const answer = await fetch(`${origin}/api/notes`, { headers });
      await answer.body?.cancel();
      return answer.status;
    },
    async logIn(password = ada.password) {
      const answer = await post("/api/auth/login", { ...ada, password, transport: "bearer" });
      const { token } = await answer.json();
      return { authorization: `Bearer ${token}` };
    },
    subscribe: (headers) =>
      openEventStream(
        (signal) => fetch(`${origin}/api/notes/subscribe`, { headers, signal }),
        () => {},
      ),
    [Symbol.asyncDispose]: () => child[Symbol.asyncDispose](),
  };
}
