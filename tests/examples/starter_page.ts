/** What tests do with the page of a new project. */
import type { Page } from "playwright-core";
import { assertEquals } from "@std/assert";

/** The user of the page. */
const account = { email: "ada@example.com", password: "a password of many words" };

/** Creates a list as another client of the same user. */
export async function createList(origin: string, title: string): Promise<void> {
  const send = (path: string, body: unknown, headers: HeadersInit = {}) =>
    fetch(`${origin}/api/${path}`, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: JSON.stringify(body),
    });
  const { token } = await (await send("auth/login", { ...account, transport: "bearer" })).json();
  const created = await send("lists", { title }, { authorization: `Bearer ${token}` });
  assertEquals(created.status, 201, await created.text());
}

/** Logs in, or signs up. */
export async function fillAccount(page: Page, button: string): Promise<void> {
  await page.getByPlaceholder("E-mail").fill(account.email);
  await page.getByPlaceholder("Password").fill(account.password);
  await page.getByRole("button", { name: button }).click();
}
