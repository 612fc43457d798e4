import { assertEquals } from "@std/assert";
import type { Answer } from "../support/http.ts";
import {
  ada,
  afterBackgroundTasks,
  password,
  untilMailed,
  withAccounts,
} from "./accounts_support.ts";

/** All of an answer but what is left of the limit of the address, which both count against. */
function withoutRemainder({ status, headers, body }: Answer): unknown {
  const shown = [...headers].map(([name, value]) =>
    name === "ratelimit" ? [name, ""] : [name, value]
  );
  return { status, body, headers: shown };
}

Deno.test("a login with an unknown address and one with a wrong password have the same answer", async () => {
  await withAccounts({}, async ({ signUp, post, logIn }) => {
    await signUp();
    await logIn();
    const wrong = { ...ada, password: "a wrong but long password" };
    const answers = [
      await post("/api/auth/login", wrong),
      await post("/api/auth/login", { ...wrong, email: "unknown@example.com" }),
    ].map(withoutRemainder);
    assertEquals(answers[1], answers[0]);
  });
});

Deno.test("the right password of a disabled account has the answer of a wrong one", async () => {
  await withAccounts({}, async ({ signUp, post, db }) => {
    await signUp();
    await db.driver.query({ text: "UPDATE users SET disabled = 1", values: [] });
    const answers = [
      await post("/api/auth/login", ada),
      await post("/api/auth/login", { ...ada, email: "unknown@example.com" }),
    ].map(withoutRemainder);
    assertEquals(answers[1], answers[0]);
  });
});

Deno.test("signup and reset answer alike, whether there is an account or not", async () => {
  await withAccounts({}, async ({ signUp, post, mails }) => {
    await signUp();
    for (const [path, more] of [["signup", { password }], ["password/forgot", {}]] as const) {
      const known = await post(`/api/auth/${path}`, { email: ada.email, ...more });
      const unknown = await post(`/api/auth/${path}`, { email: "new@example.com", ...more });
      assertEquals(withoutRemainder(unknown), withoutRemainder(known), path);
    }
    await untilMailed(mails, 4);
    await afterBackgroundTasks();
    // Only the mailbox learns more, and no mail is sent to an address that has asked for no account.
    const sent = mails.slice(1).map(({ kind, user }) => `${kind} ${user.email}`).sort();
    assertEquals(sent, [
      `account-exists ${ada.email}`,
      `reset-password ${ada.email}`,
      "verify-email new@example.com",
    ]);
  });
});

Deno.test("a mailbox gets five mails an hour at most, from however many addresses they are requested", async () => {
  await withAccounts({}, async ({ signUp, post, mails }) => {
    await signUp();
    for (let index = 0; index < 20; index++) {
      const options = { address: `198.51.100.${index}` };
      const answer = await post("/api/auth/password/forgot", { email: ada.email }, options);
      assertEquals(answer.status, 202);
    }
    // The first one was that of the signup.
    await untilMailed(mails, 6);
    await afterBackgroundTasks();
    assertEquals(mails.length, 6);
  });
});

Deno.test("signups for an address do not use up the mails that reset its password", async () => {
  await withAccounts({}, async ({ signUp, post, mails }) => {
    await signUp();
    for (let index = 0; index < 20; index++) {
      await post("/api/auth/signup", ada, { address: `198.51.100.${index}` });
    }
    await post("/api/auth/password/forgot", { email: ada.email });
    await untilMailed(mails, 6);
    await afterBackgroundTasks();
    assertEquals(mails.at(-1)?.kind, "reset-password");
  });
});

Deno.test("a login that fails and a mail that cannot be sent look alike to the client", async () => {
  const sendMail = () => Promise.reject(new Error("The mail server is down"));
  await withAccounts({ sendMail }, async ({ post, observations }) => {
    assertEquals((await post("/api/auth/signup", ada)).status, 202);
    await afterBackgroundTasks();
    assertEquals(observations.filter(({ kind }) => kind === "mail_failed").length, 1);
  });
});
