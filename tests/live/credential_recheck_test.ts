import { assertEquals } from "@std/assert";
import type { Identification } from "../../src/auth/authenticator.ts";
import type { User } from "../../src/auth/authorize.ts";
import { CredentialRecheck } from "../../src/live/stream/stream_session.ts";
import { handClock } from "../db/hand_clock.ts";

const ada: User = { id: "ada", roles: ["reader"] };

/** A recheck of one credential, of which `renew` says what it stands for now. */
function recheckOf(renew?: () => User | null | Promise<User | null>) {
  const { clock, advance } = handClock();
  const observed: string[] = [];
  const changed: User[] = [];
  const identification: Identification = {
    user: ada,
    expiresAt: 1_000,
    ...(renew === undefined ? {} : { renew }),
  };
  const recheck = new CredentialRecheck({
    clock,
    observe: ({ kind }) => observed.push(kind),
    credentials: { of: (user) => user === ada ? identification : null },
    onChange: (user) => changed.push(user),
  });
  const holder = () => {
    const state = { revoked: 0, revoke: () => void state.revoked++ };
    recheck.add(ada, state);
    return state;
  };
  return { recheck, advance, observed, changed, holder };
}

Deno.test("a credential is read again at once, and once for all its streams", async () => {
  let reads = 0;
  const { recheck, holder } = recheckOf(() => {
    reads++;
    return ada;
  });
  const streams = [holder(), holder(), holder()];
  assertEquals(reads, 1);
  await recheck.recheck();
  assertEquals([reads, streams.map(({ revoked }) => revoked)], [2, [0, 0, 0]]);
  for (const stream of streams) recheck.remove(ada, stream);
  await recheck.recheck();
  assertEquals(reads, 2);
});

Deno.test("a credential that has ended ends its streams, one that has changed is reported", async () => {
  let current: User | null = ada;
  const { recheck, holder, changed } = recheckOf(() => current);
  const stream = holder();
  current = { ...ada, roles: [] };
  await recheck.recheck();
  assertEquals([changed, recheck.current(ada), stream.revoked], [[ada], current, 0]);
  await recheck.recheck();
  assertEquals(changed.length, 1);
  current = null;
  await recheck.recheck();
  assertEquals(stream.revoked, 1);
});

Deno.test("a credential that cannot be read is trusted for a minute, and reported once", async () => {
  let isDown = true;
  const { recheck, holder, observed, advance } = recheckOf(() =>
    isDown ? Promise.reject(new Error("The store is down")) : ada
  );
  const stream = holder();
  await recheck.recheck();
  advance(59_999);
  await recheck.recheck();
  assertEquals([stream.revoked, observed], [0, ["credential_unread"]]);
  isDown = false;
  await recheck.recheck();
  isDown = true;
  await recheck.recheck();
  advance(59_999);
  await recheck.recheck();
  assertEquals(stream.revoked, 0, "the minute begins again");
  advance(1);
  await recheck.recheck();
  assertEquals(stream.revoked, 1);
});

Deno.test("anonymous callers and credentials without renew are not read again, and expire by their time", async () => {
  const { recheck, holder } = recheckOf();
  const stream = holder();
  recheck.add(null, stream);
  await recheck.recheck();
  assertEquals(stream.revoked, 0);
  assertEquals([recheck.expiryOf(ada), recheck.expiryOf(null)], [1_000, Infinity]);
  assertEquals(recheck.expiryOf({ id: "eve" }), Infinity);
});
