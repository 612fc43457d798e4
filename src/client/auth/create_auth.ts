import { browserEnvironmentOf } from "../environment.ts";
import { handle, type HasHandle } from "../../api/handle.ts";
import type { Transport } from "../../api/transport.ts";
import { createStore, type Store } from "../live/store.ts";
import { createCalls } from "../request/call.ts";
import type { ServiceError } from "../request/service_error.ts";

/** The user of an account, as `GET /api/auth/me` describes the user. */
export interface AuthUser {
  /** The id of the account. */
  readonly id: string;
  /** The e-mail address, or null if the user's authenticator knows none. */
  readonly email: string | null;
  /** The name, or null if the user has none. */
  readonly name: string | null;
  /** The roles of the user. */
  readonly roles: readonly string[];
}

/** The current user of a page. */
export interface AuthState {
  /** The user, or null. */
  readonly user: AuthUser | null;
  /** `unknown` until the service has said who the user is. */
  readonly status: "unknown" | "signed-in" | "signed-out";
  /** Why the last request for the user failed. Undefined if it succeeded. */
  readonly error?: ServiceError | undefined;
}

/** The options of {@link createAuth}. */
export interface CreateAuthOptions {
  /** Receives a new session's token, or null after a logout. Default: the service sets a cookie. */
  readonly onToken?: ((token: string | null) => void) | undefined;
}

/** Functions for accounts, which reject with a {@link ServiceError}, and a store of the user. */
export interface Auth extends Store<AuthState> {
  /** Reads the current user again. The store also does this when the page becomes visible. */
  refresh(): Promise<AuthUser | null>;
  /** Signs up. Returns the user, or null if the user must first follow the link in a mail. */
  signUp(account: Login & { readonly name?: string | undefined }): Promise<AuthUser | null>;
  /** Creates the account with a mail's token. Needs `password` if another browser signed up. */
  verify(link: { readonly token: string; readonly password?: string | undefined }): Promise<void>;
  /** Starts a session. */
  logIn(login: Login): Promise<AuthUser>;
  /** Ends the session. */
  logOut(): Promise<void>;
  /** Ends all sessions of the user, on every device. */
  logOutEverywhere(): Promise<void>;
  /** Requests a mail with a link for a new password. */
  requestPasswordReset(account: { readonly email: string }): Promise<void>;
  /** Sets a new password with the token of a mail. */
  resetPassword(link: { readonly token: string; readonly password: string }): Promise<void>;
  /** Changes the password. Ends all sessions, and starts a new one for this page. */
  changePassword(
    passwords: { readonly currentPassword: string; readonly password: string },
  ): Promise<AuthUser>;
}

/** An e-mail address and a password. */
export interface Login {
  /** The e-mail address of the account. */
  readonly email: string;
  /** The password of the account. */
  readonly password: string;
}

/**
 * Returns the functions for accounts of a service with `passwordAuth`, and a store of the current
 * user. The store reads the user when it gets its first listener. Tabs of the same origin inform
 * each other about logins and logouts.
 *
 * @example
 * ```ts ignore
 * const auth = createAuth(api);
 * auth.subscribe(({ user, status }) => console.log(status, user?.email));
 * await auth.logIn({ email: "ada@example.com", password });
 * ```
 */
export function createAuth(api: HasHandle, { onToken }: CreateAuthOptions = {}): Auth {
  const { transport } = api[handle];
  const calls = createCalls({ transport, path: `${transport.basePath}/auth` });
  const { store, show, informTabs } = createUserStore(
    transport,
    () => void refresh().catch(() => {}),
  );
  let version = 0;

  async function refresh(): Promise<AuthUser | null> {
    const own = ++version;
    try {
      const { user = null } = await send("GET", "/me");
      // An older response must not replace the user of a later login or logout.
      if (own === version) show(stateOf(user));
    } catch (error) {
      // The cast is safe unless the page's token source throws an error of another type.
      if (own === version) show({ ...store.get(), error: error as ServiceError });
      throw error;
    }
    return store.get().user;
  }

  // The cast is safe: the account routes of the service return these members.
  const send = (method: string, place: string, body?: unknown) =>
    calls(method, place, "")({}, body) as Promise<Answer>;

  const post = <Result>(place: string) => async (body?: object): Promise<Result> => {
    const sent = { ...body, transport: onToken && "bearer" };
    const { user = null, token = null, next } = await send("POST", place, sent).catch((error) => {
      // A 401 means a wrong password or an ended session. Reading the user shows which of the two.
      if (error.status === 401 && store.get().user) refresh().catch(() => {});
      throw error;
    });
    // If `next` is set, the user must take another step first, and the session has not changed.
    if (!next) {
      version++;
      onToken?.(token);
      show(stateOf(user));
      informTabs();
    }
    // The cast is safe: the functions without a user return void.
    return user as Result;
  };

  return {
    ...store,
    refresh,
    signUp: post("/signup"),
    verify: post("/verify"),
    logIn: post("/login"),
    logOut: post("/logout"),
    logOutEverywhere: post("/logout/all"),
    requestPasswordReset: post("/password/forgot"),
    resetPassword: post("/password/reset"),
    changePassword: post("/password/change"),
  };
}

function stateOf(user: AuthUser | null): AuthState {
  return { user, status: user ? "signed-in" : "signed-out" };
}

function createUserStore(transport: Transport, read: () => void) {
  const { baseUrl, basePath } = transport;
  const environment = browserEnvironmentOf(transport);
  const openChannel = () => environment.channel(`auth ${baseUrl}${basePath}`);
  let channel: ReturnType<typeof openChannel>;
  let state: AuthState = { user: null, status: "unknown" };
  const [store, report] = createStore(() => state, () => {
    channel = openChannel();
    if (channel) channel.onmessage = read;
    const stopWaking = environment.onWake(() => environment.isHidden() || read());
    read();
    return () => {
      stopWaking();
      channel?.close();
      channel = null;
    };
  });
  return {
    store,
    show(next: AuthState) {
      // If the user is unchanged, the state remains the same object.
      if (JSON.stringify(next) === JSON.stringify(state)) return;
      state = next;
      report();
    },
    informTabs() {
      const open = channel ?? openChannel();
      open?.postMessage(0);
      if (open !== channel) open?.close();
    },
  };
}

interface Answer {
  readonly user?: AuthUser | null;
  readonly token?: string;
  readonly next?: string;
}
