import { assertEquals, assertRejects } from "@std/assert";
import { passwordAuth } from "../../exports/auth.ts";
import type { PasswordAuthOptions } from "../../exports/auth.ts";
import { type Account, setAccountDisabled } from "../../src/identity/accounts/account.ts";
import type {
  AccountAdministration,
  PasswordAuthDefinition,
} from "../../src/identity/accounts/password_auth.ts";
import { createMemoryKeyValue } from "../../src/kv/memory_key_value.ts";
import { consoleObserver } from "../../src/runtime/console_observer.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { type AccountsUnderTest, ada, cheapHash, withAccounts } from "./accounts_support.ts";

/** Runs `work` with an account that is administered as by the command line, in another process. */
async function withAdministration(
  users: PasswordAuthOptions["users"],
  work: (
    service: AccountsUnderTest,
    opened: AccountAdministration,
    account: () => Promise<Account>,
  ) => Promise<void>,
): Promise<void> {
  const runtime = systemRuntime(consoleObserver());
  const kv = createMemoryKeyValue(runtime.clock);
  const config = { kv, auth: { recheckMs } };
  await withAccounts({ users }, async (service) => {
    const definition = passwordAuth({ users, passwords: cheapHash });
    // The command line finds the same member.
    const { openAdministration } = definition as PasswordAuthDefinition;
    const store = { configured: kv, need: () => kv };
    const opened = await openAdministration({ store, db: service.db, runtime });
    await service.signUp();
    await work(service, opened, async () => {
      const account = await opened.accounts.findByEmail(ada.email);
      if (account === null) throw new Error("There is no account");
      return account;
    });
  }, { config, movesClock: true });
}

const recheckMs = 1_000;

/** Of a request with this session, after what another process has written is seen. */
async function statusOf({ send, advance }: AccountsUnderTest, cookie: string): Promise<number> {
  advance(recheckMs);
  return (await send("GET", "/api/notes", undefined, { headers: { cookie } })).status;
}

for (const [place, users] of [["the store", "kv"], ["a table", undefined]] as const) {
  Deno.test(`an account in ${place}: a session that was not used while it was disabled was valid again`, async () => {
    await withAdministration(users, async (service, opened, account) => {
      const cookie = await service.logIn();
      assertEquals(await statusOf(service, cookie), 200);
      await setAccountDisabled(await account(), true, opened);
      await setAccountDisabled(await account(), false, opened);
      assertEquals(await statusOf(service, cookie), 401);
      assertEquals(await statusOf(service, await service.logIn()), 200);
    });
  });

  Deno.test(`an account in ${place}: a command that is killed between its writes leaves no session`, async () => {
    await withAdministration(users, async (service, opened, account) => {
      const cookie = await service.logIn();
      const killed = { ...opened, endSessions: () => Promise.reject(new Error("killed")) };
      const disabling = async () => await setAccountDisabled(await account(), true, killed);
      await assertRejects(disabling, Error, "killed");
      assertEquals(await statusOf(service, cookie), 401);
      const enabling = async () => await setAccountDisabled(await account(), false, killed);
      await assertRejects(enabling, Error, "killed");
      assertEquals((await account()).isDisabled, true);
      await setAccountDisabled(await account(), false, opened);
      assertEquals(await statusOf(service, cookie), 401);
    });
  });
}

Deno.test("to enable an account that is not disabled ends no session", async () => {
  await withAdministration("kv", async (service, opened, account) => {
    const cookie = await service.logIn();
    await setAccountDisabled(await account(), false, opened);
    assertEquals(await statusOf(service, cookie), 200);
  });
});
