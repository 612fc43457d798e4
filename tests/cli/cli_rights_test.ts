import { assertEquals, assertMatch } from "@std/assert";
import { checkToken, type CliRightsOptions, decideCliRights } from "../../src/cli/cli_service.ts";
import { makeServiceToken } from "../../src/cli/workers/worker_share.ts";
import type { Random } from "../../src/runtime/runtime.ts";

const random: Random = { bytes: (length) => new Uint8Array(length).fill(255) };

function decided(facts: CliRightsOptions): string {
  const { token, readsNeedToken, localOnly } = decideCliRights(facts, "t_any");
  const reads = readsNeedToken ? "closed" : localOnly ? "local" : "open";
  return `${reads}, ${token === null ? "no token" : "token"}`;
}

Deno.test("reads are open on the loopback alone, unless --public opens them", () => {
  for (const host of ["127.0.0.1", "127.1.2.3", "localhost", "::1"]) {
    assertEquals(decided({ host, public: false, writable: false }), "local, no token", host);
    assertEquals(decided({ host, public: false, writable: true }), "local, token", host);
    assertEquals(decided({ host, public: true, writable: true }), "open, token", host);
    const proxied = { host, isProxied: true, writable: false };
    assertEquals(decided({ ...proxied, public: false }), "closed, token", host);
    assertEquals(decided({ ...proxied, public: true }), "open, no token", host);
  }
  for (const host of ["0.0.0.0", "::", "192.168.0.7", "127.evil.example", "example.org", ""]) {
    assertEquals(decided({ host, public: false, writable: false }), "closed, token", host);
    assertEquals(decided({ host, public: true, writable: false }), "open, no token", host);
    assertEquals(decided({ host, public: true, writable: true }), "open, token", host);
  }
});

Deno.test("only the whole token is accepted", () => {
  const token = makeServiceToken(random);
  assertMatch(token, /^t_[\w-]{32}$/);
  assertEquals(checkToken(undefined, token), "absent");
  assertEquals(checkToken(`Bearer ${token}`, token), "right");
  assertEquals(checkToken(`bearer  ${token} `, token), "right");
  for (
    const wrong of ["", "Bearer", `Bearer ${token}x`, `Bearer ${token.slice(1)}`, `Basic ${token}`]
  ) {
    assertEquals(checkToken(wrong, token), "wrong", wrong);
  }
});
