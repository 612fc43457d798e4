import { assertEquals } from "@std/assert";
import { createCredentials, type Identification } from "../../src/auth/authenticator.ts";
import { type AccessPolicy, parseUser, requireAccess } from "../../src/auth/authorize.ts";
import { allRows } from "../../src/filter/filter.ts";
import { problemOf } from "../filter/support.ts";

Deno.test("access is refused before the body is read, by the policy alone", () => {
  const scope = () => {
    throw new Error("No scope is called");
  };
  const policy: AccessPolicy = {
    public: new Set(["read"]),
    publicScopes: new Map([["create", scope]]),
    scopes: new Map([["update", scope]]),
    resolve: () => allRows,
  };
  const user = { id: "ann" };
  for (const one of [null, user]) {
    requireAccess("read", one, policy);
    requireAccess("create", one, policy);
  }
  requireAccess("update", user, policy);
  const slugOf = (work: () => unknown) => problemOf(work).slug;
  assertEquals(slugOf(() => requireAccess("update", null, policy)), "unauthorized");
  assertEquals(slugOf(() => requireAccess("delete", null, policy)), "unauthorized");
  assertEquals(slugOf(() => requireAccess("delete", user, policy)), "forbidden");
});

Deno.test("only users whose credential ends or is renewed are remembered with their credential", () => {
  const { accept, of } = createCredentials([], parseUser);
  const renew = () => Promise.resolve(null);
  const ending: readonly Omit<Identification, "user">[] = [{ expiresAt: 5 }, { renew }];
  for (const facts of ending) {
    const identification: Identification = { user: { id: "ann" }, ...facts };
    const user = accept(identification);
    assertEquals(user?.id, "ann");
    assertEquals(user === null ? null : of(user), identification);
    assertEquals(createCredentials([], () => null).accept(identification), null);
  }
  const user = accept({ user: { id: "ann" } });
  assertEquals(user === null ? "nobody" : of(user), null);
});
