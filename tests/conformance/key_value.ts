import { assert, assertEquals, assertNotEquals, assertRejects } from "@std/assert";
import type { KeyValue, KeyValueKey } from "../../src/kv/key_value.ts";
import type { Clock } from "../../src/runtime/runtime.ts";
import { StoreError } from "../../src/kv/store_error.ts";
import { handClock } from "../db/hand_clock.ts";
import { testUnless } from "../support/skip.ts";

/** A store to exercise. */
export interface StoreUnderTest {
  readonly name: string;
  /** Why it cannot be opened here; null where it can. */
  readonly missing?: string | null;
  /** A fresh one; closing it removes what it left. */
  readonly open: (clock: Clock) => Promise<KeyValue>;
}

/** What every key-value store promises, as tests over one. */
export function exerciseStore({ name, open, missing = null }: StoreUnderTest): void {
  function test(
    promise: string,
    work: (store: KeyValue, advance: (ms: number) => void) => Promise<void>,
  ): void {
    testUnless(missing, `${name}: ${promise}`, async () => {
      const { clock, advance } = handClock();
      const store = await open(clock);
      try {
        await work(store, advance);
      } finally {
        await store.close();
      }
    });
  }

  test("a value is read as it was set, also an empty one", valuesComeBack);
  test("a key that was not set has no value", async (store) => {
    const key = ["absent"];
    assertEquals(await store.get(key), { key, value: undefined, versionstamp: null });
  });
  test("a stored value is a copy", valuesAreCopies);
  test("a deleted record is gone", async (store) => {
    await set(store, ["a"], 1);
    await store.commit({ mutations: [{ kind: "delete", key: ["a"] }] });
    assertEquals((await store.get(["a"])).value, undefined);
  });
  test("many keys are read in the order of the request", async (store) => {
    for (let n = 0; n < 23; n++) if (n % 2 === 0) await set(store, ["n", n], n);
    const keys = Array.from({ length: 23 }, (_, n) => ["n", n]);
    const read = await store.getMany(keys);
    assertEquals(read.map(({ key }) => key), keys);
    assertEquals(read.map(({ value }) => value), keys.map((_, n) => n % 2 === 0 ? n : undefined));
    assertEquals(await store.getMany([]), []);
  });
  test("a write moves the versionstamp, a read does not", async (store) => {
    const first = await set(store, ["a"], 1);
    assertEquals((await store.get(["a"])).versionstamp, first);
    assertNotEquals(await set(store, ["a"], 1), first);
  });
  test("checks hold or nothing is done", checksDecide);
  test("a record that was deleted and created again is another one", async (store) => {
    const first = await set(store, ["a"], 1);
    await store.commit({ mutations: [{ kind: "delete", key: ["a"] }] });
    await set(store, ["a"], 1);
    const checks = [{ key: ["a"], versionstamp: first }];
    assertEquals(await store.commit({ checks, mutations: [] }), { ok: false });
  });
  test("mutations of one commit are done in order, under one versionstamp", async (store) => {
    await store.commit({
      mutations: [
        { kind: "set", key: ["a"], value: 1 },
        { kind: "delete", key: ["a"] },
        { kind: "set", key: ["a"], value: 2 },
        { kind: "set", key: ["b"], value: 3 },
      ],
    });
    const [a, b] = await store.getMany([["a"], ["b"]]);
    assertEquals([a?.value, b?.value], [2, 3]);
    assertEquals(a?.versionstamp, b?.versionstamp);
  });
  test("of many claims of one key, one succeeds", async (store) => {
    const results = await Promise.all(
      Array.from({ length: 30 }, (_, n) => claim(store, ["claimed"], n)),
    );
    const winners = results.flatMap(({ ok }, n) => ok ? [n] : []);
    assertEquals(winners.length, 1);
    assertEquals((await store.get(["claimed"])).value, winners[0]);
  });
  test("an expired record is gone at once, for readers, lists and claims", expiryIsExact);
  test("a set without an expiry takes the former one away", async (store, advance) => {
    await set(store, ["a"], 1, 1_000);
    await set(store, ["a"], 2);
    advance(5_000);
    assertEquals((await store.get(["a"])).value, 2);
  });
  test("keys order by their bytes, and a prefix is one of parts", keysOrder);
  test("a list goes on page by page, both ways, past what has expired", pagesGoOn);
  test("what no store takes is an Error of the caller", faultsAreRefused);
  test("a closed store refuses, and closes again", async (store) => {
    await store.close();
    await store.close();
    const operations = [
      () => store.get(["a"]),
      () => store.getMany([["a"]]),
      () => store.list({ prefix: ["a"], limit: 1 }),
      () => store.commit({ mutations: [] }),
    ];
    for (const operation of operations) {
      assertEquals((await assertRejects(operation, StoreError)).kind, "unavailable");
    }
  });
}

/** Sets one record; gives its versionstamp. */
export async function set(
  store: KeyValue,
  key: KeyValueKey,
  value: unknown,
  expireInMs?: number,
): Promise<string> {
  const result = await store.commit({ mutations: [{ kind: "set", key, value, expireInMs }] });
  assert(result.ok);
  return result.versionstamp;
}

/** Sets a record that must not be there yet. */
export function claim(
  store: KeyValue,
  key: KeyValueKey,
  value: unknown,
  expireInMs?: number,
): ReturnType<KeyValue["commit"]> {
  return store.commit({
    checks: [{ key, versionstamp: null }],
    mutations: [{ kind: "set", key, value, expireInMs }],
    claim: key,
  });
}

async function valuesComeBack(store: KeyValue): Promise<void> {
  const values: readonly unknown[] = [
    ...[null, 0, "", false, NaN, -0, 1n, 2n ** 80n, "é 😀 \0", []],
    { tokens: 1.5, at: new Date(5), nested: [{ a: undefined }] },
    new Map([["a", new Set([1])]]),
    Uint8Array.of(0, 255),
    new Uint8Array(64_000),
  ];
  for (const [index, value] of values.entries()) {
    await set(store, ["values", index], value);
    assertEquals((await store.get(["values", index])).value, value);
  }
}

async function valuesAreCopies(store: KeyValue): Promise<void> {
  const value = { list: [1] };
  await set(store, ["a"], value);
  value.list.push(2);
  const read = await store.get(["a"]);
  assertEquals(read.value, { list: [1] });
  // The only way to change what was handed out.
  (read.value as typeof value).list.push(3);
  assertEquals((await store.get(["a"])).value, { list: [1] });
}

async function checksDecide(store: KeyValue): Promise<void> {
  const versionstamp = await set(store, ["a"], 1);
  const mutations = [
    { kind: "set", key: ["a"], value: 2 },
    { kind: "set", key: ["b"], value: 2 },
  ] as const;
  const failing = [
    [{ key: ["a"], versionstamp: null }],
    [{ key: ["a"], versionstamp: "0".repeat(20) }],
    [{ key: ["a"], versionstamp }, { key: ["b"], versionstamp }],
  ];
  for (const checks of failing) {
    assertEquals(await store.commit({ checks, mutations }), { ok: false });
    const [a, b] = await store.getMany([["a"], ["b"]]);
    assertEquals([a?.value, b?.value], [1, undefined]);
  }
  const checks = [{ key: ["a"], versionstamp }, { key: ["b"], versionstamp: null }];
  const result = await store.commit({ checks, mutations });
  assert(result.ok);
  assertEquals(await store.get(["b"]), {
    key: ["b"],
    value: 2,
    versionstamp: result.versionstamp,
  });
}

async function expiryIsExact(store: KeyValue, advance: (ms: number) => void): Promise<void> {
  await set(store, ["a", 1], "short", 1_000);
  await set(store, ["a", 2], "long", 9_000);
  advance(999);
  assertEquals((await store.get(["a", 1])).value, "short");
  assertEquals((await claim(store, ["a", 1], "new", 5)).ok, false);
  advance(1);
  const expired = await store.get(["a", 1]);
  assertEquals(expired.value, undefined);
  const listed = await store.list({ prefix: ["a"], limit: 10 });
  assertEquals(listed.map(({ value }) => value), ["long"]);
  // Both a claim of the state that was read and a claim of an absent key continue from it.
  const versionstamp = expired.versionstamp;
  const again = await store.commit({
    checks: [{ key: ["a", 1], versionstamp }, { key: ["a", 2], versionstamp: null }],
    mutations: [],
  });
  assertEquals(again.ok, false);
  assertEquals((await claim(store, ["a", 1], "new", 5)).ok, true);
  assertEquals((await store.get(["a", 1])).value, "new");
  advance(5);
  const second = await store.get(["a", 1]);
  const checks = [{ key: ["a", 1], versionstamp: second.versionstamp }];
  const mutations = [{ kind: "set", key: ["a", 1], value: "third" }] as const;
  assertEquals((await store.commit({ checks, mutations })).ok, true);
  assertEquals((await store.commit({ checks, mutations })).ok, false);
}

/** In the order in which a list gives them. */
const orderedKeys: readonly KeyValueKey[] = [
  ...[[Uint8Array.of()], [Uint8Array.of(0)], [Uint8Array.of(0, 0)], [Uint8Array.of(1)]],
  ...[[""], ["\0"], ["a"], ["a", "b"], ["a", 1], ["a\0"], ["a\0b"], ["ab"], ["b"], ["é"]],
  ...[["\u{ffff}"], ["😀"]],
  ...[[-(2n ** 70n)], [-(2n ** 64n)], [-256n], [-255n], [-1n], [0n], [1n], [255n], [256n]],
  ...[[2n ** 63n], [2n ** 64n - 1n], [2n ** 64n], [2n ** 70n]],
  ...[[-Infinity], [-1.5], [-1], [-0], [0], [1], [1.5], [2 ** 53], [Infinity]],
  ...[[false], [true]],
];

async function keysOrder(store: KeyValue): Promise<void> {
  const shuffled = orderedKeys.map((key, index) => ({ key, at: (index * 17) % 41 }))
    .sort((left, right) => left.at - right.at);
  for (const { key } of shuffled) await set(store, ["o", ...key], 1);
  await set(store, ["o"], 1);
  await set(store, ["o\0"], 1);
  const listed = await store.list({ prefix: ["o"], limit: 100 });
  assertEquals(listed.map(({ key }) => key), orderedKeys.map((key) => ["o", ...key]));
  const below = await store.list({ prefix: ["o", "a"], limit: 100 });
  assertEquals(below.map(({ key }) => key), [["o", "a", "b"], ["o", "a", 1]]);
  assertEquals((await store.list({ prefix: [], limit: 100 })).length, orderedKeys.length + 2);
}

async function pagesGoOn(store: KeyValue, advance: (ms: number) => void): Promise<void> {
  for (let n = 0; n < 25; n++) {
    await set(store, ["p", n], n, n % 5 === 0 ? 10 : undefined);
  }
  await set(store, ["q"], "beside");
  advance(10);
  const expected = Array.from({ length: 25 }, (_, n) => n).filter((n) => n % 5 !== 0);
  for (const reverse of [false, true]) {
    const walked: unknown[] = [];
    let page = await store.list({ prefix: ["p"], limit: 3, reverse });
    while (page.length > 0) {
      walked.push(...page.map(({ value }) => value));
      page = await store.list({ prefix: ["p"], after: page.at(-1)?.key, limit: 3, reverse });
    }
    assertEquals(walked, reverse ? expected.toReversed() : expected);
  }
}

async function faultsAreRefused(store: KeyValue): Promise<void> {
  const keys: readonly unknown[] = [
    ...[[], "a", [null], [undefined], [{}], [NaN], ["half \ud800"], ["x".repeat(2_047)]],
    [new Uint8Array(2_047)],
    [2n ** 2_040n],
  ];
  for (const key of keys) {
    // Wrong on purpose.
    const wrong = key as KeyValueKey;
    await isMistake(() => store.get(wrong));
    await isMistake(() => store.getMany([["a"], wrong]));
    await isMistake(() => set(store, wrong, 1));
    await isMistake(() => store.commit({ mutations: [{ kind: "delete", key: wrong }] }));
    await isMistake(() =>
      store.commit({ checks: [{ key: wrong, versionstamp: null }], mutations: [] })
    );
  }
  await set(store, ["x".repeat(2_046)], 1);
  const values: readonly unknown[] = [
    ...[undefined, () => {}, Symbol("s"), "x".repeat(65_000), new Uint8Array(65_001)],
  ];
  for (const value of values) await isMistake(() => set(store, ["v", "secret"], value), "secret");
  for (const span of [0, -1, 0.5, NaN, Infinity]) {
    await isMistake(() => set(store, ["v"], 1, span));
  }
  const commits = [
    { checks: Array.from({ length: 11 }, (_, n) => ({ key: [n], versionstamp: null })) },
    { mutations: Array.from({ length: 1_001 }, (_, n) => ({ kind: "delete", key: [n] } as const)) },
    { claim: ["a"] },
    { claim: ["a"], mutations: [{ kind: "delete", key: ["a"] } as const] },
  ];
  for (const commit of commits) await isMistake(() => store.commit({ mutations: [], ...commit }));
  for (const limit of [0, -1, 1.5, 1_001, NaN]) {
    await isMistake(() => store.list({ prefix: ["a"], limit }));
  }
  await isMistake(() => store.list({ prefix: ["a"], after: ["b"], limit: 1 }));
  assertEquals((await store.get(["v"])).value, undefined);
}

/** Not a StoreError, which would be a 503; and without what may be secret in a key. */
async function isMistake(work: () => Promise<unknown>, secret = "\ud800"): Promise<void> {
  const error = await assertRejects(async () => await work(), Error);
  assertEquals(error.constructor, Error, String(error));
  assert(!error.message.includes(secret), error.message);
}
