import { assert, assertEquals } from "@std/assert";
import { usersTable } from "../../exports/auth.ts";
import { ada, withAccounts } from "./accounts_support.ts";

/** The median of the times of two kinds of requests, which take turns. */
async function medians(
  tries: number,
  kinds: readonly [() => Promise<unknown>, () => Promise<unknown>],
): Promise<readonly [number, number]> {
  const times: [number[], number[]] = [[], []];
  for (let turn = -5; turn < tries; turn++) {
    for (const index of turn % 2 === 0 ? [0, 1] as const : [1, 0] as const) {
      const startedAt = performance.now();
      await kinds[index]();
      if (turn >= 0) times[index].push(performance.now() - startedAt);
    }
  }
  const median = (values: number[]) => values.sort((a, b) => a - b)[values.length >> 1] ?? NaN;
  return [median(times[0]), median(times[1])];
}

const free = { cost: { failed: 0 } };

for (const users of [undefined, "kv"] as const) {
  Deno.test(`200 logins of an unknown and of a known address take as long, within 10 % (${users ?? "table"})`, async () => {
    await withAccounts({ users, login: free }, async ({ signUp, post }) => {
      await signUp();
      const wrong = { ...ada, password: "a wrong but long password" };
      const [known, unknown] = await medians(200, [
        () => post("/api/auth/login", wrong),
        () => post("/api/auth/login", { ...wrong, email: "unknown@example.com" }),
      ]);
      const ratio = Math.max(known, unknown) / Math.min(known, unknown);
      assert(ratio < 1.1, `${known.toFixed(2)} and ${unknown.toFixed(2)} ms`);
    });
  });
}

Deno.test("200 signups and resets of an unknown and of a known address take as long, within 10 %", async () => {
  const options = { signup: { cost: 0 }, passwordReset: { cost: 0 } };
  await withAccounts(options, async ({ signUp, post }) => {
    await signUp();
    const password = "a password for the signups";
    for (const [path, more] of [["signup", { password }], ["password/forgot", {}]] as const) {
      let count = 0;
      const [known, unknown] = await medians(200, [
        () => post(`/api/auth/${path}`, { email: ada.email, ...more }),
        () => post(`/api/auth/${path}`, { email: `new-${count++}@example.com`, ...more }),
      ]);
      // The reset does nothing before its answer, so that a tenth of it is within the noise.
      const differs = Math.abs(known - unknown) > Math.max(0.1 * Math.min(known, unknown), 0.1);
      assert(!differs, `${path}: ${known.toFixed(3)} and ${unknown.toFixed(3)} ms`);
    }
  });
});

Deno.test("an account without a usable hash is refused like one that does not exist, in the same time", async () => {
  for (
    const hash of [
      "",
      "x",
      "$2b$12$abcdefghijklmnopqrstuv",
      "$scrypt$ln=14,r=99,p=99$AAAAAAAAAAAAAAAAAAAAAA$x",
    ]
  ) {
    await withAccounts({ login: { cost: { failed: 0 } } }, async ({ signUp, post, db }) => {
      await signUp();
      await db.sql`UPDATE ${usersTable} SET ${usersTable.passwordHash} = ${hash}`;
      const login = (email: string) => async () =>
        assertEquals(
          (await post("/api/auth/login", { email, password: ada.password })).status,
          401,
        );
      const [none, unknown] = await medians(9, [login(ada.email), login("unknown@example.com")]);
      assert(none > unknown / 2, `${none} beside ${unknown} ms`);
    });
  }
});
