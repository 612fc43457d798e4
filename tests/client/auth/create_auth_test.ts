import { assertEquals, assertRejects, assertStrictEquals } from "@std/assert";
import {
  type Auth,
  type AuthState,
  browserEnvironment,
  createAuth,
  type CreateAuthOptions,
  createClient,
  type CreateClientOptions,
  ServiceError,
} from "../../../exports/client.ts";
import type { PasswordAuthOptions } from "../../../exports/auth.ts";
import {
  type AccountsUnderTest,
  ada,
  password,
  untilMailed,
  withAccounts,
} from "../../identity/accounts_support.ts";
import { eventually } from "../support/posts_page.ts";

/** A browser: its tabs share the cookies. */
class Browser {
  readonly #cookies = new Map<string, string>();
  readonly requests: string[] = [];
  /** Answers instead of the service while it is not null. */
  instead: (() => Promise<Response>) | null = null;

  readonly service: AccountsUnderTest;

  constructor(service: AccountsUnderTest) {
    this.service = service;
  }

  readonly fetch = async (request: Request): Promise<Response> => {
    const { method, url, headers } = request;
    this.requests.push(`${method} ${new URL(url).pathname}`);
    if (this.instead !== null) return await this.instead();
    const own = new Headers(headers);
    own.set("cookie", [...this.#cookies].map((pair) => pair.join("=")).join("; "));
    own.set("sec-fetch-site", "same-origin");
    const response = await this.service.app.fetch(new Request(request, { headers: own }));
    for (const cookie of response.headers.getSetCookie()) {
      const [, name = "", value = ""] = cookie.match(/^([^=]+)=([^;]*)/) ?? [];
      if (value === "") this.#cookies.delete(name);
      else this.#cookies.set(name, value);
    }
    return response;
  };

  open(options?: CreateAuthOptions, client: Partial<CreateClientOptions> = {}): Auth {
    const { fetch } = this;
    return createAuth(createClient({ baseUrl: "http://localhost", fetch, ...client }), options);
  }

  get cookies(): readonly string[] {
    return [...this.#cookies.keys()];
  }
}

function inBrowser(
  options: PasswordAuthOptions,
  work: (browser: Browser, service: AccountsUnderTest) => Promise<void>,
): Promise<void> {
  return withAccounts(options, (service) => work(new Browser(service), service), {
    movesClock: true,
    config: { abuseProtection: { pow: { secret: "a secret for the tests only", difficulty: 4 } } },
  });
}

/** The states of a store, as `signed-in ada@example.com`. */
function statesOf(auth: Auth): { readonly seen: string[]; readonly stop: () => void } {
  const seen: string[] = [];
  const stop = auth.subscribe(({ status, user }) =>
    seen.push(user === null ? status : `${status} ${user.email}`)
  );
  return { seen, stop };
}

Deno.test("a page signs up with proof of work, follows the link, logs in, changes the password and logs out", async () => {
  await inBrowser({ signup: { pow: true } }, async (browser, service) => {
    const auth = browser.open();
    const { seen, stop } = statesOf(auth);
    await eventually(() => seen.length === 2, () => seen);
    assertEquals(await auth.signUp({ ...ada, name: "Ada" }), null);
    assertEquals(browser.requests, ["GET /api/auth/me", ...Array(2).fill("POST /api/auth/signup")]);
    await untilMailed(service.mails, 1);
    await auth.verify({ token: service.token() });
    const user = await auth.logIn(ada);
    assertEquals([user.email, user.name, user.roles], [ada.email, "Ada", []]);
    assertEquals(browser.cookies, ["session"]);
    const { user: shown } = auth.get();
    assertEquals(shown, user);

    const next = "another password of many words";
    const wrong = await assertRejects(
      () => auth.changePassword({ currentPassword: next, password }),
      ServiceError,
    );
    assertEquals([wrong.status, wrong.slug, auth.get().status], [403, "forbidden", "signed-in"]);
    const before = auth.get();
    await auth.changePassword({ currentPassword: password, password: next });
    assertStrictEquals(auth.get(), before, "the same user is the same object");
    await auth.logOut();
    assertEquals([browser.cookies, auth.get()], [[], { user: null, status: "signed-out" }]);
    await auth.logIn({ ...ada, password: next });
    const me = `signed-in ${ada.email}`;
    await eventually(() => seen.length === 5, () => seen);
    stop();
    assertEquals(seen, ["unknown", "signed-out", me, "signed-out", me]);
  });
});

Deno.test("a wrong password is a ServiceError, and changes nothing in the store", async () => {
  await inBrowser({}, async (browser, service) => {
    await service.signUp();
    const auth = browser.open();
    const before: AuthState = auth.get();
    const wrong = await assertRejects(() => auth.logIn({ ...ada, password: "x" }), ServiceError);
    assertEquals([wrong.status, wrong.slug], [401, "unauthorized"]);
    assertStrictEquals(auth.get(), before);
    const invalid = await assertRejects(
      () => auth.signUp({ email: "ada", password: "short" }),
      ServiceError,
    );
    const { errors } = Object(invalid.problem?.details);
    assertEquals(errors.map(({ path }: { path: string }) => path), ["email", "password"]);
  });
});

Deno.test("a forgotten password is reset by the link of the mail", async () => {
  await inBrowser({}, async (browser, service) => {
    await service.signUp();
    const auth = browser.open();
    const before = service.mails.length;
    await auth.requestPasswordReset({ email: ada.email });
    await auth.requestPasswordReset({ email: "nobody@example.com" });
    await untilMailed(service.mails, before + 1);
    const next = "another password of many words";
    await auth.resetPassword({ token: service.token(), password: next });
    const used = await assertRejects(
      () => auth.resetPassword({ token: service.token(), password: next }),
      ServiceError,
    );
    assertEquals(used.slug, "validation-error");
    await auth.logIn({ ...ada, password: next });
    assertEquals(auth.get().status, "signed-in");
  });
});

Deno.test("without a mail, a signup starts a session", async () => {
  await inBrowser({ signup: { verify: false } }, async (browser) => {
    const auth = browser.open();
    assertEquals((await auth.signUp(ada))?.email, ada.email);
    assertEquals([auth.get().status, browser.cookies], ["signed-in", ["session"]]);
  });
});

Deno.test("with onToken, the session is a token that the page keeps", async () => {
  await inBrowser({}, async (browser, service) => {
    await service.signUp();
    let token: string | null = null;
    const given: (string | null)[] = [];
    const keep = (next: string | null) => {
      token = next;
      given.push(next);
    };
    const auth = browser.open({ onToken: keep }, { token: () => token });
    await auth.logIn(ada);
    assertEquals([browser.cookies, /^ses_/.test(given[0] ?? "")], [[], true]);
    assertEquals((await auth.refresh())?.email, ada.email);
    await auth.changePassword({ currentPassword: password, password: `${password} 2` });
    assertEquals((await auth.refresh())?.email, ada.email);
    await auth.logOutEverywhere();
    assertEquals([given.length, given.at(-1), auth.get().status], [3, null, "signed-out"]);
  });
});

Deno.test("the other tabs of a browser see a login and a logout, also from a tab without listeners", async () => {
  await inBrowser({}, async (browser, service) => {
    await service.signUp();
    const tabs = [browser.open(), browser.open()].map(statesOf);
    const silent = browser.open();
    const allSee = (status: string) =>
      eventually(
        () => tabs.every(({ seen }) => seen.at(-1) === status),
        () => tabs.map(({ seen }) => seen),
      );
    await allSee("signed-out");
    await silent.logIn(ada);
    await allSee(`signed-in ${ada.email}`);
    await silent.logOut();
    await allSee("signed-out");
    for (const { stop } of tabs) stop();
  });
});

Deno.test("a session that ended elsewhere is noticed by a refused request, and when the page wakes", async () => {
  await inBrowser({}, async (browser, service) => {
    await service.signUp();
    const wakes = new Set<() => void>();
    const environment = {
      ...browserEnvironment(),
      onWake(run: () => void) {
        wakes.add(run);
        return () => void wakes.delete(run);
      },
      channel: () => null,
    };
    const auth = browser.open({}, { environment });
    await auth.logIn(ada);
    const { seen, stop } = statesOf(auth);
    const endElsewhere = async () => {
      const other = new Browser(service).open();
      await other.logIn(ada);
      await other.logOutEverywhere();
      service.advance(6_000); // a process trusts a session for so long
    };
    await endElsewhere();
    await assertRejects(() => auth.logOutEverywhere(), ServiceError);
    await eventually(() => seen.at(-1) === "signed-out", () => seen);
    await auth.logIn(ada);
    await endElsewhere();
    for (const wake of wakes) wake();
    await eventually(() => seen.at(-1) === "signed-out", () => seen);
    stop();
    assertEquals(wakes.size, 0);
  });
});

Deno.test("a late response about the user does not replace a login, and a failed one is an error of the state", async () => {
  await inBrowser({}, async (browser, service) => {
    await service.signUp();
    const auth = browser.open();
    const late = Promise.withResolvers<Response>();
    browser.instead = () => late.promise;
    const reading = auth.refresh();
    await eventually(() => browser.requests.length === 1, () => browser.requests);
    browser.instead = null;
    await auth.logIn(ada);
    late.resolve(
      Response.json({ user: null }, {
        headers: { "content-type": "application/json;charset=utf-8;numbers=safe" },
      }),
    );
    assertEquals((await reading)?.email, ada.email);

    browser.instead = () => Promise.reject(new TypeError("no network"));
    await assertRejects(() => auth.refresh(), ServiceError);
    assertEquals([auth.get().status, auth.get().error?.slug], ["signed-in", "network"]);
    browser.instead = null;
    await auth.refresh();
    assertEquals([auth.get().status, auth.get().error], ["signed-in", undefined]);
  });
});
